"""SFMC: fuses the anchor graphs of the views into one graph with k connected components.

X. Li et al., "Multiview Clustering: A Scalable and Parameter-Free Bipartite Graph Fusion Method",
IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

Objective, over a graph P between n samples and m anchors and weights α on the simplex; B_v joins a
sample to its 10 nearest anchors, and L_P is the Laplacian of P::

    min ‖Σ_v α_v B_v − P‖²   with P ≥ 0, P1 = 1, rank(L_P) = n + m − k

The labels are the components of P.

Complexity: the graphs take O(n m Σ_v d_v) time, then an iteration O(n V k) for each product of a
Lanczos run, about a hundred per pass, with about 15 passes. Memory is O(n V²): P
lives on the edges of the B_v, at most 10 V per sample.

Differences from the published program:

1. In the first pass over P it multiplies the vectors of samples by 1 and those of anchors by 10,
   where the formula divides them by the roots of the degrees. If a pass gives too many components,
   it tries to return to the previous vectors, but has overwritten them. The default follows the
   formula, ``quirks=True`` the program.
2. It takes m = n/2 anchors, and dense matrices of n × m and m × m. We take as many, but at most
   5000, the m of n = 10 000: distances to anchors, O(n m), would otherwise be quadratic in n and
   dominate the running time. `n_anchors` sets any number.
3. It fails if the graph of the views has more than k components from the start; no P on its
   edges has fewer. We return those components and warn.
4. If P does not have k components at the end, the labels are still the components, as in the
   program; we warn. ``finish="kmeans"`` gives k clusters: k-means on the singular vectors of P.
5. α is exact (nonnegative least squares); the program takes up to 500 gradient steps.
6. Eigenvectors come from sparse products, those of the eigenvalue 1 from the components themselves.
7. It divides a view by its maximum; we do so for the scores that pick the anchors, and B_v does not
   depend on it. Where those scores run out, the remaining anchors are evenly spaced rows.
   Scores are rounded to 12 digits: picking anchors iterates s ← s(1 − s), which is chaotic. Noise
   of 1e-6 in the features still moves ACC, from 0.68 to 0.82 on msrcv1_5v, in 7 runs, and from
   0.9725 to 0.9845 on handwritten_2v; the published spread of 0 says only that nothing is drawn.
8. Rows whose 11 nearest anchors are equally far get equal weights; the program gives them none.
9. We stop early once α has converged; the program always makes 10 iterations.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import nnls

from manyview.base import COUNT, FLAG, NONE, either, generator, number, one_of, param
from manyview.baselines._anchor_graph import BLOCK, anchor_graph, joint_support
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._das import alternate_rows
from manyview.baselines._finish import best_kmeans
from manyview.baselines._structured_graph import Edges, StructuredGraph, structure_graph
from manyview.data.conversion import View
from manyview.data.views import MultiViewData
from manyview.exceptions import ConvergenceWarning
from manyview.utils.types import FloatArray

_MAX_ANCHORS = 5000
_KMEANS_RUNS = 20
_RESTS = 1e-10  # change of α at convergence


@dataclass(eq=False, repr=False, kw_only=True)
class SFMC(Baseline):
    """Scalable, parameter-free bipartite graph fusion.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k; the number that was found is `n_components_`.
    anchor_rate : float, default=0.5
        Share of the samples that serve as anchors, up to 5000 of them.
    n_anchors : int, optional
        Number of anchors; replaces `anchor_rate` and its bound.
    n_neighbors : int, default=10
        Number of anchors that a sample is connected to in each view.
    max_iter : int, default=10
        Maximum number of updates of the weights.
    finish : {"components", "kmeans"}, default="components"
        Labels are the components of the graph, as published, or k clusters of its spectral
        embedding.
    quirks : bool, default=False
        Follow the program where it deviates from its formulas; see difference 1 of the module.
    random_state : int, RandomState or None, default=None
        Seed of the k-means of ``finish="kmeans"``; components hardly depend on it.
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
    n_components_ : int
        Number of connected components of the graph; `n_clusters` if the method succeeded.
    view_weights_ : array of shape (n_views,)
        Weight of each view, α.
    anchor_rows_ : array of int of shape (n_anchors,)
        Samples that served as anchors.
    objective_history_ : array of shape (n_iter,)
        ‖Σ_v α_v B_v − P‖² after each update of α. P is not its minimizer, so it may increase.
    n_iter_ : int
        Number of updates of α.
    n_features_in_ : int
        Number of features of all views.

    References
    ----------
    X. Li et al., "Multiview Clustering: A Scalable and Parameter-Free Bipartite Graph Fusion
    Method", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.sfmc import SFMC
    >>> line = np.linspace(0, 1, 8)[:, None]
    >>> views = [np.vstack([line, line + 9]), np.vstack([line + 5, line])]
    >>> labels = SFMC(n_clusters=2, n_neighbors=3).fit_predict(views)
    >>> labels == labels[0]
    array([ True,  True,  True,  True,  True,  True,  True,  True, False,
           False, False, False, False, False, False, False])
    """

    anchor_rate: float = param(0.5, number(above=0, most=1))
    n_anchors: int | None = param(None, either(NONE, COUNT))
    n_neighbors: int = param(10, COUNT)
    max_iter: int = param(10, COUNT)
    finish: Literal["components", "kmeans"] = param("components", one_of("components", "kmeans"))
    quirks: bool = param(False, FLAG)
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        n, V = data.n_samples, data.n_views
        n_edges = n * V * min(self.n_neighbors, self._count_anchors(n))
        budget.need(8 * n_edges * (V + 12) + 24 * BLOCK, f"graphs of up to {n_edges} edges")
        self.anchor_rows_ = alternate_rows(_score(data.arrays), self._count_anchors(n))
        edges, B = joint_support(
            [anchor_graph(X, self.anchor_rows_, self.n_neighbors, budget) for X in data.arrays]
        )
        rng = generator(self.random_state)
        graph = self._fuse(edges, B, rng.normal(size=edges.shape[1]), budget)
        self.n_components_ = graph.n_components
        self.labels_ = graph.labels
        if self.finish == "kmeans":
            norm = np.linalg.norm(graph.embedding, axis=1, keepdims=True)
            rows = graph.embedding / np.where(norm > 0, norm, 1)
            self.labels_ = best_kmeans(rows, self.n_clusters, _KMEANS_RUNS, rng, budget).labels_
        elif self.n_components_ != self.n_clusters:
            msg = (
                f"The graph fell into {self.n_components_} components, not into n_clusters="
                f"{self.n_clusters}; the labels are those. Use finish='kmeans' for n_clusters "
                "clusters."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=4)

    def _count_anchors(self, n_samples: int) -> int:
        """Each cluster needs an anchor, and no anchor is used twice."""
        wanted = self.n_anchors or min(int(self.anchor_rate * n_samples), _MAX_ANCHORS)
        return min(max(wanted, self.n_clusters), n_samples)

    def _fuse(
        self, edges: Edges, B: FloatArray, start: FloatArray, budget: Budget
    ) -> StructuredGraph:
        """Alternate P and α, then P once more."""
        alpha = np.full(len(B), 1 / len(B))
        history: list[float] = []
        while True:
            graph = structure_graph(
                edges,
                alpha @ B,
                self.n_clusters,
                start=start,
                is_released=self.quirks,
                tick=lambda: budget.tick(f"{len(history)} iterations done"),
            )
            if len(history) == self.max_iter:
                break
            before, alpha = alpha, _update_alpha(B - graph.values)
            history.append(float(np.sum((alpha @ B - graph.values) ** 2)))
            if np.abs(alpha - before).max() < _RESTS:
                break
        self.view_weights_ = alpha
        self.objective_history_ = np.array(history)
        self.n_iter_ = len(history)
        return graph


def _score(views: Sequence[View]) -> FloatArray:
    """Σ_v Σ_f (x_if − min_f) / max X_v: score of a sample, relative to the minima."""
    score = np.zeros(views[0].shape[0])
    for X in views:
        top = float(X.max())
        heights = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        heights -= float(X.min(axis=0).sum(dtype=np.float64))
        score += np.maximum(heights, 0) / (top if top > 0 else 1.0)
    return score


def _update_alpha(residuals: FloatArray) -> FloatArray:
    """argmin ‖Σ_v α_v r_v‖² on the simplex, r_v = B_v − P.

    It is x/1ᵀx of the nonnegative least squares ‖Rx‖² + (1ᵀx − 1)², where RᵀR is the Gram matrix
    of the r_v: both have the same optimality conditions.
    """
    V = len(residuals)
    gram = residuals @ residuals.T
    size = np.trace(gram) / V
    if size == 0:
        return np.full(V, 1 / V)
    values, vectors = np.linalg.eigh(gram / size)
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    x, _ = nnls(np.vstack([root, np.ones(V)]), np.append(np.zeros(V), 1.0))
    return np.asarray(x / x.sum())
