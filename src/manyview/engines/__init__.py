"""Engines: where the rows are stored, and how blocks of rows are visited.

Arrays with a sample axis stay inside the engine; everything that the solver holds is small and
float64. To add an engine, implement its methods in one file and register it in `choose_engine`.
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
BLOCK_BYTES = 1 << 25  # enough rows for efficient BLAS, few enough for small temporaries
BLOCK_CHUNKS = 12  # maximum: results of narrow rows are wider than the rows


class Engine(Protocol):
    """Where the rows are stored, and how blocks of rows are visited.

    A visit is a top-level function `visit(block, kernels, *shared) -> (block, result)`. It returns
    the updated block; the engine decides where that is stored.
    """

    name: str
    kernels: Kernels
    n_samples: int

    def load(self, data: MultiViewData, weights: FloatArray | None) -> None:
        """Load the rows, split into blocks of whole chunks, without scaling."""

    def apply_scalings(
        self, scalings: Sequence[ViewScaling], n_present: FloatArray | None = None
    ) -> FloatArray:
        """Replace the scalings; returns the distinct numbers of scaled views present.

        They include those of `n_present`. Labels stay.
        """

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[Block, ...]:
        """A random subset of the rows, or all if there are no more, for initialization."""

    def subsample(self, n_rows: int, rng: np.random.Generator) -> Engine:
        """An engine with a random subset of the rows, unscaled; this one if it has no more."""

    def twin(self) -> Engine:
        """Another engine with the same rows and labels, unscaled."""

    def gram(self, position: int) -> FloatArray:
        """X Xᵀ of one scaled view of few rows, in float64: (n, n)."""

    def beside(self, data: MultiViewData, weights: FloatArray) -> Engine:
        """An engine in memory with other views of the same samples, unscaled."""

    def take_rows(self, other: Engine) -> None:
        """Take labels, projections and scaled rows from an engine made by `beside`."""

    def put_labels(self, labels: NDArray[np.int32]) -> None:
        """Set the labels of all rows."""

    def map_reduce(self, visit: Callable[..., tuple[Block, T]], *shared: object) -> T:
        """Visit all blocks; sum the results in the order of the blocks."""

    def scan(
        self,
        visit: Callable[..., tuple[Block, T]],
        carry: T,
        seed: int,
        *shared: object,
        row_filter: RowFilter | None = None,
    ) -> T:
        """Visit all chunks in a random order by `seed`, passing a carry from one to the next.

        A visit gets (block, kernels, carry, order of the rows in the chunk, *shared). With a
        `row_filter(block, kernels, carry, *shared)`, only the rows that it selects before the first
        visit are gathered from all blocks and visited, in a random order by `seed`.
        """

    def gather(self, field: Literal["labels", "projection"]) -> NDArray[Any]:
        """Collect one array with a sample axis, in the order of the rows."""


def rows_per_block(row_bytes: int, n_bytes: float = BLOCK_BYTES) -> int:
    """Rows of a block of `n_bytes`: whole chunks, at least one, at most `BLOCK_CHUNKS`."""
    return int(np.clip(n_bytes // (CHUNK_ROWS * row_bytes), 1, BLOCK_CHUNKS)) * CHUNK_ROWS


def choose_engine(
    engine: str, device: str, data: MultiViewData, memory_limit: float | None = None
) -> InMemory:
    """Engine and kernels by name; "auto" depends on the data and the machine."""
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
