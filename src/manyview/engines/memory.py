"""Engine for rows in memory, or memory-mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.conversion import View
from manyview.data.scaling import ViewScaling
from manyview.data.views import MultiViewData
from manyview.engines import Engine, RowFilter, rows_per_block
from manyview.kernels import Kernels
from manyview.kernels.block import CHUNK_ROWS, Block, ViewRows
from manyview.kernels.wide import are_alike, factors
from manyview.utils.threads import n_threads, side_by_side
from manyview.utils.types import FloatArray, IntArray

T = TypeVar("T")

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
        self._data = data.in_memory()
        self.n_samples = data.n_samples
        if self._block_rows is None:
            self._block_rows = rows_per_block(sum(data.n_features) * data.dtype.itemsize)
        assert self._block_rows % CHUNK_ROWS == 0
        self._blocks = []
        self._weights = np.ones(self.n_samples) if weights is None else weights
        self.apply_scalings([ViewScaling(v) for v in range(data.n_views)])

    def apply_scalings(
        self, scalings: Sequence[ViewScaling], n_present: FloatArray | None = None
    ) -> FloatArray:
        """Scale the rows, which keep their labels; row factors are set by a visit."""
        before = self._blocks
        present = self._data.present
        which = [scaling.view for scaling in scalings]
        counts = (
            np.full(self.n_samples, len(scalings))
            if present is None
            else present[:, which].sum(axis=1)
        )
        known = np.unique(counts if n_present is None else np.concatenate([counts, n_present]))
        group = np.searchsorted(known, counts)
        each_view = range(self._data.n_views)
        self._blocks = [
            Block(
                views=tuple(_view_rows(self._data, scaling, rows) for scaling in scalings),
                weights=self._weights[rows],
                group=group[rows],
                labels=np.zeros(rows.stop - rows.start, dtype=np.int32),
                projection=np.empty((rows.stop - rows.start, 0), dtype=self._data.dtype),
                given=tuple(_view_rows(self._data, ViewScaling(v), rows) for v in each_view),
            )
            for rows in self._row_slices()
        ]
        for position, block in enumerate(before):
            self._blocks[position] = replace(
                self._blocks[position], labels=block.labels, stashed=block.stashed
            )
        return known.astype(np.float64)

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[Block, ...]:
        """All blocks if there are at most `n_rows` rows, else rows drawn without replacement."""
        if n_rows >= self.n_samples:
            return tuple(self._blocks)
        chosen = np.sort(rng.choice(self.n_samples, n_rows, replace=False))
        slices = list(self._row_slices())
        cuts = np.searchsorted(chosen, [rows.stop for rows in slices])
        parts = np.split(chosen, cuts[:-1])
        return tuple(
            _take(block, part - rows.start)
            for block, rows, part in zip(self._blocks, slices, parts, strict=True)
            if part.size
        )

    def subsample(self, n_rows: int, rng: np.random.Generator) -> InMemory:
        """Rows drawn without replacement, copied."""
        if n_rows >= self.n_samples:
            return self
        chosen = np.sort(rng.choice(self.n_samples, n_rows, replace=False))
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
            most = max(GRAM_BYTES // total.nbytes, 1)
            self._grams = [*self._grams, (rows, total)][-most:]
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

    def map_reduce(self, visit: Callable[..., tuple[Block, T]], *shared: object) -> T:
        """Visit the blocks in order; add results at once, so that only one is held."""
        total: T = reduce(add, self._visit_all(visit, *shared))
        return total

    def _visit_all(self, visit: Callable[..., tuple[Block, T]], *shared: object) -> Iterator[Any]:
        """Visit blocks in parallel if there is one per thread; else BLAS is multi-threaded."""

        def go(block: Block) -> tuple[Block, T]:
            return visit(block, self.kernels, *shared)

        self.changed = frozenset()
        is_wide = len(self._blocks) >= n_threads()
        visits = side_by_side(go, self._blocks) if is_wide else map(go, self._blocks)
        for position, (after, result) in enumerate(visits):
            before = self._blocks[position]
            if after is not before:
                self.changed |= {
                    field for field in FIELDS if getattr(after, field) is not getattr(before, field)
                }
                self._blocks[position] = self._hold(before, after)
            yield result

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
            part = _slice(block, slice(start, start + CHUNK_ROWS))
            order = np.random.default_rng((seed, chunk)).permutation(len(part.labels))
            part, carry = visit(part, self.kernels, carry, order, *shared)
            block.labels[start : start + CHUNK_ROWS] = part.labels
        return carry

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
            return row_filter(block, self.kernels, carry, *shared)

        chosen = np.flatnonzero(np.concatenate(list(side_by_side(pick, self._blocks))))
        chosen = np.random.default_rng(seed).permutation(chosen)
        at_once = rows_per_block(max(self._blocks[0].projection[:1].nbytes, 1))
        for start in range(0, len(chosen), at_once):
            rows, order = np.unique(chosen[start : start + at_once], return_inverse=True)
            subset, carry = visit(self._few(rows), self.kernels, carry, order, *shared)
            for block, own, there in self._by_block(rows):
                block.labels[there] = subset.labels[own]
        return carry

    def _few(self, rows: IntArray) -> Block:
        """Some rows of all blocks, without their views."""
        parts = [_slice(block, there) for block, _, there in self._by_block(rows)]

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
        return np.concatenate([getattr(block, field) for block in self._blocks])

    def put_labels(self, labels: NDArray[np.int32]) -> None:
        """Set the labels of all rows."""
        for position, rows in enumerate(self._row_slices()):
            self._blocks[position] = replace(self._blocks[position], labels=labels[rows].copy())

    def _row_slices(self) -> Iterator[slice]:
        assert self._block_rows is not None
        for start in range(0, self.n_samples, self._block_rows):
            yield slice(start, min(start + self._block_rows, self.n_samples))


def _view_rows(data: MultiViewData, scaling: ViewScaling, rows: slice) -> ViewRows:
    """Rows of one scaled view; missing rows get the factor zero."""
    values = _slice_rows(data.arrays[scaling.view], rows)
    factor = absent = None
    if data.present is not None and not data.present[rows, scaling.view].all():
        present = data.present[rows, scaling.view]
        factor = present.astype(np.float64)
        absent = np.flatnonzero(~present)
    parts = (scaling.map, scaling.scale, scaling.offset)
    return ViewRows(values, *parts, factor, absent, table=scaling.components)


def _slice_rows(view: View, rows: slice) -> View:
    """A slice of rows without a copy: scipy would copy data and 64-bit indices."""
    if not isinstance(view, sparse.csr_array):
        return view[rows]
    ends = view.indptr[rows.start : rows.stop + 1]
    stored = slice(ends[0], ends[-1])
    part = sparse.csr_array((rows.stop - rows.start, view.shape[1]), dtype=view.dtype)
    part.data, part.indices, part.indptr = view.data[stored], view.indices[stored], ends - ends[0]
    return part


def _slice(block: Block, rows: slice | IntArray) -> Block:
    """Some rows of a block, without its views, which the label step does not need."""
    return Block(
        (), block.weights[rows], block.group[rows], block.labels[rows], block.projection[rows]
    )


def _take(block: Block, rows: NDArray[np.intp]) -> Block:
    """Some rows of a block, views included."""
    views = tuple(
        replace(
            view,
            values=view.values[rows],
            factor=None if view.factor is None else view.factor[rows],
            absent=None if view.absent is None else np.flatnonzero(np.isin(rows, view.absent)),
            level=None if view.level is None else view.level[rows],
        )
        for view in block.views
    )
    return Block(
        views, block.weights[rows], block.group[rows], block.labels[rows], block.projection[rows]
    )
