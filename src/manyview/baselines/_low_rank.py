"""Low-rank self-expression by an inexact augmented Lagrangian, one iteration at a time.

The problem, for rows s_i > 0 and an orthonormal A, is min λ₁‖C‖_* + λ₂‖s(A − C)‖_{2,1}; J is a copy
of C, E one of s(A − C), and Y1 and Y2 are the multipliers of the two.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from manyview.utils.types import FloatArray


@dataclass(frozen=True)
class State:
    """State after an iteration; all arrays are (K, n)."""

    C: FloatArray
    E: FloatArray
    Y1: FloatArray
    Y2: FloatArray


def iterate(
    before: State, s: FloatArray, A: FloatArray, mu: float, lams: tuple[float, float]
) -> tuple[State, float, float]:
    """Update J, C, E and the multipliers; return also objective and largest residual."""
    lam1, lam2 = lams
    J, nuclear = threshold(before.C + before.Y2 / mu, lam1 / mu)
    pull = s * (s * A - before.E + before.Y1 / mu)
    C = (J - before.Y2 / mu + pull) / (1 + s**2)
    errors = s * (A - C)
    E = shrink_columns(errors + before.Y1 / mu, lam2 / mu)
    rest1, rest2 = errors - E, C - J
    following = State(C, E, before.Y1 + mu * rest1, before.Y2 + mu * rest2)
    objective = lam1 * nuclear + lam2 * float(_column_norms(E).sum())
    residual = max(float(_column_norms(rest).max()) for rest in (rest1, rest2))
    return following, objective, residual


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
