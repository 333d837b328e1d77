"""Views that stay on disk: large arrays without sample names, matched by position."""

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

KEY = "::"  # separates a path and the array or column inside the file


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
    paths: Sequence[PathLike], *, view_names: Sequence[str] | None = None
) -> LoadedViews:
    """Open one view per path without reading it; row i of each view is the same sample.

    Parameters
    ----------
    paths : sequence of paths
        Files, folders or patterns, as for `manyview.open_rows`; `path::key` names the array or
        column inside the file.
    view_names : sequence of str, optional
        Names of the views; None uses those of the files.

    Returns
    -------
    LoadedViews
        Sample names are their positions, from 0.

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
    """The key, or the file name up to the first wildcard."""
    where, _, key = os.fspath(path).partition(KEY)
    fixed = re.split(r"[*?\[]", Path(where).stem)[0].rstrip("_-. ")
    return key or fixed or "view"


def _ending(path: PathLike) -> str:
    return Path(os.fspath(path).partition(KEY)[0]).suffix[1:] or "folder"


def _found(
    data: MultiViewData, sources: Mapping[str, Rows], paths: Sequence[PathLike]
) -> pd.DataFrame:
    """Table of the opened views, one row per view."""
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
