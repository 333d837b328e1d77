"""Rows: the interface of views on disk, slices of them, and several files as one view."""

from __future__ import annotations

import hashlib
import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from stat import S_ISDIR
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.exceptions import ViewError
from manyview.utils.types import IntArray

PIECE_BYTES = 1 << 24  # maximum size of a read for scattered rows
LOOKING = 0.05  # share of the time that may be spent on looking whether files have changed
DENSE = 8  # if more than one row in this many is wanted, whole pieces are read


class Rows(ABC):
    """A view on disk: samples by features, read on demand.

    Reading is thread-safe. Length and indexing refer to samples.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of features.
    dtype : numpy.dtype
        float32 or float64, of the values that are read.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    ndim = 2
    grain = 1  # rows per chunk of the file, which can only be read as a whole
    _look_again = 0.0  # time from which on a read looks whether the files have changed

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes on disk, as stored."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Digest of paths, sizes, times and shape, to detect changes of the files."""

    @abstractmethod
    def check_unchanged(self) -> None:
        """Raise ViewError if a file has changed or vanished since it was opened."""

    def _check_sometimes(self) -> None:
        """Check after a read, unless that would take long: an array may be thousands of files."""
        start = time.monotonic()
        if start >= self._look_again:
            self.check_unchanged()
            now = time.monotonic()
            self._look_again = now + (now - start) / LOOKING

    @abstractmethod
    def _fill(self, start: int, out: NDArray[Any]) -> None:
        """Read rows from `start` on into `out`."""

    def read(self, rows: slice, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read contiguous rows.

        Parameters
        ----------
        rows : slice
            With step 1.
        out : array of their shape and of `dtype`, in C order, optional
            Array to read into; None: a new one.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        start, stop, step = rows.indices(len(self))
        shape = (max(stop - start, 0), self.shape[1])
        if out is None:
            out = np.empty(shape, dtype=self.dtype)
        assert step == 1
        assert out.shape == shape
        assert out.dtype == self.dtype
        assert out.flags.c_contiguous
        if out.size:
            self._fill(start, out)
            self._check_sometimes()
        return out

    def take(self, rows: IntArray) -> NDArray[Any]:
        """Read some rows, with few others.

        Parameters
        ----------
        rows : array of int
            Row numbers, sorted.

        Returns
        -------
        ndarray of shape (len(rows), n_features)
        """
        return self._gather(np.asarray(rows), self._fill)

    def _gather(self, rows: IntArray, fill: Callable[[int, NDArray[Any]], None]) -> NDArray[Any]:
        """Sorted rows, by reading runs of nearby ones."""
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for some in self._near(rows):
            first, last = int(rows[some.start]), int(rows[some.stop - 1])
            piece = np.empty((last + 1 - first, self.shape[1]), dtype=self.dtype)
            fill(first, piece)
            out[some] = piece[rows[some] - first]
        return out

    def _near(self, rows: IntArray) -> Iterator[slice]:
        """Runs of sorted row numbers that are read together."""
        if len(rows) == 0:
            return
        most = max(1, PIECE_BYTES // (self.shape[1] * self.dtype.itemsize))
        is_dense = DENSE * len(rows) > rows[-1] - rows[0]
        piece = rows // (most if is_dense else min(most, self.grain))
        starts = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(rows)]
        for start, stop in itertools.pairwise(starts):
            yield slice(start, stop)

    def _part(self, start: int, stop: int) -> Rows:
        return self if (start, stop) == (0, len(self)) else Part(self, start, stop)

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Rows stay on disk for a slice, or a mask that keeps all; else they are read."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._part(start, max(start, stop))
            rows = np.arange(start, stop, step)
        rows = np.asarray(rows)
        if rows.dtype == bool:
            if rows.shape != (len(self),):
                msg = f"a mask of shape {rows.shape} does not match {len(self)} rows"
                raise IndexError(msg)
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        outside = rows[(rows < -len(self)) | (rows >= len(self))]
        if outside.size:
            msg = f"row {outside[0]} is out of range for {len(self)} rows"
            raise IndexError(msg)
        rows = np.where(rows < 0, rows + len(self), rows).astype(np.intp)
        is_sorted = bool(np.all(rows[1:] >= rows[:-1]))
        wanted, positions = (rows, None) if is_sorted else np.unique(rows, return_inverse=True)
        taken = self.take(wanted)
        self._check_sometimes()
        return taken if positions is None else taken[positions]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All rows, read into memory."""
        if copy is False:
            msg = "rows on disk cannot become an array without a copy"
            raise ValueError(msg)
        values = self.read(slice(None))
        return values if dtype is None else values.astype(dtype, copy=False)

    def __repr__(self) -> str:
        """Class, shape and dtype."""
        return f"{type(self).__name__}({self.shape[0]} × {self.shape[1]}, {self.dtype})"


class File(Rows):
    """Rows of one file, or of one array or column in it; reopened after unpickling."""

    def __init__(self, path: Path, key: str | None = None) -> None:
        self.path = path.resolve()
        self.key = key
        self._state, self._n_bytes = self._look()  # before anything else is read

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        return self._n_bytes

    def fingerprint(self) -> str:
        """Digest of path, sizes, times and shape."""
        return _digest(self.path, self.key, self._state, self.shape, self.dtype)

    def check_unchanged(self) -> None:
        """Raise ViewError if the file has changed or vanished since it was opened."""
        try:
            state, _ = self._look()
        except OSError:
            state = "vanished"
        if state != self._state:
            what = "vanished" if state == "vanished" else "changed"
            msg = (
                f"{self.path} has {what} since it was opened, so its rows cannot be trusted; "
                "expected files that stay as they are. Run again when it is complete."
            )
            raise ViewError(msg)

    def _look(self) -> tuple[str, int]:
        """Digest of the names, sizes and times of the files, and the sum of the sizes."""
        inside = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        state, n_bytes = hashlib.sha256(), 0
        for file in inside:
            stat = file.stat()
            if not S_ISDIR(stat.st_mode):
                state.update(f"{file}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
                n_bytes += stat.st_size
        return state.hexdigest(), n_bytes

    def side_names(self) -> list[str]:
        """Columns or arrays of the file that may hold the names of its rows."""
        return []

    def read_side(self, name: str) -> Any:
        """One of them, read whole."""
        raise KeyError(name)

    def __reduce__(self) -> Any:
        """Path and key: files are reopened."""
        return type(self), (self.path, self.key)


class Part(Rows):
    """A contiguous slice of rows."""

    def __init__(self, source: Rows, start: int, stop: int) -> None:
        self.source = source
        self.start = start
        self.shape = (stop - start, source.shape[1])
        self.dtype = source.dtype
        self.grain = source.grain

    @property
    def nbytes(self) -> int:
        """Bytes of the source in proportion to the rows."""
        return self.source.nbytes * len(self) // max(len(self.source), 1)

    def fingerprint(self) -> str:
        """Digest of the source and the slice."""
        return _digest(self.source.fingerprint(), self.start, self.shape)

    def check_unchanged(self) -> None:
        """Raise ViewError if a file has changed or vanished since it was opened."""
        self.source.check_unchanged()

    def take(self, rows: IntArray) -> NDArray[Any]:
        """Read some rows, with few others."""
        return self.source.take(np.asarray(rows) + self.start)

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        self.source._fill(self.start + start, out)

    def _part(self, start: int, stop: int) -> Rows:
        return self.source._part(self.start + start, self.start + stop)


class Joined(Rows):
    """Rows of several sources of equal width and dtype, concatenated."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self.parts = tuple(parts)
        self.ends = np.cumsum([len(part) for part in parts])  # (parts,)
        self.shape = (int(self.ends[-1]), parts[0].shape[1])
        self.dtype = parts[0].dtype
        self.grain = max(part.grain for part in parts)

    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
        return sum(part.nbytes for part in self.parts)

    @property
    def features(self) -> tuple[str, ...]:
        """Columns of the vectors, if the parts have any."""
        return tuple(getattr(self.parts[0], "features", ()))

    def without(self, column: str) -> Joined:
        """The same parts with one column less."""
        parts: Sequence[Any] = self.parts
        return Joined([part.without(column) for part in parts])

    def fingerprint(self) -> str:
        """Digest of all parts."""
        return _digest(*(part.fingerprint() for part in self.parts))

    def check_unchanged(self) -> None:
        """Raise ViewError if a file has changed or vanished since it was opened."""
        for part in self.parts:
            part.check_unchanged()

    def take(self, rows: IntArray) -> NDArray[Any]:
        """Read some rows, with few others."""
        rows = np.asarray(rows)
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        cuts = [0, *np.searchsorted(rows, self.ends).tolist()]
        for p, part in enumerate(self.parts):
            some = slice(cuts[p], cuts[p + 1])
            if some.stop > some.start:
                out[some] = part.take(rows[some] - (self.ends[p] - len(part)))
        return out

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        done = 0
        p = int(np.searchsorted(self.ends, start, side="right"))
        while done < len(out):
            at = start + done - (int(self.ends[p]) - len(self.parts[p]))
            n = min(len(self.parts[p]) - at, len(out) - done)
            if n:
                self.parts[p]._fill(at, out[done : done + n])
            done += n
            p += 1


class Picked(Rows):
    """Rows of a source in another order, read on demand; zeros where the position is -1."""

    def __init__(self, source: Rows, positions: IntArray) -> None:
        self.source = source
        self.positions = np.asarray(positions, dtype=np.intp)  # (n,)
        self.shape = (len(self.positions), source.shape[1])
        self.dtype = source.dtype
        self.grain = 1

    @property
    def nbytes(self) -> int:
        """Bytes of the source."""
        return self.source.nbytes

    def fingerprint(self) -> str:
        """Digest of the source and the order."""
        order = hashlib.sha256(self.positions.tobytes()).hexdigest()
        return _digest(self.source.fingerprint(), order)

    def check_unchanged(self) -> None:
        """Raise ViewError if a file has changed or vanished since it was opened."""
        self.source.check_unchanged()

    def take(self, rows: IntArray) -> NDArray[Any]:
        """Read some rows; the source is read in its own order."""
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        self._pick(self.positions[np.asarray(rows)], out)
        return out

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        self._pick(self.positions[start : start + len(out)], out)

    def _pick(self, wanted: IntArray, out: NDArray[Any]) -> None:
        order = np.argsort(wanted, kind="stable")
        order, absent = order[np.searchsorted(wanted[order], 0) :], wanted < 0
        out[absent] = 0
        if order.size:
            out[order] = self.source.take(wanted[order])

    def _part(self, start: int, stop: int) -> Rows:
        whole = (start, stop) == (0, len(self))
        return self if whole else Picked(self.source, self.positions[start:stop])


def float_dtype(given: np.dtype[Any]) -> np.dtype[Any]:
    """float32 for types that it represents exactly, else float64."""
    is_short = given.itemsize <= (4 if given.kind == "f" else 2)
    return np.dtype(np.float32 if is_short else np.float64)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr([str(part) for part in parts]).encode()).hexdigest()
