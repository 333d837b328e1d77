"""Views that stay on disk: large arrays, matched by names beside them, else by position."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from manyview.data.array_files import Chunked
from manyview.data.column_files import Columns
from manyview.data.containers import merged_index
from manyview.data.opening import open_rows
from manyview.data.rows import File, Joined, Picked, Rows
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io._assembly import KEY, PathLike, distinct_names, tell_repeated, with_names
from manyview.io._keys import Key, default_key, find_keys
from manyview.io._matching import orient
from manyview.io._naming import check_names, name_samples
from manyview.io._table import Table
from manyview.io.tables import LoadedViews


def is_pattern(path: PathLike) -> bool:
    """Whether a path is a pattern for the parts of a view, or names an array inside a file.

    Parameters
    ----------
    path : path
        As given by the user.

    Returns
    -------
    bool
    """
    return not Path(path).exists() and (glob.has_magic(os.fspath(path)) or KEY in os.fspath(path))


def open_views(
    paths: Sequence[PathLike],
    *,
    view_names: Sequence[str] | None = None,
    id: str | None = None,
    names: Sequence[PathLike] | None = None,
    missing: Literal["keep", "drop"] = "keep",
    by_position: bool = False,
) -> LoadedViews:
    """Open one view per path without reading it, and match the samples by name or position.

    Parameters
    ----------
    paths : sequence of paths
        Files, folders or patterns, as for `manyview.open_rows`; `path::key` names the array or
        column inside the file.
    view_names : sequence of str, optional
        Names of the views; None uses those of the files.
    id : str, optional
        Column of each file, or array beside the vectors, that holds the sample names. None: the
        column of text or whole numbers that differs in each file and is shared by the files; with
        no such column in any file, row i of each view is the same sample.
    names : sequence of paths, optional
        For each view a `.npy`, `.csv`, `.txt` or `.parquet` file with its sample names, one per
        row; `path::column` names the column. An empty path leaves a view with its own.
    missing : {"keep", "drop"}, default="keep"
        Keep samples with missing views, or only those that have all views.
    by_position : bool, default=False
        Match row i of each view with row i of the others, whatever their names are.

    Returns
    -------
    LoadedViews
        Sample names are their positions, from 0, if no file has any. Views whose rows are in
        another order stay on disk, and are read in the order of the samples.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from manyview.io import open_views
    >>> folder = tempfile.mkdtemp()
    >>> for part in range(3):
    ...     np.save(f"{folder}/img_{part}.npy", np.eye(4))
    >>> np.save(f"{folder}/txt.npy", np.ones((12, 2)))
    >>> open_views([f"{folder}/img_*.npy", f"{folder}/txt.npy"]).data
    MultiViewData(12 samples; img (4), txt (2))
    """
    of_views = distinct_names([_view_name(path) for path in paths], view_names)
    files = with_names(
        [_table(path, view, id) for path, view in zip(paths, of_views, strict=True)], names
    )
    if id is not None and not any(table.has_id for table in files):
        msg = (
            f"No file has a column {id!r} with sample names (--id) beside its vectors; expected "
            "one, or files of names (--names)."
        )
        raise ViewError(msg)
    oriented, notes = orient(files, "rows", by_position=by_position)
    check_names(oriented)
    named = name_samples(oriented, by_position=by_position)
    samples = _samples(named.tables, missing)
    data, remarks = _matched(named.tables, samples)
    return LoadedViews(
        data,
        _found(data, named.tables, paths),
        (*notes, *named.notes, *remarks, *tell_repeated(paths)),
        matching=named.matching,
    )


def _table(path: PathLike, view: str, id: str | None) -> Table:
    """The rows of a path, and what may name them."""
    where, _, key = os.fspath(path).partition(KEY)
    rows = _open(path, (id,) if id is not None else ())
    file = Path(where).name if glob.has_magic(where) else where
    parts = _parts(rows)
    sides = [part.side_names() for part in parts]
    shared = [name for name in sides[0] if all(name in others for others in sides)]
    has_id = id is not None and id in shared
    frame = pd.DataFrame(
        {
            name: np.concatenate([np.asarray(part.read_side(name)) for part in parts])
            for name in (shared if id is None or not has_id else [id])
        }
    )
    numbers = [j for j, kind in enumerate(frame.dtypes) if kind.kind in "iuf"]
    found = [] if frame.empty else find_keys(frame, list(frame.columns), numbers)
    if has_id:
        found = [Key(str(id), frame[id], "text")]
    features = list(getattr(rows, "features", ()))
    keys = tuple(
        replace(
            one,
            position=features.index(one.title) if one.title in features else None,
            is_odd=len(features) > 2 * len(numbers),
        )
        for one in found
    )
    chosen = keys[0] if has_id else default_key(keys)
    return Table(
        view,
        f"{file}{KEY}{key}" if key else file,
        _ending(path),
        rows,  # type: ignore[arg-type]
        None if chosen is None else chosen.complete(file),
        title="" if chosen is None else chosen.title,
        is_turnable=False,
        has_id=has_id,
        keys=keys,
        key=chosen,
        others=frame.drop(columns=[one.title for one in keys]),
    )


def _parts(rows: Any) -> list[File]:
    """The files of a view."""
    files: Any = rows.parts if isinstance(rows, Joined) else [rows]
    return list(files)


def _is_slow(rows: Any) -> bool:
    """Whether single rows cannot be read by themselves."""
    return isinstance(_parts(rows)[0], Columns | Chunked)


def _samples(tables: Sequence[Table], missing: str) -> pd.Index:
    """Names of the samples, in the order of the view whose rows are least easily reordered."""
    slow = sorted(tables, key=lambda table: not _is_slow(table.values))
    samples = merged_index([table.samples for table in slow], "outer")
    for table in tables if missing == "drop" else ():
        samples = samples[samples.isin(table.samples)]
    if samples.empty:
        msg = "No sample is in all views; keep incomplete ones with --missing keep."
        raise ViewError(msg)
    return samples


def _matched(tables: Sequence[Table], samples: pd.Index) -> tuple[MultiViewData, list[str]]:
    """The views with their rows in the order of the samples, and notes on slow reading."""
    views: dict[str, Rows] = {}
    present, notes = [], []
    for table in tables:
        rows: Any = table.values
        if table.key is not None and table.key.title in getattr(rows, "features", ()):
            rows = rows.without(table.key.title)
        if not table.samples.equals(samples):
            positions = table.samples.get_indexer(samples)
            in_order = np.all(np.diff(positions[positions >= 0]) > 0)
            if not in_order and _is_slow(rows):
                notes.append(
                    f"{table.file}: the rows are in another order than those of the other views, "
                    "and each read decodes whole parts of the file; a copy in the same order, or "
                    "as .npy, would be much faster."
                )
            rows = Picked(rows, positions)
        views[table.view] = rows
        present.append(samples.isin(table.samples))
    mask = np.column_stack(present)
    data = MultiViewData.of(views, present=None if mask.all() else mask)
    return replace(data, sample_names=samples), notes


def _open(path: PathLike, leave_out: tuple[str, ...]) -> Rows:
    where, _, key = os.fspath(path).partition(KEY)
    return open_rows(where, key=key or None, leave_out=leave_out)


def _view_name(path: PathLike) -> str:
    """The key, or the file name up to the first wildcard."""
    where, _, key = os.fspath(path).partition(KEY)
    fixed = re.split(r"[*?\[]", Path(where).stem)[0].rstrip("_-. ")
    return key or fixed or "view"


def _ending(path: PathLike) -> str:
    return Path(os.fspath(path).partition(KEY)[0]).suffix[1:] or "folder"


def _found(data: MultiViewData, tables: Sequence[Table], paths: Sequence[PathLike]) -> pd.DataFrame:
    """Table of the opened views, one row per view."""
    n, kept = len(data), data.sample_names
    assert kept is not None
    rows = []
    for table, path, n_rows in zip(tables, paths, data.view_rows, strict=True):
        others = [other.samples for other in tables if other is not table]
        matched = table.samples[:0].append(others).unique()
        rows.append(
            {
                "view": table.view,
                "file": os.fspath(path),
                "format": table.format,
                "samples": len(table.samples),
                "features": data.n_features[data.view_names.index(table.view)],
                "orientation": "rows",
                "matched": int(table.samples.isin(matched).sum()),
                "missing": n - n_rows,
                "dropped": int((~table.samples.isin(kept)).sum()),
                "set_aside": "",
                "nan": 0,
                "nan_action": "",
            }
        )
    return pd.DataFrame(rows)
