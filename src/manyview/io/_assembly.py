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

from manyview.data.array_files import read_npy_column
from manyview.data.conversion import View
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io._formats import read_path, read_sheets
from manyview.io._keys import Key, as_names, default_key, find_keys
from manyview.io._missing_values import Filled
from manyview.io._table import Table
from manyview.utils.memory import installed_memory

PathLike: TypeAlias = str | os.PathLike[str]
SHOWN = 10  # names of views in a message
KEY = "::"  # separates a path and the array or column inside the file


def check_options(**options: tuple[str, Any]) -> None:
    for name, (value, kind) in options.items():
        if value not in get_args(kind):
            expected = ", ".join(map(repr, get_args(kind)))
            msg = f"{name}={value!r} is unknown; expected one of {expected}."
            raise ViewError(msg)


def read_tables(
    paths: PathLike | Sequence[PathLike], id: str | None, *, keeps_text: bool = False
) -> tuple[list[Table], list[str]]:
    """All tables of all paths; one without numbers is refused, unless text is kept, too."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        msg = "Received no files; expected at least one."
        raise ViewError(msg)
    _check_arrays_fit([Path(path) for path in given])
    tables: list[Table] = []
    notes: list[str] = []
    for path in given:
        more, remarks = read_path(Path(path), id)
        tables += more
        notes += remarks
    for table in tables:
        if table.refusal and not keeps_text:
            raise ViewError(table.refusal)
    if id is not None and not any(table.has_id for table in tables):
        shown = "; ".join(
            f"{table.file} has {', '.join([*table.set_aside, *table.columns][:5])} …"
            for table in tables
            if table.columns is not None
        )
        msg = f"No file has a column {id!r} with sample names (--id); {shown or 'none has names'}."
        raise ViewError(msg)
    return tables, notes


def _check_arrays_fit(paths: Sequence[Path]) -> None:
    """Refuse arrays that would fill the memory: they can stay on disk."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.glob("*.npy"))]
    n_bytes = sum(file.stat().st_size for file in files if file.suffix.lower() == ".npy")
    if n_bytes > installed_memory() / 2:
        msg = (
            f"The .npy files take {n_bytes / 1e9:.1f} GB of the {installed_memory() / 1e9:.1f} GB "
            "of memory; expected at most half. Leave them on disk, with --engine stream or "
            "open_rows."
        )
        raise ViewError(msg)


def tell_repeated(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """Notes on files that were given twice."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = pd.Index([os.path.abspath(path) for path in given])  # noqa: PTH100  # :: and * stay
    return [
        f"{given[i]} was given more than once, so that the same view counts twice; omit it."
        for i in np.flatnonzero(files.duplicated())
    ]


def with_view_names(tables: list[Table], names: Sequence[str] | None) -> list[Table]:
    """Tables with distinct view names: those given, else their own, numbered if repeated.

    If the given names are all among their own, the tables of these names are chosen.
    """
    own = {table.view: table for table in tables}
    is_choice = names is not None and set(names) <= set(own) and len(own) == len(tables)
    if names is not None and is_choice and len(set(names)) == len(names):
        return [own[name] for name in names]
    distinct = distinct_names([table.view for table in tables], names)
    return [replace(table, view=name) for table, name in zip(tables, distinct, strict=True)]


def distinct_names(own: Sequence[str], names: Sequence[str] | None) -> Sequence[str]:
    """The given names, else their own, numbered if repeated."""
    if names is None:
        again = pd.Series(own).groupby(list(own)).cumcount()
        names = [name if k == 0 else f"{name}_{k + 1}" for name, k in zip(own, again, strict=True)]
    if len(names) != len(own) or len(set(names)) != len(own):
        shown = f"{', '.join(own[:SHOWN])}{' …' if len(own) > SHOWN else ''}"
        msg = (
            f"view_names are {list(names)}; expected {len(own)} different names, one per view, or "
            f"some of their own: {shown}."
        )
        raise ViewError(msg)
    return names


def with_names(tables: list[Table], names: Sequence[PathLike] | None) -> list[Table]:
    """Tables with the names of their samples from files, one per table; empty: its own."""
    if names is None:
        return tables
    if len(names) != len(tables):
        msg = (
            f"--names lists {len(names)} files for {len(tables)} views; expected one for each, in "
            "the order of the views, separated by commas; nothing for a view with names of its own."
        )
        raise ViewError(msg)
    return [
        _named_by_file(table, os.fspath(path)) if os.fspath(path) not in ("", ".") else table
        for table, path in zip(tables, names, strict=True)
    ]


def _named_by_file(table: Table, where: str) -> Table:
    path, _, column = where.partition(KEY)
    n = table.values.shape[0]
    values = _read_names(Path(path), column or None, n)
    if len(values) != n:
        msg = (
            f"{where} has {len(values)} names, and {table.file} has {n} rows; expected one name "
            "per row, in the order of the rows."
        )
        raise ViewError(msg)
    key = Key(column, values, "index")
    rows = as_names(values, where)
    return replace(table, rows=rows, keys=(key,), key=key, has_id=True, title=column)


def _read_names(path: Path, column: str | None, n: int) -> pd.Series:
    """The names in a file: an array, the named or the only column, or a list without header."""
    if path.suffix.lower() == ".npy":
        array = read_npy_column(path)
        if array.ndim != 1:
            msg = f"{path} has shape {array.shape}; expected one name per row, ({n},)."
            raise ViewError(msg)
        return pd.Series(array, dtype=array.dtype)
    frame = read_sheets(path, column)[0].frame
    header = [str(name) for name in frame.columns]
    if column is not None and column in header:
        return frame.iloc[:, header.index(column)].reset_index(drop=True)
    if column is not None:
        msg = f"{path} has no column {column!r}; its columns are {', '.join(header[:5])}."
        raise ViewError(msg)
    if len(header) == 1:
        values = frame.iloc[:, 0]
        if len(values) == n - 1:  # a list without a header
            return pd.Series([header[0], *values], dtype=object)
        return values.reset_index(drop=True)
    numbers = [j for j, kind in enumerate(frame.dtypes) if kind.kind in "iuf"]
    keys = find_keys(frame, header, numbers)
    key = default_key(keys) or next((key for key in keys if key.is_sound), None)
    if key is None:
        msg = (
            f"{path} has {len(header)} columns ({', '.join(header[:5])}); say which one holds the "
            f"sample names, as {path}{KEY}COLUMN."
        )
        raise ViewError(msg)
    return pd.Series(np.asarray(key.values))


def rows_of(table: Table, names: pd.Index) -> Any:
    """Rows of a table for some samples, in their order; a slice if these are all rows."""
    if table.samples.equals(names):
        return slice(None)  # no copy
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
