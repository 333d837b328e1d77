"""Engines: where the rows live, and how every block of them is visited.

One rule: arrays with a sample axis stay inside the engine; everything that the solver holds is
small and float64. To add an engine, write its methods in one file and name it in `choose_engine`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from manyview.data.rows import Rows
from manyview.data.scaling import ViewScaling
from manyview.data.views import MultiViewData
from manyview.kernels import Kernels, choose_kernels
from manyview.kernels.block import CHUNK_ROWS, Block
from manyview.utils.memory import installed_memory
from manyview.utils.types import FloatArray

if TYPE_CHECKING:
    from manyview.engines.memory import InMemory

__all__ = ["Engine", "RowFilter", "choose_engine", "is_too_large", "rows_per_block"]

T = TypeVar("T")
RowFilter: TypeAlias = Callable[..., NDArray[np.bool_]]  # of the rows of a block
logger = logging.getLogger(__name__)

ROW_BYTES = 20  # weight, group and label of a sample
BLOCK_BYTES = 1 << 25  # enough rows for BLAS to run at speed, few enough for small temporaries
BLOCK_CHUNKS = 12  # at most: what is made of narrow rows is wider than they are


class Engine(Protocol):
    """Where the sample rows live, and how every block of them is visited.

    A visit is a top-level function `visit(block, kernels, *shared) -> (block, result)`. It returns
    the changed block; the engine decides where that is kept.
    """

    name: str
    kernels: Kernels
    n_samples: int

    def load(self, data: MultiViewData, weights: FloatArray | None) -> None:
        """Take the rows in, cut into blocks of whole chunks, each view as given."""

    def apply_scalings(
        self, scalings: Sequence[ViewScaling], n_present: FloatArray | None = None
    ) -> FloatArray:
        """Scale the views anew; returns the distinct numbers of scaled views present.

        Those of `n_present` are among them.
        """

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[Block, ...]:
        """Some rows, or all of them where there are no more: starts are made on them."""

    def subsample(self, n_rows: int, rng: np.random.Generator) -> Engine:
        """An engine with some of the rows, each view as given; this one if it has no more."""

    def map_reduce(self, visit: Callable[..., tuple[Block, T]], *shared: object) -> T:
        """Visit all blocks; add what they return, in the order of the blocks."""

    def scan(
        self,
        visit: Callable[..., tuple[Block, T]],
        carry: T,
        seed: int,
        *shared: object,
        row_filter: RowFilter | None = None,
    ) -> T:
        """Visit all chunks in the order of `seed`; hand each what the one before returned.

        A visit gets (block, kernels, carry, order of the rows in the chunk, *shared). Of rows that
        `row_filter(block, kernels, carry, *shared)` picks before the first visit, those alone are
        gathered from all blocks, and visited in an order drawn from `seed`.
        """

    def gather(self, field: Literal["labels", "projection"]) -> NDArray[Any]:
        """Bring one sample-sized array to the host, in the order of the rows."""


def rows_per_block(row_bytes: int, n_bytes: float = BLOCK_BYTES) -> int:
    """Rows of a block of so many bytes: whole chunks, at least one, and not too many."""
    return int(np.clip(n_bytes // (CHUNK_ROWS * row_bytes), 1, BLOCK_CHUNKS)) * CHUNK_ROWS


def choose_engine(
    engine: str, device: str, data: MultiViewData, memory_limit: float | None = None
) -> InMemory:
    """Engine and kernels by name; "auto" is what fits the data and the machine."""
    from manyview.engines.memory import InMemory
    from manyview.engines.streaming import Streaming

    kernels = choose_kernels(device)
    is_large = engine == "auto" and is_too_large(_bytes_on_disk(data), memory_limit)
    if engine == "stream" or is_large:
        return Streaming(kernels, memory_limit)
    return InMemory(kernels)


def _bytes_on_disk(data: MultiViewData) -> int:
    """Bytes that the views on disk would take in memory."""
    return sum(
        view.shape[0] * view.shape[1] * view.dtype.itemsize
        for view in data.views
        if isinstance(view, Rows | np.memmap)
    )


def is_too_large(on_disk: float, memory_limit: float | None) -> bool:
    """Whether rows on disk should stay there."""
    allowed = installed_memory() / 2 if memory_limit is None else memory_limit
    if on_disk > allowed:
        logger.debug("engine: stream, because %.1f GB of %.1f", on_disk / 1e9, allowed / 1e9)
    return on_disk > allowed
