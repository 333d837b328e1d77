"""Coordinates of the row space, for views wider than samples.

The rows of a scaled view with more features than samples span at most n dimensions. With a pivoted
Cholesky factorization X_v X_vᵀ = T_v T_vᵀ of the Gram matrix, and its pivot rows P,

    X_v = T_v L_vᵀ,   L_v = X_Pᵀ T_P^(−ᵀ):  (d_v, r), orthonormal, r ≤ n,                        (R)

so products with T_v replace those with X_v. L_v, which is never formed, lifts to the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from scipy.linalg import lapack, solve_triangular

from manyview.data.scaling import ViewScaling
from manyview.data.views import MultiViewData
from manyview.kernels import Kernels
from manyview.kernels.block import Block, ViewRows
from manyview.kernels.products import scaled_rows
from manyview.utils.threads import limit_blas
from manyview.utils.types import FloatArray, IntArray

FEWEST_FEATURES = 1000  # of a wide view: with fewer, a fit takes little time anyway
MOST_ROWS = 2000  # beyond, the Gram matrix costs more than the products that it replaces
SAME = 1e-13  # of its squared norm: a row that is this near to another one equals it
LOST = 1e-12  # of the largest squared norm of a row: below, what is left of a row is rounding noise


def is_wide(n_samples: int, n_features: int) -> bool:
    """Whether the row space of a view is worth finding."""
    return n_samples <= MOST_ROWS and n_features > max(n_samples, FEWEST_FEATURES - 1)


def holds_more(rows: Sequence[ViewRows]) -> bool:
    """Whether a view has more values than its Gram matrix; a sparse one may have fewer."""
    n = sum(view.values.shape[0] for view in rows)
    return not isinstance(rows[0].values, sparse.csr_array) or (
        sum(view.values.nnz for view in rows) > n * n
    )


@dataclass(frozen=True)
class RowSpace:
    """T of one scaled view, and what lifts it to the features."""

    kernels: Kernels
    rows: tuple[ViewRows, ...]  # X', in all blocks
    coordinates: FloatArray  # (n, r): T
    pivots: IntArray  # (r,): P

    @property
    def is_in_memory(self) -> bool:
        """Whether no row is on disk."""
        kinds = (np.ndarray, sparse.csr_array)
        return all(isinstance(view.values, kinds) for view in self.rows)

    @property
    def rank(self) -> int:
        """Number of dimensions: r."""
        return len(self.pivots)

    def lift(self, H: FloatArray) -> FloatArray:
        """L H, from r coordinates to the features: (d_v, columns of H)."""
        Z = np.zeros((len(self.coordinates), H.shape[1]))
        Z[self.pivots] = self._solve(H, "T")
        return self.kernels.combine(self.rows, Z)

    def lower(self, Q: FloatArray) -> FloatArray:
        """Lᵀ Q, of directions of the features: (r, columns of Q)."""
        products = [self.kernels.project((view,), (Q,)) for view in self.rows]
        return self._solve(np.concatenate(products)[self.pivots].astype(np.float64), "N")

    def _solve(self, right: FloatArray, transposed: Literal["N", "T"]) -> FloatArray:
        """T_P⁻¹ or T_P^(−ᵀ) times a matrix."""
        with limit_blas(1):
            T = self.coordinates[self.pivots]
            return np.asarray(solve_triangular(T, right, trans=transposed, lower=True))


class Lift:
    """L R of a row space, as an array (d_v, columns) that is made when its values are needed.

    It refers to the rows until then; a product with a few columns does not need them all.
    """

    ndim = 2

    def __init__(self, space: RowSpace, R: FloatArray) -> None:
        self._space, self._right = space, R
        self._made: FloatArray | None = None
        self.shape: tuple[int, int] = (space.rows[0].values.shape[1], R.shape[1])

    def __len__(self) -> int:
        """Number of features."""
        return self.shape[0]

    def __matmul__(self, H: FloatArray) -> FloatArray:
        """The product with a narrow matrix."""
        if self._made is None:
            return self._space.lift(self._right @ H)
        return np.asarray(self._made @ H)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> FloatArray:
        """The values."""
        if self._made is None:
            self._made = self._space.lift(self._right)
            del self._space  # refers to the rows
        return np.asarray(self._made, dtype=dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are arrays."""
        return np.asarray, (np.asarray(self),)


def find_row_space(
    kernels: Kernels, rows: tuple[ViewRows, ...], gram: FloatArray
) -> RowSpace | None:
    """The row space of a view; None if all its rows are zero, or too large for their squares."""
    least = LOST * float(gram.diagonal().max(initial=0.0))
    if least == 0 or not np.isfinite(gram).all():
        return None
    with limit_blas(1):
        factor, order, rank, _ = lapack.dpstrf(gram, tol=least, lower=1)
    T, order = np.zeros((len(gram), rank)), order - 1  # LAPACK counts from one
    T[order] = np.tril(factor)[:, :rank]
    return RowSpace(kernels, rows, T[_equals(gram, order)], order[:rank])


def _equals(gram: FloatArray, order: IntArray) -> IntArray:
    """For each row the first in an order that equals it but for rounding, mostly itself: (n,).

    Equal rows have equal coordinates to the last digit, so that ties stay ties.
    """
    squares = gram.diagonal()
    is_equal = squares[:, None] + squares - 2 * gram <= SAME * squares[:, None]
    is_equal[np.diag_indices(len(gram))] = True
    return np.asarray(order[is_equal[:, order].argmax(axis=1)])


def narrow_data(
    blocks: Sequence[Block],
    spaces: Sequence[RowSpace | None],
    scalings: Sequence[ViewScaling],
    dtype: DTypeLike | None,
) -> MultiViewData:
    """Coordinates of row spaces, principal components, and the other views as they are."""
    views = []
    for position, (space, scaling) in enumerate(zip(spaces, scalings, strict=True)):
        rows = [block.views[position] for block in blocks]
        if space is not None:
            views.append(space.coordinates.astype(dtype or rows[0].values.dtype))
        elif scaling.components is not None:
            views.append(np.concatenate([scaled_rows(view) for view in rows]))
        else:
            views.append(_joined([view.values for view in rows]))
    absent = rows_absent(blocks)
    V = len(views)
    return MultiViewData(
        views=tuple(views),
        view_names=tuple(f"view_{v}" for v in range(V)),
        sample_names=None,
        feature_names=(None,) * V,
        present=~absent if absent.any() else None,
    )


def rows_absent(blocks: Sequence[Block]) -> NDArray[np.bool_]:
    """Which scaled views each row lacks: (n, V)."""
    parts = []
    for block in blocks:
        absent = np.zeros((len(block.labels), len(block.views)), dtype=np.bool_)
        for v, view in enumerate(block.views):
            if view.absent is not None:
                absent[view.absent, v] = True
        parts.append(absent)
    return np.vstack(parts)


def _joined(parts: Sequence[Any]) -> Any:
    """The values of all blocks; one block is not copied."""
    if len(parts) == 1:
        return parts[0] if isinstance(parts[0], sparse.csr_array) else np.asarray(parts[0])
    if isinstance(parts[0], sparse.csr_array):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate([np.asarray(part) for part in parts])
