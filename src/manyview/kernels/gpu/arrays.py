"""Arrays of torch on one device, and how they come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from manyview.kernels.gpu.products import to_tensor
from manyview.kernels.gpu.transfers import to_host
from manyview.utils.memory import installed_memory

T = TypeVar("T")


class Kept:
    """The last result of a function; its arguments are numbers, and objects that do not change."""

    def __init__(self) -> None:
        self._last: tuple[tuple[object, ...], Any] | None = None

    def get(self, arguments: tuple[object, ...], make: Callable[[], T]) -> T:
        """The result for these arguments."""
        last = self._last
        if last is not None and _are_same(last[0], arguments):
            kept: T = last[1]
            return kept
        found = make()
        self._last = arguments, found
        return found


def _are_same(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    def is_same(a: object, b: object) -> bool:
        return a is b or (isinstance(a, float) and isinstance(b, float) and a == b)

    return len(before) == len(now) and all(map(is_same, before, now))


class TensorArrays:
    """What `Kernels` does with arrays, on a device."""

    def __init__(self, device: str, *, is_fast: bool = False) -> None:
        self.device = torch.device(device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self._is_fast = is_fast  # TF32 in the products with the views
        self._shared: tuple[Tensor, float] | None = None  # one weight of all rows

    xp = torch
    is_parallel = True

    def rows(self, array: Any) -> Any:
        """Move an array with a sample axis to the device."""
        return to_tensor(array, self.device)

    def to_host(self, array: Any) -> NDArray[Any]:
        """An array with a sample axis, in numpy."""
        return self.joined([array]) if isinstance(array, Tensor) else np.asarray(array)

    def joined(self, parts: Sequence[Tensor], dtype: Any = None) -> NDArray[Any]:
        """Arrays with a sample axis as one, in numpy."""
        kind = parts[0].dtype if dtype is None else getattr(torch, np.dtype(dtype).name)
        like = torch.empty((0,), dtype=kind).numpy().dtype
        # numpy asks for large pages, which the first writing to an array waits for less often
        out = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=like)
        first = 0
        for part in parts:
            to_host(part.to(kind), torch.from_numpy(out[first : first + len(part)]))
            first += len(part)
        return out

    def full(self, n: int, value: float, dtype: Any) -> Tensor:
        """An array with a sample axis that has one value."""
        wanted = torch.from_numpy(np.empty(0, dtype)).dtype
        return torch.full((1,), value, dtype=wanted, device=self.device).expand(n)

    def free_bytes(self) -> float:
        """Memory of the device that new arrays may take."""
        if self.device.type != "cuda":
            return float(installed_memory() / 4)
        free, total = torch.cuda.mem_get_info(self.device)
        share = getattr(torch.cuda, "get_per_process_memory_fraction", lambda device: 1.0)
        allowed = total * share(self.device)
        cached = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return float(min(free + cached, allowed - torch.cuda.memory_allocated(self.device)))

    def copy(self, array: Tensor) -> Tensor:
        """The same values in memory of their own."""
        return array.clone()

    def float64(self, array: Any) -> Tensor:
        """An array on the device in float64."""
        found: Tensor = to_tensor(array, self.device).double()
        return found

    def asarray(self, small: Any, like: Tensor) -> Tensor:
        """An array on the device and in the dtype of `like`."""
        if isinstance(small, np.ndarray):
            return to_tensor(
                torch.from_numpy(np.require(small, requirements="W")).to(like.dtype), like.device
            )
        return to_tensor(small, like.device).to(like.dtype)

    def first_weight(self, weights: Tensor) -> float:
        """The weight of the first row; where all rows share it, the device is asked once."""
        if weights.stride(0) != 0:
            return float(weights[0])
        if self._shared is None or self._shared[0].data_ptr() != weights.data_ptr():
            self._shared = weights, float(weights[0])  # the tensor keeps its memory
        return self._shared[1]

    def has_weights_of_one(self, weights: Tensor) -> bool:
        """Whether all weights are 1."""
        if weights.stride(0) == 0 and len(weights) > 0:
            return self.first_weight(weights) == 1.0
        return bool((weights == 1.0).all())


@contextmanager
def precision(is_fast: bool) -> Iterator[None]:
    """Products of float32 in TF32, or in float32."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = is_fast
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def all_same(weights: Tensor) -> bool:
    """Whether all weights are the same."""
    return weights.stride(0) == 0 or len(weights) < 2 or bool((weights == weights[:1]).all())


@cache
def fused_kernels() -> Any:
    """The kernels in Triton, which comes with torch where there is a GPU that it knows."""
    try:
        from manyview.kernels.gpu import fused
    except ImportError:
        return None
    return fused
