"""OMVCDR as its authors published it: the released program, or Algorithm 1 as printed.

X. Wan et al., "One-step Multi-view Clustering with Diverse Representation", IEEE Transactions on
Neural Networks and Learning Systems, 2024.

Objective, over m latent spaces of k, 2k, ..., mk dimensions, H_pvᵀH_pv = I, α on the simplex::

    J = Σ_p Σ_v ‖X_v − Z_p H_pvᵀ‖² + λ/2 Σ_p α_p² Σ_c Σ_{i,j∈c} ‖z_pi − z_pj‖²

Complexity: with D = k m(m+1)/2 dimensions in all, an iteration takes O(n D Σ_v d_v) time, and
O(n D k) for each sweep over the labels; memory is O(n D) in addition to the views.

Differences of the released program (``variant="released"``) from the paper (``variant="paper"``):

1. The reconstruction has a factor 1/m², so the paper's λ is m² times the program's. The grid
   2⁻⁵ .. 2⁵ of the paper is the program's, and `objective_history_` is J/m².
2. Weights are α_p ∝ q_p^(−1/2), q_p being what α_p² multiplies in J. The paper has 1/q_p, the
   minimizer; with those of the program, J can increase (it did in 8 of 240 small random runs).
3. Label sweeps are repeated until none changes. Algorithm 1 has one sweep per iteration.

Both variants follow the program where the paper gives no details:

4. Nothing is random. k rows are picked by directly alternate sampling (DAS) from the
   concatenated views, unscaled, and k-means starts from them. DAS fails if row sums are negative.
5. It stops after 101 iterations, or once J changes by less than 1e-5 of its value, from the
   third iteration on. Usually it reaches the 101 iterations.
6. Both sweeps run in file order, from Z = 0, and the public files are sorted by class. Three
   shuffles (seeds 0 to 2) give ACC 0.9005, 0.9040, 0.8965 for the 0.9250 of handwritten_2v, and
   0.5656, 0.5616, 0.5708 for the 0.5696 of bdgp: a clear loss on the first only. J ends higher in
   all six.
7. Where d_v < d_p only the rows of H_pv are orthonormal, and the update of Z, which divides by V
   as if HᵀH = I, is not a minimizer: J may increase.

Differences of ours from the program:

1. If J increases, the program aborts. We warn, stop, and return the previous iteration.
2. Sums over clusters are recomputed in each step; the program updates them throughout the run.
3. q_p comes from centred sums and has a floor, so that equal rows do not divide by zero.
4. A step has at most 1000 label sweeps: rounding might move a tie back and forth forever.
5. The initial labels use all views; the program uses only the first if its cell array is a row.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import softmax

from manyview.base import COUNT, FLAG, number, one_of, param
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._finish import dense
from manyview.data.conversion import View
from manyview.data.views import MultiViewData
from manyview.exceptions import ConvergenceWarning
from manyview.utils.types import FloatArray

_MAX_LLOYD = 100  # MATLAB's default
_MAX_SWEEPS = 1000
_NOISE = 1e-12  # of m Σ_v ‖X_v‖²: rounding error of J

Labels = NDArray[np.int32]


@dataclass(eq=False, repr=False, kw_only=True)
class PublishedOMVCDR(Baseline):
    """The published OMVCDR: the authors' program, or Algorithm 1 exactly as printed.

    For comparison only: labels depend on the order of the rows, and the views are not scaled, so
    that a view with large values dominates. Use :class:`manyview.OMVCDR` for your own data.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    lam : float, default=8.0
        Coupling between the embedding and the clusters, λ. With ``variant="released"`` it is
        that of the program, (`n_spaces`)² times smaller than the paper's.
    n_spaces : int, default=3
        Number of latent spaces, m; they have k, 2k, ..., mk dimensions.
    variant : {"released", "paper"}, default="released"
        The program that gave the numbers of the paper, or Algorithm 1 as printed.
    learn_weights : bool, default=True
        False keeps the weights of the spaces equal, as the paper's ablation does.
    max_iter : int, default=101
        Maximum number of iterations; the default is that of the program.
    tol : float, default=1e-5
        Relative tolerance: stop once the objective changes by less than this share of its value.
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
    space_weights_ : array of shape (n_spaces,)
        Weight of each latent space, α.
    bases_ : list of lists of arrays of shape (d_v, d_p)
        Bases by space, then by view. Columns are orthonormal; rows are, if d_v < d_p.
    objective_history_ : array of shape (n_iter,)
        Objective after each iteration; that of the program includes its factor 1/m².
    n_iter_ : int
        Number of iterations, without one that increased the objective.
    n_features_in_ : int
        Number of features of all views.

    References
    ----------
    X. Wan et al., "One-step Multi-view Clustering with Diverse Representation", IEEE Transactions
    on Neural Networks and Learning Systems, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import PublishedOMVCDR
    >>> far, near = np.full((2, 6), 9.0), np.full((2, 8), 1.0)
    >>> views = [np.vstack([far, far / 9]), np.vstack([near * 9, near])]
    >>> PublishedOMVCDR(n_clusters=2, lam=1.0, n_spaces=2).fit_predict(views)
    array([0, 0, 1, 1], dtype=int32)
    """

    lam: float = param(8.0, number(above=0))
    n_spaces: int = param(3, COUNT)
    variant: Literal["released", "paper"] = param("released", one_of("released", "paper"))
    learn_weights: bool = param(True, FLAG)
    max_iter: int = param(101, COUNT)
    tol: float = param(1e-5, number(least=0))

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        width = self.n_clusters * self.n_spaces * (self.n_spaces + 1) // 2
        budget.need(data.n_samples * (8 * 3 * width + 16), "the embeddings")
        views = [X.astype(np.float64, copy=False) for X in data.arrays]
        dims = [p * self.n_clusters for p in range(1, self.n_spaces + 1)]
        factor = 1.0 if self.variant == "paper" else self.n_spaces**-2.0  # of the reconstruction
        rule = _Rule(self.lam / factor, weight_power=1.0, n_sweeps=1)
        if self.variant == "released":
            rule = replace(rule, weight_power=0.5, n_sweeps=_MAX_SWEEPS)
        if not self.learn_weights:
            rule = replace(rule, weight_power=0.0)
        states = _states(views, _start_labels(views, self.n_clusters), rule, dims)
        state, history = _sweep_to_convergence(states, self.max_iter, self.tol, budget)
        self.labels_ = state.labels
        self.space_weights_ = state.alpha
        self.bases_ = [
            list(H_p) for H_p in zip(*(_by_space(H, dims) for H in state.bases), strict=True)
        ]
        self.objective_history_ = factor * np.array(history)
        self.n_iter_ = len(history)


@dataclass(frozen=True)
class _Rule:
    """What distinguishes the variants; λ is the paper's."""

    lam: float
    weight_power: float  # α_p ∝ r_p^(-weight_power)
    n_sweeps: int  # maximum number of label sweeps per iteration


