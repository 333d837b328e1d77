"""Ablations: OMVCDR without one of its parts, and k-means with every scaling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from manyview.data.scaling import SCALINGS
from manyview.omvcdr import OMVCDR

NEARLY_NONE = 1e-6  # λ: the representation is learned without the clusters


class TwoStepOMVCDR:
    """Two-step clustering: the embedding of OMVCDR with λ ≈ 0, then k-means.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    random_state : int, optional
        Seed.
    """

    def __init__(self, n_clusters: int, random_state: int | None = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit_predict(self, views: Any) -> NDArray[np.int32]:
        """Cluster the samples.

        Parameters
        ----------
        views : list of arrays or MultiViewData
            As for OMVCDR.

        Returns
        -------
        ndarray of shape (n_samples,), int32
        """
        model = OMVCDR(self.n_clusters, lam=NEARLY_NONE, random_state=self.random_state)
        embedding = model.fit(views).transform(views)
        kmeans = KMeans(self.n_clusters, n_init=10, random_state=self.random_state)
        return np.asarray(kmeans.fit_predict(embedding), dtype=np.int32)


# titles by name of a method, as for `find_method`
VARIANTS: dict[str, str] = {
    "omvcdr(scale=['sqrt-l2', 'z-l2'], smooth=True)": "OMVCDR without principal components",
    "omvcdr(lam=0.5)": "OMVCDR with λ = 0.5",
    "omvcdr(lam=8)": "OMVCDR with λ = 8",
    "omvcdr(smooth=False)": "OMVCDR on the samples themselves",
    "omvcdr(n_spaces=1)": "OMVCDR with one space",
    "omvcdr(weight_exponent=50)": "OMVCDR with equal weights of the spaces",
    "manyview.study.ablation:TwoStepOMVCDR": "OMVCDR in two steps: embedding, then k-means",
    **{
        f"concat_kmeans(scale={scale!r})": f"k-means, {scale}"
        for scale in (None, "auto", *SCALINGS)
        if scale not in ("z", "log-pca-l2")
    },
}
