"""Views that stay on the host, in memory or on disk: a device gets a block of rows at a time.

While a block is computed, the next is read and copied.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyview.data.rows import Rows
from manyview.data.tensors import TensorRows
from manyview.kernels.gpu.transfers import Stages, pin_in_place
from manyview.utils.types import IntArray

AHEAD = 1  # blocks that are copied beside the one in use


class Uploads:
    """A view whose blocks are copied to a device when they are used; after the last, the first.

    Memory of the caller is pinned in the second pass: it takes as long as the copies of a pass by
    way of other memory, and later passes are faster.
    """

    ndim = 2

    def __init__(
        self, view: Any, device: torch.device, block_rows: int, *, is_checked: bool = True
    ) -> None:
        self._take, self.dtype = _reader(view)
        self.shape, self.device = tuple(view.shape), device
        self._block_rows = block_rows
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="manyview-upload")
        # a thread copies with as many threads as BLAS has when it first asks: fewer in a visit
        self._worker.submit(torch.get_num_threads).result()
        self._blocks: OrderedDict[int, Future[tuple[Tensor, Any]]] = OrderedDict()
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._stages = Stages()
        self._sizes: list[Tensor] | None = None if is_checked else []  # of values in each block
        self._memory = _memory(view)
        self._n_passes, self._last = 0, -1  # row where the block of the last use begins

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.shape[0])

    def __getitem__(self, rows: slice) -> Upload:
        """A block, copied when it is used."""
        return Upload(self, *rows.indices(len(self))[:2])

    def fetch(self, start: int) -> Tensor:
        """The block that begins at a row, on the device."""
        self._n_passes += start == 0 and self._last != 0
        self._last = start
        after = start + self._block_rows
        for wanted in (start, after if after < len(self) else 0):
            if wanted not in self._blocks:
                while len(self._blocks) > AHEAD:
                    self._blocks.popitem(last=False)
                self._blocks[wanted] = self._worker.submit(self._copy, wanted)
            self._blocks.move_to_end(wanted)
        block, copied = self._blocks[start].result()
        if copied is not None:
            here = torch.cuda.current_stream(self.device)
            here.wait_event(copied)
            block.record_stream(here)
        return block

    def largest(self) -> float:
        """Size of the largest value of rows that are not checked; NaN if one is."""
        return float(torch.stack(self._sizes).max()) if self._sizes else 0.0

    def _look_at(self, block: Tensor) -> None:
        if self._sizes is not None:
            self._sizes.append(torch.stack(block.aminmax()).abs())

    def _copy(self, start: int) -> tuple[Tensor, Any]:
        """Begin to copy a block; returns what marks the end of it."""
        rows = self._take(slice(start, min(start + self._block_rows, len(self))))
        if self._stream is None:
            block = rows.to(self.device)
            self._look_at(block)
            return block, None
        if self._n_passes > 1 and self._memory is not None:
            memory, self._memory = self._memory, None
            pin_in_place(memory, self, self.device)
        with torch.cuda.stream(self._stream):
            if rows.is_pinned():
                block = rows.to(self.device, non_blocking=True)
            else:
                block = torch.empty(rows.shape, dtype=rows.dtype, device=self.device)
                self._stages.copy(rows.contiguous(), block)
            self._look_at(block)
            copied = torch.cuda.Event()
            copied.record()
        return block, copied


class Upload:
    """One block of a view on the host."""

    ndim = 2

    def __init__(self, view: Uploads, start: int, stop: int) -> None:
        self._view, self._start = view, start
        self.shape, self.dtype, self.device = (stop - start, view.shape[1]), view.dtype, view.device

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.shape[0])

    def fetch(self) -> Tensor:
        """The rows on the device."""
        return self._view.fetch(self._start)


def opened(values: Any) -> Any:
    """The rows of a view on the device."""
    return values.fetch() if isinstance(values, Upload) else values


def _reader(view: Any) -> tuple[Callable[[slice | IntArray], Tensor], torch.dtype]:
    """What takes rows of a view as a tensor on the host, and their dtype."""
    if isinstance(view, TensorRows):
        return lambda rows: view.tensor[rows], view.tensor.dtype
    if isinstance(view, Rows):
        dtype = torch.from_numpy(np.empty(0, view.dtype)).dtype
        return lambda rows: torch.from_numpy(view.read(rows)), dtype
    values = np.asarray(view)
    dtype = torch.from_numpy(np.empty(0, values.dtype)).dtype

    def take(rows: slice | IntArray) -> Tensor:
        # torch takes no array that must not be written to
        return torch.from_numpy(np.require(values[rows], requirements=("C", "W")))

    return take, dtype


def _memory(view: Any) -> Tensor | None:
    """The memory of a view that can be pinned: in one piece, not mapped from a file."""
    if isinstance(view, TensorRows):
        return view.tensor if view.tensor.is_contiguous() else None
    if isinstance(view, Rows | np.memmap) or not view.flags.c_contiguous:
        return None
    return torch.from_numpy(np.asarray(view)) if view.flags.writeable else None