@dataclass(frozen=True)
class _State:
    """State after one iteration."""

    bases: list[FloatArray]  # v: (d_v, D), spaces concatenated
    embedding: FloatArray  # (n, D), spaces concatenated; overwritten by the next iteration
    labels: Labels  # (n,)
    alpha: FloatArray  # (m,)
    objective: float  # in the paper's scale
    noise: float  # rounding error of the objective


def _start_labels(views: Sequence[View], n_clusters: int) -> Labels:
    """k-means from the DAS seeds, batch phase only, as MATLAB's kmeans runs it."""
    seeds = _seed_rows(views, n_clusters)
    distances = _distances(views, [dense(X[seeds]) for X in views])
    labels: Labels = distances.argmin(axis=1).astype(np.int32)
    rows = np.arange(len(labels))
    previous, inertia = labels, np.inf
    for _ in range(_MAX_LLOYD):
        labels, distances = _fill_empty(views, labels, n_clusters)
        own = distances[rows, labels]
        if own.sum() >= inertia:
            break
        previous, inertia = labels, own.sum()
        nearest = distances.argmin(axis=1)
        is_closer = distances[rows, nearest] < own  # ties stay
        if not is_closer.any():
            break
        labels = np.where(is_closer, nearest, labels).astype(np.int32)
    return previous


