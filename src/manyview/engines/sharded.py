"""Engine whose rows are in parts, each visited by itself: shards of a parallel label step.

A pass has one barrier, at its end. All parts start from the same statistics and move their rows in
batches, with own copies of the statistics in which each move counts as often as there are parts; F
judges the sum. Results are added in the order of the parts, so that where and in which order parts
are visited cannot change anything. `ShardedMemory` visits them in this process; on a cluster, a
part is a task (`engines.cluster`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from manyview.data.scaling import ViewScaling, groups_of
from manyview.data.views import MultiViewData
from manyview.engines import Batches, Carry, RowFilter, Stages, draw_rows
from manyview.engines.memory import InMemory
from manyview.engines.parts import (
    Action,
    Both,
    LabelStep,
    Look,
    OneVisit,
    Outcome,
    Part,
    Pass,
    Scale,
    Step,
    Visit,
    all_blocks,
    followed_by,
    given_rows,
    n_present,
    one_column,
    patterns_present,
    rows_per_part,
    rows_selected,
    some_rows,
    sum_in_order,
    whole_field,
)
from manyview.kernels import Kernels
from manyview.kernels.block import CHUNK_ROWS, Block
from manyview.utils.threads import n_threads, side_by_side
from manyview.utils.types import FloatArray, IntArray

T = TypeVar("T")
R = TypeVar("R")
ROWS_AT_ONCE = 1 << 17  # that are gathered to be moved one by one


class Sharded(ABC):
    """An engine that runs passes over parts."""

    name: str
    reads_views = True  # a pass is a barrier, and may read what is not in memory

    def __init__(self, kernels: Kernels) -> None:
        self.kernels, self.n_samples = kernels, 0
        self._number = 0
        self._steps: tuple[Step, ...] = ()
        self._labels: list[Any] = []
        self._moves: dict[int, tuple[IntArray, NDArray[np.int32]]] = {}
        self._n_views = 0
        self.changed: frozenset[str] = frozenset()

    @abstractmethod
    def _visit(self, own: Pass, positions: Sequence[int]) -> tuple[list[Any], Outcome[Any]]:
        """What was made of each of these parts, wherever it is, and the sum of the outcomes."""

    @abstractmethod
    def _kept(self, visited: Sequence[Any], positions: Sequence[int]) -> list[Any]:
        """Labels for the next pass."""

    def _begin(self, n_samples: int, row_bytes: int, n_views: int) -> None:
        """Forget what was done with other rows."""
        self.n_samples, self._n_views = n_samples, n_views
        self.part_rows = rows_per_part(n_samples, row_bytes)
        self._steps, self._moves = (), {}
        self._labels = [None] * self.n_parts
        self._patterns: NDArray[np.bool_] | None = None
        self.apply_scalings([ViewScaling(v) for v in range(n_views)])

    @property
    def n_parts(self) -> int:
        """Number of parts: a constant of the data."""
        return -(-self.n_samples // self.part_rows)

    def rows_of(self, position: int) -> slice:
        """The rows of a part."""
        start = position * self.part_rows
        return slice(start, min(start + self.part_rows, self.n_samples))

    def _run(
        self,
        action: Action,
        positions: Sequence[int] | None = None,
        accept: Callable[[Any], bool] = lambda total: True,
    ) -> Any:
        """A pass: labels and rows are as it left them, or as they were if it is not accepted."""
        where = range(self.n_parts) if positions is None else positions
        self._number += 1
        own = Pass(self._number, self._steps, action, self._moves)
        visited, outcome = self._visit(own, where)
        self.changed = outcome.changed
        if self.changed - {"labels"}:
            self._steps = followed_by(self._steps, Step(own.number, action))
        has_moved = "labels" in outcome.changed
        if not has_moved or accept(outcome.total):
            pairs = [
                (position, found)
                for position, found in zip(where, visited, strict=True)
                if has_moved or position in self._moves
            ]
            if pairs:
                which, its = zip(*pairs, strict=True)
                for position, labels in zip(which, self._kept(its, which), strict=True):
                    self._labels[position] = labels
            self._moves = {p: move for p, move in self._moves.items() if p not in where}
        return outcome.total

    def apply_scalings(
        self, scalings: Sequence[ViewScaling], n_present: FloatArray | None = None
    ) -> FloatArray:
        """Scale the rows, which keep their labels."""
        if self._patterns is None:
            found = self._run(Look(patterns_present)).items
            self._patterns = np.unique(np.concatenate(found), axis=0)
        known = groups_of(scalings, self._patterns, n_present)[0].astype(np.float64)
        # rows are scaled when they are next visited: that needs no pass of its own
        self._number += 1
        self._steps = followed_by(self._steps, Step(self._number, Scale(tuple(scalings), known)))
        return known

    def map_reduce(self, visit: Callable[..., tuple[Block, T]], *shared: object) -> T:
        """Visit all blocks; results are summed in the order of the parts."""
        total: T = self._run(Visit(visit, shared))
        return total

    def scan_batches(
        self,
        visit: Callable[..., tuple[Block, R]],
        carry: Carry[R],
        batches: Batches,
        *shared: object,
        accept: Callable[[R], bool],
    ) -> R:
        """Visit as many parts at a time as there are shards; the batches of a part in order."""
        n_rounds = -(-self.n_parts // batches.n_shards)
        before, moves = list(self._labels), dict(self._moves)
        results = []
        for first in range(n_rounds):
            step = LabelStep(visit, carry, batches.n_batches, shared)
            results.append(self._run(step, range(first, self.n_parts, n_rounds)))
            carry = carry.joined(results[-1])
        total: R = sum_in_order(results)
        if not accept(total):
            self._labels, self._moves = before, moves
        return total

    def splits_into(self, batches: Batches) -> bool:
        """Whether all parts move at once."""
        return batches.n_shards == self.n_parts

    def scan_reduce(
        self,
        stages: Stages,
        carry: T,
        seed: int,
        *shared: object,
        accept: Callable[[Any], bool],
    ) -> tuple[T, Any]:
        """Not for parts: their rows do not move one after the other."""
        raise NotImplementedError

    def reduce_batches(
        self,
        stages: Stages,
        carry: Carry[Any],
        batches: Batches,
        *shared: object,
        accept: Callable[[Any], bool],
    ) -> tuple[Any, Any]:
        """Visit each part once, all with the same carry."""
        visit = OneVisit(stages, carry, batches.n_batches, shared)
        found: Both = self._run(visit, accept=lambda both: accept(both.second))
        return found.first, found.second

    def scan(
        self,
        visit: Callable[..., tuple[Block, T]],
        carry: T,
        seed: int,
        *shared: object,
        row_filter: RowFilter | None = None,
        until: Callable[[T], bool] = lambda carry: False,
    ) -> T:
        """Gather some rows at a time, and visit them here, one after the other."""
        chosen, known = None, None
        if row_filter is not None:
            chosen, known = self._chosen(row_filter, carry, shared)
        for rows, order in self._in_turn(seed, chosen):
            subset = joined_rows(self._look_at(some_rows, rows)) if known is None else known
            subset, carry = visit(subset, self.kernels, carry, order, *shared)
            self._move(rows, subset.labels)
            if until(carry):
                break
        return carry

    def _chosen(
        self, row_filter: RowFilter, carry: Any, shared: tuple[object, ...]
    ) -> tuple[IntArray, Block | None]:
        """The rows that a filter selects, and without their views if there are few."""
        most = ROWS_AT_ONCE // self.n_parts
        found = self._run(Look(rows_selected, (row_filter, most, carry, shared))).items
        chosen = np.concatenate([rows + p * self.part_rows for p, rows, _ in found])
        parts = [part for *_, part in found if part is not None]
        return chosen, joined_rows(parts) if len(parts) == len(found) else None

    def _in_turn(self, seed: int, chosen: IntArray | None) -> Iterator[tuple[IntArray, IntArray]]:
        """Sorted rows, and the order in which they are visited: chunks, or the rows chosen."""
        if chosen is None:
            n_chunks = -(-self.n_samples // CHUNK_ROWS)
            for chunk in np.random.default_rng(seed).permutation(n_chunks):
                start = chunk * CHUNK_ROWS
                rows = np.arange(start, min(start + CHUNK_ROWS, self.n_samples))
                yield rows, np.random.default_rng((seed, chunk)).permutation(len(rows))
            return
        chosen = np.random.default_rng(seed).permutation(chosen)
        for start in range(0, len(chosen), ROWS_AT_ONCE):
            yield np.unique(chosen[start : start + ROWS_AT_ONCE], return_inverse=True)

    def _by_part(self, rows: IntArray) -> dict[int, IntArray]:
        """Sorted rows as positions in their parts."""
        which, begins = np.unique(rows // self.part_rows, return_index=True)
        parts = np.split(rows, begins[1:])
        return {
            int(p): own - p * self.part_rows for p, own in zip(which.tolist(), parts, strict=True)
        }

    def _look_at(self, find: Callable[..., Any], rows: IntArray) -> tuple[Any, ...]:
        """What is found of some rows, part by part."""
        by_part = self._by_part(rows)
        if not by_part:
            return ()
        found: tuple[Any, ...] = self._run(Look(find, (), by_part), list(by_part)).items
        return found

    def _move(self, rows: IntArray, labels: NDArray[np.int32]) -> None:
        """Set labels of some rows; parts get to know with the next pass."""
        ends = 0
        for position, own in self._by_part(rows).items():
            new = labels[ends : ends + len(own)]
            ends += len(own)
            if position in self._moves:
                before, old = self._moves[position]
                own, last = np.unique(np.concatenate([own, before]), return_index=True)
                new = np.concatenate([new, old])[last]  # the first of equal rows is the newer
            self._moves[position] = own, new

    def gather_given(self, rows: IntArray) -> MultiViewData:
        """Some rows of the views as given, in memory; sorted."""
        return joined_data(self._look_at(given_rows, rows))

    def subsample(
        self, n_rows: int, rng: np.random.Generator, *, is_apart: bool = False
    ) -> InMemory:
        """Rows drawn without replacement, in memory here."""
        chosen = draw_rows(self.n_samples, n_rows, rng)
        engine = InMemory(self.kernels)
        engine.load(self.gather_given(chosen), None)
        return engine

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[Block, ...]:
        """All blocks: for few rows with many features."""
        assert n_rows >= self.n_samples
        return tuple(block for part in self._run(Look(all_blocks)).items for block in part)

    def twin(self) -> InMemory:
        """Another engine with the same rows and labels, in memory here."""
        engine = InMemory(self.kernels)
        engine.load(self.gather_given(np.arange(self.n_samples)), None)
        engine.put_labels(self.gather("labels"))
        return engine

    def gram(self, position: int) -> FloatArray:
        """X Xᵀ of one scaled view of few rows."""
        blocks = self.sample(self.n_samples, np.random.default_rng(0))
        return self.kernels.gram([block.views[position] for block in blocks])

    def beside(self, data: MultiViewData, weights: FloatArray) -> InMemory:
        """An engine in memory with other views of the same samples."""
        engine = InMemory(self.kernels)
        engine.load(data, weights)
        return engine

    def release(self) -> None:
        """Not for parts: what is forgotten is a subset."""
        raise NotImplementedError

    def take_rows(self, other: Any) -> None:
        """Not for parts: what is smoothed is a subset."""
        raise NotImplementedError

    def put_labels(self, labels: NDArray[np.int32]) -> None:
        """Set the labels of all rows."""
        self._move(np.arange(self.n_samples), np.asarray(labels, dtype=np.int32))

    def gather(self, field: Literal["labels", "projection"]) -> NDArray[Any]:
        """One field of all rows, here."""
        return np.concatenate(self._run(Look(whole_field, (field,))).items)

    def gather_column(self, column: int) -> FloatArray:
        """One column of the projections, in float64."""
        return np.concatenate(self._run(Look(one_column, (column,))).items)

    def view_counts(self) -> tuple[int, ...]:
        """Samples that have each view."""
        found = np.concatenate(self._run(Look(n_present)).items)
        return tuple(found.sum(axis=0).tolist())


def joined_rows(parts: Sequence[Block]) -> Block:
    """Rows of several parts, without their views."""

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    return Block((), joined("weights"), joined("group"), joined("labels"), joined("projection"))


def joined_data(pieces: Iterable[MultiViewData]) -> MultiViewData:
    """Consecutive rows of the same views as one."""
    found = list(pieces)
    views = zip(*(piece.arrays for piece in found), strict=True)
    present = None
    if any(piece.present is not None for piece in found):
        present = np.concatenate(
            [
                np.ones((len(piece), piece.n_views), bool)
                if piece.present is None
                else piece.present
                for piece in found
            ]
        )
    first = found[0]
    names, features = first.view_names, first.feature_names
    return MultiViewData(
        tuple(np.concatenate(parts) for parts in views), names, None, features, present
    )


class ShardedMemory(Sharded):
    """Parts in this process: what a cluster would find, without one."""

    name = "memory"

    def load(self, data: MultiViewData, weights: FloatArray | None) -> None:
        """Split the rows into parts."""
        check_unweighted(weights)
        self._data = data.in_memory()
        self._parts: list[Part] = []
        self._begin(data.n_samples, sum(data.n_features) * data.dtype.itemsize, data.n_views)

    @property
    def views(self) -> tuple[Any, ...]:
        """The views that were loaded."""
        return self._data.views

    def _visit(self, own: Pass, positions: Sequence[int]) -> tuple[list[Any], Outcome[Any]]:
        if not self._parts:
            self._parts = [Part(self.kernels, position) for position in range(self.n_parts)]
        go = partial(self._visit_part, own)
        is_wide = len(positions) >= n_threads()
        visited = list(side_by_side(go, positions) if is_wide else map(go, positions))
        return visited, sum_in_order(v.outcome for v in visited)

    def _kept(self, visited: Sequence[Any], positions: Sequence[int]) -> list[Any]:
        return [found.labels for found in visited]

    def _visit_part(self, own: Pass, position: int) -> Any:
        data = self._data[self.rows_of(position)]
        return self._parts[position].visit(data, self._labels[position], own)


def check_unweighted(weights: Mapping[str, Any] | FloatArray | None) -> None:
    """Refuse weights of samples."""
    if weights is not None:
        msg = (
            "sample_weight was given, and a sharded label step, as on a cluster, takes none. Leave "
            "it out, or use engine='memory' or 'stream' with another label_step."
        )
        raise ValueError(msg)
