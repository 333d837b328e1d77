"""The model of SMVSC and FPMVS: one set of anchors and one anchor graph for all views.

With W_v of orthonormal columns (d_v, d), A (d, m), rows of Z (n, m) on the simplex, weights a on
the simplex::

    J = Σ_v a_v² ‖X_v − Z Aᵀ W_vᵀ‖² + λ ‖Z‖²

All that W, A and a need of the data is C_v = X_vᵀ Z, and a row of Z needs that row only: an
iteration is one pass over the rows, in blocks.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from manyview.base import generator
from manyview.baselines._anchors import (
    Scale,
    ScaledView,
    block_bytes,
    row_blocks,
    scale_view,
    spectral_embedding,
)
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._finish import best_kmeans, polar, unit_rows
from manyview.baselines._simplex import project_rows, solve_simplex_qp
from manyview.data.views import MultiViewData
from manyview.utils.types import FloatArray

_FIRST_JUDGED = 10  # no stop before this iteration, as in the published programs


@dataclass(frozen=True)
class Rule:
    """The options in which the methods differ."""

    n_anchors: int  # m
    n_dims: int  # d, at most min_v d_v, and at most n
    lam: float
    weight_power: float = 1.0  # a_v ∝ ‖residual of v‖^(−2 weight_power); 1 minimizes J
    has_quirks: bool = False  # z_i from targets without a_v², as if AᵀA = I


@dataclass(frozen=True)
class State:
    """State after one iteration."""

    bases: list[FloatArray]  # v: (d_v, d), W_v
    anchors: FloatArray  # (d, m), A
    graph: FloatArray  # (n, m), Z; overwritten by the next iteration
    weights: FloatArray  # (V,), a
    objective: float


class UnifiedAnchorClusterer(Baseline):
    """Fit, embedding and k-means of both methods; subclasses define `_rule` and `tol`."""

    scale: Scale
    max_iter: int
    tol: float
    n_init: int
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def _rule(self, n_samples: int, narrowest: int) -> Rule:
        """Sizes and options, given the number of samples and the smallest d_v."""

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        n = data.n_samples
        rule = self._rule(n, min(data.n_features))
        # Z, the embedding and its copies in k-means
        n_bytes = 32 * n * rule.n_anchors + block_bytes(n, sum(data.n_features))
        budget.need(n_bytes, "the anchor graph and a block of rows")
        views = [scale_view(X, self.scale) for X in data.arrays]
        state, history = _sweep_to_convergence(states(views, rule), self.max_iter, self.tol, budget)
        self.bases_ = state.bases
        self.anchors_ = state.anchors.T
        self.anchor_graph_ = state.graph
        self.view_weights_ = state.weights
        self.objective_history_ = np.array(history)
        self.n_iter_ = len(history)
        self.embedding_ = unit_rows(spectral_embedding(state.graph, rule.n_anchors))
        rng = generator(self.random_state)
        final = best_kmeans(self.embedding_, self.n_clusters, self.n_init, rng, budget)
        self.labels_ = final.labels_


def states(views: Sequence[ScaledView], rule: Rule) -> Iterator[State]:
    """Alternate W, A, Z and a endlessly, from Z = I for the first m samples and a = 1/V."""
    n, V, m = views[0].values.shape[0], len(views), rule.n_anchors
    a, A = np.full(V, 1 / V), None
    bases = _first_bases(views, rule)
    cross = [view.rows(slice(0, m)).T for view in views]  # v: (d_v, m), C_v = X_vᵀ Z
    gram = np.eye(m)  # ZᵀZ
    sqnorms = np.array([_sqnorm(view) for view in views])
    Z = np.empty((n, m))
    while True:
        A = _update_A(bases, cross, a, None if rule.has_quirks else A, gram)
        cross = _update_Z(Z, views, bases, A, a, rule)
        gram = Z.T @ Z
        fitted = float(((A.T @ A) * gram).sum())  # ‖ZAᵀ‖²
        explained = [float((W * (C @ A.T)).sum()) for W, C in zip(bases, cross, strict=True)]
        residuals = sqnorms - 2 * np.array(explained) + fitted
        residuals = np.maximum(residuals, np.finfo(float).eps * (sqnorms + fitted))
        a = _update_a(residuals, rule.weight_power)
        objective = float(a**2 @ residuals + rule.lam * np.trace(gram))
        yield State(bases, A, Z, a, objective)
        bases = [polar(C @ A.T) for C in cross]  # W_v = polar(X_vᵀ Z Aᵀ)


def _first_bases(views: Sequence[ScaledView], rule: Rule) -> list[FloatArray]:
    """W_v = I, the first d features; if these are zero, the polar factor of d samples."""
    bases = [np.eye(view.n_features, rule.n_dims) for view in views]
    first = [view.rows(slice(0, max(rule.n_anchors, rule.n_dims))) for view in views]
    if any((X @ W).any() for X, W in zip(first, bases, strict=True)):
        return bases
    # Z would be uniform, X_vᵀZ zero for centered features, and W_v made of rounding errors
    return [polar(X[: rule.n_dims].T) for X in first]


def _update_A(
    bases: list[FloatArray],
    cross: list[FloatArray],
    a: FloatArray,
    old: FloatArray | None,
    gram: FloatArray,
) -> FloatArray:
    """A = polar(B), B = Σ_v a_v² W_vᵀ C_v; if m > d, a step that decreases J.

    There AᵀA = I cannot hold, ‖ZAᵀ‖² depends on A, and polar(B) is no minimiser. Its part that is
    concave on {AAᵀ = I}, tr A(ZᵀZ − μI)Aᵀ with μ the largest eigenvalue, lies below its tangent.
    """
    B = np.sum([w**2 * W.T @ C for w, W, C in zip(a, bases, cross, strict=True)], axis=0)
    d, m = B.shape
    if old is not None and m > d:
        mu = np.linalg.eigvalsh(gram)[-1]
        B = B + float(a @ a) * old @ (mu * np.eye(m) - gram)
    return polar(B)


def _update_Z(
    Z: FloatArray,
    views: Sequence[ScaledView],
    bases: list[FloatArray],
    A: FloatArray,
    a: FloatArray,
    rule: Rule,
) -> list[FloatArray]:
    """z_i = argmin zᵀ(s AᵀA + λI)z − 2 zᵀf_i, f_i = Σ_v a_v² AᵀW_vᵀx_vi, s = Σ a_v²; new C_v."""
    d, m = A.shape
    s = float(a @ a)
    shares = np.ones(len(a)) if rule.has_quirks else a**2
    is_identity = rule.has_quirks or m <= d  # AᵀA = I
    hessian = s * A.T @ A + rule.lam * np.eye(m)
    cross = [np.zeros((view.n_features, m)) for view in views]
    for part in row_blocks(len(Z), sum(view.n_features for view in views)):
        rows = [view.rows(part) for view in views]
        latent = sum(share * X @ W for share, X, W in zip(shares, rows, bases, strict=True))
        F = latent @ A
        Z[part] = project_rows(F / (s + rule.lam)) if is_identity else solve_simplex_qp(hessian, F)
        for C, X in zip(cross, rows, strict=True):
            C += X.T @ Z[part]
    return cross


def _update_a(residuals: FloatArray, power: float) -> FloatArray:
    """a_v ∝ r_v^(−power)."""
    tiny = np.finfo(float).tiny
    inverse = (np.maximum(residuals, tiny) / max(residuals.max(), tiny)) ** -power
    weights: FloatArray = inverse / inverse.sum()
    return weights


def _sqnorm(view: ScaledView) -> float:
    """‖X_v‖²."""
    blocks = row_blocks(view.values.shape[0], view.n_features)
    return sum(float((view.rows(part) ** 2).sum()) for part in blocks)


def _sweep_to_convergence(
    iterations: Iterator[State], max_iter: int, tol: float, budget: Budget
) -> tuple[State, list[float]]:
    """Iterate until J changes by less than `tol` of its value; returns also the history of J."""
    history: list[float] = []
    for state in islice(iterations, max_iter):
        history.append(state.objective)
        if len(history) >= _FIRST_JUDGED and abs(history[-2] - history[-1]) < tol * history[-2]:
            break
        budget.tick(f"{len(history)} iterations done")
    return state, history
