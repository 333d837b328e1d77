"""Engine for rows in memory, or memory-mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from manyview.data.scaling import ViewScaling, groups_of
from manyview.data.views import MultiViewData
from manyview.engines import Batches, Carry, Engine, RowFilter, Stages, draw_rows, rows_per_block
from manyview.engines.slices import slice_rows, take_rows_of
from manyview.kernels import Kernels
from manyview.kernels.block import CHUNK_ROWS, Block, ViewRows
from manyview.kernels.wide import are_alike, factors
from manyview.utils.threads import in_stages, n_threads, side_by_side
from manyview.utils.types import FloatArray, IntArray

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

GRAM_BYTES = 1 << 27  # of Gram matrices that are kept
FIELDS = ("views", "group", "labels", "projection", "stashed", "distance_bounds")


class InMemory:
    """Blocks are slices of the user's arrays, with their labels and projections."""

    name = "memory"

    def __init__(self, kernels: Kernels, block_rows: int | None = None) -> None:
        self.kernels = kernels
        self.n_samples = 0
        self._block_rows = block_rows
        self._blocks: list[Block] = []
        self._grams: list[tuple[list[ViewRows], FloatArray]] = []  # without row factors
        self.changed: frozenset[str] = frozenset()  # fields that the last `map_reduce` replaced

    def load(self, data: MultiViewData, weights: FloatArray | None) -> None:
        """Split the rows into blocks of whole chunks; views on disk are read."""
        self._data, self.n_samples = self._loaded(data), data.n_samples
        self._unit_rows = rows_per_block(sum(data.n_features) * data.dtype.itemsize)
        if self._block_rows is None:
            self._block_rows = self._unit_rows
        assert self._block_rows % CHUNK_ROWS == 0
        self._blocks = []
        equal = self.kernels.full(self.n_samples, 1, float)
        self._weights = equal if weights is None else self.kernels.rows(weights)
        self.apply_scalings([ViewScaling(v) for v in range(data.n_views)])

    def apply_scalings(
        self, scalings: Sequence[ViewScaling], n_present: FloatArray | None = None
    ) -> FloatArray:
        """Scale the rows, which keep their labels; row factors are set by a visit."""
        before, n = self._blocks, self.n_samples
        known, own = groups_of(scalings, self._data.present, n_present)
        full, rows_of = self.kernels.full, self.kernels.rows
        group = full(n, own, np.int64) if isinstance(own, int) else rows_of(own)
        labels = self.kernels.copy(self.kernels.full(n, 0, np.int32))
        nothing = self.kernels.rows(np.empty((n, 0), dtype=self._data.dtype))
        each_view = range(self._data.n_views)
        self._blocks = [
            Block(
                views=tuple(self._view_rows(scaling, rows) for scaling in scalings),
                weights=self._weights[rows],
                group=group[rows],
                labels=labels[rows],
                projection=nothing[rows],
                given=tuple(self._view_rows(ViewScaling(v), rows) for v in each_view),
            )
            for rows in self._row_slices()
        ]
        for position, block in enumerate(before):
            self._blocks[position] = replace(
                self._blocks[position], labels=block.labels, stashed=block.stashed
            )
        return known.astype(np.float64)

    def _loaded(self, data: MultiViewData) -> MultiViewData:
        """The views that blocks are slices of; those on disk are read."""
        return data.in_memory()

    def _values(self, v: int, rows: slice) -> Any:
        """Consecutive rows of a view."""
        return slice_rows(self._data.arrays[v], rows)

    def _view_rows(self, scaling: ViewScaling, rows: slice) -> ViewRows:
        """Rows of one scaled view; missing rows get the factor zero."""
        values, present = self._values(scaling.view, rows), self._data.present
        factor = absent = None
        if present is not None and not present[rows, scaling.view].all():
            own = present[rows, scaling.view]
            factor = self.kernels.rows(own.astype(np.float64))
            absent = self.kernels.rows(np.flatnonzero(~own))
        parts = (scaling.map, scaling.scale, scaling.offset)
        return ViewRows(values, *parts, factor, absent, table=scaling.components)

    @property
    def views(self) -> tuple[Any, ...]:
        """The views that were loaded."""
        return self._data.views

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[Block, ...]:
        """All blocks if there are at most `n_rows` rows, else rows drawn without replacement."""
        if n_rows >= self.n_samples:
            return tuple(self._blocks)
        chosen = draw_rows(self.n_samples, n_rows, rng)
        slices = list(self._row_slices())
        parts = np.split(chosen, np.searchsorted(chosen, [rows.stop for rows in slices])[:-1])
        return tuple(
            take_rows_of(block, part - rows.start)
            for block, rows, part in zip(self._blocks, slices, parts, strict=True)
            if part.size
        )

    def subsample(
        self, n_rows: int, rng: np.random.Generator, *, is_apart: bool = False
    ) -> InMemory:
        """Rows drawn without replacement, copied."""
        if n_rows >= self.n_samples and not is_apart:
            return self
        chosen = draw_rows(self.n_samples, n_rows, rng)
        engine = InMemory(self.kernels)
        engine.load(self._data[chosen], self._weights[chosen])
        return engine

    def twin(self) -> InMemory:
        """An engine with the same rows and labels; the rows are shared."""
        engine = InMemory(self.kernels, self._block_rows)
        engine.load(self._data, self._weights)
        engine._blocks = [
            replace(new, labels=own.labels.copy(), stashed=own.stashed)
            for new, own in zip(engine._blocks, self._blocks, strict=True)
        ]
        return engine

    def gram(self, position: int) -> FloatArray:
        """X Xᵀ of one scaled view; those of the last scalings are kept, but for row factors."""
        rows = [block.views[position] for block in self._blocks]
        total = next((total for its, total in self._grams if are_alike(its, rows)), None)
        if total is None:
            total = self.kernels.gram(rows)
            self._grams = [*self._grams, (rows, total)][-max(GRAM_BYTES // total.nbytes, 1) :]
        factor = factors(rows)
        return total * factor[:, None] * factor

    def beside(self, data: MultiViewData, weights: FloatArray) -> InMemory:
        """An engine in memory with other views of the same samples, in the same blocks."""
        engine = InMemory(self.kernels, self._block_rows)
        engine.load(data, weights)
        return engine

    def take_rows(self, other: Engine) -> None:
        """Take labels, projections and scaled rows from an engine made by `beside`."""
        assert isinstance(other, InMemory)
        taken = ("views", "group", "labels", "projection")
        pairs = zip(self._blocks, other._blocks, strict=True)
        self._blocks = [
            replace(own, **{name: getattr(its, name) for name in taken}) for own, its in pairs
        ]

    def release(self) -> None:
        """Forget the rows, which take memory."""
        self._blocks, self._grams = [], []
        del self._data, self._weights

    def map_reduce(self, visit: Callable[..., tuple[Block, T]], *shared: object) -> T:
        """Visit the blocks in order; add results at once, so that only one is held."""
        total: T = reduce(add, self._visit_all(visit, *shared))
        return total

    def _visit_all(self, visit: Callable[..., tuple[Block, T]], *shared: object) -> Iterator[Any]:
        """Visit blocks in parallel if there is one per thread; else BLAS is multi-threaded."""

        def go(block: Block) -> tuple[Block, T]:
            return visit(block, self.kernels, *shared)

        self.changed = frozenset()
        for position, (after, result) in enumerate(self._side_by_side(go, self._blocks)):
            before = self._blocks[position]
            if after is not before:
                self.changed |= {
                    field for field in FIELDS if getattr(after, field) is not getattr(before, field)
                }
                self._blocks[position] = self._hold(before, after)
            yield result

    def _side_by_side(self, task: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        """Tasks of blocks in parallel, if there are as many as threads."""
        return self._map(task, items) if len(items) >= n_threads() else map(task, items)

    def _hold(self, before: Block, after: Block) -> Block:
        """Store an updated block; here it stays in memory."""
        return after

    def scan(
        self,
        visit: Callable[..., tuple[Block, T]],
        carry: T,
        seed: int,
        *shared: object,
        row_filter: RowFilter | None = None,
        until: Callable[[T], bool] = lambda carry: False,
    ) -> T:
        """Visit the chunks in an order drawn from `seed`, their rows from (seed, chunk)."""
        if row_filter is not None:
            return self._scan_chosen(row_filter, visit, carry, seed, *shared)
        assert self._block_rows is not None
        chunks_per_block = self._block_rows // CHUNK_ROWS
        n_chunks = -(-self.n_samples // CHUNK_ROWS)
        for chunk in np.random.default_rng(seed).permutation(n_chunks):
            block = self._blocks[chunk // chunks_per_block]
            start = chunk % chunks_per_block * CHUNK_ROWS
            rows = slice(start, start + CHUNK_ROWS)
            part = self._pull(block, rows)
            order = np.random.default_rng((seed, chunk)).permutation(len(part.labels))
            part, carry = visit(part, self._one_by_one, carry, order, *shared)
            self._push(block, rows, part.labels)
            if until(carry):
                break
        return carry

    def scan_batches(
        self,
        visit: Callable[..., tuple[Block, R]],
        carry: Carry[R],
        batches: Batches,
        *shared: object,
        accept: Callable[[R], bool],
    ) -> R:
        """Visit the batches of each shard in order; the rows of a batch in parallel."""
        before = [self.kernels.copy(block.labels) for block in self._blocks]

        def go(part: tuple[int, range], own: Carry[R]) -> R:
            return self._visit_chunks(*part, lambda block: visit(block, self.kernels, own, *shared))

        total: R | None = None
        for shard in batches.shards(self.n_samples):
            own = carry
            for chunks in batches.of_shard(shard):
                parts = list(self._parts(chunks))
                result = reduce(add, self._map(partial(go, own=own), parts))
                own = own.after(result)
                total = result if total is None else add(total, result)
        assert total is not None
        if not accept(total):
            self._put_back(before)
        return total

    @property
    def reads_views(self) -> bool:
        """Views in memory are read by the products alone, whose arithmetic takes longer."""
        return False

    def scan_reduce(
        self,
        stages: Stages,
        carry: T,
        seed: int,
        *shared: object,
        accept: Callable[[Any], bool],
    ) -> tuple[T, Any]:
        """Visit each block once: the first and last stage of a few blocks in parallel."""

        def step(position: int, block: Block) -> tuple[Block, None]:
            nonlocal carry
            own = replace(block, labels=self.kernels.copy(block.labels))
            carry = self._scan_block(stages.step, carry, seed, position, own, *shared)
            return own, None

        total = self._visit_once(stages, shared, step, accept)
        return carry, total

    def reduce_batches(
        self,
        stages: Stages,
        carry: Carry[Any],
        batches: Batches,
        *shared: object,
        accept: Callable[[Any], bool],
    ) -> tuple[Any, Any]:
        """Visit each block once, all blocks of a batch with the same carry."""
        assert self._block_rows is not None
        n_blocks = batches.rows_at_once(self.n_samples, self._unit_rows) // self._block_rows
        steps: list[Any] = []  # results of each batch so far

        def step(position: int, block: Block) -> tuple[Block, Any]:
            return stages.step_at_once(block, self.kernels, carry, *shared)

        def go_on(results: Sequence[Any]) -> None:
            nonlocal carry
            steps.append(reduce(add, results))
            carry = carry.after(steps[-1])

        total = self._visit_once(stages, shared, step, accept, n_blocks, go_on)
        return reduce(add, steps), total

    def _visit_once(
        self,
        stages: Stages,
        shared: tuple[object, ...],
        step: Callable[[int, Block], tuple[Block, Any]],
        accept: Callable[[Any], bool],
        n_blocks: int = 1,
        go_on: Callable[[Sequence[Any]], None] = lambda results: None,
    ) -> Any:
        """Sum the last stage of all blocks; `go_on` gets the results of the step of each batch.

        Steps come in order, the other stages beside them; those of a batch of many blocks are in
        parallel.
        """
        before, total = [block.labels for block in self._blocks], None
        self.changed = frozenset({"labels", "projection"})
        results: list[Any] = []  # of the batch

        def begin(position: int) -> tuple[int, Block]:
            block = self._opened(self._blocks[position])
            return position, stages.before(block, self.kernels, *shared)[0]

        def move(begun: tuple[int, Block]) -> tuple[int, Block, Any]:
            return begun[0], *step(*begun)

        def note(moved: tuple[int, Block, Any]) -> tuple[int, Block, Any]:
            results.append(moved[2])
            if len(results) == n_blocks or moved[0] == len(self._blocks) - 1:
                go_on(results)
                results.clear()
            return moved

        def end(moved: tuple[int, Block, Any]) -> tuple[int, Block, Any]:
            position, block, _ = moved
            return position, *stages.after(block, self.kernels, *shared)

        def whole(position: int) -> tuple[tuple[int, Block, Any], tuple[int, Block, Any]]:
            moved = move(begin(position))
            return moved, end(moved)

        def in_batches() -> Iterator[tuple[int, Block, Any]]:
            for start in range(0, len(self._blocks), n_blocks):
                batch = range(start, min(start + n_blocks, len(self._blocks)))
                for moved, ended in self._map(whole, batch):
                    note(moved)
                    yield ended

        many = n_blocks >= n_threads()
        visits = in_batches() if many else self._in_stages(begin, lambda b: note(move(b)), end)
        for position, block, result in visits:
            self._close(position, block)
            total = result if total is None else total + result
        if not accept(total):
            self._put_back(before)
        return total

    def splits_into(self, batches: Batches) -> bool:
        """Whether batches of consecutive rows are whole blocks."""
        assert self._block_rows is not None
        return batches.rows_at_once(self.n_samples, self._unit_rows) % self._block_rows == 0

    def _close(self, position: int, block: Block) -> None:
        """Keep what a visit that has read the views of a block made of it."""
        old = self._blocks[position]
        self._blocks[position] = self._hold(old, replace(block, views=old.views, given=old.given))

    def _in_stages(
        self, begin: Callable[[int], A], step: Callable[[A], B], end: Callable[[B], C]
    ) -> Iterator[C]:
        """The stages of all blocks; BLAS is multi-threaded if there are fewer than threads."""
        positions = range(len(self._blocks))
        if len(positions) < n_threads():
            return (end(step(begin(position))) for position in positions)
        return in_stages(begin, step, end, positions)

    def _scan_block(
        self,
        step: Callable[..., tuple[Block, T]],
        carry: T,
        seed: int,
        position: int,
        block: Block,
        *shared: object,
    ) -> T:
        """Visit the chunks of a block in order, their rows in one from (seed, chunk)."""
        assert self._block_rows is not None
        first = position * (self._block_rows // CHUNK_ROWS)
        for start in range(0, len(block.labels), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            part = self._pull(block, rows)
            chunk = first + start // CHUNK_ROWS
            order = np.random.default_rng((seed, chunk)).permutation(len(part.labels))
            part, carry = step(part, self._one_by_one, carry, order, *shared)
            self._push(block, rows, part.labels)
        return carry

    def _opened(self, block: Block) -> Block:
        """A block whose views are read once; here they are in memory."""
        return block

    def _put_back(self, labels: Sequence[Any]) -> None:
        """Set the labels of each block."""
        for position, own in enumerate(labels):
            self._blocks[position] = replace(self._blocks[position], labels=own)

    def _parts(self, chunks: range) -> Iterator[tuple[int, range]]:
        """Blocks with some of the chunks, and which of their own chunks these are."""
        assert self._block_rows is not None
        per_block = self._block_rows // CHUNK_ROWS
        for position in range(len(self._blocks)):
            first = position * per_block
            begin = first + (chunks.start - first) % chunks.step
            own = range(max(begin, chunks.start), min(first + per_block, chunks.stop), chunks.step)
            if len(own):
                yield position, range(own.start - first, own.stop - first, own.step)

    def _visit_chunks(
        self, position: int, chunks: range, visit: Callable[[Block], tuple[Block, R]]
    ) -> R:
        """Visit the rows of some chunks of a block, without its views; their labels are set."""
        block = self._blocks[position]
        rows = (np.array(chunks)[:, None] * CHUNK_ROWS + np.arange(CHUNK_ROWS)).ravel()
        rows = rows[rows < len(block.labels)]
        after, result = visit(block.some(rows))
        block.labels[rows] = after.labels
        return result

    @staticmethod
    def _map(task: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        """Results of independent tasks, in order."""
        return side_by_side(task, items)

    def _scan_chosen(
        self,
        row_filter: RowFilter,
        visit: Callable[..., tuple[Block, T]],
        carry: T,
        seed: int,
        *shared: object,
    ) -> T:
        """Gather the selected rows, at most a block at a time, and visit them."""

        def pick(block: Block) -> NDArray[np.bool_]:
            return self.kernels.to_host(row_filter(block, self.kernels, carry, *shared))

        found = np.flatnonzero(np.concatenate(list(self._map(pick, self._blocks))))
        chosen = np.random.default_rng(seed).permutation(found)
        at_once = rows_per_block(max(self._blocks[0].projection[:1].nbytes, 1))
        for start in range(0, len(chosen), at_once):
            rows, order = np.unique(chosen[start : start + at_once], return_inverse=True)
            subset, carry = visit(self._few(rows), self._one_by_one, carry, order, *shared)
            for block, own, there in self._by_block(rows):
                self._push(block, there, subset.labels[own])
        return carry

    @property
    def _one_by_one(self) -> Kernels:
        """Kernels for visits that move one row at a time."""
        return self.kernels

    def _pull(self, block: Block, rows: slice | IntArray) -> Block:
        """Some rows of a block for such a visit."""
        return block.some(rows)

    def _push(self, block: Block, rows: slice | IntArray, labels: NDArray[np.int32]) -> None:
        """Set their labels."""
        block.labels[rows] = labels

    def _few(self, rows: IntArray) -> Block:
        """Some rows of all blocks, without their views."""
        parts = [self._pull(block, there) for block, _, there in self._by_block(rows)]

        def joined(field: str) -> NDArray[Any]:
            return np.concatenate([getattr(part, field) for part in parts])

        return Block((), joined("weights"), joined("group"), joined("labels"), joined("projection"))

    def _by_block(self, rows: IntArray) -> Iterator[tuple[Block, slice, IntArray]]:
        """Each block with some of the sorted rows, which of them, and their positions in it."""
        assert self._block_rows is not None
        which, begins = np.unique(rows // self._block_rows, return_index=True)
        for position, own in zip(which, pairwise([*begins, len(rows)]), strict=True):
            there = rows[slice(*own)] - position * self._block_rows
            yield self._blocks[position], slice(*own), there

    def gather(self, field: Literal["labels", "projection"]) -> NDArray[Any]:
        """Concatenate one field of all blocks."""
        return self.kernels.joined([getattr(block, field) for block in self._blocks])

    def gather_column(self, column: int) -> FloatArray:
        """Concatenate one column of the projections, in float64."""
        return self.kernels.joined([b.projection[:, column] for b in self._blocks], np.float64)

    def put_labels(self, labels: NDArray[np.int32]) -> None:
        """Set the labels of all rows."""
        for position, rows in enumerate(self._row_slices()):
            own = self.kernels.rows(labels[rows].copy())
            self._blocks[position] = replace(self._blocks[position], labels=own)

    def _row_slices(self) -> Iterator[slice]:
        assert self._block_rows is not None
        for start in range(0, self.n_samples, self._block_rows):
            yield slice(start, min(start + self._block_rows, self.n_samples))
