"""Read views from files and bring them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from manyview.data.containers import merged_index
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io._assembly import (
    PathLike,
    assembled,
    check_options,
    described,
    read_tables,
    rows_of,
    with_view_names,
)
from manyview.io._matching import check_names, name_samples, orient
from manyview.io._missing_values import Filled, fill, without_empty_rows
from manyview.io._table import Table

__all__ = ["LoadedViews", "read_views"]

Samples = Literal["auto", "rows", "columns"]
Missing = Literal["keep", "drop"]
Nan = Literal["fail", "feature-mean", "drop-features"]


@dataclass(frozen=True, eq=False)
class LoadedViews:
    """What was read.

    Attributes
    ----------
    data : MultiViewData
        The views, with the names of samples and features.
    found : pandas.DataFrame
        One row a view: its file and format; samples and features in it; where its samples were
        (orientation); how many of them another view has, too (matched); samples of the result that
        it lacks (missing); samples of it that the result lacks (dropped); the columns that were
        set aside; NaN among the values that were taken, and what was done with them.
    notes : tuple of str
        What was decided for the user, and what may be unexpected, a sentence each.
    """

    data: MultiViewData
    found: pd.DataFrame
    notes: tuple[str, ...]


def read_views(
    paths: PathLike | Sequence[PathLike],
    *,
    id: str | None = None,
    samples: Samples = "auto",
    missing: Missing = "keep",
    nan: Nan = "fail",
    view_names: Sequence[str] | None = None,
) -> LoadedViews:
    r"""Read views from files, match their samples by name, and check them.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, each with one view or several, or folders, whose files are taken in order of name:
        .csv, .tsv, .txt, .parquet, .feather, .xlsx, .npy, .npz, .mat, .h5ad, .h5mu, .zarr.
    id : str, optional
        Name of the column with the sample names. None: the names that the format keeps, else the
        first column of text without repetitions, else the position.
    samples : {"auto", "rows", "columns"}, default="auto"
        Where the samples are. "auto": on the side whose names the views share.
    missing : {"keep", "drop"}, default="keep"
        Keep samples that some views lack, or only those that all views have.
    nan : {"fail", "feature-mean", "drop-features"}, default="fail"
        What to do with NaN in part of a row: refuse them, fill in the mean of the feature, or leave
        the feature out. A sample with nothing but NaN lacks the view.
    view_names : sequence of str, optional
        Names of the views; None takes those of the files, sheets or arrays.

    Returns
    -------
    LoadedViews

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from manyview.io import read_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "rna.csv").write_text("sample,g1,g2\na,1,2\nb,3,4\nc,5,6\n")
    >>> _ = (folder / "protein.csv").write_text("feature,c,a\np1,0.5,0.25\n")
    >>> intake = read_views([folder / "rna.csv", folder / "protein.csv"])
    >>> intake.data
    MultiViewData(3 samples; rna (2), protein (1); 17% of rows missing)
    >>> list(intake.found["orientation"])
    ['rows', 'columns']
    """
    check_options(samples=(samples, Samples), missing=(missing, Missing), nan=(nan, Nan))
    tables, notes = read_tables(paths, id)
    tables = with_view_names(tables, view_names)
    notes += [note for table in tables for note in table.notes]
    tables, remarks = orient(tables, samples)
    notes += [*remarks, *_without_id(tables, id)]
    check_names(tables)
    tables, remarks = name_samples(tables)
    notes += remarks
    filled, names = _matched([without_empty_rows(table) for table in tables], missing, nan)
    found = pd.DataFrame(
        [described(table, part, names, tables) for table, part in zip(tables, filled, strict=True)]
    )
    return LoadedViews(assembled(filled, names), found, tuple(notes))


def _without_id(tables: Sequence[Table], id: str | None) -> list[str]:
    """Sentences about tables of samples that lack the column of names that others have."""
    return [
        f"{table.file} has no column {id!r}; its samples go by other names, or by position."
        for table in tables
        if id is not None and table.is_turnable and not (table.has_id or table.is_turned)
    ]


def _matched(tables: Sequence[Table], missing: str, nan: str) -> tuple[list[Filled], pd.Index]:
    """The samples of the result, and the part of each table that is about them, without NaN."""
    names = merged_index([table.samples for table in tables], "outer")
    if missing == "drop":
        for table in tables:
            names = names[names.isin(table.samples)]
    if names.empty:
        sizes = ", ".join(f"{table.file} has {len(table.samples)}" for table in tables)
        msg = f"No sample is in all views ({sizes}); keep incomplete ones with --missing keep."
        raise ViewError(msg)
    return [fill(table.of_samples(rows_of(table, names)), nan) for table in tables], names
