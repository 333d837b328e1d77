"""Views that are tensors of torch, on a GPU or not: rows that stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from manyview.data.rows import Rows
from manyview.utils.types import IntArray

A = TypeVar("A", bound="NDArray[Any]")
PIECE_BYTES = 1 << 28  # of a look at all values


class TensorRows(Rows):
    """A 2-D tensor as a view; reading copies rows into numpy.

    Types of 16 bits stay as they are stored, and are read as float32.
    """

    def __init__(self, tensor: Any) -> None:
        import torch

        tensor = tensor.detach()
        if not tensor.is_floating_point():
            is_short = tensor.dtype in (torch.bool, torch.uint8, torch.int8, torch.int16)
            tensor = tensor.to(torch.float32 if is_short else torch.float64)
        self.tensor = tensor
        self.shape = tuple(tensor.shape)
        self.dtype = np.dtype(np.float64 if tensor.dtype == torch.float64 else np.float32)

    @property
    def device(self) -> str:
        """Name of the device that holds the rows."""
        return str(self.tensor.device)

    @property
    def nbytes(self) -> int:
        """Bytes as stored."""
        return int(self.tensor.nbytes)

    def fingerprint(self) -> str:
        """Place and shape: equal for two names of the same memory."""
        return f"{self.device} {self.tensor.data_ptr()} {self.tensor.stride()} {self.shape}"

    def check_unchanged(self) -> None:
        """Nothing: there is no file."""

    def take(self, rows: IntArray) -> NDArray[Any]:
        """Copy some rows."""
        return self._in_numpy(self.pick(rows).tensor)

    def pick(self, rows: IntArray) -> TensorRows:
        """Some rows, on the same device."""
        import torch

        wanted = torch.as_tensor(np.asarray(rows, dtype=np.int64), device=self.tensor.device)
        return TensorRows(self.tensor.index_select(0, wanted))

    def sizes(self) -> Iterator[tuple[slice, float | None]]:
        """Pieces of rows, and the size of their largest value; None if one is not finite."""
        n, step = self.shape[0], max(PIECE_BYTES // max(self.nbytes // self.shape[0], 1), 1)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            low, high = (float(value) for value in self.tensor[rows].aminmax())
            yield rows, max(high, -low) if np.isfinite(low + high) else None

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        out[:] = self._in_numpy(self.tensor[start : start + len(out)])

    def _in_numpy(self, tensor: Any) -> NDArray[Any]:
        import torch

        wanted = torch.float64 if self.dtype == np.float64 else torch.float32
        found: NDArray[Any] = tensor.to("cpu", wanted).numpy()
        return found

    def _part(self, start: int, stop: int) -> Rows:
        return self if (start, stop) == (0, len(self)) else TensorRows(self.tensor[start:stop])


def as_given(views: tuple[Any, ...], array: A) -> A:
    """An array as a tensor on the device of the views, if all of them are tensors."""
    if not all(isinstance(view, TensorRows) for view in views):
        return array
    import torch

    return cast(A, torch.as_tensor(array, device=views[0].device))


def is_tensor(view: object) -> bool:
    """Whether a view is a tensor of torch, which is not imported for it."""
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(view).__mro__)


def on_gpu(view: object) -> bool:
    """Whether an array of another library is in the memory of a GPU of NVIDIA."""
    return hasattr(view, "__cuda_array_interface__") and not is_tensor(view)
