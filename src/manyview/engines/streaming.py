"""Out-of-core engine: rows on disk, read ahead on a thread while the previous block is computed.

Rows are read when a visit needs their values; a visit that needs only labels or projections reads
nothing. Arrays with a sample axis are held in memory up to a limit and beyond it in scratch files,
which have no name and are removed with the process.
"""

from __future__ import annotations

import tempfile
import weakref
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.rows import Rows
from manyview.data.views import MultiViewData
from manyview.engines import BLOCK_BYTES, ROW_BYTES, rows_per_block
from manyview.engines.memory import InMemory
from manyview.exceptions import MemoryLimitError
from manyview.kernels import Kernels
from manyview.kernels.block import CHUNK_ROWS, Block
from manyview.utils.memory import installed_memory
from manyview.utils.threads import n_threads
from manyview.utils.types import FloatArray, IntArray

A = TypeVar("A", bound="NDArray[Any] | sparse.csr_array[Any]")

BLOCKS_HELD = 16  # blocks being computed and read, and temporaries of kernels; generous
AHEAD = 1  # blocks of a view that are read ahead


@dataclass(frozen=True)
class Plan:
    """Block size and memory of a streaming fit, within its limit."""

    block_rows: int
    room: float  # bytes for arrays with a sample axis; the rest goes to scratch files

    @classmethod
    def of(
        cls, n_samples: int, row_bytes: int, limit: float, block_rows: int | None = None
    ) -> Plan:
        """At most half of the free memory for blocks; refuses a limit too small for one."""
        chunk_bytes = CHUNK_ROWS * row_bytes
        free = limit - n_samples * ROW_BYTES
        if free < BLOCKS_HELD * chunk_bytes:
            needed = n_samples * ROW_BYTES + BLOCKS_HELD * chunk_bytes
            msg = (
                f"Streaming {n_samples} samples needs about {needed / 1e6:.0f} MB; "
                f"memory_limit allows {limit / 1e6:.0f} MB. Raise memory_limit."
            )
            raise MemoryLimitError(msg)
        if block_rows is None:
            most = rows_per_block(row_bytes, min(BLOCK_BYTES, free / 2 / BLOCKS_HELD))
            unit = rows_per_block(row_bytes)  # of which a block is a part, as batches are of blocks
            block_rows = max(n for n in range(CHUNK_ROWS, most + 1, CHUNK_ROWS) if unit % n == 0)
        return cls(block_rows, free - BLOCKS_HELD * block_rows * row_bytes)


def default_limit() -> float:
    """Memory limit in bytes if the user sets none."""
    return installed_memory() / 4


class Streaming(InMemory):
    """Like `InMemory`, but views on disk stay there and are read in each visit."""

    name = "stream"

    def __init__(
        self, kernels: Kernels, memory_limit: float | None = None, block_rows: int | None = None
    ) -> None:
        super().__init__(kernels, block_rows)
        self._limit = default_limit() if memory_limit is None else memory_limit

    def load(self, data: MultiViewData, weights: FloatArray | None) -> None:
        """Split the rows into blocks; those on disk stay there."""
        row_bytes = sum(data.n_features) * data.dtype.itemsize
        plan = Plan.of(data.n_samples, row_bytes, self._limit, self._block_rows)
        self._block_rows = plan.block_rows
        self._scratch = _Scratch(plan.room)
        views = tuple(
            _ReadAhead(view, self._block_rows) if isinstance(view, Rows | np.memmap) else view
            for view in data.views
        )
        super().load(replace(data, views=views), weights)  # type: ignore[arg-type]

    @property
    def reads_views(self) -> bool:
        """Whether a view is on disk."""
        return any(isinstance(view, _ReadAhead) for view in self._data.views)

    def _opened(self, block: Block) -> Block:
        """A block whose views have been read, for more than one product."""
        views = tuple(
            replace(view, values=np.asarray(view.values))
            if isinstance(view.values, _Unread)
            else view
            for view in block.views
        )
        return replace(block, views=views)

    def _hold(self, before: Block, after: Block) -> Block:
        """Store new arrays of a block in memory or in scratch files."""
        old = {id(array) for array in _large(before)}
        held: dict[int, Any] = {}

        def hold(array: A) -> A:
            if id(array) in old:
                return array
            if id(array) not in held:
                held[id(array)] = self._scratch.hold(array)
            kept: A = held[id(array)]
            return kept

        views = tuple(
            replace(
                view,
                values=view.values if isinstance(view.values, _Unread) else hold(view.values),
                factor=None if view.factor is None else hold(view.factor),
                level=None if view.level is None else hold(view.level),
            )
            for view in after.views
        )
        distance_bounds = None if after.distance_bounds is None else hold(after.distance_bounds)
        return replace(
            after, views=views, projection=hold(after.projection), distance_bounds=distance_bounds
        )


