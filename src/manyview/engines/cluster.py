"""Engine for a cluster of computers, by Dask: a part of the rows is visited by a task.

Three things are on the cluster, and each can be made again: the rows of a part as given, from what
the user gave; the part as the passes so far have scaled, projected or smoothed it, which a worker
keeps beside the rows; and labels, which are the only history. After each pass the labels of a part
become the data of a task, which the scheduler keeps, and the next pass starts from it. So if
workers are lost, what they were doing in this pass is done again elsewhere, and nothing else.

No task changes what another may see: a worker takes a part out of its cache while it visits it, and
a part that is not there is made again.
"""

from __future__ import annotations

import os
import pickle
import threading
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.data.partitions import PartitionedViews, joined_piece
from manyview.data.views import MultiViewData
from manyview.engines.balance import find_moves
from manyview.engines.parts import (
    FAN_IN,
    Look,
    Outcome,
    Part,
    Pass,
    Step,
    Visited,
    n_present,
    sum_in_order,
)
from manyview.engines.sharded import Sharded, check_unweighted
from manyview.engines.waiting import Call, Waiting, gone
from manyview.exceptions import ClusterError, ViewError
from manyview.kernels import Kernels, choose_kernels
from manyview.utils.optional import needed
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray

HELD_SHARE = 0.25  # of the memory of a worker, for parts beside the rows as given
HELD_BYTES = 1 << 30  # the same where a worker has no limit
IN_MEMORY_SHARE = 0.5  # of the memory of all workers: larger files are read in each pass
SENT_BYTES = 1 << 23  # of labels that are on their way through the client
FORGET_S = 5.0  # seconds that workers get to let go of what they hold
PLAIN = 4  # version of pickle that copies arrays
TRIMMING = "MALLOC_TRIM_THRESHOLD_"  # of the C library
UNLUCKY = 20  # workers that a task may lose on a cluster that is started here

OnParts = Callable[[int, int], None]  # parts done, and their number


@dataclass(frozen=True)
class HeldRows:
    """The rows of a part, as given and checked."""

    data: MultiViewData

    def __sizeof__(self) -> int:
        """Bytes of the views: a scheduler then sends the work to the rows."""
        return sum(int(np.asarray(view).nbytes) for view in self.data.arrays) + 100

    def __reduce__(self) -> Any:
        """Arrays that come from another worker, or from its disk, are aligned in memory again.

        Products of arrays that are not are rounded otherwise.
        """
        return aligned_rows, (self.data,)


def aligned_rows(data: MultiViewData) -> HeldRows:
    """The rows in memory of their own."""
    return HeldRows(replace(data, views=tuple(joined_piece(X) for X in data.arrays)))


@dataclass(frozen=True)
class PackedStep:
    """A step that is unpacked where a part is made again."""

    number: int
    remake: Any
    content: bytes

    @classmethod
    def of(cls, step: Step) -> PackedStep:
        """Pack a step."""
        return cls(step.number, step.remake, packed(step.action))

    @property
    def action(self) -> Any:
        """What was done."""
        return pickle.loads(self.content)


@dataclass(frozen=True)
class Description:
    """What makes the rows of a part, for tasks that read them in each pass."""

    pieces: list[Any]
    names: tuple[str, ...]
    start: int


class _Cache:
    """Parts that a worker keeps between passes; a part in use is not in it."""

    def __init__(self) -> None:
        self._parts: OrderedDict[tuple[str, int], tuple[Part, int]] = OrderedDict()
        self._lock, self._used = threading.Lock(), 0

    def take(self, key: tuple[str, int]) -> Part | None:
        """A part, which is then not there for others."""
        with self._lock:
            return self._pop(key) if key in self._parts else None

    def put(self, key: tuple[str, int], part: Part, limit: float) -> None:
        """Keep a part; those that were not used for longest make room, and those of other fits."""
        n_bytes = part.n_bytes
        with self._lock:
            if key in self._parts:
                self._pop(key)
            self._parts[key] = part, n_bytes
            self._used += n_bytes
            while self._used > limit:
                self._pop(next(iter(self._parts)))

    def forget(self, fit: str) -> None:
        """Let go of the parts of a fit."""
        with self._lock:
            for key in [key for key in self._parts if key[0] == fit]:
                self._pop(key)

    def _pop(self, key: tuple[str, int]) -> Part:
        part, n_bytes = self._parts.pop(key)
        self._used -= n_bytes
        return part


_cache = _Cache()


