"""Shared steps of the baselines: polar factors, sums over clusters, the final k-means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.cluster import KMeans

from manyview.baselines._base import Budget
from manyview.utils.types import FloatArray, IntArray

_MAX_LLOYD = 100  # as in the published programs
_CHUNK_ROWS = 8192  # few enough for float32 sums, many enough for BLAS
_SAME = 1e-9  # relative difference of objectives that rounding can make


class Run(Protocol):
    """One start of a method."""

    @property
    def history(self) -> list[float]:
        """Objective after each iteration."""


R = TypeVar("R", bound=Run)


def lowest(runs: Iterable[R]) -> R:
    """The run that ends lowest; of those that differ by no more than rounding, the first."""
    runs = iter(runs)
    best = next(runs)
    for run in runs:
        if _is_lower(run.history[-1], best.history[-1]):
            best = run
    return best


def _is_lower(value: float, best: float) -> bool:
    return value < best - _SAME * abs(best)


def dense(rows: Any) -> NDArray[Any]:
    """Rows, or a product with them, as a dense array; dense arrays are not copied."""
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray())


def polar(B: NDArray[Any]) -> NDArray[Any]:
    """U Wᵀ of B = U Σ Wᵀ: the orthonormal Q with the largest tr(QᵀB).

    The factors come through the small side, and are orthonormal whatever the rank of B.
    """
    if B.shape[0] < B.shape[1]:
        return polar(B.T).T
    Q, R = linalg.qr(B, mode="economic")
    U, _, Wt = linalg.svd(R)
    factor: NDArray[Any] = Q @ (U @ Wt)
    return factor


def inverse_weights(loss: FloatArray) -> FloatArray:
    """α_v = l_v⁻¹ / Σ_u l_u⁻¹, the minimum of Σ α_v² l_v on the simplex; zero losses share it."""
    inverse = 1 / np.maximum(loss, 1e-12 * loss.max() + np.finfo(float).tiny)
    return np.asarray(inverse / inverse.sum())


def cluster_sums(X: NDArray[Any], labels: IntArray, k: int) -> FloatArray:
    """Yᵀ X, summed in float64 over products with one-hot chunks, which is fastest with BLAS."""
    total = np.zeros((k, X.shape[1]))
    one_hot = np.eye(k, dtype=X.dtype)
    for start in range(0, len(X), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        total += one_hot[labels[rows]].T @ X[rows]
    return total


def unit_rows(U: NDArray[Any]) -> NDArray[Any]:
    """Rows divided by their norms; zero rows are unchanged."""
    norms = np.sqrt(np.einsum("ij,ij->i", U, U))
    return np.asarray(U / np.where(norms > 0, norms, 1)[:, None])


def best_kmeans(
    rows: Any,
    k: int,
    n_init: int,
    rng: np.random.Generator,
    budget: Budget,
    *,
    init: Literal["k-means++", "random"] = "k-means++",
) -> KMeans:
    """Best of `n_init` starts of scikit-learn's k-means; checks the budget between them."""
    best: KMeans | None = None
    for start in range(n_init):
        budget.tick(f"{start} of {n_init} k-means runs done")
        seed = int(rng.integers(2**31))
        model = KMeans(k, init=init, n_init=1, max_iter=_MAX_LLOYD, random_state=seed).fit(rows)
        if best is None or _is_lower(model.inertia_, best.inertia_):
            best = model
    return best
