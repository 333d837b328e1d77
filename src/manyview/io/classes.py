"""Find the known classes of samples: in a table about them, in a file of views, or in their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import pandas as pd

from manyview.data.array_files import read_npy_column
from manyview.exceptions import ViewError
from manyview.io._assembly import KEY
from manyview.io._formats import is_sheet
from manyview.io.metadata import Meta, read_meta


def column_of(where: str) -> str:
    """Name the column that a user asked for, with or without its file.

    Parameters
    ----------
    where : str
        "COLUMN" or "FILE::COLUMN".

    Returns
    -------
    str
    """
    return where.rpartition(KEY)[2]


def find_classes(
    where: str,
    names: pd.Index,
    *,
    tables: Sequence[pd.DataFrame] = (),
    others: Iterable[str] = (),
    id: str | None = None,
) -> Meta:
    """Find the column of known classes.

    Parameters
    ----------
    where : str
        A column of one of `tables`; FILE::COLUMN; or a file with one column beside the names of the
        samples, or with one value a sample in the same order (.npy).
    names : pandas.Index
        Names of the samples; a RangeIndex where they have none, which matches by position.
    tables : sequence of DataFrames
        Tables that were read before, one row a sample; the first with the column is taken.
    others : iterable of str
        Further names that the user may have meant, for the message when there is no such column.
    id : str, optional
        Name of the column with the sample names, as in `read_meta`.

    Returns
    -------
    Meta
        A table of one column, NaN where a sample has no known class.
    """
    file, _, column = where.rpartition(KEY)
    is_file = Path(where).is_file() and (
        is_sheet(Path(where)) or Path(where).suffix.lower() == ".npy"
    )
    notes: tuple[str, ...] = ()
    if file or is_file:
        found = _read(Path(file or where), names, id)
        column, tables, notes = (
            column if file else _only_column(found, where),
            [found.table],
            found.notes,
        )
    for table in tables:
        if column in table:
            return Meta(table[[column]], notes)
    listed = [str(name) for table in tables for name in table.columns]
    raise ViewError(_no_column(column, file, listed, others))


def _read(path: Path, names: pd.Index, id: str | None) -> Meta:
    if path.suffix.lower() != ".npy":
        return read_meta(path, names, id=id)
    values = read_npy_column(path)
    if values.shape != (len(names),):
        msg = f"{path} has shape {values.shape}; expected one class per sample, ({len(names)},)."
        raise ViewError(msg)
    return Meta(pd.DataFrame({path.stem: values}, index=names), ())


def _only_column(meta: Meta, file: str) -> str:
    if meta.table.shape[1] != 1:
        shown = ", ".join(map(str, meta.table.columns[:5]))
        msg = (
            f"{file} has {meta.table.shape[1]} columns ({shown}); say which one holds the classes, "
            f"as {file}{KEY}COLUMN."
        )
        raise ViewError(msg)
    return str(meta.table.columns[0])


def _no_column(column: str, file: str, listed: Sequence[str], others: Iterable[str]) -> str:
    """A sentence with the names that are nearest, else with some that there are."""
    by_small = {name.lower(): name for name in (*others, *listed)}
    near = [by_small[small] for small in get_close_matches(column.lower(), by_small)]
    start = f"{file or 'No table'} has {'no' if file else 'a'} column {column!r} for --truth; "
    if near:
        return f"{start}did you mean {' or '.join(map(repr, near))}?"
    shown = (
        f" There are: {', '.join(listed[:5])}{' …' if len(listed) > 5 else ''}." if listed else ""
    )
    return f"{start}expected a column of the --meta table or of a view, or FILE{KEY}COLUMN.{shown}"
