"""Views on disk as arrays: `.npy`, Zarr and HDF5."""

from __future__ import annotations

import importlib
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.data.rows import PIECE_BYTES, File, float_dtype
from manyview.exceptions import EngineUnavailableError, ViewError
from manyview.utils.types import IntArray

NPY_GRAIN = 1 << 14  # bytes: smaller reads take as long


class Arrays(File):
    """Rows of a file that is opened for each read."""

    @abstractmethod
    def _opened(self) -> AbstractContextManager[Any]:
        """The file or array, opened."""

    @abstractmethod
    def _copy(self, source: Any, start: int, out: NDArray[Any]) -> None:
        """Read rows of the opened file or array."""

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        with self._opened() as source:
            self._copy(source, start, out)

    def take(self, rows: IntArray) -> NDArray[Any]:
        """Read some rows, with few others."""
        with self._opened() as source:
            return self._gather(np.asarray(rows), partial(self._copy, source))


class Npy(Arrays):
    """Rows of a `.npy` file, by positioned reads into the caller's memory."""

    def __init__(self, path: Path, key: str | None = None) -> None:
        super().__init__(path)
        if key is not None:
            msg = f"{path} holds one array without a name; received key={key!r}. Omit it."
            raise ViewError(msg)
        given = self._header()
        if given.ndim != 2:
            raise ViewError(_not_a_matrix(path, given.shape))
        if not given.flags.c_contiguous:
            msg = (
                f"{path} is stored in Fortran order, column by column; expected C order, "
                "row by row. Save it again with np.save(path, np.ascontiguousarray(array))."
            )
            raise ViewError(msg)
        _check_kind(given.dtype, path)
        self.shape = given.shape
        self.dtype = float_dtype(given.dtype)
        self._stored_dtype = given.dtype
        self._offset = given.offset
        self.grain = max(1, NPY_GRAIN // max(1, self.shape[1] * given.dtype.itemsize))

    def _header(self) -> Any:
        """Shape, order, dtype and offset, from a memory map, without reading values."""
        try:
            return np.lib.format.open_memmap(self.path, mode="r")
        except ValueError as error:
            if "Python objects" not in str(error):
                raise
        msg = f"{self.path} holds Python objects; expected numbers. Save it as a numeric array."
        raise ViewError(msg)

    def _opened(self) -> AbstractContextManager[Any]:
        return self.path.open("rb", buffering=0)

    def _copy(self, source: Any, start: int, out: NDArray[Any]) -> None:
        width = self.shape[1] * self._stored_dtype.itemsize
        source.seek(self._offset + start * width)
        if self._stored_dtype == out.dtype:
            self._read_on(source, out)
            return
        step = max(1, PIECE_BYTES // width)
        piece = np.empty((min(step, len(out)), out.shape[1]), dtype=self._stored_dtype)
        for begin in range(0, len(out), step):
            some = out[begin : begin + step]
            self._read_on(source, piece[: len(some)])
            some[...] = piece[: len(some)]

    def _read_on(self, file: Any, out: NDArray[Any]) -> None:
        """Read the following bytes into `out`."""
        left = out.reshape(-1).view(np.uint8)
        while left.size:
            n = file.readinto(left)
            if n == 0:
                msg = f"{self.path} is shorter than its header states: truncated or replaced."
                raise ViewError(msg)
            left = left[n:]


class Chunked(Arrays):
    """Rows decoded in chunks of `grain`; a chunk that was used in part is cached."""

    def __init__(self, path: Path, key: str | None = None) -> None:
        super().__init__(path, key)
        self._lock = threading.Lock()
        self._kept: tuple[int, Any] = (-1, None)

    def _describe(self, array: Any) -> None:
        """Set shape, type and chunks from an opened array."""
        if len(array.shape) != 2:
            raise ViewError(_not_a_matrix(self.path, array.shape))
        _check_kind(array.dtype, self.path)
        self.shape = tuple(array.shape)
        self.dtype = float_dtype(array.dtype)
        self.grain = 1 if array.chunks is None else int(array.chunks[0])

    def _copy(self, source: Any, start: int, out: NDArray[Any]) -> None:
        stop, grain = start + len(out), self.grain
        most = max(1, PIECE_BYTES // (grain * out[0].nbytes))  # chunks
        at = start
        while at < stop:
            begin = at - at % grain
            n_whole = min((stop - at) // grain, most) if at == begin else 0
            if n_whole:
                n_rows = n_whole * grain
                values = source[at : at + n_rows]
            else:
                n_rows = min(begin + grain, stop) - at
                values = self._chunk(source, begin)[at - begin : at - begin + n_rows]
            out[at - start : at - start + n_rows] = values
            at += n_rows
        if stop == len(self):  # finished parts of many must not hold memory
            self._kept = (-1, None)

    def _chunk(self, source: Any, begin: int) -> Any:
        with self._lock:
            kept, values = self._kept
            if kept != begin:
                values = source[begin : min(begin + self.grain, len(self))]
                self._kept = (begin, values)
            return values


class Zarr(Chunked):
    """Rows of a Zarr array, or of an array in a group."""

    def __init__(self, path: Path, key: str | None = None) -> None:
        super().__init__(path, key)
        item = opened = needed("zarr", path).open(str(self.path), mode="r")
        if not hasattr(item, "dtype"):
            item = choose_matrix(dict(item.arrays()), key, path)
        self._describe(item)
        self._array = item

        self._beside = {} if item is opened else _one_axis(dict(opened.arrays()), len(self))

    def side_names(self) -> list[str]:
        """Arrays of the group with one value per row."""
        return list(self._beside)

    def read_side(self, name: str) -> Any:
        """One of these arrays."""
        return _as_text(self._beside[name][:])

    def _opened(self) -> AbstractContextManager[Any]:
        return nullcontext(self._array)


class Hdf5(Chunked):
    """Rows of a dataset in an HDF5 file."""

    def __init__(self, path: Path, key: str | None = None) -> None:
        super().__init__(path, key)
        with needed("h5py", path).File(self.path, "r") as file:
            matrix = choose_matrix(_datasets(file), key, path)
            self._describe(matrix)
            self._name = matrix.name
            self._beside = list(_one_axis(_datasets(file), len(self)))

    def side_names(self) -> list[str]:
        """Datasets with one value per row."""
        return self._beside

    def read_side(self, name: str) -> Any:
        """One of these datasets."""
        with needed("h5py", self.path).File(self.path, "r") as file:
            return _as_text(file[name][:])

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with needed("h5py", self.path).File(self.path, "r") as file:
            yield file[self._name]


def needed(module: str, path: Path) -> Any:
    """Import an optional library; the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        msg = f"{path} needs {module}, which is not installed: pip install {module}"
        raise EngineUnavailableError(msg) from None


def choose_matrix(arrays: Mapping[str, Any], key: str | None, path: Path) -> Any:
    """The array `key`, or the only 2-D array."""
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if key is not None and key.strip("/") in arrays:
        return arrays[key.strip("/")]
    if key is None and len(matrices) == 1:
        return arrays[matrices[0]]
    if not matrices:
        msg = f"{path} holds no 2-D array; expected one, with one row per sample."
        raise ViewError(msg)
    received = "several" if key is None else f"key={key!r}, which is not there"
    msg = (
        f"{path} holds the arrays {', '.join(sorted(matrices)[:8])}; expected one, received "
        f"{received}. Name it: open_rows(path, key={sorted(matrices)[0]!r})."
    )
    raise ViewError(msg)


def _datasets(file: Any) -> dict[str, Any]:
    """All datasets of an HDF5 file by path."""
    found: dict[str, Any] = {}

    def note(name: str, item: Any) -> None:
        if hasattr(item, "dtype"):
            found[name] = item

    file.visititems(note)
    return found


def _one_axis(arrays: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Arrays of text or whole numbers with one value per row."""
    return {
        name: array
        for name, array in arrays.items()
        if array.shape == (n_rows,) and array.dtype.kind in "iuOSUT"
    }


def _as_text(values: Any) -> Any:
    """Bytes as text."""
    if values.dtype.kind not in "OS":
        return values
    return np.array([v.decode() if isinstance(v, bytes) else v for v in values], dtype=object)


def _check_kind(dtype: np.dtype[Any], path: Path) -> None:
    if dtype.kind not in "fiub":
        msg = f"{path} holds values of type {dtype}; expected numbers. Encode them first."
        raise ViewError(msg)


def _not_a_matrix(path: Path, shape: tuple[int, ...]) -> str:
    return (
        f"{path} holds an array of shape {shape}; expected 2 dimensions, samples by features. "
        "Reshape it and save it again."
    )
