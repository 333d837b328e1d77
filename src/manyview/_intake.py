"""How what users have becomes a view: conversion, and the checks that only need one look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview.errors import ViewError

View: TypeAlias = NDArray[np.floating[Any]] | sparse.csr_array[Any]

CHECKED_BYTES = 1 << 24  # rows are checked in pieces of this size, so that memory maps stay on disk


def cut(X: Any, view_sizes: Sequence[int] | None) -> dict[str, Any]:
    """Cut one 2-D array into views of the given widths."""
    if not sparse.issparse(X) and not isinstance(X, np.ndarray | pd.DataFrame):
        X = np.asarray(X)
    if X.ndim != 2:
        msg = (
            f"Expected 2-D data (samples by features) or a list of such views; received an array "
            f"of shape {X.shape}. Reshape your data: array.reshape(-1, 1) for one feature, "
            "array.reshape(1, -1) for one sample."
        )
        raise ViewError(msg)
    if view_sizes is None:
        return {"view_0": X}
    sizes = [int(size) for size in view_sizes]
    if sum(sizes) != X.shape[1] or min(sizes, default=0) < 1:
        msg = (
            f"view_sizes={list(view_sizes)} must be positive and add up to the number of features; "
            f"X has {X.shape[1]} features."
        )
        raise ViewError(msg)
    if isinstance(X, pd.DataFrame):
        X = X.iloc
    elif sparse.issparse(X):
        X = sparse.csr_array(cast("Any", X))
    ends = np.cumsum(sizes)
    return {
        f"view_{v}": X[:, end - size : end]
        for v, (end, size) in enumerate(zip(ends, sizes, strict=True))
    }


def as_view(view: Any, name: str) -> View:
    """Bring one view to float32 or float64, dense or CSR, without a copy where it is already so."""
    if isinstance(view, pd.DataFrame):
        _check_numeric_columns(view, name)
        view = view.to_numpy()
    if not sparse.issparse(view):
        view = np.asanyarray(view) if isinstance(view, np.memmap) else np.asarray(view)
    if view.ndim != 2:
        msg = f"View '{name}' has {view.ndim} dimensions; expected 2 (samples by features)."
        raise ViewError(msg)
    if view.shape[0] == 0:
        msg = (
            f"View '{name}' is empty: found 0 sample(s) (shape={view.shape}) while a minimum of 1 "
            "is required."
        )
        raise ViewError(msg)
    if view.shape[1] == 0:
        msg = (
            f"View '{name}' is empty: 0 feature(s) (shape={view.shape}) while a minimum of 1 "
            "is required."
        )
        raise ViewError(msg)
    dtype = _float_dtype(view, name)
    if sparse.issparse(view):
        matrix: sparse.csr_array[Any] = sparse.csr_array(cast("Any", view)).astype(dtype)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return matrix
    try:
        dense: NDArray[np.floating[Any]] = view.astype(dtype, copy=False)
    except ValueError as error:  # an array of objects, some of them text
        msg = f"View '{name}' holds values that are not numbers ({error}). Encode or drop them."
        raise ViewError(msg) from None
    return dense


def _float_dtype(view: Any, name: str) -> type[np.floating[Any]]:
    """float32 and float64 stay; what float32 holds exactly becomes float32, the rest float64."""
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
    return np.float32 if view.dtype.itemsize <= (4 if kind == "f" else 2) else np.float64


def _check_numeric_columns(table: pd.DataFrame, name: str) -> None:
    """Refuse a table with text or dates, naming the columns."""
    is_number, is_object = pd.api.types.is_numeric_dtype, pd.api.types.is_object_dtype
    numeric = [is_number(dtype) or is_object(dtype) for dtype in table.dtypes]
    if not all(numeric):
        others = [
            str(column)
            for column, is_number in zip(table.columns, numeric, strict=True)
            if not is_number
        ]
        msg = (
            f"View '{name}' has columns that are not numbers: {', '.join(others[:5])}"
            f"{' …' if len(others) > 5 else ''}. Drop or encode them; sample names belong in the "
            "index."
        )
        raise ViewError(msg)


def check_same_rows(views: Sequence[View], names: Sequence[str]) -> None:
    """All views describe the same samples."""
    for view, name in zip(views, names, strict=True):
        if view.shape[0] != views[0].shape[0]:
            msg = (
                f"View '{name}' has {view.shape[0]} rows; view '{names[0]}' has "
                f"{views[0].shape[0]}. All views must describe the same samples: bring tables "
                "together with MultiViewData.align, or pass `present=` to mark missing rows."
            )
            raise ViewError(msg)


def common_index(named: Mapping[str, Any]) -> pd.Index | None:
    """Sample names of the DataFrames among the views, which must agree."""
    tables = {name: view for name, view in named.items() if isinstance(view, pd.DataFrame)}
    if not tables:
        return None
    (first, table), *others = tables.items()
    for name, other in others:
        if not other.index.equals(table.index):
            msg = (
                f"Views '{first}' and '{name}' name their samples differently or in another order. "
                "Bring them together with MultiViewData.align."
            )
            raise ViewError(msg)
    return table.index


def columns_of(view: Any) -> NDArray[np.object_] | None:
    """Feature names of a DataFrame."""
    return view.columns.to_numpy(dtype=object) if isinstance(view, pd.DataFrame) else None


def merged_index(indices: Sequence[pd.Index], how: str) -> pd.Index:
    """Sample names that all tables share, or that any has, in order of first appearance."""
    merged = indices[0]
    for index in indices[1:]:
        merged = (
            merged[merged.isin(index)]
            if how == "inner"
            else merged.append(index[~index.isin(merged)])
        )
    if merged.empty:
        msg = (
            "The views share no sample name: "
            + "; ".join(f"one has {list(map(str, index[:3]))}" for index in indices)
            + ". Check that the index holds the sample names, or align with how='outer'."
        )
        raise ViewError(msg)
    return merged


def check_values(view: View, name: str, present: NDArray[np.bool_]) -> None:
    """Clear `present` where a whole row is NaN; refuse other NaN, inf and overflowing squares."""
    largest = 0.0
    for rows in row_pieces(view):
        piece = view[rows].data if sparse.issparse(view) else np.asarray(view[rows])
        kept = present[rows]
        low, high = (float(piece.min()), float(piece.max())) if piece.size else (0.0, 0.0)
        if not np.isfinite(low + high):
            dense = _dense(view[rows])
            _find_missing(dense, name, kept, rows.start)
            piece = dense[kept]
            low, high = (float(piece.min()), float(piece.max())) if piece.size else (0.0, 0.0)
        largest = max(largest, high, -low)
    n_values = view.shape[1] if view.dtype == np.float32 else view.shape[0] * view.shape[1]
    if largest > np.sqrt(np.finfo(view.dtype).max / (4.0 * n_values)):
        msg = (
            f"View '{name}' holds values up to {largest:.3g}, whose squares overflow {view.dtype}. "
            "Rescale the view, for example by its largest value."
        )
        raise ViewError(msg)


def row_pieces(view: View) -> Iterator[slice]:
    """Slices of rows small enough to look at one after the other."""
    n, d = view.shape
    step = max(1, CHECKED_BYTES // (d * view.dtype.itemsize))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _dense(rows: View) -> NDArray[Any]:
    return rows.toarray() if isinstance(rows, sparse.csr_array) else np.asarray(rows)


def _find_missing(rows: NDArray[Any], name: str, present: NDArray[np.bool_], start: int) -> None:
    """Clear `present` for rows of nothing but NaN; refuse rows that are broken in part."""
    is_nan = np.isnan(rows)
    present &= ~is_nan.all(axis=1)
    broken = np.flatnonzero(present & ~np.isfinite(rows).all(axis=1))
    if broken.size == 0:
        return
    i = int(broken[0])
    if is_nan[i].any():
        msg = (
            f"View '{name}' contains NaN in part of row {start + i} ({int(is_nan[i].sum())} of "
            f"{rows.shape[1]} features). A sample may lack a whole view (a row of nothing but "
            "NaN); fill or drop the scattered ones, for example with sklearn.impute.SimpleImputer."
        )
    else:
        msg = (
            f"View '{name}' contains inf in row {start + i}; expected finite numbers. "
            "Clip or drop them."
        )
    raise ViewError(msg)
