"""BestSingleView: k-means on each view; the view that the others agree with most, without labels.

P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster
analysis", Journal of Computational and Applied Mathematics, 1987, for the choice between equals.

Objective, for each view v, over one-hot labels Y_v and centers C_v::

    J_v = ‖X_v − Y_v C_v‖²

These are not comparable between views. The score of a view is the mean normalized mutual
information of its labels with those of each other view: structure that several views show is
less likely to be noise of one. Where scores are equal, as they always are of two views, the larger
silhouette on a sample decides, and then the earlier view.

Complexity: k-means on each view, O(n k Σ_v d_v) time an iteration; V² comparisons of labels, O(n)
each; silhouettes on at most 1000 rows. Memory is O(n max_v d_v) for a scaled copy.

Differences from the best view of published tables: those choose with the labels known.
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

__all__ = ["BestSingleView"]

_SILHOUETTE_ROWS = 1000
Labels = NDArray[np.int32]


@dataclass(eq=False, repr=False, kw_only=True)
class BestSingleView(Baseline):
    """The one view whose clusters the other views confirm best, clustered by k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    scale : None, "auto", "unit", "l2", "sqrt-l2", "z", "z-l2" or a list of these, default="z"
        How views are scaled; see OMVCDR. Of a list, the scaled views stand side by side.
    n_init : int, default=10
        Number of starts on each view; the least inertia wins.
    random_state : int, RandomState or None, default=None
        Seed of the starts, and of the sample for the silhouettes.
    time_limit : float, optional
        Seconds; a fit that takes longer declines.
    memory_limit : float, optional
        Bytes beside the views; a fit that needs more declines.
    view_sizes : sequence of int, optional
        Widths of the views where X is one 2-D array.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each sample, by the view chosen.
    best_view_ : int
        Index of that view.
    view_scores_ : array of shape (n_views,)
        Mean normalized mutual information of each view's clusters with those of the others.
    view_silhouettes_ : array of shape (n_views,)
        Silhouette of each view's clusters in that view, on a sample.

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
    """Mean normalized mutual information with the other partitions; one for a single one."""
    V = len(partitions)
    table = np.eye(V)
    for u in range(V):
        for v in range(u):
            table[u, v] = table[v, u] = normalized_mutual_info_score(partitions[u], partitions[v])
    return np.ones(1) if V == 1 else (table.sum(axis=1) - 1) / (V - 1)


def _silhouette(rows: Rows, labels: Labels) -> float:
    """Mean silhouette; the lowest possible where it is not defined."""
    n_found = len(np.unique(labels))
    return float(silhouette_score(rows, labels)) if 1 < n_found < len(labels) else -1.0