def _seed_rows(views: Sequence[View], n_clusters: int) -> list[int]:
    """DAS: take the highest score s, scale it to 1, then s ← s(1 − s), which rules it out."""
    score = np.sum([dense(X.sum(axis=1)).ravel() for X in views], axis=0)  # (n,)
    seeds: list[int] = []
    with np.errstate(all="ignore"):  # scores without a positive maximum end as −inf or NaN
        for _ in range(n_clusters):
            seeds.append(int(np.argmax(np.where(np.isnan(score), -np.inf, score))))
            score = score / score[seeds[-1]]
            score = score * (1 - score)
    return seeds


def _fill_empty(
    views: Sequence[View], labels: Labels, n_clusters: int
) -> tuple[Labels, FloatArray]:
    """Give each empty cluster the sample farthest from its mean; labels, and distances to means."""
    labels = labels.copy()
    while True:
        count = np.bincount(labels, minlength=n_clusters)
        size = np.maximum(count, 1)[:, None]
        means = [_cluster_sums(X, labels, n_clusters) / size for X in views]
        distances = _distances(views, means)
        if count.all():
            return labels, distances
        far = int(distances[np.arange(len(labels)), labels].argmax())
        if count[labels[far]] == 1:  # taking it would empty another cluster
            far = int(np.flatnonzero(count[labels] > 1)[0])
        labels[far] = np.flatnonzero(count == 0)[0]


def _distances(views: Sequence[View], centers: list[FloatArray]) -> FloatArray:
    """‖x_i − c‖² over all views, without concatenating them."""
    distances = np.zeros((views[0].shape[0], len(centers[0])))
    for X, C in zip(views, centers, strict=True):
        distances += _row_sqnorms(X)[:, None] - 2 * (X @ C.T) + _row_sqnorms(C)
    return distances


def _cluster_sums(X: View, labels: Labels, n_clusters: int) -> FloatArray:
    """t_c = Σ_{i∈c} x_i."""
    n = len(labels)
    member = sparse.csr_array((np.ones(n), (labels, np.arange(n))), shape=(n_clusters, n))
    return dense(member @ X)


def _row_sqnorms(X: View) -> FloatArray:
    """‖x_i‖²."""
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.asarray(squares, dtype=np.float64).ravel()


def _states(
    views: Sequence[View], labels: Labels, rule: _Rule, dims: list[int]
) -> Iterator[_State]:
    """Alternate Z, H, Y and α endlessly, from H = I, Z = 0 and equal weights."""
    k, m = dims[0], len(dims)
    space = np.repeat(np.arange(m), dims)  # (D,): the space of each column
    bases = [np.hstack([np.eye(X.shape[1], d_p) for d_p in dims]) for X in views]
    sqnorm = sum(float(_row_sqnorms(X).sum()) for X in views)
    Z = np.zeros((len(labels), sum(dims)))
    alpha = np.full(m, 1 / m)
    while True:
        _update_Z(Z, views, bases, labels, rule.lam * alpha[space] ** 2)
        cross = [X.T @ Z for X in views]  # v: (d_v, D)
        bases = [_update_H(C, dims) for C in cross]
        labels = _update_Y(Z * alpha[space], labels, k, rule.n_sweeps)
        spread = _spread(Z, labels, dims)
        alpha = _update_alpha(spread, rule.weight_power, floor=_NOISE * sqnorm)
        explained = sum(float((C * H).sum()) for C, H in zip(cross, bases, strict=True))
        residual = m * sqnorm - 2 * explained + _fitted_sqnorm(Z, bases, dims)
        objective = residual + rule.lam * float(alpha**2 @ spread)
        yield _State(bases, Z, labels, alpha, objective, noise=_NOISE * m * sqnorm)


