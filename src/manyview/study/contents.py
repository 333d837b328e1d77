"""Rows by the content of their data set: those of a file are not taken for its successor's."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from manyview.datasets import load_benchmark
from manyview.datasets.benchmark_sets import find_benchmark
from manyview.exceptions import ViewError
from manyview.persistence.atomic import RowLog


def content_digest(name: str, data_home: Path | None = None) -> str | None:
    """Digest of the views and labels of a benchmark set.

    Parameters
    ----------
    name : str
        Name of the data set.
    data_home : path, optional
        Folder of the data sets; None uses MANYVIEW_DATA.

    Returns
    -------
    str or None
        The same for files with the same values, however they are stored; None where the data set
        cannot be loaded, which its runs will report.
    """
    try:
        path = find_benchmark(name, data_home)
    except ViewError:
        return None
    stat = path.stat()
    return _digest(name, data_home, path, (stat.st_size, stat.st_mtime_ns))


@cache
def _digest(name: str, data_home: Path | None, path: Path, stamp: tuple[int, ...]) -> str | None:
    """Load and digest a data set; once for each stamp of its file."""
    try:
        data, target = load_benchmark(name, data_home=data_home, return_X_y=True)
    except (ViewError, ImportError, MemoryError):
        return None
    found = hashlib.sha256()
    for part in (*data.views, data.present, target):
        _add(found, part)
    return found.hexdigest()[:16]


class KeyedRows:
    """The rows of a log by key, the last of each.

    Parameters
    ----------
    log : RowLog
        Rows with `key` and `content`, the digest of their data set.
    """

    def __init__(self, log: RowLog) -> None:
        self._log = log
        self._rows = {row["key"]: row for row in log.read()}

    def find(self, key: str, key_by_name: str, content: str | None) -> dict[str, Any] | None:
        """Row of a key.

        A row of an earlier version of manyview has the key without the digest, and no digest. It
        is taken for one of the data set as it is now, and from then on belongs to that.
        """
        row = self._rows.get(key) or self._rows.get(key_by_name)
        if row is not None and "content" not in row:
            row = self._rows[key_by_name] = {**row, "content": content}
            self._log.append(row)
        return row if row is not None and row["content"] == content else None


def _add(found: Any, part: Any) -> None:
    """Add the shape, type and values of a view, a mask or labels."""
    if isinstance(part, sparse.csr_array):
        found.update(repr(part.shape).encode())
        arrays = [part.indptr, part.indices, part.data]
    else:
        arrays = [np.asarray([] if part is None else part)]
    for array in arrays:
        found.update(f"{array.shape}{array.dtype.str}".encode())
        found.update(np.ascontiguousarray(array).data)
