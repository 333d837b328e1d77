"""Open views on disk, by file format."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from manyview.data.array_files import Hdf5, Npy, Zarr
from manyview.data.column_files import Arrow, Columns, Parquet
from manyview.data.readable import readable
from manyview.data.rows import File, Joined, Rows
from manyview.exceptions import ViewError

Where: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"

FORMATS: dict[str, type[File]] = {
    ".npy": Npy,
    ".zarr": Zarr,
    ".parquet": Parquet,
    ".arrow": Arrow,
    ".feather": Arrow,
    ".h5": Hdf5,
    ".hdf5": Hdf5,
}


def open_rows(where: Where, *, key: str | None = None, leave_out: Sequence[str] = ()) -> Rows:
    """Open a view on disk; its rows are read on demand.

    Parameters
    ----------
    where : path, pattern, folder or list of paths
        A `.npy`, `.zarr`, `.parquet`, `.arrow`, `.feather`, `.h5` or `.hdf5` file. The files that
        match a pattern (`"img_*.npy"`), or are in a folder, are the parts of one view, in the
        natural order of their names: part-2 before part-10. A list keeps its order.
    key : str, optional
        Name of the array in an HDF5 file or a Zarr group, or of the column that holds the vectors.
        None: the only 2-D array, the only column of lists, or all numeric columns.
    leave_out : sequence of str, default=()
        Columns of a `.parquet`, `.arrow` or `.feather` file that are not features, such as sample
        names.

    Returns
    -------
    Rows
        A view for any estimator of this package.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from manyview import open_rows
    >>> folder = tempfile.mkdtemp()
    >>> np.save(f"{folder}/img_0.npy", np.eye(3))
    >>> np.save(f"{folder}/img_1.npy", np.ones((2, 3)))
    >>> open_rows(f"{folder}/img_*.npy").shape
    (5, 3)
    """
    paths = _find(where)
    others = [path for path in paths if _ending(path) != _ending(paths[0])]
    if others:
        msg = (
            f"{paths[0]} and {others[0]} have different formats; expected one. "
            "Select the files of one format, for example with a pattern."
        )
        raise ViewError(msg)
    opened = [_open(path, key, tuple(leave_out)) for path in paths]
    parts = [part for part in opened if len(part)] or opened[:1]  # empty parts have no features
    for part in parts:
        _check_alike(parts[0], part)
    return parts[0] if len(parts) == 1 else Joined(parts)


def _find(where: Where) -> list[Path]:
    """The files, in the order of their rows."""
    if not isinstance(where, str | os.PathLike):
        paths = [path for one in where for path in _find(one)]
        if not paths:
            msg = "An empty list of files was given; expected at least one."
            raise ViewError(msg)
        return paths
    path = Path(where).expanduser()
    if path.is_dir() and not is_zarr(path):
        return _inside(path)
    if path.exists():
        return [path]
    found = [Path(name) for name in glob.glob(str(path), recursive=True)]  # noqa: PTH207
    if not found:
        msg = f"There is no file {path}; check its name and folder."
        raise ViewError(msg)
    return sorted(found, key=_natural)


def _inside(folder: Path) -> list[Path]:
    """The files of a folder in a supported format."""
    found = [item for item in folder.iterdir() if not item.name.startswith((".", "_"))]
    known = sorted((item for item in found if _ending(item) in FORMATS), key=_natural)
    if not known:
        msg = f"The folder {folder} holds no file that ends in {_expected()}; check its name."
        raise ViewError(msg)
    return known


def _open(path: Path, key: str | None, leave_out: tuple[str, ...]) -> File:
    """Open one file."""
    ending = _ending(path)
    if ending == ".npz":
        msg = f"{path} is an archive; expected {_expected()}. Unpack it: each array is a .npy."
        raise ViewError(msg)
    if ending not in FORMATS:
        msg = (
            f"{path} ends in '{path.suffix}'; expected {_expected()}. Other tables are read by "
            "manyview.io.read_views."
        )
        raise ViewError(msg)
    kind = FORMATS[ending]
    with readable(path, ending):
        return kind(path, key, leave_out) if issubclass(kind, Columns) else kind(path, key)


def _check_alike(first: File, other: File) -> None:
    """Parts of one view must agree in width and dtype."""
    if (first.shape[1], first.dtype) != (other.shape[1], other.dtype):
        msg = (
            f"{first.path} has {first.shape[1]} features of {first.dtype}, {other.path} has "
            f"{other.shape[1]} of {other.dtype}; expected the parts of one view. Select only "
            "its own files, or convert them."
        )
        raise ViewError(msg)


def _ending(path: Path) -> str:
    return ".zarr" if path.is_dir() and is_zarr(path) else path.suffix.lower()


def is_zarr(path: Path) -> bool:
    """Whether a folder is a Zarr array or group."""
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def _natural(path: Path) -> list[Any]:
    """Sort key that compares digits as numbers."""
    parts = re.split(r"(\d+)", str(path))
    return [int(part) if part.isdecimal() else part for part in parts]


def _expected() -> str:
    *others, last = FORMATS
    return f"{', '.join(others)} or {last}"
