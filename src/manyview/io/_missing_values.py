"""NaN and infinite values of one table, whose rows are samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.conversion import View
from manyview.exceptions import ViewError
from manyview.io._table import Table

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Filled:
    """A table without NaN, the number of NaN it had, and how they were handled."""

    table: Table
    n_nan: int
    action: str


def without_empty_rows(table: Table) -> Table:
    """Drop samples whose row is all NaN: they lack the view."""
    counts = _nan_counts(table, axis=1)
    is_kept = counts < table.values.shape[1]
    if not is_kept.any():
        msg = f"{table.file} contains only NaN; expected numbers."
        raise ViewError(msg)
    return table if is_kept.all() else table.of_samples(np.flatnonzero(is_kept))


def fill(table: Table, nan: str, means: FloatArray | None = None) -> Filled:
    """Refuse, impute or drop features with scattered NaN; refuse infinite values.

    If `means` of a fit are given, they are imputed, and no feature may be dropped.
    """
    refuse_infinite(table)
    counts = _nan_counts(table, axis=0)
    n_nan, n_broken = int(counts.sum()), int((counts > 0).sum())
    if n_nan == 0:
        return Filled(table, 0, "")
    if nan == "fail":
        name = _feature(table, int(np.flatnonzero(counts)[0]))
        otherwise = ", or drop these features with --nan drop-features"
        msg = (
            f"{table.file} lacks {n_nan} of {np.prod(table.values.shape)} values, in {n_broken} of "
            f"{counts.size} features, the first of them {name}. Impute them with --nan feature-mean"
            f"{otherwise if means is None else ''}."
        )
        raise ViewError(msg)
    if means is not None:
        action = f"{n_nan} filled with the feature's mean in the fit"
        return Filled(replace(table, values=_with_means(table.values, means)), n_nan, action)
    is_kept = counts == 0 if nan == "drop-features" else counts < table.values.shape[0]
    if not is_kept.any():
        msg = (
            f"{table.file} lacks values in all of its {counts.size} features, and --nan {nan} "
            "leaves none. Try --nan feature-mean, or omit the file."
        )
        raise ViewError(msg)
    kept = _of_features(table, is_kept)
    left_out = int((~is_kept).sum())
    action = f"{left_out} features left out" if left_out else ""
    if nan == "feature-mean":
        kept = replace(kept, values=_with_means(kept.values, _means(kept.values)))
        n_filled = n_nan - left_out * table.values.shape[0]
        action = ", ".join(filter(None, [f"{n_filled} filled with the feature's mean", action]))
    return Filled(kept, n_nan, action)


def without_empty_features(table: Table) -> Table:
    """The table without features that have no value at all."""
    is_kept = _nan_counts(table, axis=0) < table.values.shape[0]
    return table if is_kept.all() else _of_features(table, is_kept)


def _stored(values: Any) -> Any:
    """The stored values; those that a sparse matrix omits are zero."""
    return values.data if isinstance(values, sparse.csr_array) else values


def _nan_counts(table: Table, axis: int) -> NDArray[np.int64]:
    """Number of NaN per feature (axis 0) or per sample (axis 1)."""
    values, stored = table.values, _stored(table.values)
    if stored.size == 0 or not np.isnan(stored.min()):
        return np.zeros(values.shape[1 - axis], dtype=np.int64)
    places = _places(values, np.isnan)[1 - axis]
    return np.bincount(places, minlength=values.shape[1 - axis])


def _places(values: View, is_meant: np.ufunc) -> tuple[NDArray[np.int64], ...]:
    """Rows and columns of the values for which a test holds; never zeros."""
    if isinstance(values, sparse.csr_array):
        entries = sparse.coo_array(values)
        is_picked = is_meant(entries.data)
        return tuple(side[is_picked] for side in entries.coords)
    return np.nonzero(is_meant(values))


def refuse_infinite(table: Table) -> None:
    """Refuse infinite values, naming the first."""
    stored = _stored(table.values)
    if stored.size == 0 or (np.isfinite(stored.min()) and np.isfinite(stored.max())):
        return
    rows, columns = _places(table.values, np.isinf)
    if rows.size == 0:
        return
    msg = (
        f"{table.file} holds {rows.size} infinite value(s), the first of them in sample "
        f"{table.samples[rows[0]]!r}, feature {_feature(table, int(columns[0]))}; expected finite "
        "numbers. Clip them, or leave them empty."
    )
    raise ViewError(msg)


def _feature(table: Table, j: int) -> str:
    return str(j + 1) if table.columns is None else repr(table.columns[j])


def _of_features(table: Table, is_kept: NDArray[np.bool_]) -> Table:
    columns = None if table.columns is None else table.columns[is_kept]
    return replace(table, values=table.values[:, np.flatnonzero(is_kept)], columns=columns)


def _means(values: Any) -> FloatArray:
    """Mean of each feature over its known values: (d,)."""
    if isinstance(values, sparse.csr_array):
        columns, is_nan = values.indices, np.isnan(values.data)
        zeroed = np.where(is_nan, 0, values.data)
        sums = np.bincount(columns, zeroed, minlength=values.shape[1])
        lacking = np.bincount(columns[is_nan], minlength=values.shape[1])
        return np.asarray(sums / (values.shape[0] - lacking))
    return np.asarray(np.nanmean(values, axis=0, dtype=np.float64))


def _with_means(values: Any, means: FloatArray) -> Any:
    """Replace NaN by the mean of the feature."""
    means = means.astype(values.dtype)
    if isinstance(values, sparse.csr_array):
        data = np.where(np.isnan(values.data), means[values.indices], values.data)
        return sparse.csr_array((data, values.indices, values.indptr), shape=values.shape)
    return np.where(np.isnan(values), means, values)
