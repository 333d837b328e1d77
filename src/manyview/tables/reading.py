"""Read views from files and bring them together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview._intake import View
from manyview._sheets import merged_index
from manyview.errors import ViewError
from manyview.tables._formats import read_path
from manyview.tables._gaps import Filled, fill, without_empty_rows
from manyview.tables._matching import check_names, name_samples, orient
from manyview.tables._table import Table
from manyview.views import MultiViewData

__all__ = ["Intake", "read_views"]

PathLike = str | os.PathLike[str]
Samples = Literal["auto", "rows", "columns"]
Missing = Literal["keep", "drop"]
Nan = Literal["fail", "feature-mean", "drop-features"]


@dataclass(frozen=True, eq=False)
class Intake:
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
) -> Intake:
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
    Intake

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from manyview.tables import read_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "rna.csv").write_text("sample,g1,g2\na,1,2\nb,3,4\nc,5,6\n")
    >>> _ = (folder / "protein.csv").write_text("feature,c,a\np1,0.5,0.25\n")
    >>> intake = read_views([folder / "rna.csv", folder / "protein.csv"])
    >>> intake.data
    MultiViewData(3 samples; rna (2), protein (1); 17% of rows missing)
    >>> list(intake.found["orientation"])
    ['rows', 'columns']
    """
    _check_options(samples=(samples, Samples), missing=(missing, Missing), nan=(nan, Nan))
    tables, notes = _read(paths, id)
    tables = _renamed(tables, view_names)
    notes += [note for table in tables for note in table.notes]
    tables, remarks = orient(tables, samples)
    notes += [*remarks, *_without_id(tables, id)]
    check_names(tables)
    tables, remarks = name_samples(tables)
    notes += remarks
    filled, names = _matched([without_empty_rows(table) for table in tables], missing, nan)
    found = pd.DataFrame(
        [_described(table, part, names, tables) for table, part in zip(tables, filled, strict=True)]
    )
    return Intake(_assembled(filled, names), found, tuple(notes))


def _check_options(**options: tuple[str, Any]) -> None:
    for name, (value, kind) in options.items():
        if value not in get_args(kind):
            expected = ", ".join(map(repr, get_args(kind)))
            msg = f"{name}={value!r} is unknown; expected one of {expected}."
            raise ViewError(msg)


def _read(paths: PathLike | Sequence[PathLike], id: str | None) -> tuple[list[Table], list[str]]:
    """All tables of all paths."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        msg = "No files were given; expected at least one."
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


def _without_id(tables: Sequence[Table], id: str | None) -> list[str]:
    """Sentences about tables of samples that lack the column of names that others have."""
    return [
        f"{table.file} has no column {id!r}; its samples go by other names, or by position."
        for table in tables
        if id is not None and table.is_turnable and not (table.has_id or table.is_turned)
    ]


def _renamed(tables: list[Table], names: Sequence[str] | None) -> list[Table]:
    """Tables with different names: those given, else their own, counted where they repeat."""
    if names is None:
        own = pd.Series([table.view for table in tables])
        again = own.groupby(own).cumcount()
        names = [name if k == 0 else f"{name}_{k + 1}" for name, k in zip(own, again, strict=True)]
    if len(names) != len(tables) or len(set(names)) != len(tables):
        msg = f"view_names are {list(names)}; expected {len(tables)} different names, one a view."
        raise ViewError(msg)
    return [replace(table, view=name) for table, name in zip(tables, names, strict=True)]


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
    return [fill(table.of_samples(_rows(table, names)), nan) for table in tables], names


def _rows(table: Table, names: pd.Index) -> Any:
    """The rows of a table that are about some samples, in their order; all at once if they are."""
    if table.samples.equals(names):
        return slice(None)  # no copy, so that a memory map stays on disk
    places = table.samples.get_indexer(names)
    return places[places >= 0]


def _assembled(filled: Sequence[Filled], names: pd.Index) -> MultiViewData:
    """All views, with rows of zeros for what is missing."""
    tables = [part.table for part in filled]
    present = np.column_stack([names.isin(table.samples) for table in tables])  # (n, V)
    views = {table.view: _spread(table.values, present[:, v]) for v, table in enumerate(tables)}
    data = MultiViewData.of(views, present=None if present.all() else present)
    features = tuple(
        None if table.columns is None else table.columns.to_numpy(dtype=object) for table in tables
    )
    return replace(data, sample_names=names, feature_names=features)


def _spread(values: View, is_present: NDArray[np.bool_]) -> View:
    """Put the rows where they belong, and zeros between them."""
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


def _described(
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
