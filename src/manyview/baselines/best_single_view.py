"""BestSingleView: k-means on each view; returns the view that agrees most with the others.

P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster
analysis", Journal of Computational and Applied Mathematics, 1987, to break ties.

Objective, for each view v, over one-hot labels Y_v and centers C_v::

    J_v = ‖X_v − Y_v C_v‖²

These are not comparable between views. The score of a view is the mean normalized mutual
information between its labels and those of each other view: structure that is found in several
views is less likely to be noise. Ties, as always with two views, are broken by the larger
silhouette on a subset, then by the order of the views.

Complexity: k-means on each view, O(n k Σ_v d_v) time per iteration; V² comparisons of labels, O(n)
each; silhouettes on at most 1000 rows. Memory is O(n max_v d_v) for a scaled copy.

Differences from published tables: those choose the best view with the true labels; here, no labels
are used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score, silhouette_score

from manyview.base import COUNT, generator, param, scale_option
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._finish import best_kmeans
from manyview.baselines._scaling import Rows, Scale, joined_views
from manyview.data.views import MultiViewData
from manyview.utils.types import FloatArray

_SILHOUETTE_ROWS = 1000
Labels = NDArray[np.int32]


@dataclass(eq=False, repr=False, kw_only=True)
class BestSingleView(Baseline):
    """k-means on the single view whose clusters agree most with those of the other views.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    scale : None, "auto", "unit", "l2", "sqrt-l2", "z", "z-l2" or a list of these, default="z"
        Scaling of the views; see OMVCDR. With a list, the scaled views are concatenated.
    n_init : int, default=10
        Number of starts on each view; the one with the lowest inertia is kept.
    random_state : int, RandomState or None, default=None
        Seed of the starts, and of the subset for the silhouettes.
    time_limit : float, optional
        Seconds; a fit that takes longer raises DeclinedError.
    memory_limit : float, optional
        Bytes in addition to the views; a fit that needs more raises DeclinedError.
    view_sizes : sequence of int, optional
        Number of features of each view, if X is one 2-D array of concatenated views.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each sample, in the chosen view.
    best_view_ : int
        Index of that view.
    view_scores_ : array of shape (n_views,)
        Mean normalized mutual information between the clusters of each view and of the others.
    view_silhouettes_ : array of shape (n_views,)
        Silhouette of the clusters of each view in that view, on a subset.

    References
    ----------
    P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis", Journal of Computational and Applied Mathematics, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.best_single_view import BestSingleView
    >>> clear, noise = np.array([[0.0], [1], [8], [9]]), np.array([[1.0], [4], [2], [3]])
    >>> model = BestSingleView(n_clusters=2, random_state=0).fit([noise, clear, 2 * clear])
    >>> model.best_view_
    1
    """

    scale: Scale = param("z", scale_option())
    n_init: int = param(10, COUNT)
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        rng = generator(self.random_state)
        size = min(_SILHOUETTE_ROWS, data.n_samples)
        sample = rng.choice(data.n_samples, size, replace=False)
        partitions: list[Labels] = []
        silhouettes = []
        for v in range(data.n_views):
            X = joined_views(data, self.scale, v, budget)
            labels = best_kmeans(X, self.n_clusters, self.n_init, rng, budget).labels_
            partitions.append(labels)
            silhouettes.append(_silhouette(X[sample], labels[sample]))
        self.view_scores_ = _agreement(partitions)
        self.view_silhouettes_ = np.array(silhouettes)
        is_best = self.view_scores_ >= self.view_scores_.max() - 1e-12
        self.best_view_ = int(np.where(is_best, self.view_silhouettes_, -np.inf).argmax())
        self.labels_ = partitions[self.best_view_]


def _agreement(partitions: list[Labels]) -> FloatArray:
    """Mean normalized mutual information with the other partitions; 1 for a single partition."""
    V = len(partitions)
    table = np.eye(V)
    for u in range(V):
        for v in range(u):
            table[u, v] = table[v, u] = normalized_mutual_info_score(partitions[u], partitions[v])
    return np.ones(1) if V == 1 else (table.sum(axis=1) - 1) / (V - 1)


def _silhouette(rows: Rows, labels: Labels) -> float:
    """Mean silhouette; −1 if it is not defined."""
    n_found = len(np.unique(labels))
    return float(silhouette_score(rows, labels)) if 1 < n_found < len(labels) else -1.0
