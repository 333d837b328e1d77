"""Products of one view with a small matrix, with its scaling applied on the fly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.scaling import apply_map
from manyview.kernels.block import ViewRows
from manyview.utils.types import FloatArray

PIECE_BYTES = 1 << 22  # of a wide view in float64, so that a piece stays in the cache
FEWEST_COLUMNS = 256  # of a piece: fewer would make products slow


def piece_width(n_rows: int) -> int:
    """Columns of a piece of a wide view."""
    return max(PIECE_BYTES // (8 * max(n_rows, 1)), FEWEST_COLUMNS)


def split_columns(view: ViewRows) -> list[ViewRows]:
    """A dense view wider than its rows in pieces of columns; else the view itself."""
    n, d = view.values.shape
    step = piece_width(n)
    if isinstance(view.values, sparse.csr_array) or d <= max(n, step):
        return [view]
    X = np.asarray(view.values)
    return [some_columns(view, X, slice(start, start + step)) for start in range(0, d, step)]


def some_columns(view: ViewRows, X: NDArray[Any], columns: slice) -> ViewRows:
    """Some columns of a dense view, without principal components."""
    return replace(
        view,
        values=X[:, columns],
        scale=None if view.scale is None else view.scale[columns],
        offset=None if view.offset is None else view.offset[columns],
        table=None,
    )


def with_values(X: sparse.csr_array[Any], values: FloatArray) -> sparse.csr_array[Any]:
    """X with other stored values, in float64."""
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)


def mapped(view: ViewRows) -> Any:
    """map(ℓ x), with missing rows set to zero."""
    X = view.values
    if not isinstance(X, sparse.csr_array):
        X = np.asarray(X)  # reads rows on disk
        if min(X.strides) < 0 or X.itemsize not in X.strides:
            X = np.ascontiguousarray(X)  # BLAS would not be used, and round otherwise
    if view.absent is not None:
        X = X.copy()
        if isinstance(X, sparse.csr_array):
            X.data[np.isin(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), view.absent)] = 0
        else:
            X[view.absent] = 0
    if view.level is not None:
        level = view.level.astype(X.dtype)
        if isinstance(X, sparse.csr_array):
            X = with_values(X, X.data * np.repeat(level, np.diff(X.indptr)))
        else:
            X = X * level[:, None]
    if view.map is None:
        return X
    if isinstance(X, sparse.csr_array):
        return with_values(X, apply_map(view.map, X.data))
    return apply_map(view.map, X)


def unfactored(view: ViewRows) -> NDArray[Any]:
    """(map(ℓ x) ∘ scale − offset) W as a dense array: x' without the row factor."""
    if view.table is not None and len(pieces := split_columns(view)) > 1:
        return _components(pieces, view.table)
    X = mapped(view)
    if isinstance(X, sparse.csr_array):
        if view.table is not None:
            return times_basis(
                replace(view, factor=None, baseline=None), np.eye(view.table.shape[1])
            )
        X = X.toarray()
    rows = np.array(X) if view.scale is None else X * view.scale.astype(X.dtype)
    if view.offset is not None:
        rows -= view.offset.astype(X.dtype)
    return np.asarray(rows if view.table is None else rows @ view.table.astype(X.dtype))


def _components(pieces: Sequence[ViewRows], table: FloatArray) -> NDArray[Any]:
    """(map(ℓ x) ∘ scale − offset) W of a wide view, a piece of its columns at a time."""
    ends = np.cumsum([piece.values.shape[1] for piece in pieces])
    parts = zip(pieces, np.split(table, ends[:-1]), strict=True)
    products = (rows @ W.astype(rows.dtype) for rows, W in ((unfactored(p), W) for p, W in parts))
    return np.asarray(sum(products))


def scaled_rows(view: ViewRows) -> NDArray[Any]:
    """x' as a dense array."""
    rows = unfactored(view)
    if view.factor is not None:
        rows *= view.factor[:, None].astype(rows.dtype)
    return rows


def _relative(view: ViewRows) -> NDArray[Any]:
    """x' − baseline, subtracted before the product against cancellation."""
    rows = scaled_rows(view)
    rows -= np.asarray(view.baseline, dtype=rows.dtype)
    return rows


def times_basis(view: ViewRows, H: FloatArray) -> NDArray[Any]:
    """X' H = f · (map(X) (scale ∘ H) − offset · H), H ← W H; with a baseline, (X' − baseline) H."""
    if view.baseline is not None:
        rows = _relative(view)
        return np.asarray(rows @ H.astype(rows.dtype))
    X = mapped(view)
    if view.table is not None:
        H = view.table @ H
    scaled = H if view.scale is None else view.scale[:, None] * H  # (d_v, D)
    product = X @ scaled.astype(X.dtype)  # (rows, D)
    if view.offset is not None:
        product -= (view.offset @ H).astype(X.dtype)
    if view.factor is not None:
        product *= view.factor[:, None].astype(X.dtype)
    return np.asarray(product)


def transposed_times(view: ViewRows, Z: NDArray[Any]) -> FloatArray:
    """X'ᵀ Z = Wᵀ (scale ∘ (map(X)ᵀ (f ∘ Z)) − offset ⊗ Σ f z)."""
    if view.baseline is not None:
        relative = np.asarray(_relative(view).T @ Z, dtype=np.float64)
        return relative + np.outer(view.baseline, Z.sum(axis=0, dtype=np.float64))
    X = mapped(view)
    weighted = Z if view.factor is None else Z * view.factor[:, None].astype(Z.dtype)  # (rows, D)
    product = np.asarray(X.T @ weighted.astype(X.dtype, copy=False), dtype=np.float64)  # (d_v, D)
    if view.scale is not None:
        product = product * view.scale[:, None]
    if view.offset is not None:
        product = product - np.outer(view.offset, weighted.sum(axis=0, dtype=np.float64))
    return product if view.table is None else np.asarray(view.table.T @ product)
