"""Engine for a GPU: rows in its memory, as blocks of tensors.

Views that do not fit stay on the host, in memory or on disk, and are copied block by block in each
visit, beside the computing; labels and projections are on the device. Visits run there; what moves
one row at a time runs on the host. So does the work on subsets: some thousand rows do not fill a
GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.conversion import largest_allowed
from manyview.data.rows import Rows
from manyview.data.tensors import TensorRows
from manyview.data.views import MultiViewData
from manyview.engines import Batches, Carry, draw_rows, rows_per_block
from manyview.engines.memory import InMemory
from manyview.exceptions import MemoryLimitError
from manyview.kernels import Kernels, choose_kernels
from manyview.kernels.block import CHUNK_ROWS, Block
from manyview.utils.types import FloatArray, IntArray

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
WORKING_SHARE = 0.25  # of the views, for projections and temporaries
ROW_BYTES = 256  # labels, costs and the like
BLOCK_SHARE = 0.2  # of the free memory, for the views of a block: temporaries may be as large
STREAMED_BYTES = 1 << 30  # of the views of a block that is copied in each visit,
PASSING_BYTES = 1 << 28  # and of one that is copied once


def bytes_on_device(data: MultiViewData) -> float:
    """Bytes that a fit adds to the memory of a device: views that are elsewhere, and results."""
    return (1 + WORKING_SHARE) * _bytes_elsewhere(data) + data.n_samples * ROW_BYTES


def _bytes_elsewhere(data: MultiViewData) -> float:
    return sum(_bytes(view) for view in data.views if not _is_on_device(view))


def _is_on_device(view: Any) -> bool:
    return isinstance(view, TensorRows) and view.device != "cpu"


def _bytes(view: Any) -> float:
    """Bytes of a view, as it is stored."""
    is_sparse = isinstance(view, sparse.csr_array)
    return float(view.data.nbytes + view.indices.nbytes if is_sparse else view.nbytes)


class OnDevice(InMemory):
    """Blocks hold tensors in the memory of a device."""

    def __init__(
        self,
        kernels: Kernels,
        engine: str = "auto",
        block_rows: int | None = None,
        *,
        is_read_once: bool = False,
    ) -> None:
        super().__init__(kernels, block_rows)
        self._host, self._asked = choose_kernels("cpu"), engine
        self._is_read_once = is_read_once
        self._is_still = False  # whether the last visit in batches moved nothing

    def load(self, data: MultiViewData, weights: FloatArray | None) -> None:
        """Copy the views to the device, unless they are there or do not fit."""
        self._tensors, self._blocks = [], []
        if self._block_rows is None:
            self.plan(data)
        is_checked = not self.checks_values(data)
        self._tensors = [self._copied(view, is_checked=is_checked) for view in data.views]
        super().load(data, weights)

    def plan(self, data: MultiViewData) -> None:
        """Decide where the views are, and the size of blocks."""
        row_bytes, room = sum(data.n_features) * data.dtype.itemsize, self.kernels.free_bytes()
        fits = bytes_on_device(data) <= room
        is_streamed = self._asked == "stream" or self._passes(data)
        is_streamed |= self._asked == "auto" and not fits
        self.name = "stream" if is_streamed else "memory"
        if self._asked == "memory" and not fits:
            msg = (
                f"The views and what is computed from them take about "
                f"{bytes_on_device(data) / 1e9:.1f} GB on the device, which has {room / 1e9:.1f} "
                "GB free. Use engine='auto', which copies blocks of them in each pass."
            )
            raise MemoryLimitError(msg)
        if self.reads_views:
            whole = sum(_bytes(view) for view in data.views if isinstance(view, sparse.csr_array))
            most = PASSING_BYTES if self._passes(data) else STREAMED_BYTES
            self._block_rows = self._streamed_rows(data.n_samples, row_bytes, room - whole, most)
        else:
            most = int(room * BLOCK_SHARE // (CHUNK_ROWS * row_bytes))
            self._block_rows = max(most, 1) * CHUNK_ROWS

    def bytes_for(self, footprint: Any) -> float:
        """Memory of the device for a fit of some sizes, as planned; see `Footprint`."""
        n_rows = 2 * (self._block_rows or 0) if self.reads_views else footprint.n_samples
        views = min(n_rows, footprint.n_samples) * footprint.view_row
        return float(views + footprint.n_samples * (ROW_BYTES + footprint.made_row))

    def _passes(self, data: MultiViewData) -> bool:
        """Whether views are copied block by block although they may fit, as they are read once."""
        is_large = _bytes_elsewhere(data) > STREAMED_BYTES
        return self._asked == "auto" and self._is_read_once and is_large

    def checks_values(self, data: MultiViewData) -> bool:
        """Whether blocks of views in memory are looked at on the device."""
        are_arrays = (isinstance(view, np.ndarray | TensorRows) for view in data.views)
        return self._passes(data) and all(are_arrays)

    @property
    def are_values_valid(self) -> bool:
        """Whether all values that have been looked at are finite, and their squares will be."""
        pairs = zip(self._data.views, self._tensors, strict=True)
        return all(
            X.largest() <= largest_allowed(view) for view, X in pairs if hasattr(X, "largest")
        )

    @property
    def reads_views(self) -> bool:
        """Whether views are copied to the device in each visit."""
        return self.name == "stream"

    @staticmethod
    def _streamed_rows(n_samples: int, row_bytes: int, room: float, n_bytes: int) -> int:
        """Rows of a block of views on the host: a part of a batch of the label step."""
        unit, free = rows_per_block(row_bytes), room - n_samples * ROW_BYTES
        if free * BLOCK_SHARE < unit * row_bytes:
            msg = (
                f"Labels and blocks of {n_samples} samples take about "
                f"{(n_samples * ROW_BYTES + unit * row_bytes / BLOCK_SHARE) / 1e9:.1f} GB on the "
                f"device, which has {max(room, 0) / 1e9:.1f} GB free beside sparse views. Free "
                "some of it, or use device='cpu'."
            )
            raise MemoryLimitError(msg)
        most = min(BLOCK_SHARE * free, n_bytes) / row_bytes
        rows = Batches().rows_at_once(n_samples, unit)
        while rows > max(most, unit):
            rows //= 2
        return rows

    def _opened(self, block: Block) -> Block:
        from manyview.kernels.gpu.uploads import opened

        views = tuple(replace(view, values=opened(view.values)) for view in block.views)
        return replace(block, views=views)

    def _visit_all(self, visit: Callable[..., tuple[Block, R]], *shared: object) -> Iterator[Any]:
        with self._telling_memory():
            yield from super()._visit_all(visit, *shared)

    def _visit_once(self, *arguments: Any) -> Any:
        with self._telling_memory():
            return super()._visit_once(*arguments)

    @contextmanager
    def _telling_memory(self) -> Iterator[None]:
        """Say in a sentence that the device has no memory left."""
        try:
            yield
        except RuntimeError as error:
            if type(error).__name__ != "OutOfMemoryError":
                raise
            msg = (
                f"The device ran out of memory with {len(self._blocks[0].labels)} rows at a time "
                f"({str(error).splitlines()[0]}). Free some of it, or use device='cpu'."
            )
            raise MemoryLimitError(msg) from error

    def scan_batches(
        self,
        visit: Callable[..., tuple[Block, R]],
        carry: Carry[R],
        batches: Batches,
        *shared: object,
        accept: Callable[[R], bool],
    ) -> R:
        """Visit the batches of each shard in order; all at once where that is the same.

        While nothing moves, it is: a visit of all rows is then tried first.
        """

        def is_still(result: R) -> bool:
            return carry.after(result) is carry

        if self._is_still:
            result = super().scan_batches(visit, carry, Batches(1, 1), *shared, accept=is_still)
            if is_still(result):
                return result
        result = super().scan_batches(visit, carry, batches, *shared, accept=accept)
        self._is_still = is_still(result)
        return result

    def subsample(
        self, n_rows: int, rng: np.random.Generator, *, is_apart: bool = False
    ) -> InMemory:
        """Rows drawn without replacement, on the host."""
        chosen = draw_rows(self.n_samples, n_rows, rng)
        engine = InMemory(self._host)
        engine.load(self._data[chosen], self._host_weights(chosen))
        return engine

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[Block, ...]:
        """Rows drawn without replacement, on the host, without labels and projections."""
        return self.subsample(n_rows, rng).sample(n_rows, rng)

    def twin(self) -> InMemory:
        """Another engine with the same rows and labels, on the host."""
        engine = InMemory(self._host)
        engine.load(self._data, self.kernels.to_host(self._weights))
        engine.put_labels(self.gather("labels"))
        return engine

    def _host_weights(self, rows: IntArray) -> FloatArray:
        return self.kernels.to_host(self._weights[self.kernels.rows(rows)])

    def _loaded(self, data: MultiViewData) -> MultiViewData:
        return data

    def _values(self, v: int, rows: slice) -> Any:
        return self._tensors[v][rows]

    def _copied(self, view: Any, *, is_checked: bool) -> Any:
        """A view on the device, or what copies its blocks."""
        if self.reads_views and not _is_on_device(view) and not isinstance(view, sparse.csr_array):
            from manyview.kernels.gpu.uploads import Uploads

            assert self._block_rows is not None
            device = self.kernels.device  # type: ignore[attr-defined]
            return Uploads(view, device, self._block_rows, is_checked=is_checked)
        if isinstance(view, TensorRows):
            return self.kernels.rows(view.tensor)
        if isinstance(view, Rows):
            view = np.asarray(view)
        if isinstance(view, sparse.csr_array):
            from manyview.kernels.gpu.sparse_rows import SparseRows

            return SparseRows.of(view, self.kernels.device)  # type: ignore[attr-defined]
        return self.kernels.rows(view)

    @property
    def _one_by_one(self) -> Kernels:
        return self._host

    def _pull(self, block: Block, rows: slice | IntArray) -> Block:
        if not isinstance(rows, slice):
            rows = self.kernels.rows(rows)
        return self.kernels.host_block(super()._pull(block, rows))

    def _push(self, block: Block, rows: slice | IntArray, labels: NDArray[np.int32]) -> None:
        if not isinstance(rows, slice):
            rows = self.kernels.rows(rows)
        block.labels[rows] = self.kernels.rows(labels)

    def _visit_chunks(
        self, position: int, chunks: range, visit: Callable[[Block], tuple[Block, R]]
    ) -> R:
        block = self._blocks[position]
        after, result = visit(replace(block, views=(), given=(), chunks=chunks))
        self._blocks[position] = replace(block, labels=after.labels)
        return result

    def _in_stages(
        self, begin: Callable[[int], A], step: Callable[[A], B], end: Callable[[B], R]
    ) -> Iterator[R]:
        """One block after the other."""
        return (end(step(begin(position))) for position in range(len(self._blocks)))

    @staticmethod
    def _map(task: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        """One after the other: the device works on each as a whole."""
        return map(task, items)