def _large(block: Block) -> list[Any]:
    """Arrays of a block that may be in scratch files."""
    of_views = [array for v in block.views for array in (v.values, v.factor, v.level)]
    return [block.projection, block.distance_bounds, *of_views]


class _ReadAhead:
    """A view on disk that reads the next block ahead; after the last, the first."""

    ndim = 2

    def __init__(self, rows: Rows | np.memmap[Any, Any], block_rows: int) -> None:
        self._rows, self._block_rows = rows, block_rows
        self.shape, self.dtype = rows.shape, rows.dtype
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="manyview-read")
        self._blocks: OrderedDict[int, Future[NDArray[Any]]] = OrderedDict()  # by their first row
        self._most = n_threads() + AHEAD
        self._lock = Lock()

    def __getitem__(self, rows: slice | IntArray) -> _Unread | NDArray[Any]:
        """A block, to be read on access, for a slice; else the rows."""
        if isinstance(rows, slice):
            return _Unread(self, *rows.indices(len(self))[:2])
        return np.asarray(self._rows[rows])

    def __len__(self) -> int:
        return int(self.shape[0])

    def fetch(self, start: int) -> NDArray[Any]:
        """The block that begins at a row; thread-safe."""
        after = start + self._block_rows
        with self._lock:
            for wanted in (start, after if after < len(self) else 0):
                if wanted not in self._blocks:
                    self._blocks[wanted] = self._reader.submit(self._read, wanted)
                self._blocks.move_to_end(wanted)
            while len(self._blocks) > self._most:
                self._blocks.popitem(last=False)
            block = self._blocks[start]
        return block.result()

    def _read(self, start: int) -> NDArray[Any]:
        rows = slice(start, min(start + self._block_rows, len(self)))
        if isinstance(self._rows, Rows):
            return self._rows.read(rows)
        return np.array(self._rows[rows])


class _Unread:
    """One block of a view on disk, read when converted to an array."""

    ndim = 2

    def __init__(self, view: _ReadAhead, start: int, stop: int) -> None:
        self._view, self._start = view, start
        self.shape, self.dtype = (stop - start, view.shape[1]), view.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The rows, read ahead if possible."""
        return np.asarray(self._view.fetch(self._start), dtype=dtype)

    def __getitem__(self, rows: IntArray) -> NDArray[Any]:
        """Some of the rows; only these are read."""
        return np.asarray(self._view[np.asarray(rows) + self._start])


class _Scratch:
    """Storage for arrays with a sample axis: memory up to a limit, then unnamed files."""

    def __init__(self, limit: float) -> None:
        self._limit, self._used = limit, 0

    def hold(self, array: Any) -> Any:
        """The same values, in memory or in a file."""
        if isinstance(array, sparse.csr_array):
            parts = (self.hold(array.data), self.hold(array.indices), array.indptr)
            return sparse.csr_array(parts, shape=array.shape)
        if array.nbytes == 0:
            return array
        if self._used + array.nbytes <= self._limit:
            self._used += array.nbytes
            weakref.finalize(array, self._release, array.nbytes)
            return array
        return self._write(array)

    def _write(self, array: NDArray[Any]) -> NDArray[Any]:
        """The same values in a file; written, since a page of a map without room is a crash."""
        try:
            with tempfile.TemporaryFile() as file:
                file.write(np.ascontiguousarray(array).data)
                file.flush()
                return np.asarray(np.memmap(file, array.dtype, "r+", shape=array.shape))
        except OSError as error:
            msg = (
                f"There is no room for {array.nbytes / 1e6:.0f} MB of scratch files in "
                f"{tempfile.gettempdir()} ({error.strerror or error}). Free some space there, set "
                "TMPDIR to another folder, or raise memory_limit."
            )
            raise OSError(msg) from error

    def _release(self, n_bytes: int) -> None:
        self._used -= n_bytes
