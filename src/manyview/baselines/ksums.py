"""KSums: balanced clusters with the smallest sum of pairwise distances.

S. Pei et al., "Centerless Clustering", IEEE Transactions on Pattern Analysis and Machine
Intelligence, 2023 (k-sums-x); eq. (ksumx) of the OMVCDR paper.

Objective, over one-hot labels Y and squared distances D::

    J = tr(YᵀDY) = Σ_c Σ_{i,j∈c} ‖x_i − x_j‖² = 2 Σ_c n_c Σ_{i∈c} ‖x_i − x̄_c‖²

The scatter of a cluster is weighted by its size, which favors balanced clusters. The input is one
view, or all views concatenated.

Complexity: a sweep takes O(n k d) time for the products and O(d) for each move and each of at most
64 rows that it corrects; memory is O(n d), and no n × n array.

Differences from the published program:

1. Clusters start at random with equal sizes. The program draws a label for each sample, whatever
   start it was given.
2. A sample moves only if that decreases J, beyond rounding; the program takes the first of equal
   costs, which may move a sample back and forth.
3. Blocks have 64 rows, not 200. Both programs keep the costs exact inside a block, so this does
   not change the labels.
4. It stops once fewer than n/1000 samples move, and so do we, or once none does, which the program
   overlooks below n = 1000.
5. Rows are centered first, which changes no distance and improves the precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyview.base import COUNT, generator, number, param, scale_option
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._finish import cluster_sums, lowest
from manyview.baselines._scaling import VIEW, Rows, Scale, joined_views
from manyview.data.views import MultiViewData
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray

Labels = NDArray[np.int32]


@dataclass(eq=False, repr=False, kw_only=True)
class KSums(Baseline):
    """Balanced clustering without centers, of one view or of all views concatenated.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    view : int, optional
        Index of the view to cluster; None concatenates all views.
    scale : None, "auto", "unit", "l2", "sqrt-l2", "z", "z-l2" or a list of these, default=None
        Scaling of the views; see OMVCDR.
    n_init : int, default=10
        Number of random starts; the one with the lowest objective is kept.
    max_iter : int, default=100
        Maximum number of sweeps of a start.
    tol : float, default=1e-3
        A start ends once a sweep moves fewer than this share of the samples.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
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
    objective_history_ : array of shape (n_iter,)
        Objective after each sweep of the best start.
    n_iter_ : int
        Number of its sweeps.

    References
    ----------
    S. Pei et al., "Centerless Clustering", IEEE Transactions on Pattern Analysis and Machine
    Intelligence, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.ksums import KSums
    >>> labels = KSums(n_clusters=2, random_state=0).fit_predict(np.array([[0.0], [1], [8], [9]]))
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    view: int | None = param(None, VIEW)
    scale: Scale = param(None, scale_option())
    n_init: int = param(10, COUNT)
    max_iter: int = param(100, COUNT)
    tol: float = param(1e-3, number(least=0))
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        X = joined_views(data, self.scale, self.view, budget)
        budget.need(X.nbytes, "the centered rows")
        X = np.ascontiguousarray(X - X.mean(axis=0, dtype=np.float64).astype(X.dtype))
        rng = generator(self.random_state)
        with limit_threads(1):  # products of 64 rows are too small for threads
            runs = (self._start(X, rng, budget) for _ in range(self.n_init))
            run = lowest(runs)
        self.labels_ = run.labels
        self.objective_history_ = np.array(run.history)
        self.n_iter_ = len(run.history)

    def _start(self, X: Rows, rng: np.random.Generator, budget: Budget) -> _Run:
        """Sweep from random labels until few samples move."""
        labels: Labels = (rng.permutation(len(X)) % self.n_clusters).astype(np.int32)
        sqnorm = np.einsum("ij,ij->i", X, X).astype(np.float64)
        clusters = _Clusters.of(X, sqnorm, labels, self.n_clusters)
        history: list[float] = []
        while len(history) < self.max_iter:
            budget.tick(f"{len(history)} sweeps of a start done")
            n_moved = _sweep(X, sqnorm, labels, clusters)
            clusters = _Clusters.of(X, sqnorm, labels, self.n_clusters)  # removes rounding errors
            history.append(clusters.objective)
            if n_moved == 0 or n_moved < int(self.tol * len(X)):
                break
        return _Run(labels, history)


@dataclass(frozen=True)
class _Run:
    """Result of one start."""

    labels: Labels  # (n,)
    history: list[float]


@dataclass(frozen=True)
class _Clusters:
    """Statistics of the clusters."""

    count: FloatArray  # (k,)
    total: FloatArray  # (k, d)
    sum_squares: FloatArray  # (k,): sums of ‖x‖²

    @classmethod
    def of(cls, X: Rows, sqnorm: FloatArray, labels: Labels, k: int) -> _Clusters:
        """Sums over the clusters, in float64."""
        count = np.bincount(labels, minlength=k).astype(np.float64)
        sum_squares = np.bincount(labels, weights=sqnorm, minlength=k).astype(np.float64)
        return cls(count, cluster_sums(X, labels, k), sum_squares)

    @property
    def objective(self) -> float:
        """J = 2 Σ_c (n_c q_c − ‖t_c‖²)."""
        return float(
            2 * (self.count @ self.sum_squares - np.einsum("ij,ij->", self.total, self.total))
        )


def _sweep(X: Rows, sqnorm: FloatArray, labels: Labels, clusters: _Clusters) -> int:
    """One pass over all samples; changes `labels`, and copies of the sums."""
    from manyview.baselines._ksums_kernels import sweep  # numba is slow to import

    tolerance = 1e-12 if X.dtype == np.float64 else 1e-6
    total = clusters.total.astype(X.dtype)
    return int(
        sweep(
            X, sqnorm, labels, clusters.count.copy(), total, clusters.sum_squares.copy(), tolerance
        )
    )
