"""The two sequential sweeps of the published OMVCDR, compiled.

Each sample sees what the samples before it left behind, so neither sweep is a matrix product.
"""

import numpy as np
from numba import njit

from manyview.utils.types import FloatArray, IntArray


@njit(cache=True)
def sweep_embedding(
    Z: FloatArray,  # IN/OUT (n, D)
    A: FloatArray,  # IN (n, D)
    labels: IntArray,  # IN (n,)
    total: FloatArray,  # IN/OUT (k, D): sums of the rows of Z
    coupling: FloatArray,  # IN (D,)
    shrink: FloatArray,  # IN (k, D)
) -> None:
    """z_i ← (a_i + g Σ_{j∈c, j≠i} z_j) · shrink_c, i in file order; eq. (get_zpi)."""
    n, D = Z.shape
    for i in range(n):
        c = labels[i]
        for d in range(D):
            others = total[c, d] - Z[i, d]
            Z[i, d] = (A[i, d] + coupling[d] * others) * shrink[c, d]
            total[c, d] = others + Z[i, d]


@njit(cache=True)
def sweep_labels(
    labels: IntArray,  # IN/OUT (n,)
    Z: FloatArray,  # IN (n, D)
    z_sqnorm: FloatArray,  # IN (n,)
    count: FloatArray,  # IN/OUT (k,)
    total: FloatArray,  # IN/OUT (D, k): clusters last, so that the costs are one vector
    sqnorm: FloatArray,  # IN/OUT (k,)
) -> int:
    """y_i ← argmin_c Σ_{j∈c} ‖z_i − z_j‖², i in file order; returns the moves; eq. (sum)."""
    n, D = Z.shape
    k = count.size
    cost = np.empty(k)
    n_moved = 0
    for i in range(n):
        old = labels[i]
        count[old] -= 1
        sqnorm[old] -= z_sqnorm[i]
        for d in range(D):
            total[d, old] -= Z[i, d]
        for c in range(k):
            cost[c] = sqnorm[c] + count[c] * z_sqnorm[i]
        for d in range(D):
            twice = 2 * Z[i, d]
            for c in range(k):
                cost[c] -= twice * total[d, c]
        new = 0
        for c in range(1, k):
            if cost[c] < cost[new] or (cost[c] == cost[new] and count[c] < count[new]):
                new = c
        count[new] += 1
        sqnorm[new] += z_sqnorm[i]
        for d in range(D):
            total[d, new] += Z[i, d]
        labels[i] = new
        n_moved += new != old
    return n_moved
