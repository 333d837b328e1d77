"""Multi-view data from files: NumPy's .npz, and MATLAB's .mat of version 5 and 7.3.

Variables
    Labels are the first of `LABEL_NAMES`, ignoring case. The views are the arrays `view_0`,
    `view_1`, …; else the matrices of a cell, by the first of `CELL_NAMES`; else all matrices of the
    file; else the slices of an n × n × views array of kernels: the features of a sample are then
    its similarities to all samples.
Orientation
    Samples are on the side that is as long as the labels. Without labels: the rows if all views
    have the same number of rows, else the columns if all have the same number of columns, else the
    one size that all shapes share. A square matrix is oriented like the others, or by rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from manyview.data.readable import readable
from manyview.datasets._bundle import bundle
from manyview.datasets._mat5 import read_mat5
from manyview.exceptions import ViewError
from manyview.utils.optional import needed

Contents = dict[str, Any]  # arrays, sparse arrays, text, and lists of these for cells

LABEL_NAMES = ("y", "gt", "gnd", "truth", "labels", "label", "target", "truelabel", "true_label")
CELL_NAMES = ("X", "Xs", "x", "data", "fea", "views", "features")
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def load_file(path: str | os.PathLike[str], *, return_X_y: bool = False) -> Bunch:
    """Load views and labels from a .npz or .mat file.

    Parameters
    ----------
    path : str or path
        A .npz file with arrays `view_0`, `view_1`, …, labels `y` and perhaps `view_names`, or with
        2-D arrays of any names; or a .mat file with a cell `X` of matrices, dense or sparse,
        samples in rows or in columns (found from the number of labels), or an array of kernels,
        and labels `Y`, `y`, `gt`, `truth`, `truelabel` or `labels`. MATLAB v7.3 files need h5py
        (`pip install 'manyview[files]'`).
    return_X_y : bool, default=False
        Return `(data, target)` instead of a Bunch.

    Returns
    -------
    Bunch or (MultiViewData, array of shape (n_samples,) or None)
        `data`, `target` (labels counted from 0, or None), `view_names` and `DESCR`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from manyview.datasets import load_file
    >>> path = tempfile.mkdtemp() + "/two.npz"
    >>> np.savez(path, view_0=np.eye(3), view_1=np.ones((3, 2)), y=[1, 1, 2])
    >>> load_file(path).target
    array([0, 0, 1])
    """
    return load_described(Path(path), f"Read from {path}.", as_pair=return_X_y)


def load_described(path: Path, description: str, *, as_pair: bool) -> Bunch:
    """Load a file with a description; errors name the file."""
    views, target = read_arrays(path)
    with _naming(path):
        return bundle(views, target, description, as_pair=as_pair)


def read_arrays(path: Path) -> tuple[dict[str, Any], NDArray[np.int64] | None]:
    """Read the views, with samples in rows, and the labels of a file."""
    contents = _read(path)
    with _naming(path):
        target = _find_target(contents)
        n_samples = None if target is None else len(target)
        return _rows_as_samples(_find_views(contents), n_samples), target


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the file name to errors."""
    try:
        yield
    except (ValueError, MemoryError) as error:  # ViewError, or absurd sizes in a damaged file
        msg = f"{path}: {error}"
        raise ViewError(msg) from None


def _read(path: Path) -> Contents:
    """Read all variables of a file; errors become one sentence."""
    readers = {".npz": _read_npz, ".mat": _read_mat}
    if path.suffix not in readers:
        msg = (
            f"{path} ends in '{path.suffix}'; expected .npz or .mat. "
            "Read other files yourself, and pass their arrays to MultiViewData.of."
        )
        raise ViewError(msg)
    if not path.is_file():
        msg = f"There is no file {path}; check its name and folder."
        raise ViewError(msg)
    with readable(path, path.suffix):
        return readers[path.suffix](path)


def _read_npz(path: Path) -> Contents:
    # numpy does not close a damaged file that it opened itself.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _read_mat(path: Path) -> Contents:
    """Variables of a MATLAB file; a cell becomes a list."""
    with path.open("rb") as file:
        head = file.read(512 + len(HDF5_SIGNATURE))
    if HDF5_SIGNATURE in (head[:8], head[512:]):  # MATLAB adds a header of 512 bytes
        return _read_hdf5(path)
    return read_mat5(path.read_bytes())


def _read_hdf5(path: Path) -> Contents:
    h5py = needed("h5py", f"{path}, a MATLAB v7.3 file,")
    with h5py.File(path) as file:
        return {
            name: _from_hdf5(item, file) for name, item in file.items() if not name.startswith("#")
        }


def _from_hdf5(item: Any, file: Any) -> Any:
    """Convert MATLAB v7.3 items to the types of read_mat5; a struct to None."""
    if "MATLAB_sparse" in item.attrs:
        ends = item["jc"][()].astype(np.int64)
        rows = item["ir"][()].astype(np.int64) if "ir" in item else np.empty(0, dtype=np.int64)
        values = item["data"][()] if "data" in item else np.empty(0)
        shape = (int(item.attrs["MATLAB_sparse"]), len(ends) - 1)
        matrix = sparse.csc_array((values, rows, ends), shape=shape)
        matrix.check_format(full_check=True)  # scipy would follow a wrong index out of bounds
        return matrix
    if not hasattr(item, "dtype"):
        return None
    if item.dtype.kind == "O":  # a cell holds references
        return [_from_hdf5(file[reference], file) for reference in item[()].ravel()]
    if item.attrs.get("MATLAB_class") == b"char":
        return "".join(map(chr, item[()].ravel()))
    return item[()].T  # MATLAB's columns are HDF5's rows


