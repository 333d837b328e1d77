"""Quadratic programs on the simplex, compiled: active sets by row, with one Hessian for all.

The support S of a row grows by the entry with the lowest gradient, and shrinks if the minimizer on
S leaves the simplex. G_S = LLᵀ grows by one row per step, so a step is O(m |S|), and a row usually
takes little more than |S| steps, since few anchors are close to a sample.
"""

import numpy as np
from numba import njit

from manyview.utils.types import FloatArray, IntArray

_SMALLEST_PIVOT = 1e-15  # of the diagonal entry: below, the column depends on those of S


@njit(cache=True)
def solve_rows(
    G: FloatArray,  # IN (m, m), positive definite
    C: FloatArray,  # IN (n, m)
    Z: FloatArray,  # OUT (n, m), zero on entry
    gap: float,  # IN relative tolerance of the multipliers
) -> None:
    """z_i ← argmin zᵀGz − 2 zᵀc_i on the simplex."""
    n, m = C.shape
    support, L, inner = np.empty(m, np.int64), np.empty((m, m)), np.empty((3, m))
    gradient, diagonal = np.empty(m), np.diag(G).copy()
    for i in range(n):
        tol = gap * (diagonal.max() + np.abs(C[i]).max())
        enter = int(np.argmin(diagonal / 2 - C[i]))
        Z[i, enter] = 1.0
        size = _append(G, C[i], support, L, inner, 0, enter)
        for _ in range(10 * m + 100):  # finite by theory; rounding might cycle
            theta = _minimise(L, inner, size)
            is_new = Z[i, enter] == 0
            kept = _advance(Z[i], support, inner[2], size)
            if kept < size:
                if is_new and Z[i, enter] == 0:
                    break  # it entered by rounding only
                size = _factorize(G, C[i], support, L, inner, kept)
                continue
            enter = _steepest(G, C[i], Z[i], support, size, gradient)
            if gradient[enter] + theta >= -tol:
                break
            grown = _append(G, C[i], support, L, inner, size, enter)
            if grown == size:
                break
            size = grown


@njit(cache=True)
def _append(
    G: FloatArray,
    c: FloatArray,
    support: IntArray,
    L: FloatArray,
    inner: FloatArray,  # rows: L⁻¹c, L⁻¹1, and the minimiser on S
    size: int,
    enter: int,
) -> int:
    """Add an entry to S, its row to L, and its part to L⁻¹c and L⁻¹1; returns the size of S."""
    pivot, y, q = G[enter, enter], c[enter], 1.0
    for a in range(size):
        value = G[enter, support[a]]
        for b in range(a):
            value -= L[a, b] * L[size, b]
        value /= L[a, a]
        L[size, a] = value
        pivot -= value * value
        y -= value * inner[0, a]
        q -= value * inner[1, a]
    if pivot <= _SMALLEST_PIVOT * G[enter, enter]:
        return size
    L[size, size] = np.sqrt(pivot)
    inner[0, size] = y / L[size, size]
    inner[1, size] = q / L[size, size]
    support[size] = enter
    return size + 1


@njit(cache=True)
def _factorize(
    G: FloatArray, c: FloatArray, support: IntArray, L: FloatArray, inner: FloatArray, kept: int
) -> int:
    """Recompute L for the first entries of S."""
    size = 0
    for a in range(kept):
        size = _append(G, c, support, L, inner, size, support[a])
    return size


@njit(cache=True)
def _minimise(L: FloatArray, inner: FloatArray, size: int) -> float:
    """s = G_S⁻¹(c − θ1), θ such that s sums to one; returns θ."""
    y, q, s = inner[0, :size], inner[1, :size], inner[2]
    theta = (np.sum(q * y) - 1) / np.sum(q * q)
    s[:size] = y - theta * q
    for a in range(size - 1, -1, -1):
        s[a] /= L[a, a]
        for b in range(a):
            s[b] -= L[a, b] * s[a]
    return float(theta)


@njit(cache=True)
def _advance(z: FloatArray, support: IntArray, target: FloatArray, size: int) -> int:
    """Move z towards the target while z ≥ 0; entries that reach zero leave S."""
    step, first = 1.0, -1
    for a in range(size):
        old = z[support[a]]
        if target[a] <= 0 and old <= step * (old - target[a]):
            step, first = old / max(old - target[a], np.finfo(np.float64).tiny), a
    for a in range(size):
        z[support[a]] += step * (target[a] - z[support[a]])
    if first < 0:
        return size
    z[support[first]] = 0.0
    kept = 0
    for a in range(size):
        j = support[a]
        if z[j] > 0:
            support[kept], support[a] = j, support[kept]
            kept += 1
        else:
            z[j] = 0.0
    return kept


@njit(cache=True)
def _steepest(
    G: FloatArray, c: FloatArray, z: FloatArray, support: IntArray, size: int, gradient: FloatArray
) -> int:
    """Entry outside S with the lowest gradient Gz − c; entries of S get +∞."""
    gradient[:] = -c
    for a in range(size):
        gradient += z[support[a]] * G[support[a]]
    for a in range(size):
        gradient[support[a]] = np.inf
    return int(np.argmin(gradient))
