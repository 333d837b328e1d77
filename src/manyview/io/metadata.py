"""Read a table with metadata of the samples, such as clinical data, batches or dates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from manyview.exceptions import ViewError
from manyview.io._assembly import PathLike
from manyview.io._formats import LabeledValues, read_sheets
from manyview.io._keys import as_names


@dataclass(frozen=True, eq=False)
class Meta:
    """Metadata of samples.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per sample, in the order of the samples; NaN if the file lacks a sample.
    notes : tuple of str
        How rows were matched with samples, one sentence each.
    """

    table: pd.DataFrame
    notes: tuple[str, ...]


def read_meta(path: PathLike, names: pd.Index, *, id: str | None = None) -> Meta:
    """Read a table, and match its rows with samples by name.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .txt, .parquet, .feather or .xlsx file with one row per sample.
    names : pandas.Index
        Names of the samples; a RangeIndex, for samples without names, matches by position.
    id : str, optional
        Name of the column with the sample names; if None or not in the file, the column with most
        of the names is used.

    Returns
    -------
    Meta
    """
    sheet, *others = read_sheets(Path(path), id)
    notes = [*sheet.notes]
    if others:
        notes.append(f"{path}: only the first of {len(others) + 1} sheets was read.")
    frame = sheet.frame
    if isinstance(names, pd.RangeIndex):
        if len(frame) != len(names):
            msg = (
                f"{path} has {len(frame)} rows, and the views have {len(names)} samples without "
                "names; expected the same number of rows in the same order, or a column of sample "
                "names in each file (--id)."
            )
            raise ViewError(msg)
        notes.append(f"{path}: the rows were matched with the samples by position.")
        return Meta(frame.set_axis(names), tuple(notes))
    column, keys = _best_key(sheet, names, id)
    if not keys.is_unique:
        twice = keys[keys.duplicated()][0]
        msg = f"{path} has sample {twice!r} twice; expected one row per sample. Delete one of them."
        raise ViewError(msg)
    n_found, n_others = int(names.isin(keys).sum()), int((~keys.isin(names)).sum())
    notes.append(
        f"{path}: {n_found} of {len(names)} samples found"
        + (
            f"; {n_others} row{'s' if n_others > 1 else ''} about other samples left out."
            if n_others
            else "."
        )
    )
    kept = [j for j in range(frame.shape[1]) if j != column and str(frame.columns[j]) != ""]
    return Meta(frame.iloc[:, kept].set_axis(keys).reindex(names), tuple(notes))


def _best_key(sheet: LabeledValues, names: pd.Index, id: str | None) -> tuple[int | None, pd.Index]:
    """The column of sample names (None: the index) and the names in it."""
    candidates = dict(_candidates(sheet, id))
    n_found = {column: int(names.isin(keys).sum()) for column, keys in candidates.items()}
    best = max(n_found, key=lambda column: n_found[column], default=None)
    if n_found.get(best, 0) == 0:
        header = ", ".join(map(str, sheet.frame.columns[:5]))
        msg = (
            f"{sheet.file} names no sample of the views, which have {', '.join(names[:3])}; "
            f"expected a column of such names. Its columns are {header}."
        )
        raise ViewError(msg)
    return best, candidates[best]


def _candidates(sheet: LabeledValues, id: str | None) -> Iterator[tuple[int | None, pd.Index]]:
    """Candidates for sample names: the given column, else the index and all columns without NaN."""
    frame, file = sheet.frame, sheet.file
    header = [str(name).strip() for name in frame.columns]
    if id in header:
        yield header.index(id), as_names(frame.iloc[:, header.index(id)], file)
        return
    if not frame.index.equals(pd.RangeIndex(len(frame))):
        yield None, as_names(frame.index, file)
    for j in range(len(header)):
        column = frame.iloc[:, j]
        if column.dtype.kind not in "fMm" and column.notna().all():
            yield j, as_names(column, file)
