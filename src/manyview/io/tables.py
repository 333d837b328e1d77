"""Read views from files and match their samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    tell_repeated,
    with_names,
    with_view_names,
)
from manyview.io._categories import with_categories
from manyview.io._completion import estimate
from manyview.io._matching import orient
from manyview.io._missing_values import Filled, fill, without_empty_rows
from manyview.io._naming import ONE_VIEW, check_names, name_samples
from manyview.io._table import Table

Samples = Literal["auto", "rows", "columns"]
Missing = Literal["keep", "drop"]
Nan = Literal["fail", "feature-mean", "drop-features", "estimate"]
Categorical = Literal["drop", "keep"]


@dataclass(frozen=True, eq=False)
class LoadedViews:
    """Views read from files.

    Attributes
    ----------
    data : MultiViewData
        The views, with the names of samples and features.
    found : pandas.DataFrame
        One row per view: file and format; number of samples and features in the file; whether
        samples are in rows or columns (orientation); samples that are also in another view
        (matched); samples of the result that the view lacks (missing); samples of the view that
        are not in the result (dropped); ignored columns (set_aside); number of NaN among the used
        values, and how they were handled.
    notes : tuple of str
        Automatic decisions and anything unusual, one sentence each.
    set_aside : pandas.DataFrame
        The columns that are not features, one row per sample; NaN where no file has a value.
    matching : str
        By what the samples of the views were matched, in one sentence.
    obs : pandas.DataFrame
        What `.h5ad`, `.h5mu`, `.loom` and `.zarr` files say about the samples, one row per sample;
        NaN where no file has a value.
    """

    data: MultiViewData
    found: pd.DataFrame
    notes: tuple[str, ...]
    set_aside: pd.DataFrame = field(default_factory=pd.DataFrame)
    matching: str = ONE_VIEW
    obs: pd.DataFrame = field(default_factory=pd.DataFrame)


def read_views(
    paths: PathLike | Sequence[PathLike],
    *,
    id: str | None = None,
    samples: Samples = "auto",
    missing: Missing = "keep",
    nan: Nan = "fail",
    view_names: Sequence[str] | None = None,
    set_aside: Sequence[str] = (),
    by_position: bool = False,
    names: Sequence[PathLike] | None = None,
    categorical: Categorical = "drop",
) -> LoadedViews:
    r"""Read views from files, match their samples by name, and check them.

    Parameters
    ----------
    paths : path or sequence of paths
        Files with one or several views, or folders, whose files are used in order of name:
        .csv, .tsv, .txt (also .gz, .bz2 or .zst), .parquet, .feather, .xlsx, .npy, .npz, .mat,
        .h5ad, .h5mu, .h5 of 10x or with matrices, .mtx (also .gz), .loom, .zarr.
    id : str, optional
        Name of the column with the sample names. None: the stored names, the column of text or
        whole numbers, or the header, whose values differ in each table and are shared by the
        tables. Without any such names, samples are matched by position; where only some tables
        have names, or several columns pair the rows differently, a ViewError says so.
    samples : {"auto", "rows", "columns"}, default="auto"
        Whether samples are in rows or columns. "auto": the side whose names the views share.
    missing : {"keep", "drop"}, default="keep"
        Keep samples with missing views, or only those that have all views.
    nan : {"fail", "feature-mean", "drop-features", "estimate"}, default="fail"
        Handling of NaN in part of a row: refuse, impute the mean of the feature, drop the
        feature, or estimate the values from the others of all views by a low-rank model. A row
        that is all NaN marks a missing view.
    view_names : sequence of str, optional
        Names of the views; None uses those of the files, sheets or arrays. If all are names of
        views that the files have, these views are chosen, in this order.
    set_aside : sequence of str, default=()
        Columns that are not features although they hold numbers, such as known classes.
    by_position : bool, default=False
        Match row i of each table with row i of the others, whatever their names are.
    names : sequence of paths, optional
        For each view a `.npy`, `.csv`, `.txt` or `.parquet` file with its sample names, one per
        row, as for arrays that have none; `path::column` names the column. An empty path leaves a
        view with its own.
    categorical : {"drop", "keep"}, default="drop"
        Columns of text, and of yes and no: leave text out and count yes and no as 1 and 0, or make
        a view of both, `NAME_categories`, with an indicator for each category.

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
    >>> loaded = read_views([folder / "rna.csv", folder / "protein.csv"])
    >>> loaded.data
    MultiViewData(3 samples; rna (2), protein (1); 17% of rows missing)
    >>> list(loaded.found["orientation"])
    ['rows', 'columns']
    """
    check_options(samples=(samples, Samples), missing=(missing, Missing), nan=(nan, Nan))
    check_options(categorical=(categorical, Categorical))
    is_kept = categorical == "keep"
    tables, notes = read_tables(paths, id, keeps_text=is_kept)
    tables = with_names(with_view_names(tables, view_names), names)
    notes += tell_repeated(paths)
    notes += [note for table in tables for note in table.notes if not is_kept]
    if is_kept:  # tables of text alone
        tables, remarks = with_categories(tables, set_aside, are_named=False)
        notes += remarks
    tables, remarks = orient(tables, samples, by_position=by_position)
    notes += [*remarks, *_without_id(tables, id)]
    tables = [table.without(set_aside) for table in tables]
    check_names(tables)
    named = name_samples(tables, by_position=by_position)
    tables = named.tables
    notes += named.notes
    if is_kept:
        tables, remarks = with_categories(tables, set_aside, are_named=True)
        notes += remarks
    filled, kept = _matched([without_empty_rows(table) for table in tables], missing, nan)
    found = pd.DataFrame(
        [described(table, part, kept, tables) for table, part in zip(tables, filled, strict=True)]
    )
    aside = _by_sample([(table.samples, table.others) for table in tables], kept)
    obs = _by_sample([(table.samples, table.obs) for table in tables], kept)
    data = assembled(filled, kept)
    return LoadedViews(data, found, tuple(notes), aside, named.matching, obs.infer_objects())


def _by_sample(parts: Sequence[tuple[pd.Index, pd.DataFrame]], names: pd.Index) -> pd.DataFrame:
    """Columns about the samples; of columns with one name the first that has a value."""
    columns: dict[str, pd.Series] = {}
    for samples, frame in parts:
        for name, values in frame.set_axis(samples[: len(frame)]).items():
            column, earlier = values.astype(object).reindex(names), columns.get(str(name))
            columns[str(name)] = (
                column if earlier is None else earlier.where(earlier.notna(), column)
            )
    return pd.DataFrame(columns, index=names)


def _without_id(tables: Sequence[Table], id: str | None) -> list[str]:
    """Notes on tables that lack the column of sample names."""
    return [
        f"{table.file} has no column {id!r}; other names, or the position, identify its samples."
        for table in tables
        if id is not None and table.is_turnable and not (table.has_id or table.is_turned)
    ]


def _matched(tables: Sequence[Table], missing: str, nan: str) -> tuple[list[Filled], pd.Index]:
    """The samples of the result, and the rows of each table for them, without NaN."""
    names = merged_index([table.samples for table in tables], "outer")
    if missing == "drop":
        for table in tables:
            names = names[names.isin(table.samples)]
    if names.empty:
        sizes = ", ".join(f"{table.file} has {len(table.samples)}" for table in tables)
        msg = f"No sample is in all views ({sizes}); keep incomplete ones with --missing keep."
        raise ViewError(msg)
    parts = [table.of_samples(rows_of(table, names)) for table in tables]
    if nan == "estimate":
        return estimate(parts, names), names
    return [fill(table, nan) for table in parts], names