def read_part(pieces: list[Any], names: tuple[str, ...], start: int) -> HeldRows:
    """Task: the rows of a part, checked."""
    *of_views, present = pieces
    arrays = [joined_piece(piece) for piece in of_views]
    try:
        return HeldRows(MultiViewData.of(dict(zip(names, arrays, strict=True)), present=present))
    except ViewError as error:
        msg = f"In the rows from {start} to {start + len(arrays[0])}: {error}"
        raise ViewError(msg) from None


def visit_part(
    rows: HeldRows | Description,
    labels: NDArray[np.int32] | None,
    key: tuple[str, int],
    own: bytes,
    steps: list[Any],
) -> Visited:
    """Task: visit a part; it comes from the cache, or is made from its rows."""
    if isinstance(rows, Description):
        rows = read_part(rows.pieces, rows.names, rows.start)
    part = _cache.take(key)
    if part is None:
        part = Part(choose_kernels("cpu"), key[1])
    else:
        part.attach(rows.data)
    with limit_threads(1):
        visited = part.visit(rows.data, labels, replace(pickle.loads(own), steps=tuple(steps)))
    part.detach()
    _cache.put(key, part, _held_limit())
    return visited


def short_labels(visited: Visited) -> bytes:
    """Task: the labels in as few bytes as they need."""
    labels = visited.labels
    return packed(labels.astype(np.min_scalar_type(int(labels.max(initial=0)))))


def long_labels(short: bytes) -> NDArray[np.int32]:
    """Task: the labels, from the data of the task itself."""
    found: NDArray[np.int32] = pickle.loads(short).astype(np.int32)
    return found


def sum_outcomes(found: list[Visited | Outcome[Any]]) -> Outcome[Any]:
    """Task: the sum of a few outcomes, in their order."""
    total: Outcome[Any] = sum_in_order(
        one.outcome if isinstance(one, Visited) else one for one in found
    )
    return total


def packed(value: Any) -> bytes:
    """In a form whose arrays are aligned when it is unpacked."""
    return pickle.dumps(value, PLAIN)


def same(value: Any) -> Any:
    """Task: a small model, sent once and taken from each other by the workers."""
    return value


def wish_for(worker: str) -> dict[str, Any]:
    """How a task is given to a worker, or without it to another."""
    return {"workers": [worker], "allow_other_workers": True}


def release(futures: Sequence[Any]) -> None:
    """Tell the scheduler that tasks are not wanted any more."""
    for future in futures:
        future.release()


async def forget(fit: str) -> None:
    """On a worker: let go of the parts of a fit."""
    _cache.forget(fit)


def _held_limit() -> float:
    """Bytes of parts that this worker may keep."""
    from distributed import get_worker

    try:
        limit = get_worker().memory_manager.memory_limit
    except (ValueError, AttributeError):
        limit = None
    return HELD_BYTES if not limit else HELD_SHARE * limit


