"""Engines: where the rows are stored, and how blocks of rows are visited.

Arrays with a sample axis stay inside the engine; everything that the solver holds is small and
float64. To add an engine, implement its methods in one file and register it in `choose_engine`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from manyview.data.rows import Rows
from manyview.data.scaling import ViewScaling
from manyview.data.tensors import TensorRows
from manyview.data.views import MultiViewData
from manyview.kernels import Kernels, choose_kernels
from manyview.kernels.block import CHUNK_ROWS, Block
from manyview.utils.memory import installed_memory
from manyview.utils.types import FloatArray, IntArray

if TYPE_CHECKING:
    from manyview.engines.memory import InMemory

__all__ = [
    "Batches",
    "Engine",
    "RowFilter",
    "Stages",
    "choose_engine",
    "is_too_large",
    "rows_per_block",
]

T = TypeVar("T")
RowFilter: TypeAlias = Callable[..., NDArray[np.bool_]]  # of the rows of a block
logger = logging.getLogger(__name__)

R = TypeVar("R")
Result = TypeVar("Result", contravariant=True)
N_BATCHES = 4
LARGE = 100_000_000  # values from which on a GPU gains
MORE_BATCHES = 4  # times as many where F rose
FEWER_SHARDS = 8  # times fewer that move at once, there

ROW_BYTES = 20  # weight, group and label of a sample
BLOCK_BYTES = 1 << 25  # enough rows for efficient BLAS, few enough for small temporaries
# at most 12, since results of narrow rows are wider than the rows; with many divisors, so that
# smaller blocks are parts of larger ones
BLOCK_CHUNKS = (1, 2, 3, 4, 6, 8, 12)


class Carry(Protocol[Result]):
    """What is passed from batch to batch."""

    def after(self, result: Result, /) -> Self:
        """For the next batch."""

    def joined(self, result: Result, /) -> Self:
        """For the shards that follow all those of this result."""


@dataclass(frozen=True)
class Batches:
    """Division of the rows for a label step with frozen statistics.

    A shard is a range of chunks; its batches are interleaved chunks, so that sorted rows are mixed.
    Both depend on the number of samples alone, never on blocks, threads or workers. Where each row
    is read once, batches are consecutive rows, which depend on the width of the views, too.
    """

    n_shards: int = 1
    n_batches: int = N_BATCHES

    def finer(self) -> Batches:
        """More batches, of fewer shards at a time."""
        return Batches(max(self.n_shards // FEWER_SHARDS, 1), MORE_BATCHES * self.n_batches)

    def rows_at_once(self, n_samples: int, unit: int) -> int:
        """Consecutive rows of a batch: a power of two times as many as a block in memory has."""
        most = n_samples / (MORE_BATCHES * self.n_batches)
        return unit << max(int(np.log2(max(most / unit, 1))), 0)

    def shards(self, n_samples: int) -> list[range]:
        """Chunks of each shard."""
        n_chunks = -(-n_samples // CHUNK_ROWS)
        ends = np.linspace(0, n_chunks, min(self.n_shards, n_chunks) + 1).astype(int)
        return [range(start, stop) for start, stop in pairwise(ends.tolist())]

    def of_shard(self, shard: range) -> list[range]:
        """Chunks of each batch of a shard."""
        n_batches = min(self.n_batches, len(shard))
        return [shard[first::n_batches] for first in range(n_batches)]


@dataclass(frozen=True)
class Stages:
    """Parts of a visit that reads each block once.

    `step` is for one block after the other, and returns the carry; `step_at_once` is for all blocks
    of a batch, and its results are summed.
    """

    before: Callable[..., tuple[Block, Any]]  # (block, kernels, *shared)
    step: Callable[..., tuple[Block, Any]]  # (block, kernels, carry, order of rows, *shared)
    step_at_once: Callable[..., tuple[Block, Any]]  # (block, kernels, carry, *shared)
    after: Callable[..., tuple[Block, Any]]  # (block, kernels, *shared); its results are summed


class Engine(Protocol):
    """Where the rows are stored, and how blocks of rows are visited.

    A visit is a top-level function `visit(block, kernels, *shared) -> (block, result)`. It returns
    the updated block; the engine decides where that is stored.
    """

    @property
    def name(self) -> str:
        """Name of the engine."""

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

    def subsample(self, n_rows: int, rng: np.random.Generator, *, is_apart: bool = False) -> Engine:
        """An engine with a random subset of the rows, unscaled.

        If there are no more rows, this one, unless another with all rows is asked for.
        """

    def twin(self) -> Engine:
        """Another engine with the same rows and labels, unscaled."""

    def gram(self, position: int) -> FloatArray:
        """X Xᵀ of one scaled view of few rows, in float64: (n, n)."""

    def beside(self, data: MultiViewData, weights: FloatArray) -> Engine:
        """An engine in memory with other views of the same samples, unscaled."""

    def take_rows(self, other: Engine) -> None:
        """Take labels, projections and scaled rows from an engine made by `beside`."""

    def release(self) -> None:
        """Forget the rows, which take memory; nothing else may be asked for after that."""

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
        until: Callable[[T], bool] = lambda carry: False,
    ) -> T:
        """Visit all chunks in a random order by `seed`, passing a carry from one to the next.

        A visit gets (block, kernels, carry, order of the rows in the chunk, *shared). With a
        `row_filter(block, kernels, carry, *shared)`, only the rows that it selects before the first
        visit are gathered from all blocks and visited, in a random order by `seed`. It ends early
        once `until(carry)` holds.
        """

    def scan_batches(
        self,
        visit: Callable[..., tuple[Block, R]],
        carry: Carry[R],
        batches: Batches,
        *shared: object,
        accept: Callable[[R], bool],
    ) -> R:
        """Visit the batches of each shard in order; sum the results in the order of the shards.

        All rows of a batch see the same carry. Each shard starts with the carry given; for its next
        batch it is `carry.after(result)`. If the sum is not accepted, all labels are put back.
        """

    def splits_into(self, batches: Batches) -> bool:
        """Whether batches of consecutive rows are whole blocks."""

    @property
    def reads_views(self) -> bool:
        """Whether visits read the views again, so that one is better than two."""

    def scan_reduce(
        self,
        stages: Stages,
        carry: T,
        seed: int,
        *shared: object,
        accept: Callable[[Any], bool],
    ) -> tuple[T, Any]:
        """Visit each block once, passing a carry from chunk to chunk; sum the last results.

        Chunks come in order, the rows of a chunk in a random one by `seed`. If the sum is not
        accepted, all labels are put back; projections are those of `before`.
        """

    def reduce_batches(
        self,
        stages: Stages,
        carry: Carry[Any],
        batches: Batches,
        *shared: object,
        accept: Callable[[Any], bool],
    ) -> tuple[Any, Any]:
        """The same, passing a carry from batch to batch; also sum the results of the step."""

    def gather(self, field: Literal["labels", "projection"]) -> NDArray[Any]:
        """Collect one array with a sample axis, in the order of the rows."""

    def gather_column(self, column: int) -> FloatArray:
        """Collect one column of the projections, in float64."""


def draw_rows(n_samples: int, n_rows: int, rng: np.random.Generator) -> IntArray:
    """Sorted rows drawn without replacement; all if there are no more."""
    if n_rows >= n_samples:
        return np.arange(n_samples)
    return np.sort(rng.choice(n_samples, n_rows, replace=False))


def rows_per_block(row_bytes: int, n_bytes: float = BLOCK_BYTES) -> int:
    """Rows of a block of `n_bytes`: as many chunks as fit, of the numbers in `BLOCK_CHUNKS`."""
    most = n_bytes // (CHUNK_ROWS * row_bytes)
    return max([n for n in BLOCK_CHUNKS if n <= most], default=1) * CHUNK_ROWS


def choose_engine(
    engine: str,
    device: str,
    data: MultiViewData,
    memory_limit: float | None = None,
    *,
    tf32: bool = False,
    is_read_once: bool = False,
) -> InMemory:
    """Engine and kernels by name; "auto" depends on the data, the machine and what is to come."""
    from manyview.engines.memory import InMemory
    from manyview.engines.streaming import Streaming

    device = choose_device("cpu" if (device, engine) == ("auto", "stream") else device, data)
    kernels = choose_kernels(device, tf32=tf32)
    if device != "cpu":
        from manyview.engines.device import OnDevice

        return OnDevice(kernels, engine, is_read_once=is_read_once)
    is_large = engine == "auto" and is_too_large(_bytes_on_disk(data), memory_limit)
    if engine == "stream" or is_large:
        return Streaming(kernels, memory_limit)
    return InMemory(kernels)


def choose_sharded(engine: str, device: str, label_step: str) -> Any:
    """An engine in memory whose rows are in parts, as on a cluster; None for other label steps."""
    if label_step != "sharded":
        return None
    from manyview.engines.sharded import ShardedMemory

    if engine == "stream" or device not in ("auto", "cpu"):
        msg = (
            f"label_step='sharded' was asked for with engine={engine!r} and device={device!r}; "
            "expected rows in memory or on a cluster. Use engine='memory' and device='cpu', or "
            "another label_step."
        )
        raise ValueError(msg)
    return ShardedMemory(choose_kernels("cpu"))


def choose_batches(label_step: str, engine: Any) -> Batches | None:
    """Batches of a parallel label step; None for a sequential one."""
    n_parts = getattr(engine, "n_parts", None)
    if n_parts is not None:
        return Batches(n_parts)
    is_parallel = label_step == "parallel" or (label_step == "auto" and engine.kernels.is_parallel)
    return Batches() if is_parallel else None


def choose_passes(n_passes: int | str, engine: Engine, asked: str, data: MultiViewData) -> int:
    """Visits of all rows in an iteration: one if views are on disk, where each visit reads them.

    Whether they fit into memory after all does not matter, so that labels do not depend on it.
    """
    if n_passes != "auto":
        return int(n_passes)
    return 1 if engine.reads_views or (asked != "memory" and _bytes_on_disk(data) > 0) else 2


def choose_device(device: str, data: MultiViewData) -> str:
    """A device by name; "auto" takes a GPU that is there, if the data are on it or large."""
    if device != "auto":
        return device
    for view in data.views:
        if isinstance(view, TensorRows) and view.device != "cpu":
            return view.device
    n, d = data.shape
    if n * d < LARGE or find_spec("torch") is None:
        return "cpu"
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    from manyview.engines.device import bytes_on_device

    if bytes_on_device(data) > choose_kernels("cuda").free_bytes():
        logger.info("device: cpu, because the memory of the GPU is too small for the views")
        return "cpu"
    name = torch.cuda.get_device_name()
    logger.info("device: cuda (%s), because %d × %d values gain from it", name, n, d)
    return "cuda"


def _bytes_on_disk(data: MultiViewData) -> int:
    """Bytes that the views on disk would take in memory."""
    return sum(
        view.shape[0] * view.shape[1] * view.dtype.itemsize
        for view in data.views
        if isinstance(view, Rows | np.memmap) and not isinstance(view, TensorRows)
    )


def is_too_large(on_disk: float, memory_limit: float | None) -> bool:
    """Whether rows on disk should stay there."""
    allowed = installed_memory() / 2 if memory_limit is None else memory_limit
    if on_disk > allowed:
        logger.debug("engine: stream, because %.1f GB of %.1f", on_disk / 1e9, allowed / 1e9)
    return on_disk > allowed
