"""Recording and replay of passes, so that a fit that was killed can resume.

A fit that resumes runs the same program again. A pass that is in the journal is replayed: its
recorded result is returned. Before the first pass that is not, the state of the rows is restored:
visits that changed more than labels are repeated (projections can be recomputed), and the labels
are taken from the journal, between the visits before and after the pass that made them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from manyview.data.scaling import ViewScaling
from manyview.data.views import MultiViewData
from manyview.engines import Batches, Carry, Engine, RowFilter, Stages
from manyview.engines.memory import InMemory
from manyview.kernels.block import Block
from manyview.utils.types import FloatArray

T = TypeVar("T")
R = TypeVar("R")


class Record(NamedTuple):
    """A pass in the journal."""

    result: Any
    is_remade: bool  # it changed more than labels
    has_labels: bool  # it changed labels


class Journal(Protocol):
    """Record of the passes, in order."""

    def replay(self, number: int) -> Record | None:
        """A pass; None after the last."""

    def write(
        self,
        number: int,
        result: object,
        is_remade: bool,
        labels: NDArray[np.int32] | None,
    ) -> None:
        """Record a pass, with `labels` if it changed them."""

    def labels(self) -> NDArray[np.int32] | None:
        """The labels after the last pass; None if no pass has changed them."""


class ReplayEngine:
    """An engine with a journal."""

    def __init__(self, engine: InMemory, journal: Journal) -> None:
        self._engine = engine
        self._journal: Journal | None = journal
        self._number = 0
        self._to_remake: list[tuple[Callable[..., Any], tuple[object, ...]]] = []
        self._n_before_labels: int | None = None  # visits to repeat before labels are put back
        self._is_behind = False  # passes were replayed whose effect on the rows is not yet made
        self.kernels, self.n_samples = engine.kernels, 0

    @property
    def name(self) -> str:
        """As the engine, which may choose when it loads the rows."""
        return self._engine.name

    def load(self, data: MultiViewData, weights: FloatArray | None) -> None:
        """Load the rows; passes over earlier rows no longer count."""
        self._to_remake.clear()
        self._n_before_labels = None
        self._engine.load(data, weights)
        self.n_samples = self._engine.n_samples

    def apply_scalings(
        self, scalings: Sequence[ViewScaling], n_present: FloatArray | None = None
    ) -> FloatArray:
        """Replace the scalings; labels stay."""
        self._to_remake.clear()
        self._n_before_labels = None if self._n_before_labels is None else 0
        return self._engine.apply_scalings(scalings, n_present)

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[Block, ...]:
        """A subset of the rows in their current state; work on it is not recorded."""
        self._catch_up()
        self._journal = None
        return self._engine.sample(n_rows, rng)

    def twin(self) -> Engine:
        """An engine with the same rows and labels, which is not recorded."""
        self._catch_up()
        return self._engine.twin()

    def gram(self, position: int) -> FloatArray:
        """Inner products of the rows in their current state; not recorded."""
        self._catch_up()
        self._journal = None
        return self._engine.gram(position)

    def beside(self, data: MultiViewData, weights: FloatArray) -> Engine:
        """An engine with other views of the same samples, which is not recorded."""
        return self._engine.beside(data, weights)

    def take_rows(self, other: Engine) -> None:
        """Take rows from an engine made by `beside`, after which nothing is recorded."""
        self._engine.take_rows(other)

    def put_labels(self, labels: NDArray[np.int32]) -> None:
        """Set the labels of all rows, after which nothing is recorded."""
        self._engine.put_labels(labels)

    def release(self) -> None:
        """Forget the rows."""
        self._engine.release()

    def subsample(self, n_rows: int, rng: np.random.Generator, *, is_apart: bool = False) -> Engine:
        """An engine with a subset of the rows, which is not recorded."""
        subset = self._engine.subsample(n_rows, rng, is_apart=is_apart)
        return self if subset is self._engine else subset

    def map_reduce(self, visit: Callable[..., tuple[Block, T]], *shared: object) -> T:
        """Visit all blocks, or replay the recorded result."""
        known = self._replay_next()
        if known is not None:
            if known.is_remade:
                self._remember(visit, shared)
            if known.has_labels:
                self._n_before_labels = len(self._to_remake)
            return known.result  # type: ignore[no-any-return]
        result = self._engine.map_reduce(visit, *shared)
        changed = self._engine.changed
        self._write(result, bool(changed - {"labels"}), "labels" in changed)
        return result

    def scan(
        self,
        visit: Callable[..., tuple[Block, T]],
        carry: T,
        seed: int,
        *shared: object,
        row_filter: RowFilter | None = None,
        until: Callable[[T], bool] = lambda carry: False,
    ) -> T:
        """Visit all chunks, or replay the recorded result."""
        known = self._replay_next()
        if known is not None:
            self._n_before_labels = len(self._to_remake)
            return known.result  # type: ignore[no-any-return]
        result = self._engine.scan(visit, carry, seed, *shared, row_filter=row_filter, until=until)
        self._write(result, False, True)
        return result

    def scan_batches(
        self,
        visit: Callable[..., tuple[Block, R]],
        carry: Carry[R],
        batches: Batches,
        *shared: object,
        accept: Callable[[R], bool],
    ) -> R:
        """Visit all batches, or replay the recorded result."""
        known = self._replay_next()
        if known is not None:
            self._n_before_labels = len(self._to_remake)
            return known.result  # type: ignore[no-any-return]
        result = self._engine.scan_batches(visit, carry, batches, *shared, accept=accept)
        self._write(result, False, True)
        return result

    @property
    def reads_views(self) -> bool:
        """As the engine."""
        return self._engine.reads_views

    def scan_reduce(
        self,
        stages: Stages,
        carry: T,
        seed: int,
        *shared: object,
        accept: Callable[[Any], bool],
    ) -> tuple[T, Any]:
        """Visit each block once, or replay the recorded result."""
        known = self._replay_once(stages, shared)
        if known is not None:
            return known.result  # type: ignore[no-any-return]
        result = self._engine.scan_reduce(stages, carry, seed, *shared, accept=accept)
        self._write(result, True, True)
        return result

    def reduce_batches(
        self,
        stages: Stages,
        carry: Carry[Any],
        batches: Batches,
        *shared: object,
        accept: Callable[[Any], bool],
    ) -> tuple[Any, Any]:
        """The same in batches."""
        known = self._replay_once(stages, shared)
        if known is not None:
            return known.result  # type: ignore[no-any-return]
        result = self._engine.reduce_batches(stages, carry, batches, *shared, accept=accept)
        self._write(result, True, True)
        return result

    def _replay_once(self, stages: Stages, shared: tuple[object, ...]) -> Record | None:
        """The next pass, if it is recorded; of its visit, the first stage is repeated."""
        known = self._replay_next()
        if known is not None:
            self._remember(stages.before, shared)
            self._n_before_labels = len(self._to_remake)
        return known

    def splits_into(self, batches: Batches) -> bool:
        """As the engine."""
        return self._engine.splits_into(batches)

    def gather(self, field: Literal["labels", "projection"]) -> NDArray[Any]:
        """Collect one array with a sample axis; during replay, the labels after all passes."""
        if self._is_behind and field == "labels" and self._next() is not None:
            assert self._journal is not None
            latest = self._journal.labels()
            return np.zeros(self.n_samples, dtype=np.int32) if latest is None else latest
        self._catch_up()
        return self._engine.gather(field)

    def gather_column(self, column: int) -> FloatArray:
        """Collect one column of the projections, in float64."""
        self._catch_up()
        return self._engine.gather_column(column)

    def _next(self) -> Record | None:
        """The next pass, if it is in the journal."""
        return None if self._journal is None else self._journal.replay(self._number)

    def _replay_next(self) -> Record | None:
        """The next pass, if it is in the journal; else the state of the rows is restored."""
        known = self._next()
        if known is None:
            self._catch_up()
        else:
            self._number += 1
            self._is_behind = True
        return known

    def _remember(self, visit: Callable[..., Any], shared: tuple[object, ...]) -> None:
        """Add a visit to repeat; of consecutive equal visits only the last is needed."""
        if self._to_remake and self._to_remake[-1][0] is visit:
            self._to_remake.pop()
            if self._n_before_labels is not None:
                self._n_before_labels = min(self._n_before_labels, len(self._to_remake))
        self._to_remake.append((visit, shared))

    def _catch_up(self) -> None:
        """Restore the state of the rows after the last replayed pass."""
        if not self._is_behind:
            return
        self._is_behind = False
        visits, n_before = self._to_remake, self._n_before_labels
        self._to_remake, self._n_before_labels = [], None
        self._remake(visits[:n_before])
        if n_before is not None:
            assert self._journal is not None
            labels = self._journal.labels()
            assert labels is not None
            self._engine.put_labels(labels)
            self._remake(visits[n_before:])

    def _remake(self, visits: list[tuple[Callable[..., Any], tuple[object, ...]]]) -> None:
        for visit, shared in visits:
            self._engine.map_reduce(visit, *shared)

    def _write(self, result: object, is_remade: bool, has_new_labels: bool) -> None:
        if self._journal is not None:
            labels = self._engine.gather("labels") if has_new_labels else None
            self._journal.write(self._number, result, is_remade, labels)
            self._number += 1
