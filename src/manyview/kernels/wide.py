"""Products of a view wider than samples with itself or a narrow matrix, over all blocks at once.

They are in float64 for any dtype of the rows, since coordinates are divided by small ones later.
Dense views are scaled a piece of their columns at a time, so that a piece stays in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.kernels import products
from manyview.kernels.block import ViewRows
from manyview.utils.threads import side_by_side
from manyview.utils.types import FloatArray


def gram(rows: Sequence[ViewRows]) -> FloatArray:
    """X' X'ᵀ of one scaled view, whose blocks are given, without row factors: (n, n)."""
    if isinstance(rows[0].values, sparse.csr_array):
        return _sparse_gram(_scaled_rows(rows), rows[0].offset)
    values, pieces = _pieces(rows)
    n = sum(len(X) for X in values)
    total = np.zeros((n, n))
    for part in side_by_side(partial(_gram_of, rows, values), pieces):
        total += part
    return total


def are_alike(rows: Sequence[ViewRows], others: Sequence[ViewRows]) -> bool:
    """Whether two scaled views have the same rows, in memory, but for row factors."""
    return len(rows) == len(others) and all(map(_is_alike, rows, others))


def _is_alike(a: ViewRows, b: ViewRows) -> bool:
    if a.map != b.map or not _is_same(a.values, b.values):
        return False
    parts = ((a.scale, b.scale), (a.offset, b.offset), (a.level, b.level), (a.absent, b.absent))
    return all(
        one is other or (one is not None and other is not None and np.array_equal(one, other))
        for one, other in parts
    )


def _is_same(a: Any, b: Any) -> bool:
    """Whether two arrays are at the same place."""
    if isinstance(a, sparse.csr_array) and isinstance(b, sparse.csr_array):
        return a.shape == b.shape and _is_same(a.data, b.data) and _is_same(a.indices, b.indices)
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return False
    return a.__array_interface__ == b.__array_interface__


def combine(rows: Sequence[ViewRows], Z: FloatArray) -> FloatArray:
    """X'ᵀ Z of one scaled view, whose blocks are given: (d_v, columns of Z)."""
    weighted = Z * factors(rows)[:, None]
    if isinstance(rows[0].values, sparse.csr_array):
        sums = np.asarray(_scaled_rows(rows).T @ weighted)
        offset = rows[0].offset
        return sums if offset is None else sums - np.outer(offset, weighted.sum(axis=0))
    values, pieces = _pieces(rows)
    out = np.empty((values[0].shape[1], Z.shape[1]))

    def fill(columns: slice) -> None:
        out[columns] = _piece(rows, values, columns).T @ weighted

    for _ in side_by_side(fill, pieces):
        pass
    return out


def _pieces(rows: Sequence[ViewRows]) -> tuple[list[NDArray[Any]], list[slice]]:
    """The values of all blocks, read if they are on disk, and slices of columns."""
    values = [np.asarray(view.values) for view in rows]
    n, d = sum(len(X) for X in values), values[0].shape[1]
    step = products.piece_width(n)
    return values, [slice(start, min(start + step, d)) for start in range(0, d, step)]


def _piece(rows: Sequence[ViewRows], values: Sequence[NDArray[Any]], columns: slice) -> FloatArray:
    """Some columns of the scaled rows of all blocks, without row factors: (n, columns)."""
    return np.concatenate(list(_scaled_columns(rows, values, columns)))


def _scaled_columns(
    rows: Sequence[ViewRows], values: Sequence[NDArray[Any]], columns: slice
) -> Iterator[NDArray[Any]]:
    for view, X in zip(rows, values, strict=True):
        part = products.some_columns(view, X, columns)
        yield products.unfactored(replace(part, values=part.values.astype(np.float64)))


def _gram_of(
    rows: Sequence[ViewRows], values: Sequence[NDArray[Any]], columns: slice
) -> FloatArray:
    piece = _piece(rows, values, columns)
    return np.asarray(piece @ piece.T)


def _scaled_rows(rows: Sequence[ViewRows]) -> sparse.csr_array[Any]:
    """map(ℓ x) ∘ scale of sparse rows of all blocks, in float64."""
    X = sparse.csr_array(sparse.vstack([products.mapped(view) for view in rows], format="csr"))
    data = X.data.astype(np.float64)
    return products.with_values(
        X, data if rows[0].scale is None else data * rows[0].scale[X.indices]
    )


def _sparse_gram(X: sparse.csr_array[Any], offset: FloatArray | None) -> FloatArray:
    """(X − 1 offsetᵀ)(X − 1 offsetᵀ)ᵀ."""
    total = np.asarray((X @ X.T).toarray())
    if offset is not None:
        along = np.asarray(X @ offset)  # (n,)
        total -= along[:, None] + along
        total += offset @ offset
    return total


def factors(rows: Sequence[ViewRows]) -> FloatArray:
    """Row factors of all blocks, ones where there are none."""
    return np.concatenate(
        [np.ones(view.values.shape[0]) if view.factor is None else view.factor for view in rows]
    )
