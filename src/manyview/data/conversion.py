"""Conversion of values to a view, and the checks of a single view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config

from manyview.data.containers import LabeledValues, unwrap_container
from manyview.data.rows import Rows, float_dtype
from manyview.data.tensors import TensorRows, is_tensor, on_gpu
from manyview.exceptions import ViewError
from manyview.utils.optional import needed
from manyview.utils.threads import side_by_side

View: TypeAlias = "NDArray[np.floating[Any]] | sparse.csr_array[Any]"  # scipy < 1.16: text only
StoredView: TypeAlias = "View | Rows"

CHECKED_BYTES = 1 << 24  # rows are checked in pieces of this size; memory maps stay on disk
CACHED_BYTES = 1 << 22  # of them are looked at together
FIRST_ROWS = 8  # that nearly always show of which size the values are
SMALL_BYTES = 1 << 26  # up to here columns side by side are copied: products round by the order


def cut(X: Any, view_sizes: Sequence[int] | None) -> dict[str, LabeledValues]:
    """Split one 2-D table into views of the given widths."""
    labeled = unwrap_container(X, "view_0")
    is_array = isinstance(labeled.values, np.ndarray | Rows) or is_tensor(labeled.values)
    if not sparse.issparse(labeled.values) and not is_array:
        labeled = LabeledValues(np.asarray(X))
    if labeled.values.ndim != 2:
        flat = "array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one sample."
        deep = "list(array) if these are views, array.reshape(len(array), -1) if they are samples."
        msg = (
            f"Expected 2-D data (samples by features) or a list of such views; received an array "
            f"of shape {labeled.values.shape}. Reshape your data: "
            f"{deep if labeled.values.ndim > 2 else flat}"
        )
        raise ViewError(msg)
    if view_sizes is None:
        return {"view_0": labeled}
    sizes = [int(size) for size in view_sizes]
    if sum(sizes) != labeled.values.shape[1] or min(sizes, default=0) < 1:
        msg = (
            f"view_sizes={list(view_sizes)} must be positive and add up to the number of features; "
            f"X has {labeled.values.shape[1]} features."
        )
        raise ViewError(msg)
    if isinstance(labeled.values, Rows):
        msg = (
            "view_sizes splits arrays in memory, but X is on disk. Pass one file per view, or "
            "np.asarray(open_rows(...))."
        )
        raise ViewError(msg)
    if sparse.issparse(labeled.values):
        labeled = replace(labeled, values=sparse.csr_array(cast("Any", labeled.values)))
    ends = np.cumsum(sizes)
    return {
        f"view_{v}": labeled.cut(end - size, end)
        for v, (end, size) in enumerate(zip(ends, sizes, strict=True))
    }


def as_stored(view: Any, name: str) -> StoredView:
    """Rows on disk unchanged; other views converted by `as_view`."""
    if is_tensor(view) or on_gpu(view):
        _check_shape(tuple(view.shape), name)
        return TensorRows(view if is_tensor(view) else _taken_over(view, name))
    if not isinstance(view, Rows):
        return as_view(view, name)
    _check_shape(view.shape, name)
    return view


def _taken_over(view: Any, name: str) -> Any:
    """A tensor that shares the memory of an array on a GPU."""
    return needed("torch", f"View '{name}', which is on a GPU,").as_tensor(view)


def as_view(view: Any, name: str) -> View:
    """Convert a view to float32 or float64, dense or CSR, without an unnecessary copy."""
    if not sparse.issparse(view):
        view = np.asanyarray(view) if isinstance(view, np.memmap) else np.asarray(view)
    _check_shape(view.shape, name)
    dtype = _float_dtype(view, name)
    if sparse.issparse(view):
        matrix: sparse.csr_array[Any] = sparse.csr_array(cast("Any", view)).astype(
            dtype, copy=False
        )
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return _with_short_indices(matrix)
    try:
        dense: NDArray[np.floating[Any]] = view.astype(dtype, copy=False)
    except ValueError as error:  # an object array that contains text
        msg = f"View '{name}' holds values that are not numbers ({error}). Encode or drop them."
        raise ViewError(msg) from None
    by_column = abs(dense.strides[0]) < abs(dense.strides[1])
    is_copied = by_column and dense.nbytes <= SMALL_BYTES and not isinstance(dense, np.memmap)
    return np.ascontiguousarray(dense) if is_copied else dense


def _with_short_indices(matrix: sparse.csr_array[Any]) -> sparse.csr_array[Any]:
    """The matrix with indices of 32 bits where they suffice: scikit-learn takes no others."""
    most = np.iinfo(np.int32).max
    if matrix.indices.dtype == np.int32 or max(matrix.nnz, *matrix.shape) > most:
        return matrix
    short: sparse.csr_array[Any] = sparse.csr_array(
        (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)),
        shape=matrix.shape,
    )
    short.has_canonical_format = True
    return short


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    """Refuse a shape that is not 2-D, or has no samples or no features."""
    if len(shape) != 2:
        remedies = {
            0: "Pass an array, or leave the view out.",
            1: "Pass array.reshape(-1, 1) if it is one feature of each sample.",
        }
        remedy = remedies.get(
            len(shape),
            "Pass array.reshape(len(array), -1) to use all values of a sample as its features.",
        )
        s = "" if len(shape) == 1 else "s"
        msg = (
            f"View '{name}' has {len(shape)} dimension{s}; expected 2 (samples by features). "
            f"{remedy}"
        )
        raise ViewError(msg)
    for n, what in zip(shape, ("sample", "feature"), strict=True):
        if n == 0:
            msg = (
                f"View '{name}' is empty: found 0 {what}(s) (shape={shape}) while a minimum of 1 "
                "is required."
            )
            raise ViewError(msg)


def _float_dtype(view: Any, name: str) -> np.dtype[Any]:
    """Floating dtype for a numeric view; refuses others."""
    kind = view.dtype.kind
    if kind == "c":
        msg = (
            f"Complex data not supported: view '{name}' has dtype {view.dtype}. Pass real features."
        )
        raise ViewError(msg)
    if kind not in "fiubO":
        msg = (
            f"View '{name}' has dtype {view.dtype}; expected numbers. "
            "Encode text or dates as numeric features first."
        )
        raise ViewError(msg)
    return float_dtype(view.dtype)


def check_same_rows(views: Sequence[StoredView], names: Sequence[str]) -> None:
    """Check that all views have the same number of rows."""
    for view, name in zip(views, names, strict=True):
        if view.shape[0] != views[0].shape[0]:
            msg = (
                f"View '{name}' has {view.shape[0]} rows; view '{names[0]}' has "
                f"{views[0].shape[0]}. All views must describe the same samples: join tables "
                "with MultiViewData.align, or pass `present=` to mark missing rows."
            )
            raise ViewError(msg)


def check_values(view: StoredView, name: str, present: NDArray[np.bool_]) -> None:
    """Clear `present` where a whole row is NaN; refuse other NaN, inf and overflowing squares.

    With scikit-learn's `assume_finite` no check is made: rows on disk are not read.
    """
    if get_config()["assume_finite"]:
        return
    known, pieces = 0.0, list(row_pieces(view))
    if isinstance(view, TensorRows):
        looked_at = list(view.sizes())
        known = max((size for _, size in looked_at if size is not None), default=0.0)
        pieces = [rows for rows, size in looked_at if size is None]

    def look(rows: slice) -> float:
        return _largest_of(read_rows(view, rows), name, present[rows], rows.start)

    many = isinstance(view, np.ndarray) and len(pieces) > 1
    largest = max(known, 0.0, *(side_by_side(look, pieces) if many else map(look, pieces)))
    if largest > largest_allowed(view):
        msg = (
            f"View '{name}' holds values up to {largest:.3g}, whose squares overflow {view.dtype}"
            f"{_in_products(view)}. Divide the view by {largest:.0e}."
        )
        raise ViewError(msg)


def _largest_of(values: View, name: str, present: NDArray[np.bool_], start: int) -> float:
    """Size of the largest value; clears `present` where a whole row is NaN, see `check_values`."""
    sizes = [_size(part) for part in _in_cache(values)]
    if np.isfinite(sizes).all():
        return max(sizes)
    dense = _dense(values)
    _find_missing(dense, name, present, start)
    return _size(dense[present])


def _in_cache(values: View) -> Iterator[NDArray[Any]]:
    """Parts of some rows that are small enough to be read twice at the cost of once."""
    rows = values.data if isinstance(values, sparse.csr_array) else np.asarray(values)
    step = max(1, CACHED_BYTES * max(len(rows), 1) // max(rows.nbytes, 1))
    return (rows[start : start + step] for start in range(0, max(len(rows), 1), step))


def _size(values: NDArray[Any]) -> float:
    """Size of the largest value; NaN if one is."""
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def check_not_vanishing(view: StoredView, name: str, present: NDArray[np.bool_] | None) -> None:
    """Refuse a view to fit whose squares vanish; new samples may be as small as they like.

    The first rows nearly always show that they do not. All zeros are no reason either.
    """
    if get_config()["assume_finite"]:
        return
    least, largest = _least_allowed(view.dtype), 0.0
    for rows in (slice(0, FIRST_ROWS), *row_pieces(view)):
        values = read_rows(view, rows)
        if isinstance(values, sparse.csr_array):
            values = values.data if present is None else values[present[rows]].data
        elif present is not None:
            values = values[present[rows]]
        largest = max(largest, float(np.abs(values).max(initial=0.0)))
        if largest >= least:
            return
    if largest > 0:
        msg = (
            f"View '{name}' holds no value above {largest:.3g} in size, and the squares of such "
            f"values vanish in {view.dtype}{_in_products(view)}. Multiply the view by "
            f"{_power_of_ten_above(largest)}."
        )
        raise ViewError(msg)


def largest_allowed(view: StoredView) -> float:
    """Size of values whose squares, summed over the view, do not overflow.

    In float64, products of two such sums do not either: covariances of projections need them. In
    float32, these are computed in float64.
    """
    n_values = 4.0 * view.shape[0] * view.shape[1]
    root = 0.5 if view.dtype == np.float32 else 0.25
    return float((float(np.finfo(view.dtype).max) / n_values) ** root)


def _least_allowed(dtype: np.dtype[Any]) -> float:
    """The same for values whose squares do not vanish, with all of their digits."""
    limits = np.finfo(dtype)
    return float((limits.tiny / limits.eps) ** (0.5 if dtype == np.float32 else 0.25))


def _in_products(view: StoredView) -> str:
    return "" if view.dtype == np.float32 else " when they are multiplied"


def _power_of_ten_above(size: float) -> str:
    """Text of the power of ten that brings a size to about one; 1e-320 has no inverse."""
    return f"1e{-int(np.floor(np.log10(size)))}"


def row_pieces(view: StoredView) -> Iterator[slice]:
    """Slices of rows of bounded size."""
    n, d = view.shape
    step = max(1, CHECKED_BYTES // (d * view.dtype.itemsize))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def read_rows(view: StoredView, rows: Any) -> View:
    """Values of some rows; those of a file are read."""
    values: Any = view[rows]
    return np.asarray(values) if isinstance(values, Rows) else values


def _dense(rows: View) -> NDArray[Any]:
    return rows.toarray() if isinstance(rows, sparse.csr_array) else np.asarray(rows)


def _find_missing(rows: NDArray[Any], name: str, present: NDArray[np.bool_], start: int) -> None:
    """Clear `present` for rows that are all NaN; refuse rows with some NaN or inf."""
    is_nan = np.isnan(rows)
    present &= ~is_nan.all(axis=1)
    broken = np.flatnonzero(present & ~np.isfinite(rows).all(axis=1))
    if broken.size == 0:
        return
    i = int(broken[0])
    if is_nan[i].any():
        msg = (
            f"View '{name}' contains NaN in part of row {start + i} ({int(is_nan[i].sum())} of "
            f"{rows.shape[1]} features). A sample may lack a whole view (a row that is all "
            "NaN); impute or drop scattered NaN, for example with sklearn.impute.SimpleImputer."
        )
    else:
        msg = (
            f"View '{name}' contains inf in row {start + i}; expected finite numbers. "
            "Clip or drop them."
        )
    raise ViewError(msg)
