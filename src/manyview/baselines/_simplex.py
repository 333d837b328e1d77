"""The two problems on the simplex {z ≥ 0, Σ_j z_j = 1} that anchor graphs need, for all rows."""

import numpy as np
from scipy import linalg

from manyview.utils.types import FloatArray

_GAP = 1e-11  # of the largest entries: how far below zero a multiplier may lie
_RIDGE = 1e-12  # of the largest diagonal entry: keeps a singular Hessian strictly convex


def project_rows(Y: FloatArray) -> FloatArray:
    """z_i = argmin ‖z − y_i‖² = max(y_i − θ_i, 0), θ_i such that z_i sums to one."""
    shifted = Y - Y.max(axis=1, keepdims=True)  # the same z; large entries lose no digits
    descending = -np.sort(-shifted, axis=1)
    excess = np.cumsum(descending, axis=1) - 1
    size = np.arange(1, Y.shape[1] + 1)
    n_positive = np.count_nonzero(descending * size > excess, axis=1)  # (n,)
    theta = excess[np.arange(len(Y)), n_positive - 1] / n_positive
    projected: FloatArray = np.maximum(shifted - theta[:, None], 0)
    return projected


def solve_simplex_qp(G: FloatArray, C: FloatArray) -> FloatArray:
    """z_i = argmin zᵀGz − 2 zᵀc_i for all rows c_i of C (n, m); G (m, m) is convex."""
    from manyview.baselines._simplex_kernels import solve_rows  # numba is slow to import

    H = G + _RIDGE * float(np.diagonal(G).max()) * np.eye(len(G))
    Z = _solve_on_plane(H, C)
    leaves = np.flatnonzero((Z < 0).any(axis=1))
    rest = np.zeros((len(leaves), len(G)))
    solve_rows(H, C[leaves], rest, _GAP)
    Z[leaves] = rest
    return Z


def _solve_on_plane(H: FloatArray, C: FloatArray) -> FloatArray:
    """z_i = H⁻¹(c_i − θ_i 1), θ_i such that z_i sums to one: the answer where z_i ≥ 0."""
    factor = linalg.cho_factor(H)
    free = linalg.cho_solve(factor, C.T).T  # (n, m)
    pull = linalg.cho_solve(factor, np.ones(len(H)))  # (m,)
    theta = (free.sum(axis=1) - 1) / pull.sum()
    return np.asarray(free - theta[:, None] * pull, dtype=np.float64)
