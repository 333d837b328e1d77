"""A small fit, timed in two parts: the time that grows with the samples, and the constant time.

Starts use a subset of some 10 000 samples; passes over all rows grow with their number. A fit of a
few times as many samples, with the time inside the engine measured, therefore gives both.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from manyview.base import validate_views
from manyview.data.rows import Joined, Rows
from manyview.data.tensors import TensorRows
from manyview.data.views import MultiViewData
from manyview.engines import rows_per_block
from manyview.engines.memory import InMemory
from manyview.engines.streaming import Streaming
from manyview.kernels.block import CHUNK_ROWS
from manyview.omvcdr import OMVCDR
from manyview.solver.fitting import count_subset
from manyview.solver.footprint import Footprint
from manyview.solver.progress import Progress
from manyview.utils.threads import n_threads

T = TypeVar("T")

FEW_TIMES = 1.5  # minimum size of a calibration, in units of the subset of the starts;
MOST_TIMES = 5.0  # its maximum size,
MOST_BYTES = 2.5e8  # and the maximum of its bytes between the two
DEVICE_BYTES = 2e9  # of a calibration on a device
SMALL_SHARE = 3  # with fewer samples, one in three is fitted,
SMALL_ROWS = 1000  # and at least these
N_STARTS = 3  # the third takes as long as each one after it
N_PIECES = 8  # of the rows, spread over them
TIMED = (
    "load",
    "apply_scalings",
    "map_reduce",
    "scan",
    "scan_batches",
    "scan_reduce",
    "reduce_batches",
    "gather",
)  # methods of an engine
N_BLOCKS = 6  # of a streamed calibration: one that fits into a block would read it once


@dataclass(frozen=True)
class Trial:
    """Cost of a small fit."""

    n_samples: int
    n_clusters: int
    seconds: float
    seconds_of_rows: float  # of these, spent on all rows
    seconds_a_start: float  # of one additional start
    n_starts: int  # not made in the small fit
    n_reads: float  # of all rows, from disk
    footprint: Footprint

    @property
    def is_whole(self) -> bool:
        """Whether starts used all samples, so that all of the time grows with them."""
        return self.footprint.n_subset == self.n_samples

    def beside(self, smaller: Trial) -> Trial:
        """The same fit, where only what exceeds a smaller one grows with the samples."""
        more = max(self.seconds_of_rows - smaller.seconds_of_rows, 0.0)
        growing = more * self.n_samples / (self.n_samples - smaller.n_samples)
        return replace(self, seconds_of_rows=min(growing, self.seconds_of_rows))

    def seconds_for(self, n_samples: int) -> tuple[float, float]:
        """Seconds of a fit of `n_samples`: the constant part, and the part that grows."""
        more = self.n_starts * self.seconds_a_start
        if self.is_whole:
            return 0.0, (self.seconds + more) * n_samples / self.n_samples
        growing = self.seconds_of_rows * n_samples / self.n_samples
        return self.seconds - self.seconds_of_rows + more, growing


def count_rows(
    n_samples: int, row_bytes: int, n_clusters: int | str, *, is_fast: bool = False
) -> int:
    """Number of samples of a calibration: more than the subset of the starts, if possible.

    A device `is_fast`: to fill it takes more.
    """
    k = n_clusters if isinstance(n_clusters, int) else 1
    few = count_subset(n_samples, k)
    if n_samples < FEW_TIMES * few:
        return min(n_samples, max(n_samples // SMALL_SHARE, SMALL_ROWS, 2 * k))
    bytes_, times = (DEVICE_BYTES, np.inf) if is_fast else (MOST_BYTES, MOST_TIMES)
    return min(n_samples, int(few * np.clip(bytes_ / row_bytes / few, FEW_TIMES, times)))


def some_rows(data: MultiViewData, n_rows: int) -> MultiViewData:
    """Pieces spread over the samples; rows on disk stay there, and count how often they are read.

    There are few pieces if files store many rows in one chunk, which can only be read as a whole.
    """
    n = data.n_samples
    grain = max((view.grain for view in data.views if isinstance(view, Rows)), default=1)
    n_pieces = int(np.clip(n_rows // (2 * grain), 1, N_PIECES))
    sizes = np.full(n_pieces, n_rows // n_pieces) + (np.arange(n_pieces) < n_rows % n_pieces)
    starts = np.linspace(0, n - sizes[0], n_pieces).astype(int)
    pieces = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    rows = np.concatenate([np.arange(piece.start, piece.stop) for piece in pieces])
    return replace(
        data,
        views=tuple(_some(view, pieces, rows) for view in data.views),
        sample_names=None,
        present=None if data.present is None else data.present[rows],
    )


def _some(view: Any, pieces: list[slice], rows: NDArray[Any]) -> Any:
    """Some rows of a view, where they are."""
    if isinstance(view, TensorRows):
        return view.pick(rows)
    return _Counted([view[piece] for piece in pieces]) if isinstance(view, Rows) else view[rows]


def calibrate(
    model: OMVCDR, engine: str, data: MultiViewData, n_samples: int, *, is_checked: bool
) -> Trial:
    """Fit some samples as `model` would fit all `n_samples`.

    A warm-up fit of one block per thread, not timed, compiles the code and touches the memory.
    """
    limit = model.memory_limit if engine == "stream" else None
    asked = {**model.get_params(deep=False), "engine": engine, "memory_limit": limit}
    trial = _TimedFit(**{**asked, "n_init": min(model.n_init, N_STARTS)})
    trial.n_all = n_samples
    marks: dict[int, float] = {}

    def mark(progress: Progress) -> None:
        if progress.step == "start":
            marks[progress.start] = time.perf_counter()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself will warn
        n_first = rows_per_block(sum(data.n_features) * data.dtype.itemsize) * n_threads()
        first = some_rows(data, min(n_first, data.n_samples))
        short = {"n_init": 1, "max_iter": 1, "n_clusters": min(2, len(first))}
        clone(trial).set_params(**short).fit(**_given(first, is_checked))
        n_before = _rows_read(data)
        start = time.perf_counter()
        checked = validate_views(trial, **_given(data, is_checked))
        seconds_of_check = time.perf_counter() - start
        trial.fit(checked, callback=mark)
        seconds = time.perf_counter() - start
    n_read = _rows_read(data) - n_before - trial.engine_of_fit.n_sampled
    last = N_STARTS - 1
    return Trial(
        n_samples=data.n_samples,
        n_clusters=trial.n_clusters_,
        seconds=seconds,
        seconds_of_rows=seconds_of_check + trial.engine_of_fit.seconds,
        seconds_a_start=marks[last] - marks[last - 1] if last in marks else 0.0,
        n_starts=model.n_init - trial.n_init,
        n_reads=n_read / data.n_samples,
        footprint=trial.footprint(data),
    )


def _given(data: MultiViewData, is_checked: bool) -> dict[str, Any]:
    """Arguments of `fit`: validated views, or views that it has to validate."""
    if is_checked:
        return {"X": data}
    return {"X": dict(zip(data.view_names, data.views, strict=True)), "present": data.present}


class _TimedFit(OMVCDR):
    """A fit that measures the time spent on all rows."""

    n_all = 1

    def footprint(self, data: MultiViewData) -> Footprint:
        """Sizes of the fit, for its memory."""
        problem, graph = self._fitted.model.problem, self._fitted.anchor_graph
        return Footprint(
            n_samples=data.n_samples,
            n_subset=count_subset(data.n_samples, problem.n_clusters),
            n_features=data.n_features,
            itemsize=data.dtype.itemsize,
            dims=problem.dims,
            n_scalings=problem.n_scalings,
            n_anchors=0 if graph is None else len(graph.anchors),
        )

    def _threads(self, data: MultiViewData, k: int) -> AbstractContextManager[None]:
        """As many as for all samples."""
        sizes: Any = SimpleNamespace(shape=(self.n_all, data.shape[1]))
        return super()._threads(sizes, k)

    def _choose_engine(self, data: MultiViewData, *, is_read_once: bool = False) -> InMemory:
        engine = super()._choose_engine(data, is_read_once=is_read_once)
        if isinstance(engine, Streaming):
            n_chunks = max(data.n_samples // N_BLOCKS // CHUNK_ROWS, 1)
            engine = Streaming(engine.kernels, self.memory_limit, n_chunks * CHUNK_ROWS)
        self.engine_of_fit = _TimedEngine(engine, data)
        return self.engine_of_fit  # type: ignore[return-value]


class _TimedEngine:
    """An engine with a clock; subsets of its rows are not on it."""

    def __init__(self, engine: InMemory, data: MultiViewData) -> None:
        self._engine, self._data = engine, data
        self.seconds, self.n_sampled = 0.0, 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        return partial(self._timed, found) if name in TIMED else found

    def _timed(self, method: Callable[..., T], *args: Any, **keys: Any) -> T:
        start = time.perf_counter()
        try:
            return method(*args, **keys)
        finally:
            self.seconds += time.perf_counter() - start

    def subsample(self, n_rows: int, rng: np.random.Generator, *, is_apart: bool = False) -> Any:
        before = _rows_read(self._data)
        subset = self._engine.subsample(n_rows, rng, is_apart=is_apart)
        self.n_sampled += _rows_read(self._data) - before
        return self if subset is self._engine else subset


class _Counted(Joined):
    """Rows on disk that count how many were read."""

    n_read = 0

    def take(self, rows: Any) -> NDArray[Any]:
        self.n_read += len(rows)
        return super().take(rows)

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        self.n_read += len(out)
        super()._fill(start, out)


def _rows_read(data: MultiViewData) -> float:
    """Rows read so far, averaged over the views on disk."""
    counts = [view.n_read for view in data.views if isinstance(view, _Counted)]
    return float(np.mean(counts)) if counts else 0.0
