"""The sequential sweep of KSums, compiled.

Samples move one after the other, and each move changes the clusters at once. Products with the
cluster sums are computed by BLAS for a block of rows; each move corrects those of later rows.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from manyview.utils.types import FloatArray, IntArray

BLOCK_ROWS = 64  # a correction costs BLOCK_ROWS products: few while clusters still change much


@njit(cache=True)
def sweep(
    X: NDArray[Any],  # IN (n, d)
    sqnorm: FloatArray,  # IN (n,): ‖x_i‖²
    labels: IntArray,  # IN/OUT (n,)
    count: FloatArray,  # IN/OUT (k,)
    total: NDArray[Any],  # IN/OUT (k, d): sums of the rows
    sum_squares: FloatArray,  # IN/OUT (k,): sums of ‖x‖²
    tolerance: float,
) -> int:
    """y_i ← argmin_c n_c ‖x_i‖² − 2 x_iᵀt_c + q_c, i in order; returns the number of moves."""
    n, k = len(X), len(count)
    n_moved = 0
    for start in range(0, n, BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS]
        cross = np.dot(rows, total.T)  # (rows, k)
        for r in range(len(rows)):
            i = start + r
            old = labels[i]
            own = count[old] * sqnorm[i] + sum_squares[old] - 2 * cross[r, old]
            new, least = old, own - tolerance * (count[old] * sqnorm[i] + sum_squares[old])
            for c in range(k):
                cost = count[c] * sqnorm[i] + sum_squares[c] - 2 * cross[r, c]
                if c != old and cost < least:
                    new, least = c, cost
            if new == old or count[old] == 1:
                continue  # a cluster of one stays: rounding must not empty it
            n_moved += 1
            labels[i] = new
            count[old] -= 1
            count[new] += 1
            sum_squares[old] -= sqnorm[i]
            sum_squares[new] += sqnorm[i]
            total[old] -= rows[r]
            total[new] += rows[r]
            if r + 1 < len(rows):
                change = np.dot(rows[r + 1 :], rows[r])
                cross[r + 1 :, old] -= change
                cross[r + 1 :, new] += change
    return n_moved
