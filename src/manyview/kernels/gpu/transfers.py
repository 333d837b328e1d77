"""Large arrays on their way between the memory of the host and of a device.

A device copies fast from and to memory that is pinned: that the system neither moves nor swaps.
Arrays of the caller pass in pieces through a little of it, or are pinned where they are.
"""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from manyview.utils import threads

PIECE_BYTES = 1 << 25
MOST_THREADS = 8  # that write to memory of the host
N_STAGES = 2  # of which one is filled while the other is copied


def to_host(source: Tensor, target: Tensor) -> None:
    """Copy to a contiguous tensor of the host."""
    if not source.is_cuda or source.nbytes < PIECE_BYTES:
        target.copy_(source)
        return
    flat, source = target.view(-1), source.detach().contiguous().view(-1)
    step = PIECE_BYTES // source.element_size()
    pinned = torch.empty(step, dtype=source.dtype, pin_memory=True)
    n_threads = min(threads.n_threads(), MOST_THREADS)
    with ThreadPoolExecutor(n_threads) as pool:
        for start in range(0, len(source), step):
            part = source[start : start + step]
            here = pinned[: len(part)].copy_(part)
            there = flat[start : start + step]
            # new memory is touched for the first time, which is slow on one thread
            pairs = (np.array_split(own.numpy(), n_threads) for own in (there, here))
            list(pool.map(np.copyto, *pairs))


def to_device(source: Tensor, device: torch.device) -> Tensor:
    """A tensor on a device."""
    if device.type != "cuda" or source.is_cuda or source.nbytes < PIECE_BYTES:
        return source.to(device)
    target = torch.empty(source.shape, dtype=source.dtype, device=device)
    Stages().copy(source.contiguous(), target)
    return target


class Arriving:
    """A small array on its way from a device; who reads it waits, but not for later work there.

    It becomes an array by `np.asarray`, a sum of blocks, or in a checkpoint.
    """

    def __init__(self, here: Tensor, copied: Any) -> None:
        self._here, self._copied = here, copied
        self.shape = tuple(here.shape)

    @staticmethod
    def begin(source: Tensor, stream: Any) -> Arriving:
        """Copy on a stream of its own what the current one has made so far."""
        here = torch.empty(source.shape, dtype=source.dtype, pin_memory=True)
        stream.wait_stream(torch.cuda.current_stream(source.device))
        with torch.cuda.stream(stream):
            here.copy_(source, non_blocking=True)
            copied = torch.cuda.Event()
            copied.record()
        source.record_stream(stream)
        return Arriving(here, copied)

    def __getitem__(self, part: Any) -> Arriving:
        """A part of it, which arrives with it."""
        return Arriving(self._here[part], self._copied)

    def __add__(self, other: Any) -> NDArray[Any]:
        """Elementwise sum."""
        total: NDArray[Any] = np.add(np.asarray(self), np.asarray(other))
        return total

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The values, once they are here."""
        self._copied.synchronize()
        found: NDArray[Any] = np.array(self._here.numpy(), dtype=dtype)
        return found


class Stages:
    """Pinned memory through which arrays pass on their way to a device."""

    def __init__(self) -> None:
        self._stages: list[tuple[Tensor, Any]] = []  # and the copy that last read each
        self._turn = 0

    def copy(self, source: Tensor, target: Tensor) -> None:
        """Begin the copies from a contiguous tensor on the current stream."""
        if not self._stages:
            self._stages = [
                (torch.empty(PIECE_BYTES, dtype=torch.uint8, pin_memory=True), torch.cuda.Event())
                for _ in range(N_STAGES)
            ]
        flat, there = source.view(-1), target.view(-1)
        step = PIECE_BYTES // source.element_size()
        for start in range(0, len(flat), step):
            part = flat[start : start + step]
            self._turn = (self._turn + 1) % N_STAGES
            memory, copied = self._stages[self._turn]
            copied.synchronize()
            stage = memory.view(source.dtype)[: len(part)].copy_(part)
            there[start : start + step].copy_(stage, non_blocking=True)
            copied.record()


def pin_in_place(memory: Tensor, owner: object, device: torch.device) -> None:
    """Pin the memory of a tensor until its owner is gone; where that fails, it stays as it is."""
    runtime: Any = torch.cuda.cudart()
    found = runtime.cudaHostRegister(memory.data_ptr(), memory.nbytes, 0)
    if found == runtime.cudaError.success:
        weakref.finalize(owner, _unpin, memory, device)
        return
    with suppress(RuntimeError):  # torch reports the error after whatever it does next
        torch.zeros(1, device=device).item()


def _unpin(memory: Tensor, device: torch.device) -> None:
    runtime: Any = torch.cuda.cudart()
    torch.cuda.synchronize(device)
    runtime.cudaHostUnregister(memory.data_ptr())
