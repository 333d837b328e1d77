"""Steps shared by reading views for a fit and reading new samples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.conversion import View
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io._formats import read_path
from manyview.io._missing_values import Filled
from manyview.io._table import Table

PathLike: TypeAlias = str | os.PathLike[str]


def check_options(**options: tuple[str, Any]) -> None:
    for name, (value, kind) in options.items():
        if value not in get_args(kind):
            expected = ", ".join(map(repr, get_args(kind)))
            msg = f"{name}={value!r} is unknown; expected one of {expected}."
            raise ViewError(msg)


def read_tables(
    paths: PathLike | Sequence[PathLike], id: str | None
) -> tuple[list[Table], list[str]]:
    """All tables of all paths."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        msg = "Received no files; expected at least one."
        raise ViewError(msg)
    tables: list[Table] = []
    notes: list[str] = []
    for path in given:
        more, remarks = read_path(Path(path), id)
        tables += more
        notes += remarks
    if id is not None and not any(table.has_id for table in tables):
        shown = "; ".join(
            f"{table.file} has {', '.join([*table.set_aside, *table.columns][:5])} …"
            for table in tables
            if table.columns is not None
        )
        msg = f"No file has a column {id!r} with sample names (--id); {shown or 'none has names'}."
        raise ViewError(msg)
    return tables, notes


def with_view_names(tables: list[Table], names: Sequence[str] | None) -> list[Table]:
    """Tables with distinct view names: those given, else their own, numbered if repeated."""
    distinct = distinct_names([table.view for table in tables], names)
    return [replace(table, view=name) for table, name in zip(tables, distinct, strict=True)]


def distinct_names(own: Sequence[str], names: Sequence[str] | None) -> Sequence[str]:
    """The given names, else their own, numbered if repeated."""
    if names is None:
        again = pd.Series(own).groupby(list(own)).cumcount()
        names = [name if k == 0 else f"{name}_{k + 1}" for name, k in zip(own, again, strict=True)]
    if len(names) != len(own) or len(set(names)) != len(own):
        msg = f"view_names are {list(names)}; expected {len(own)} different names, one per view."
        raise ViewError(msg)
    return names


def rows_of(table: Table, names: pd.Index) -> Any:
    """Rows of a table for some samples, in their order; a slice if these are all rows."""
    if table.samples.equals(names):
        return slice(None)  # no copy, so that a memory map stays on disk
    places = table.samples.get_indexer(names)
    return places[places >= 0]


def assembled(filled: Sequence[Filled], names: pd.Index) -> MultiViewData:
    """All views, with rows of zeros for missing samples."""
    tables = [part.table for part in filled]
    present = np.column_stack([names.isin(table.samples) for table in tables])  # (n, V)
    views = {table.view: spread(table.values, present[:, v]) for v, table in enumerate(tables)}
    data = MultiViewData.of(views, present=None if present.all() else present)
    features = tuple(
        None if table.columns is None else table.columns.to_numpy(dtype=object) for table in tables
    )
    return replace(data, sample_names=names, feature_names=features)


def spread(values: View, is_present: NDArray[np.bool_]) -> View:
    """Expand the rows to all samples, with zeros for missing ones."""
    if is_present.all():
        return values
    if isinstance(values, sparse.csr_array):
        counts = np.zeros(len(is_present), dtype=values.indptr.dtype)
        counts[is_present] = np.diff(values.indptr)
        ends = np.concatenate([[0], np.cumsum(counts)])
        return sparse.csr_array(
            (values.data, values.indices, ends), shape=(len(is_present), values.shape[1])
        )
    spread = np.zeros((len(is_present), values.shape[1]), dtype=values.dtype)
    spread[is_present] = values
    return spread


def described(
    table: Table, part: Filled, names: pd.Index, tables: Sequence[Table]
) -> dict[str, object]:
    """One row of `found`."""
    others = [other.samples for other in tables if other is not table]
    matched = table.samples[:0].append(others).unique()
    n_used = part.table.values.shape[0]
    return {
        "view": table.view,
        "file": table.file,
        "format": table.format,
        "samples": len(table.samples),
        "features": table.values.shape[1],
        "orientation": "columns" if table.is_turned else "rows",
        "matched": int(table.samples.isin(matched).sum()),
        "missing": len(names) - n_used,
        "dropped": len(table.samples) - n_used,
        "set_aside": ", ".join(table.set_aside),
        "nan": part.n_nan,
        "nan_action": part.action,
    }
