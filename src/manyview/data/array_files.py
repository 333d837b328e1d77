"""Views on disk as arrays: `.npy`, Zarr and HDF5."""

from __future__ import annotations

import math
import os
import sys
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from manyview.data.readable import ReadableFile, readable
from manyview.data.rows import PIECE_BYTES, float_dtype
from manyview.exceptions import ViewError
from manyview.utils.optional import needed
from manyview.utils.types import IntArray

NPY_GRAIN = 1 << 14  # bytes: smaller reads take as long
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Arrays(ReadableFile):
    """Rows of a file that is opened for each read."""

    @abstractmethod
    def _opened(self) -> AbstractContextManager[Any]:
        """The file or array, opened."""

    @abstractmethod
    def _copy(self, source: Any, start: int, out: NDArray[Any]) -> None:
        """Read rows of the opened file or array."""

    def _fill_rows(self, start: int, out: NDArray[Any]) -> None:
        with self._opened() as source:
            self._copy(source, start, out)

    def _take_rows(self, rows: IntArray) -> NDArray[Any]:
        with self._opened() as source:
            return self._gather(np.asarray(rows), partial(self._copy, source))


class Npy(Arrays):
    """Rows of a `.npy` file, by positioned reads into the caller's memory."""

    def __init__(self, path: Path, key: str | None = None) -> None:
        super().__init__(path)
        if key is not None:
            msg = f"{path} holds one array without a name; received key={key!r}. Omit it."
            raise ViewError(msg)
        with self.path.open("rb") as file:
            shape, is_fortran, self._stored_dtype = npy_header(file, path)
            self._offset = file.tell()
        if len(shape) != 2:
            raise ViewError(_not_a_matrix(path, shape))
        self.shape = (shape[0], shape[1])
        if is_fortran and min(self.shape) > 1:
            msg = (
                f"{path} is stored in Fortran order, column by column; expected C order, "
                "row by row. Save it again with np.save(path, np.ascontiguousarray(array))."
            )
            raise ViewError(msg)
        _check_kind(self._stored_dtype, path)
        self.dtype = float_dtype(self._stored_dtype)
        self.grain = max(1, NPY_GRAIN // max(1, self.shape[1] * self._stored_dtype.itemsize))

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
        _read_into(file, out.reshape(-1).view(np.uint8), self.path)


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

    def _read_names(self, name: str) -> Any:
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

    def _read_names(self, name: str) -> Any:
        with needed("h5py", self.path).File(self.path, "r") as file:
            return _as_text(file[name][:])

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with needed("h5py", self.path).File(self.path, "r") as file:
            yield file[self._name]


def read_npy(path: Path) -> NDArray[Any]:
    """Read the array of a `.npy` file into memory.

    By ordinary reads: a map would end the process with a signal when the file is cut short.
    """
    with path.open("rb") as file:
        shape, is_fortran, dtype = npy_header(file, path)
        array: NDArray[Any] = np.empty(shape, dtype, order="F" if is_fortran else "C")
        _read_into(file, array.reshape(-1, order="A").view(np.uint8), path)
    return array


def read_npy_column(path: Path) -> NDArray[Any]:
    """Read names or classes: numbers as they are, text as objects."""
    with readable(path, path.suffix):
        array = read_npy(path)
        if array.dtype.kind not in "iufbUS":
            _check_kind(array.dtype, path)
        if array.dtype.kind not in "US":
            return array
        if array.dtype.kind == "U":
            _check_letters(array)
        texts: NDArray[Any] = _as_text(array.astype(object))
        return texts


def _check_letters(array: NDArray[Any]) -> None:
    """Refuse numbers that are no letters, which NumPy would take on trust."""
    codes = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
    is_surrogate = (codes >= 0xD800) & (codes <= 0xDFFF)
    if is_surrogate.any() or codes.max(initial=0) > sys.maxunicode:
        msg = "it holds text that is not Unicode"
        raise ValueError(msg)


def npy_header(file: BinaryIO, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether the order is Fortran's, and dtype; refuses a file that is too short for them.

    The position is then that of the first value.
    """
    version = np.lib.format.read_magic(file)
    if version not in HEADERS:
        msg = f"version {version} of the format is unknown"
        raise ValueError(msg)
    shape, is_fortran, dtype = HEADERS[version](file)
    if dtype.hasobject:
        msg = f"{path} holds Python objects; expected numbers. Save it as a numeric array."
        raise ViewError(msg)
    left = os.fstat(file.fileno()).st_size - file.tell()
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > left:
        raise ViewError(_too_short(path))
    return shape, is_fortran, dtype


def _read_into(file: Any, left: NDArray[np.uint8], path: Path) -> None:
    """Fill an array with the following bytes of a file."""
    while left.size:
        n = file.readinto(left)
        if n == 0:
            raise ViewError(_too_short(path))
        left = left[n:]


def _too_short(path: Path) -> str:
    return f"{path} is shorter than its header states: truncated or replaced. Save it again."


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
