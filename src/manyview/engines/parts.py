"""A part of the rows, and what a pass does with it: a pure function of rows, labels and models.

The rows of a part are a function of what was loaded and of the steps of the passes so far (scaling,
projection, smoothing), none of which depends on earlier labels. So a part is a cache: with the rows
as given, the steps and the labels, it can be made again anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from manyview.data.scaling import ViewScaling
from manyview.data.views import MultiViewData
from manyview.engines import Batches, RowFilter, Stages
from manyview.engines.memory import InMemory
from manyview.engines.slices import slice_rows
from manyview.kernels import Kernels
from manyview.kernels.block import CHUNK_ROWS, Block, ViewRows
from manyview.utils.types import FloatArray, IntArray

T = TypeVar("T")
PART_BYTES = 1 << 27  # of the views of a part: few tasks, and many parts in the memory of a worker
FEWEST_PARTS = 16  # unless they would be of fewer chunks than
FEWEST_CHUNKS = 4  # which are the batches of its label step
FAN_IN = 8  # results that are summed at a time


def rows_per_part(n_samples: int, row_bytes: int) -> int:
    """Rows of a part, whole chunks: a constant of the data, so that labels are, too."""
    n_chunks = -(-n_samples // CHUNK_ROWS)
    most = max(PART_BYTES // (CHUNK_ROWS * row_bytes), FEWEST_CHUNKS)
    wanted = min(max(-(-n_chunks // FEWEST_PARTS), FEWEST_CHUNKS), most)
    n_parts = max(-(-n_chunks // wanted), 1)
    return max(-(-n_chunks // n_parts), 1) * CHUNK_ROWS


class Action(Protocol):
    """What a pass does with a part."""

    @property
    def remake(self) -> Any:
        """What identifies the step that is repeated if the part is made again."""

    def __call__(self, part: Part) -> Any:
        """Do it; the result has `+`."""

    def repeat(self, part: Part) -> None:
        """Change the rows, not the labels, as it did."""


@dataclass(frozen=True)
class Step:
    """An action that has changed the rows."""

    number: int
    action: Action

    @property
    def remake(self) -> Any:
        """What kind of step it is: another of the same kind overwrites it."""
        return self.action.remake


@dataclass(frozen=True)
class Pass:
    """A pass over the parts: what they are made by, and what is then done with them."""

    number: int
    steps: tuple[Step, ...]
    action: Action
    moves: Mapping[int, tuple[IntArray, NDArray[np.int32]]]  # new labels of some rows of a part


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """Results of a pass over some parts, and the fields of blocks that it changed."""

    total: T
    changed: frozenset[str]

    def __add__(self, other: Outcome[T]) -> Outcome[T]:
        """Of both."""
        return Outcome(self.total + other.total, self.changed | other.changed)  # type: ignore[operator]


@dataclass(frozen=True)
class Visited:
    """What a pass makes of a part: labels stay where they are, the outcome is summed."""

    labels: NDArray[np.int32]
    outcome: Outcome[Any]

    def __sizeof__(self) -> int:
        """Bytes of the labels, for a scheduler that asks where it is cheap to go on."""
        return int(self.labels.nbytes) + 100


@dataclass(frozen=True)
class Pieces(Generic[T]):
    """Results that are listed, not summed."""

    items: tuple[T, ...] = ()

    def __add__(self, other: Pieces[T]) -> Pieces[T]:
        """One after the other."""
        return Pieces(self.items + other.items)


@dataclass(frozen=True)
class Both:
    """Two results that are summed side by side."""

    first: Any
    second: Any

    def __add__(self, other: Both) -> Both:
        """Sums of both."""
        return Both(self.first + other.first, self.second + other.second)


def sum_in_order(results: Iterable[Any]) -> Any:
    """Sum a few neighbors at a time, then their sums: the order depends on their number alone."""
    found = list(results)
    while len(found) > 1:
        starts = range(0, len(found), FAN_IN)
        found = [reduce(add, found[start : start + FAN_IN]) for start in starts]
    return found[0]


class Part(InMemory):
    """Consecutive rows, with the numbers of the steps that made them what they are."""

    def __init__(self, kernels: Kernels, position: int) -> None:
        super().__init__(kernels)
        self.position = position
        self.steps: tuple[Step, ...] = ()

    def visit(self, data: MultiViewData, labels: NDArray[np.int32] | None, own: Pass) -> Visited:
        """Do what a pass does, from the labels before it."""
        self._catch_up(data, own.steps, self._moved(labels, own, len(data)))
        self.changed = frozenset()
        total = own.action(self)
        if self.changed - {"labels"}:
            self.steps = followed_by(self.steps, Step(own.number, own.action))
        return Visited(self.gather("labels"), Outcome(total, self.changed))

    def _moved(self, labels: NDArray[np.int32] | None, own: Pass, n_rows: int) -> NDArray[np.int32]:
        """The labels before the pass, with moves that were decided elsewhere."""
        current = np.zeros(n_rows, dtype=np.int32) if labels is None else labels.copy()
        if self.position in own.moves:
            rows, new = own.moves[self.position]
            current[rows] = new
        return current

    def _catch_up(
        self, data: MultiViewData, steps: Sequence[Step], labels: NDArray[np.int32]
    ) -> None:
        """Make the rows what the steps make of the data; those that were made are not repeated."""
        n_made = n_shared(self.steps, steps) if self._blocks else 0
        if n_made is None or not self._blocks:
            self.load(data, None)
            n_made = 0
        for step in steps[n_made:]:
            self.put_labels(labels)
            step.action.repeat(self)
        self.steps = tuple(steps)
        self.put_labels(labels)

    def detach(self) -> None:
        """Let go of the views as given, which belong to whoever has loaded them."""
        given = self._data.arrays
        self._blocks = [
            replace(
                block,
                views=tuple(_without(view, given) for view in block.views),
                given=tuple(_without(view, given) for view in block.given),
            )
            for block in self._blocks
        ]
        self._data = None  # type: ignore[assignment]

    def attach(self, data: MultiViewData) -> None:
        """The views as given, again."""
        self._data = data
        slices = list(self._row_slices())
        self._blocks = [
            replace(
                block,
                views=tuple(_with(view, data.arrays, rows) for view in block.views),
                given=tuple(_with(view, data.arrays, rows) for view in block.given),
            )
            for block, rows in zip(self._blocks, slices, strict=True)
        ]

    @property
    def n_bytes(self) -> int:
        """Bytes of what the blocks hold beside the views as given."""
        held: dict[int, int] = {}
        for block in self._blocks:
            own = [block.weights, block.group, block.labels, block.projection]
            own += [block.distance_bounds]
            for view in block.views:
                own += [view.factor, view.level, view.values]
            for values in own:
                is_sparse = hasattr(values, "indptr")
                arrays = [values.data, values.indices] if is_sparse else [values]
                held |= {id(a): a.nbytes for a in arrays if isinstance(a, np.ndarray)}
        return sum(held.values())


@dataclass(frozen=True)
class Lent:
    """In place of the rows of a view as given, while a part waits."""

    view: int


def _without(view: ViewRows, given: Sequence[Any]) -> ViewRows:
    values = view.values
    data = getattr(values, "data", None) if hasattr(values, "indptr") else values
    for v, whole in enumerate(given):
        stored = whole.data if hasattr(whole, "indptr") else whole
        if np.may_share_memory(data, stored):
            return replace(view, values=Lent(v))
    return view


def _with(view: ViewRows, given: Sequence[Any], rows: slice) -> ViewRows:
    if not isinstance(view.values, Lent):
        return view
    return replace(view, values=slice_rows(given[view.values.view], rows))


def n_shared(made: Sequence[Step], wanted: Sequence[Step]) -> int | None:
    """Steps of `wanted` that need not be made again; None if others were made.

    The last step made may differ, if the same kind of step follows, which overwrites it.
    """
    same = 0
    for own, other in zip(made, wanted, strict=False):
        if own.number != other.number:
            break
        same += 1
    rest = made[same:]
    if not rest:
        return same
    is_overwritten = len(rest) == 1 and same < len(wanted)
    if is_overwritten and rest[0].remake == wanted[same].remake:
        return same
    return None


def followed_by(steps: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    """The steps after one more: scaling begins anew; of equal visits in a row the last is left."""
    if isinstance(step.action, Scale):
        return (step,)
    is_same = bool(steps) and steps[-1].remake == step.remake
    return (*(steps[:-1] if is_same else steps), step)


@dataclass(frozen=True)
class Scale:
    """Replace the scalings; returns nothing."""

    scalings: tuple[ViewScaling, ...]
    n_present: FloatArray

    @property
    def remake(self) -> str:
        """The kind of step."""
        return "scale"

    def __call__(self, part: Part) -> Pieces[None]:
        """Scale; all fields but labels are new."""
        self.repeat(part)
        return Pieces()

    def repeat(self, part: Part) -> None:
        """Scale."""
        part.apply_scalings(self.scalings, self.n_present)
        part.changed = frozenset({"views"})


@dataclass(frozen=True)
class Visit:
    """Visit all blocks."""

    visit: Callable[..., Any]
    shared: tuple[object, ...]

    @property
    def remake(self) -> Callable[..., Any]:
        """The visit."""
        return self.visit

    def __call__(self, part: Part) -> Any:
        """Visit; the sum of the results."""
        return part.map_reduce(self.visit, *self.shared)

    def repeat(self, part: Part) -> None:
        """Visit."""
        part.map_reduce(self.visit, *self.shared)


@dataclass(frozen=True)
class OneVisit:
    """The stages of a visit of all blocks, with a label step in batches between them."""

    stages: Stages
    carry: Any
    n_batches: int
    shared: tuple[object, ...]

    @property
    def remake(self) -> Callable[..., Any]:
        """The first stage."""
        return self.stages.before

    def __call__(self, part: Part) -> Both:
        """Visit; the sums of the label step, and of the last stage."""
        self.repeat(part)
        moved = _in_batches(part, self.stages.step_at_once, self.carry, self.n_batches, self.shared)
        total = part.map_reduce(self.stages.after, *self.shared)
        part.changed = frozenset({"labels", "projection"})
        return Both(moved, total)

    def repeat(self, part: Part) -> None:
        """The first stage."""
        part.map_reduce(self.stages.before, *self.shared)


@dataclass(frozen=True)
class LabelStep:
    """A label step in batches."""

    visit: Callable[..., Any]
    carry: Any
    n_batches: int
    shared: tuple[object, ...]

    remake = None

    def __call__(self, part: Part) -> Any:
        """Move the rows of a batch after those of another."""
        moved = _in_batches(part, self.visit, self.carry, self.n_batches, self.shared)
        part.changed = frozenset({"labels"})
        return moved

    def repeat(self, part: Part) -> None:
        """Nothing: the rows stay."""


def _in_batches(
    part: Part, visit: Callable[..., Any], carry: Any, n_batches: int, shared: tuple[object, ...]
) -> Any:
    batches = Batches(1, n_batches)
    return part.scan_batches(visit, carry, batches, *shared, accept=lambda total: True)


@dataclass(frozen=True)
class Look:
    """Anything that changes nothing; returns pieces."""

    find: Callable[..., Any]
    given: tuple[Any, ...] = ()
    of_parts: Mapping[int, Any] = field(default_factory=dict)  # what is given to a part alone

    remake = None

    def __call__(self, part: Part) -> Pieces[Any]:
        """One piece for each part that is asked."""
        if not self.of_parts:
            return Pieces((self.find(part, *self.given),))
        if part.position not in self.of_parts:
            return Pieces()
        return Pieces((self.find(part, self.of_parts[part.position], *self.given),))

    def repeat(self, part: Part) -> None:
        """Nothing."""


def patterns_present(part: Part) -> NDArray[np.bool_]:
    """The distinct sets of views that rows have: (patterns, V)."""
    present = part._data.present
    if present is None:
        return np.ones((1, part._data.n_views), dtype=bool)
    return np.unique(present, axis=0)


def n_present(part: Part) -> IntArray:
    """Rows of the part that have each view: (1, V)."""
    present = part._data.present
    n, n_views = part.n_samples, part._data.n_views
    return np.full((1, n_views), n) if present is None else present.sum(axis=0)[None]


def rows_selected(
    part: Part, row_filter: RowFilter, most: int, carry: Any, shared: tuple[object, ...]
) -> tuple[int, IntArray, Block | None]:
    """The position of the part, and its rows that a filter selects; they too, if they are few."""
    chosen = [row_filter(block, part.kernels, carry, *shared) for block in part._blocks]
    rows = np.flatnonzero(np.concatenate(chosen))
    return part.position, rows, some_rows(part, rows) if len(rows) <= most else None


def some_rows(part: Part, rows: IntArray) -> Block:
    """Some rows, with labels and projections, without their views."""
    return part._few(rows) if len(rows) else part._blocks[0].some(rows)


def given_rows(part: Part, rows: IntArray) -> MultiViewData:
    """Some rows of the views as given, copied."""
    found = part._data[rows]
    return replace(found, views=tuple(X.copy() for X in found.arrays))


def all_blocks(part: Part) -> tuple[Block, ...]:
    """The blocks, with their views."""
    return tuple(part._blocks)


def whole_field(part: Part, name: str) -> NDArray[Any]:
    """One field of all rows."""
    return part.gather(name)  # type: ignore[arg-type]


def one_column(part: Part, column: int) -> FloatArray:
    """One column of the projections."""
    return part.gather_column(column)
