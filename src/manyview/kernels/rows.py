"""Compiled loops over rows that do not depend on clusters.

The inner loops run over whole 1-D slices: an index that might be negative, such as one that starts
in the middle of a row, would prevent vectorization.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

# sums may be reordered for vectorization; NaN and signed zeros are respected
compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})


@compiled
def row_squares(X, scale, offset):
    """‖x ∘ scale − offset‖² of each row, in float64 for any dtype of X."""
    out = np.empty(len(X))
    for i in range(len(X)):
        x, total = X[i], 0.0
        for j in range(len(x)):
            total += (x[j] * scale[j] - offset[j]) ** 2
        out[i] = total
    return out


@compiled
def widen(b, starts, ends, wide, square):
    """[b, ‖b‖² in each space, 1] into `wide`, the squares also into `square`."""
    D, m = b.shape[1], len(starts)
    for i in range(len(b)):
        for p in range(m):
            space, total = slice(starts[p], ends[p]), b.dtype.type(0)
            x, copy = b[i, space], wide[i, space]
            for j in range(len(x)):
                copy[j] = x[j]
                total += x[j] * x[j]
            square[i, p] = total
            wide[i, D + p] = total
        wide[i, D + m] = 1


@compiled
def draw(center, slope, starts, ends, share, wide, length):
    """[−2 slope ∘ center, share · slope, share · length] as the columns of `wide`.

    length is Σ_p slope ‖center‖².
    """
    D, m = center.shape[1], len(starts)
    for c in range(len(center)):
        length[c] = 0.0
        for p in range(m):
            for j in range(starts[p], ends[p]):
                wide[j, c] = -2 * slope[c, p] * center[c, j]
                length[c] += slope[c, p] * center[c, j] ** 2
            wide[D + p, c] = share * slope[c, p]
        wide[D + m, c] = share * length[c]


@compiled
def smoothed_squares(indptr, indices, shares, gram):
    """‖Σ_j s_j t_j‖² of each row of weights, from the inner products of the t_j."""
    out = np.zeros(len(indptr) - 1)
    for i in range(len(out)):
        for a in range(indptr[i], indptr[i + 1]):
            for b in range(indptr[i], indptr[i + 1]):
                out[i] += shares[a] * shares[b] * gram[indices[a], indices[b]]
    return out


@compiled
def nearest_shares(distance, nearest, shares):
    """The s nearest columns of each row, and δ_{s+1} − δ_j normalized; needs s + 1 columns."""
    n, s = nearest.shape
    for i in range(n):
        found = np.full(s + 1, np.inf)
        where = np.zeros(s + 1, dtype=np.int32)
        for j in range(distance.shape[1]):
            if distance[i, j] < found[s]:
                p = s
                while p > 0 and distance[i, j] < found[p - 1]:
                    found[p], where[p] = found[p - 1], where[p - 1]
                    p -= 1
                found[p], where[p] = distance[i, j], j
        total = 0.0
        for p in range(s):
            total += found[s] - found[p]
        for p in range(s):
            nearest[i, p] = where[p]
            shares[i, p] = (found[s] - found[p]) / total if total > 0 else 1.0 / s
