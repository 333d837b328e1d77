"""ConcatSpectral: spectral clustering of the concatenated views.

A. Ng, M. Jordan, Y. Weiss, "On spectral clustering: analysis and an algorithm", NIPS, 2001;
U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing, 2007.

Objective, over orthonormal U, with W the graph of nearest neighbors and D its degrees::

    max tr(Uᵀ D^(-1/2) W D^(-1/2) U),   then k-means on the rows of U

Complexity: the search for neighbors takes O(n² Σ_v d_v) time; memory is O(n Σ_v d_v), for the
concatenated copy.

Differences from scikit-learn's `SpectralClustering` on a concatenated array: views are scaled
first, and the limits of time and memory are checked between the steps.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.manifold import spectral_embedding
from sklearn.neighbors import kneighbors_graph

from manyview.base import COUNT, generator, param, scale_option
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._finish import best_kmeans
from manyview.baselines._scaling import Scale, joined_views
from manyview.data.views import MultiViewData


@dataclass(eq=False, repr=False, kw_only=True)
class ConcatSpectral(Baseline):
    """Spectral clustering of the nearest-neighbor graph of the concatenated views.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    scale : None, "auto", "unit", "l2", "sqrt-l2", "z", "z-l2" or a list of these, default="z"
        Scaling of the views; see OMVCDR.
    n_neighbors : int, default=10
        Number of neighbors of a sample, including itself.
    n_init : int, default=10
        Number of starts of the final k-means.
    random_state : int, RandomState or None, default=None
        Seed of the eigenvectors and of the starts.
    time_limit : float, optional
        Seconds; a fit that takes longer raises DeclinedError.
    memory_limit : float, optional
        Bytes in addition to the views; a fit that needs more raises DeclinedError.
    view_sizes : sequence of int, optional
        Number of features of each view, if X is one 2-D array of concatenated views.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each sample.

    References
    ----------
    U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing, 2007.

    Examples
    --------
    >>> from manyview.baselines.concat_spectral import ConcatSpectral
    >>> from manyview.datasets import make_multiview_blobs
    >>> views, target = make_multiview_blobs(random_state=0, return_X_y=True)
    >>> ConcatSpectral(n_clusters=3, random_state=0).fit_predict(views).shape == target.shape
    True
    """

    scale: Scale = param("z", scale_option())
    n_neighbors: int = param(10, COUNT)
    n_init: int = param(10, COUNT)
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        X = joined_views(data, self.scale, None, budget)
        rng = generator(self.random_state)
        n_neighbors = min(self.n_neighbors, data.n_samples)
        graph = kneighbors_graph(X, n_neighbors, include_self=True)
        budget.tick("the neighbors are found")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a graph that is not connected
            rows = spectral_embedding(
                0.5 * (graph + graph.T),
                n_components=min(self.n_clusters, data.n_samples - 1),
                drop_first=False,
                random_state=int(rng.integers(2**31)),
            )
        budget.tick("the eigenvectors are found")
        self.labels_ = best_kmeans(rows, self.n_clusters, self.n_init, rng, budget).labels_
