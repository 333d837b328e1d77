"""Views that stay on disk: large arrays without names, matched by position."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from manyview.data.opening import open_rows
from manyview.data.rows import Rows
from manyview.data.views import MultiViewData
from manyview.io._assembly import PathLike, distinct_names
from manyview.io.tables import LoadedViews

__all__ = ["is_pattern", "open_views"]

KEY = "::"  # between a path and the array or column inside


def is_pattern(path: PathLike) -> bool:
    """Tell whether a path stands for the shards of a view, or for an array inside a file.

    Parameters
    ----------
    path : path
        As a user wrote it.

    Returns
    -------
    bool
    """
    return not Path(path).exists() and (glob.has_magic(os.fspath(path)) or KEY in os.fspath(path))


def open_views(
    paths: Sequence[PathLike], *, view_names: Sequence[str] | None = None
) -> LoadedViews:
    """Open one view a path, without reading it; row i of each is the same sample.

    Parameters
    ----------
    paths : sequence of paths
        Files, folders or patterns as `manyview.open_rows` takes them; `path::key` names the array
        or column inside.
    view_names : sequence of str, optional
        Names of the views; None takes those of the files.

    Returns
    -------
    LoadedViews
        Its samples are named by their numbers, from 0.

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
    names = distinct_names([_view_name(path) for path in paths], view_names)
    sources = {name: _open(path) for name, path in zip(names, paths, strict=True)}
    data = MultiViewData.of(sources)
    data = replace(data, sample_names=pd.RangeIndex(len(data)))
    notes = ("Samples were matched by position: row i of each view is the same sample.",)
    return LoadedViews(data, _found(data, sources, paths), notes if len(sources) > 1 else ())


def _open(path: PathLike) -> Rows:
    where, _, key = os.fspath(path).partition(KEY)
    return open_rows(where, key=key or None)


def _view_name(path: PathLike) -> str:
    """The key, or what stands before the varying part of the file name."""
    where, _, key = os.fspath(path).partition(KEY)
    fixed = re.split(r"[*?\[]", Path(where).stem)[0].rstrip("_-. ")
    return key or fixed or "view"


def _ending(path: PathLike) -> str:
    return Path(os.fspath(path).partition(KEY)[0]).suffix[1:] or "folder"


def _found(
    data: MultiViewData, sources: Mapping[str, Rows], paths: Sequence[PathLike]
) -> pd.DataFrame:
    """What was opened, a row a view."""
    n = len(data)
    return pd.DataFrame(
        [
            {
                "view": name,
                "file": os.fspath(path),
                "format": _ending(path),
                "samples": n,
                "features": source.shape[1],
                "orientation": "rows",
                "matched": n if len(sources) > 1 else 0,
                "missing": n - rows,
                "dropped": 0,
                "set_aside": "",
                "nan": 0,
                "nan_action": "",
            }
            for (name, source), path, rows in zip(
                sources.items(), paths, data.view_rows, strict=True
            )
        ]
    )