def _find_target(contents: Contents) -> NDArray[np.int64] | None:
    """Remove the labels from the contents, and encode them from 0."""
    names = sorted((name for name, value in contents.items() if value is not None), reverse=True)
    # reversed, so that y comes before Y
    found = [name for known in LABEL_NAMES for name in names if name.lower() == known]
    if not found:
        return None
    name = found[0]
    value = contents.pop(name)
    if isinstance(value, list) and value:  # some files repeat the labels for each view
        value = value[0]
    labels = np.asarray(value.toarray() if _is_sparse(value) else value)
    is_vector = labels.size == max(labels.shape, default=0) > 0
    if not is_vector or labels.dtype.kind not in "biufU" or bool((labels != labels).any()):
        msg = (
            f"labels '{name}' have shape {labels.shape} and type {labels.dtype}; "
            "expected one number per sample, without NaN."
        )
        raise ViewError(msg)
    return np.unique(labels.ravel(), return_inverse=True)[1].astype(np.int64)


def _find_views(contents: Contents) -> dict[str, Any]:
    """Find the views by name: numbered arrays, else a cell, else all matrices."""
    names = contents.pop("view_names", None)
    cells = [contents[name] for name in CELL_NAMES if isinstance(contents.get(name), list)]
    cells += [value for value in contents.values() if isinstance(value, list)]
    numbered = {name: v for name, v in contents.items() if re.fullmatch(r"view_?\d+", name)}
    if numbered:
        order = sorted(numbered, key=lambda name: int(re.sub(r"\D", "", name)))
        views = {name: numbered[name] for name in order}
    elif cells:
        views = {f"view_{v}": view for v, view in enumerate(cells[0])}
    else:
        views = {name: v for name, v in contents.items() if _is_matrix(v) and min(v.shape) > 1}
        views = views or _kernels(contents)
    bad = [name for name, view in views.items() if not _is_matrix(view)]
    if not views or bad:
        msg = (
            f"found {f'{bad[0]}, which is not a numeric matrix,' if bad else 'no views'} among its "
            f"variables ({', '.join(contents) or 'none'}); expected 2-D arrays view_0, view_1, … "
            "or a cell X of matrices."
        )
        raise ViewError(msg)
    return views if names is None else _renamed(views, names)


def _kernels(contents: Contents) -> dict[str, Any]:
    """Split an n × n × views array into views."""
    for value in contents.values():
        if getattr(value, "ndim", 0) == 3 and value.shape[0] == value.shape[1]:
            return {f"view_{v}": value[:, :, v] for v in range(value.shape[2])}
    return {}


def _is_sparse(value: object) -> bool:
    return bool(sparse.issparse(value))  # scipy's own would narrow the type to one without methods


def _is_matrix(value: Any) -> bool:
    """Whether a variable is a non-empty 2-D array of real numbers."""
    if not _is_sparse(value) and not isinstance(value, np.ndarray):
        return False
    return value.ndim == 2 and value.dtype.kind in "biuf" and min(value.shape) > 0


def _renamed(views: Mapping[str, Any], names: Sequence[Any]) -> dict[str, Any]:
    """Rename the views by the names in the file."""
    texts = [str(np.asarray(name).ravel()[0]).strip() for name in names]  # cells wrap their text
    if len(set(texts)) != len(views) or len(texts) != len(views):
        msg = f"view_names are {texts}; expected {len(views)} different names, one per view."
        raise ViewError(msg)
    return dict(zip(texts, views.values(), strict=True))


def _rows_as_samples(views: Mapping[str, Any], n_samples: int | None) -> dict[str, Any]:
    """Transpose the views with samples in columns; square ones like the others."""
    shapes = {name: view.shape for name, view in views.items()}
    n = _shared_size(list(shapes.values())) if n_samples is None else n_samples
    for name, shape in shapes.items():
        if n not in shape:
            msg = f"view '{name}' has shape {shape}; expected {n} rows or columns, one per label."
            raise ViewError(msg)
    sides = {shape.index(n) for shape in shapes.values() if shape != (n, n)}
    are_turned = sides == {1}
    return {
        name: _by_rows(view.T if are_turned or view.shape[0] != n else view)
        for name, view in views.items()
    }


def _shared_size(shapes: Sequence[tuple[int, int]]) -> int:
    """The number of samples, if there are no labels."""
    rows, columns = ({shape[side] for shape in shapes} for side in (0, 1))
    for sizes in (rows, columns, set.intersection(*map(set, shapes))):
        if len(sizes) == 1:
            return sizes.pop()
    msg = (
        f"the views have shapes {list(shapes)} and there are no labels; expected one side of the "
        "same length in all views. Add labels y to the file."
    )
    raise ViewError(msg)


def _by_rows(view: Any) -> Any:
    """A view in row order, and writable."""
    return sparse.csr_array(view) if _is_sparse(view) else np.require(view, requirements=["C", "W"])