class OnCluster(Sharded):
    """Parts on the workers of a cluster."""

    name = "dask"

    def __init__(self, client: Any, kernels: Kernels, on_parts: OnParts | None = None) -> None:
        super().__init__(kernels)
        self.client, self._on_parts = client, on_parts
        self._waiting = Waiting(client)
        self._passing: list[Any] = []  # tasks that nobody wants after this pass
        self._fit = uuid.uuid4().hex[:12]
        self._data: PartitionedViews | None = None
        self._rows: list[Any] = []
        self._known: dict[int, Any] = {}  # steps that were sent
        self._worker_of: dict[int, str | None] = {}  # that should visit a part
        self._n_threads: dict[str, int] = {}  # of the workers that parts were given to

    def load(self, data: Any, weights: FloatArray | None) -> None:
        """Ask for the rows of all parts; those that are here stay."""
        check_unweighted(weights)
        if self._data is not data:
            self._data = data
            self.n_samples = data.n_samples
            row_bytes = sum(data.n_features) * data.dtype.itemsize
            self._row_bytes = row_bytes
            self._rows = []
        self._begin(data.n_samples, self._row_bytes, data.n_views)

    def close(self) -> None:
        """Let go of what the workers hold."""
        self._rows, self._labels, self._known = [], [], {}
        if self.client.status == "running":
            ask = partial(self.client.run, forget, self._fit, wait=False, on_error="ignore")
            Call(ask).is_done(FORGET_S)

    def lazy_labels(self) -> list[tuple[Any, int]]:
        """The labels of each part, which stay on the cluster, and their number."""
        if self._moves:
            self._run(Look(n_present))
        self._waiting.until_done(self._labels)
        return [
            (labels, self.rows_of(p).stop - self.rows_of(p).start)
            for p, labels in enumerate(self._labels)
        ]

    def _ask_for_rows(self) -> None:
        """Tasks that make the rows of the parts; larger files are described instead."""
        from dask.delayed import delayed

        assert self._data is not None
        data, names = self._data, self._data.view_names
        starts = [self.rows_of(position).start for position in range(self.n_parts)]
        cut = zip(data.cut(self.part_rows), starts, strict=True)
        if data.is_on_disk and data.nbytes > IN_MEMORY_SHARE * self._memory():
            self._rows = [Description(pieces, names, start) for pieces, start in cut]
            return
        task = delayed(read_part, pure=False)
        made = [
            task(pieces, names, start, dask_key_name=self._key("rows", position))
            for position, (pieces, start) in enumerate(cut)
        ]
        self._rows = self.client.compute(made)

    def _memory(self) -> float:
        """Memory of all workers."""
        workers = self.client.scheduler_info()["workers"].values()
        return float(sum(w["memory_limit"] or np.inf for w in workers)) or np.inf

    def _key(self, what: str, *numbers: int) -> str:
        return "-".join([f"manyview_{what}", self._fit, *map(str, numbers)])

    def _run(self, *action: Any, **more: Any) -> Any:
        """A pass; after it, what is only of it is let go at once, whoever may still refer to it.

        A task that the scheduler still has to keep would be done again if its worker is lost, and
        so would all it was made from.
        """
        from distributed.client import ClosedClientError

        try:
            return super()._run(*action, **more)
        except ClosedClientError as error:
            raise ClusterError(gone(self.client)) from error
        finally:
            release(self._passing)
            self._passing = []

    def _visit(self, own: Pass, positions: Sequence[int]) -> tuple[list[Any], Outcome[Any]]:
        if not self._rows:
            self._ask_for_rows()
        client, number = self.client, own.number
        bare = packed(replace(own, steps=()))
        given = self._send(bare, self._key("pass", number))
        self._passing.append(given)
        steps = self._sent(own.steps)
        visited: list[Any] = [None] * len(positions)
        for places, wish in self._on_workers(positions):
            some = [positions[place] for place in places]
            parts = client.map(
                visit_part,
                [self._rows[p] for p in some],
                [self._labels[p] for p in some],
                [(self._fit, p) for p in some],
                own=given,
                steps=steps,
                key=[self._key("visit", number, p) for p in some],
                pure=False,
                **wish,
            )
            for place, part in zip(places, parts, strict=True):
                visited[place] = part
        self._passing += visited
        total = self._summed(visited, number)
        found = self._waiting.result(total, lambda: self._tell(visited))
        if len(positions) == self.n_parts:
            self._balance(visited)
        return visited, pickle.loads(found)

    def _on_workers(self, positions: Sequence[int]) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Where parts are in `positions`, with the worker that should visit them, if one should.

        It is a wish: without that worker, or while it is slow, another does it.
        """
        where: dict[str | None, list[int]] = {}
        for place, p in enumerate(positions):
            where.setdefault(self._worker_of.get(p), []).append(place)
        for worker, places in where.items():
            yield places, {} if worker is None else wish_for(worker)

    def _balance(self, visited: Sequence[Any]) -> None:
        """Give all workers as many parts for each thread, when workers have come or gone.

        The scheduler would send work to the rows, however they are spread.
        """

        def look() -> tuple[dict[str, int], dict[str, Any]]:
            n_threads = self.client.nthreads()
            is_same = n_threads == self._n_threads  # in nearly all passes: parts are not asked for
            return n_threads, {} if is_same else self.client.who_has(list(visited))

        ask = Call(look)
        if not ask.is_done(FORGET_S):
            return
        n_threads, known = ask.result()
        if n_threads == self._n_threads:
            return
        holders = [next(iter(known.get(part.key, ())), None) for part in visited]
        moves = find_moves(holders, n_threads)
        self._worker_of = {p: moves.get(p, worker) for p, worker in enumerate(holders)}
        for p, worker in moves.items():
            if not isinstance(self._rows[p], Description):
                rows = self._rows[p]
                self._rows[p] = self.client.submit(same, rows, pure=False, **wish_for(worker))
        self._n_threads = n_threads

    def _send(self, value: Any, key: str) -> Any:
        """Something small for all workers; the scheduler has it, should they be lost."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # some MB of anchors
            return self.client.submit(same, value, key=key, pure=False)

    def _sent(self, steps: Sequence[Step]) -> list[Any]:
        """The steps on the cluster, where each is sent once."""
        wanted = [step.number for step in steps]
        self._known = {number: sent for number, sent in self._known.items() if number in wanted}
        for step in steps:
            if step.number not in self._known:
                key = self._key("step", step.number)
                self._known[step.number] = self._send(PackedStep.of(step), key)
        return [self._known[number] for number in wanted]

    def _summed(self, visited: list[Any], number: int) -> Any:
        """The task with the sum of all outcomes; sums of a few at a time, as in `sum_in_order`."""
        found, level = visited, 0
        while len(found) > 1 or level == 0:
            starts = range(0, len(found), FAN_IN)
            keys = [self._key("sum", number, level, start) for start in starts]
            few = [found[start : start + FAN_IN] for start in starts]
            found = self.client.map(sum_outcomes, few, key=keys, pure=False)
            self._passing += found
            level += 1
        total = self.client.submit(packed, found[0], key=self._key("total", number), pure=False)
        self._passing.append(total)
        return total

    def _kept(self, visited: Sequence[Any], positions: Sequence[int]) -> list[Any]:
        """The labels as plain data in tasks of their own, a few parts at a time.

        The scheduler then has them; a worker that is lost cannot take them along, nor the history
        of how they were made.
        """
        kept: list[Any] = []
        at_once = max(SENT_BYTES // (4 * self.part_rows), 1)
        for start in range(0, len(visited), at_once):
            window = slice(start, start + at_once)
            short = self.client.map(short_labels, list(visited[window]), pure=False)
            together = self.client.submit(list, short, pure=False)
            found = self._waiting.result(together)
            release([*short, together])
            keys = [self._key("labels", self._number, p) for p in positions[window]]
            kept += self.client.map(long_labels, found, key=keys, pure=False)
        return kept

    def _tell(self, parts: Sequence[Any]) -> None:
        """Say how many parts of a pass are done."""
        if self._on_parts is not None:
            self._on_parts(sum(part.status == "finished" for part in parts), len(parts))


def is_client(value: object) -> bool:
    """Whether something is a client of Dask, which is not imported for it."""
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(value).__mro__}
    return "distributed.client.Client" in kinds