def _sweep_to_convergence(
    states: Iterator[_State], max_iter: int, tol: float, budget: Budget
) -> tuple[_State, list[float]]:
    """Iterate until J converges or increases; return the last state and the history of J."""
    state = next(states)
    history = [state.objective]
    for following in islice(states, max_iter - 1):
        budget.tick(f"{len(history)} iterations done")
        change = following.objective - state.objective
        is_judged = len(history) > 1  # from the third iteration on
        if is_judged and change > following.noise:
            rise = change / (abs(state.objective) + following.noise)
            msg = (
                f"The objective rose by {rise:.1e} of its value in iteration {len(history) + 1}; "
                "the labels are those of the previous iteration. Possible causes: the released "
                "weights, or views of fewer than n_spaces * n_clusters features. Use OMVCDR, or "
                "fewer spaces."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=4)
            break
        state = following
        history.append(state.objective)
        if is_judged and abs(change) < tol * abs(state.objective):
            break
    return state, history


def _update_Z(
    Z: FloatArray,
    views: Sequence[View],
    bases: list[FloatArray],
    labels: Labels,
    coupling: FloatArray,
) -> None:
    """z_i ← (a_i + g Σ_{j∈c, j≠i} z_j) / (V + g(n_c − 1)), a_i = Σ_v H_vᵀ x_vi; one sweep."""
    from manyview.baselines._published_kernels import sweep_embedding  # numba is slow to import

    A = np.zeros_like(Z)
    for X, H in zip(views, bases, strict=True):
        A += X @ H
    count = np.bincount(labels)
    shrink = 1 / (len(views) + coupling * np.maximum(count - 1, 0)[:, None])  # (k, D)
    sweep_embedding(Z, A, labels, _cluster_sums(Z, labels, len(count)), coupling, shrink)


def _update_H(cross: FloatArray, dims: list[int]) -> FloatArray:
    """H_pv = U Wᵀ, where U Σ Wᵀ = X_vᵀ Z_p."""
    polar = []
    for C in _by_space(cross, dims):
        U, _, Wt = linalg.svd(C, full_matrices=False)
        polar.append(U @ Wt)
    return np.hstack(polar)


def _update_Y(rows: FloatArray, labels: Labels, n_clusters: int, n_sweeps: int) -> Labels:
    """y_i = argmin_c Σ_p α_p² Σ_{j∈c} ‖z_pi − z_pj‖², rows being the concatenated z_p α_p."""
    from manyview.baselines._published_kernels import sweep_labels

    labels = labels.copy()
    norms = _row_sqnorms(rows)
    count = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    sqnorm = _cluster_sums(norms[:, None], labels, n_clusters).ravel()
    total = np.ascontiguousarray(_cluster_sums(rows, labels, n_clusters).T)
    for _ in range(n_sweeps):
        if sweep_labels(labels, rows, norms, count, total, sqnorm) == 0:
            break
    return labels


def _update_alpha(spread: FloatArray, power: float, floor: float) -> FloatArray:
    """α_p ∝ r_p^(−power)."""
    return softmax(-power * np.log(np.maximum(spread, floor + np.finfo(float).tiny)))


def _spread(Z: FloatArray, labels: Labels, dims: list[int]) -> FloatArray:
    """r_p = ½ Σ_c Σ_{i,j∈c} ‖z_pi − z_pj‖² = Σ_c n_c Σ_{i∈c} ‖z_pi − z̄_pc‖²."""
    count = np.bincount(labels, minlength=dims[0])
    mean = _cluster_sums(Z, labels, dims[0]) / np.maximum(count, 1)[:, None]
    deviation = Z - mean[labels]
    scatter = count[labels] @ deviation**2  # (D,)
    return np.array([part.sum() for part in _by_space(scatter, dims)])


def _fitted_sqnorm(Z: FloatArray, bases: list[FloatArray], dims: list[int]) -> float:
    """Σ_p Σ_v ‖Z_p H_pvᵀ‖²; V Σ_p ‖Z_p‖² unless some d_v < d_p."""
    grams = [Z_p.T @ Z_p for Z_p in _by_space(Z, dims)]
    return sum(
        float((G * (H_pv.T @ H_pv)).sum())
        for H in bases
        for G, H_pv in zip(grams, _by_space(H, dims), strict=True)
    )


def _by_space(array: FloatArray, dims: list[int]) -> list[FloatArray]:
    """Split the last axis into the spaces."""
    return np.split(array, np.cumsum(dims)[:-1], axis=-1)
