"""A method on scaled views, so that all methods can be compared with the same scalings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.baselines._base import Budget
from manyview.baselines._scaling import scaled_views
from manyview.data.views import MultiViewData
from manyview.study.methods import find_method


class Prescaled:
    """A baseline on views that were scaled first; its own scaling is switched off.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    method : str
        Name of the baseline.
    scale : str, list of str or None
        As for OMVCDR.
    random_state : int, optional
        Seed.
    time_limit : float, optional
        Seconds that the baseline may take.
    memory_limit : float, optional
        Bytes that it may use.
    """

    def __init__(
        self,
        n_clusters: int,
        *,
        method: str = "concat_kmeans",
        scale: str | Sequence[str] | None = None,
        random_state: int | None = None,
        time_limit: float | None = None,
        memory_limit: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.scale = scale
        self.random_state = random_state
        self.time_limit = time_limit
        self.memory_limit = memory_limit

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
        model = find_method(self.method).make(
            n_clusters=self.n_clusters,
            random_state=self.random_state,
            scale=None,
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
        )
        data = MultiViewData.of(views)
        budget = Budget(self.method, self.time_limit, self.memory_limit)
        scaled = MultiViewData.of(list(scaled_views(data, self.scale, budget)))
        return np.asarray(model.fit_predict(scaled), dtype=np.int32)