def is_cluster(engine: object) -> bool:
    """Whether an engine is a cluster: "dask", the address of a scheduler, or a client."""
    is_address = isinstance(engine, str) and "://" in engine
    return engine == "dask" or is_address or is_client(engine)


@contextmanager
def open_client(engine: Any, n_workers: int | None = None) -> Iterator[tuple[Any, bool]]:
    """The client given, of an address, the current one, or of workers that end with the block.

    Also whether it is the last. A client of an address stays and is then the current one, since
    labels are on its cluster.
    """
    distributed = needed("distributed", "engine='dask'")
    if is_client(engine):
        yield engine, False
        return
    if engine != "dask":
        try:
            client = distributed.Client(engine)  # by which results are computed, too
        except OSError as error:
            msg = (
                f"There is no scheduler at {engine!r} ({error}); expected the address that "
                "`dask scheduler` prints, such as tcp://host:8786."
            )
            raise ClusterError(msg) from error
        yield client, False
        return
    try:
        current = distributed.default_client()
    except ValueError:
        current = None
    if current is not None:
        yield current, False
        return
    with started_client(n_workers) as client:
        yield client, True


@contextmanager
def started_client(n_workers: int | None = None) -> Iterator[Any]:
    """A client of workers of this computer, which end with the block.

    Dask asks the C library of a worker to give memory back at once; arrays of a visit would then be
    touched for the first time in each, which takes a quarter more time.
    """
    import dask

    distributed = needed("distributed", "engine='dask'")
    asked = dask.config.get("distributed.nanny.pre-spawn-environ")
    given = {name: value for name, value in asked.items() if name != TRIMMING}
    before = os.environ.get(TRIMMING)
    if before == str(asked.get(TRIMMING)):  # left by workers that Dask has started before
        del os.environ[TRIMMING]
    settings = {
        "distributed.scheduler.allowed-failures": UNLUCKY,
        "distributed.nanny.pre-spawn-environ": given,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        try:
            yield client
        finally:
            if before is not None:
                os.environ[TRIMMING] = before
