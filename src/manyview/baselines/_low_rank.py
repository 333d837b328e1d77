"""Low-rank self-expression by an inexact augmented Lagrangian, one iteration at a time.

The problem, for rows s_i > 0 and an orthonormal A, is min λ₁‖C‖_* + λ₂‖s(A − C)‖_{2,1}; J is a copy
of C, E one of s(A − C), and Y1 and Y2 are the multipliers of the two.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from manyview.utils.types import FloatArray

_BLOCK = 512  # rows of an n × n product at a time


@dataclass(frozen=True)
class State:
    """State after an iteration; all arrays are (K, n)."""

    C: FloatArray
    E: FloatArray
    Y1: FloatArray
    Y2: FloatArray


def iterate(
    before: State, s: FloatArray, A: FloatArray, mu: float, lams: tuple[float, float]
) -> tuple[State, float, tuple[FloatArray, FloatArray]]:
    """Update J, C, E and the multipliers; return also objective and both residuals."""
    lam1, lam2 = lams
    J, nuclear = threshold(before.C + before.Y2 / mu, lam1 / mu)
    pull = s * (s * A - before.E + before.Y1 / mu)
    C = (J - before.Y2 / mu + pull) / (1 + s**2)
    errors = s * (A - C)
    E = shrink_columns(errors + before.Y1 / mu, lam2 / mu)
    rest1, rest2 = errors - E, C - J
    following = State(C, E, before.Y1 + mu * rest1, before.Y2 + mu * rest2)
    objective = lam1 * nuclear + lam2 * float(_column_norms(E).sum())
    return following, objective, (rest1, rest2)


def largest_norm(residuals: tuple[FloatArray, FloatArray]) -> float:
    """Largest norm of a column of both residuals."""
    return max(float(_column_norms(rest).max()) for rest in residuals)


class RowSums:
    """The largest row sums ‖UR₁‖_∞ and ‖WR₂‖_∞ of absolute values, by which the program stops.

    WR₂ is n × n, so they are computed only where ‖R‖/√rows, which bounds them from below, times
    their last ratio to it, is small enough.
    """

    def __init__(self, U: FloatArray, W: FloatArray) -> None:
        self._bases = U, W  # with orthonormal columns
        self._ratio = 1.0

    def are_below(self, residuals: tuple[FloatArray, FloatArray], tol: float) -> bool:
        """Whether both are below `tol`."""
        pairs = list(zip(self._bases, residuals, strict=True))
        bound = max(float(np.linalg.norm(rest)) / len(basis) ** 0.5 for basis, rest in pairs)
        if bound * self._ratio >= tol:
            return False
        found = max(_largest_row_sum(basis, rest) for basis, rest in pairs)
        self._ratio = found / bound if bound > 0 else 1.0
        return found < tol


def _largest_row_sum(basis: FloatArray, rest: FloatArray) -> float:
    """max_i Σ_j |(BR)_ij|, a block of rows at a time."""
    blocks = (basis[i : i + _BLOCK] for i in range(0, len(basis), _BLOCK))
    return max(float(np.abs(rows @ rest).sum(axis=1).max()) for rows in blocks)


def threshold(A: FloatArray, by: float) -> tuple[FloatArray, float]:
    """argmin by ‖J‖_* + ½‖J − A‖², and ‖J‖_*; from the smaller Gram matrix."""
    values, U = linalg.eigh(A @ A.T)
    sigma = np.sqrt(np.maximum(values, 0))
    left = np.maximum(sigma - by, 0)
    is_kept = left > 0
    U = U[:, is_kept]
    J = (U * (left[is_kept] / sigma[is_kept])) @ (U.T @ A)
    return J, float(left.sum())


def shrink_columns(A: FloatArray, by: float) -> FloatArray:
    """argmin by ‖E‖_{2,1} + ½‖E − A‖²: shrinks the norms of the columns."""
    norms = _column_norms(A)
    return A * (np.maximum(norms - by, 0) / np.where(norms > 0, norms, 1))


def _column_norms(A: FloatArray) -> FloatArray:
    """‖a_j‖ of each column."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", A, A)))
