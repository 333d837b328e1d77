"""Estimate time and memory of a fit from the views or their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn import config_context
from sklearn.base import clone

from manyview.base import check_parameters, validate_views
from manyview.cost.calibration import Trial, calibrate, count_rows, some_rows
from manyview.cost.disk import Storage
from manyview.data.opening import open_rows
from manyview.data.partitions import PartitionedViews
from manyview.data.rows import Rows
from manyview.data.views import MultiViewData
from manyview.engines import choose_device, choose_engine, is_too_large, rows_per_block
from manyview.engines.cluster import is_cluster
from manyview.engines.device import OnDevice
from manyview.engines.parts import rows_per_part
from manyview.engines.streaming import Plan, default_limit
from manyview.exceptions import ViewError
from manyview.omvcdr import OMVCDR
from manyview.solver.fitting import count_subset
from manyview.utils.memory import installed_memory
from manyview.utils.threads import n_cores

STREAM_BLOCKS = 3  # of the views: in computation, read, and being read
FEWER = 4  # times: of the second fit on a device
SEPARATION = 3.0  # of simulated blobs: near enough to need some iterations


@dataclass(frozen=True)
class CostEstimate:
    """Estimated cost of a fit.

    Attributes
    ----------
    seconds : float
        Time on this machine at its current load, without compilation.
    memory_bytes : float
        Peak memory in addition to the views; of the host, if a device computes.
    view_bytes : int
        Size of the views in memory, or of their files.
    n_reads : int
        How often views on disk are read; 0 if they are in memory.
    engine : str
        Engine that will be used.
    n_samples, n_clusters : int
        Size of the fit.
    n_workers : int
        Workers of a cluster; 0: none. Their memory is that of all.
    device : str
        Device that computes.
    device_bytes : float
        Memory of a device, with the views or blocks of them; 0 for the CPU.
    """

    seconds: float
    memory_bytes: float
    view_bytes: int
    n_reads: int
    engine: str
    n_samples: int
    n_clusters: int
    n_workers: int = 0
    device: str = "cpu"
    device_bytes: float = 0.0

    def __str__(self) -> str:
        """One sentence; a second one if the machine has less memory."""
        if self.n_workers:
            return self._of_workers()
        read = f", read {self.n_reads} times" if self.n_reads else ""
        there = f", device='{self.device}' and {_size(self.device_bytes)} of its memory"
        text = (
            f"About {_duration(self.seconds)}, and {_size(self.memory_bytes)} of memory in "
            f"addition to {_size(self.view_bytes)} of views{read}, with engine='{self.engine}'"
            f"{'' if self.device == 'cpu' else there}: "
            f"{self.n_samples:,} samples, {self.n_clusters:,} clusters."
        )
        held = self.memory_bytes + (0 if self.engine == "stream" else self.view_bytes)
        if held > installed_memory():
            text += f" This machine has {_size(installed_memory())}."
        return text

    def _of_workers(self) -> str:
        """The sentence of a fit on a cluster."""
        each = (self.memory_bytes + self.view_bytes) / self.n_workers
        return (
            f"About {_duration(self.seconds)} on {self.n_workers} workers of one thread, and "
            f"{_size(each)} of memory on each, with {_size(self.view_bytes)} of views: "
            f"{self.n_samples:,} samples, {self.n_clusters:,} clusters. Reading the views and the "
            "network are not counted."
        )


def estimate_cost(
    X: Any,
    n_clusters: int | Literal["auto"],
    engine: Any = "auto",
    *,
    dtype: DTypeLike = np.float32,
    n_workers: int | None = None,
    **parameters: Any,
) -> CostEstimate:
    """Estimate the time and memory of a fit from a fit of some samples.

    Parameters
    ----------
    X : views, or a list of (n_samples, n_features)
        Views as for `OMVCDR.fit`; or shapes of views that do not exist yet, for which blobs are
        simulated, in files if they are to be streamed.
    n_clusters : int or "auto"
        As in OMVCDR.
    engine : {"auto", "memory", "stream", "dask"}, default="auto"
        As in OMVCDR.
    dtype : dtype, default=float32
        Type of the views, if shapes are given.
    n_workers : int, optional
        Workers of a cluster, as fast as one thread of this machine; only with engine="dask", where
        None is one for each core.
    **parameters
        Other parameters of OMVCDR.

    Returns
    -------
    CostEstimate
        Printed as a sentence.

    Examples
    --------
    >>> from manyview import estimate_cost
    >>> estimate = estimate_cost([(3000, 20), (3000, 30)], n_clusters=4, n_init=1)
    >>> estimate.engine, estimate.view_bytes
    ('memory', 600000)
    """
    model = OMVCDR(n_clusters, engine=engine, **parameters)
    check_parameters(model)
    if is_cluster(engine):
        return _of_cluster(X, np.dtype(dtype), model, n_workers or n_cores())
    if n_workers is not None:
        msg = f"n_workers={n_workers} was given with engine={engine!r}; expected engine='dask'."
        raise ValueError(msg)
    if model.label_step == "sharded":  # takes about as long
        model.label_step = "parallel"
    if _are_shapes(X):
        return _of_shapes(X, np.dtype(dtype), model)
    with config_context(assume_finite=True):  # the calibration checks its own rows
        data = validate_views(model, X)
    target = _target(model, data)
    row_bytes = sum(data.n_features) * data.dtype.itemsize
    n_some = count_rows(data.n_samples, row_bytes, n_clusters, is_fast=target.on_device is not None)
    some = some_rows(data, n_some)
    is_checked = isinstance(X, MultiViewData)
    trial = _try(model, target, some, data.n_samples, is_checked=is_checked)
    return _extrapolate(trial, data.n_samples, target, Storage.of(data))


@dataclass(frozen=True)
class _Target:
    """Where a fit would run."""

    engine: str
    device: str
    plan: Plan | None  # of a streaming fit on the CPU, within its memory limit
    on_device: OnDevice | None


def _target(model: OMVCDR, data: MultiViewData, *, is_on_disk: bool = False) -> _Target:
    """Where a fit of these views would run; those of shapes may be too large for the memory."""
    engine = choose_engine(model.engine, model.device, data, model.memory_limit)
    if isinstance(engine, OnDevice):
        engine.plan(data)
        return _Target(engine.name, choose_device(model.device, data), None, engine)
    name = "stream" if is_on_disk else engine.name
    if name != "stream":
        return _Target(name, "cpu", None, None)
    limit = default_limit() if model.memory_limit is None else model.memory_limit
    row_bytes = sum(data.n_features) * data.dtype.itemsize
    return _Target(name, "cpu", Plan.of(data.n_samples, row_bytes, limit), None)


def _try(
    model: OMVCDR, target: _Target, some: MultiViewData, n_samples: int, *, is_checked: bool
) -> Trial:
    """A fit of some samples; on a device also of fewer, since little of its time grows."""
    asked = clone(model).set_params(device=target.device)
    trial = calibrate(asked, target.engine, some, n_samples, is_checked=is_checked)
    if target.on_device is None or trial.is_whole:
        return trial
    few = some_rows(some, max(some.n_samples // FEWER, trial.footprint.n_subset + 1))
    other = calibrate(asked, target.engine, few, n_samples, is_checked=is_checked)
    return trial.beside(other)


def _are_shapes(X: object) -> bool:
    """Whether X is a list of pairs of integers."""
    return isinstance(X, list | tuple) and all(
        isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(n, int) for n in shape)
        for shape in X
    )


def _of_shapes(
    shapes: Sequence[tuple[int, int]], dtype: np.dtype[Any], model: OMVCDR
) -> CostEstimate:
    """Estimate with simulated blobs instead of the views."""
    if len({n for n, _ in shapes}) != 1 or min(map(min, shapes)) < 1:
        msg = f"The shapes are {list(shapes)}; expected equal numbers of samples, at least 1."
        raise ViewError(msg)
    n, widths = shapes[0][0], [d for _, d in shapes]
    in_memory = np.result_type(dtype, np.float32)
    row_bytes = sum(widths) * in_memory.itemsize
    views = tuple(np.broadcast_to(np.zeros((), in_memory), shape) for shape in shapes)  # no memory
    names = tuple(f"view_{v}" for v in range(len(views)))
    whole = MultiViewData(views, names, None, (None,) * len(views), None)
    is_large = model.engine == "auto" and is_too_large(n * row_bytes, model.memory_limit)
    target = _target(model, whole, is_on_disk=is_large or model.engine == "stream")
    n_some = count_rows(n, row_bytes, model.n_clusters, is_fast=target.on_device is not None)
    blobs = _blobs(n_some, widths, in_memory, model)
    if target.plan is None:
        trial = _try(model, target, blobs, n, is_checked=False)
        return _extrapolate(trial, n, target, Storage(n * row_bytes, 0, ()))
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{v}.npy" for v in range(len(widths))]
        stored = [
            _saved(np.asarray(X), file, dtype) for X, file in zip(blobs.views, files, strict=True)
        ]
        some = some_rows(replace(blobs, views=tuple(stored)), n_some)
        trial = _try(model, target, some, n, is_checked=False)
        on_disk = Storage(0, n * sum(widths) * dtype.itemsize, tuple(files))
        return _extrapolate(trial, n, target, on_disk)


def _of_cluster(X: Any, dtype: np.dtype[Any], model: OMVCDR, n_workers: int) -> CostEstimate:
    """What one thread takes for simulated blobs; what grows with the rows is divided."""
    if _are_shapes(X):
        shapes = X
    else:
        views = PartitionedViews.of(X)
        shapes, dtype = [view.shape for view in views.parts_of], views.dtype
    n, widths = shapes[0][0], [d for _, d in shapes]
    stored = np.result_type(dtype, np.float32)
    row_bytes = sum(widths) * stored.itemsize
    blobs = _blobs(count_rows(n, row_bytes, model.n_clusters), widths, stored, model)
    given = {"engine": "memory", "n_passes": 1, "n_jobs": 1, "label_step": "parallel"}
    own = OMVCDR(**{**model.get_params(deep=False), **given})
    trial = calibrate(own, "memory", blobs, n, is_checked=False)
    fixed, growing = trial.seconds_for(n)
    target = _Target("memory", "cpu", None, None)
    whole = _extrapolate(trial, n, target, Storage(n * row_bytes, 0, ()))
    at_once = min(n_workers, -(-n // rows_per_part(n, row_bytes)))
    seconds = fixed + growing / at_once
    return replace(whole, seconds=seconds, engine="dask", n_workers=n_workers)


def _blobs(n: int, widths: list[int], dtype: np.dtype[Any], model: OMVCDR) -> MultiViewData:
    """Simulated views; ten clusters if their number is to be found."""
    from manyview.datasets import make_multiview_blobs

    k = model.n_clusters if isinstance(model.n_clusters, int) else 10
    data: MultiViewData = make_multiview_blobs(
        n, widths, n_clusters=k, separation=SEPARATION, dtype=dtype, random_state=0
    ).data
    return data


def _saved(X: NDArray[Any], file: Path, dtype: np.dtype[Any]) -> Rows:
    np.save(file, X.astype(dtype, copy=False))
    return open_rows(file)


def _extrapolate(trial: Trial, n: int, target: _Target, storage: Storage) -> CostEstimate:
    """Extrapolate the cost to all samples."""
    footprint = replace(trial.footprint, n_samples=n, n_subset=count_subset(n, trial.n_clusters))
    block_rows, there = rows_per_block(footprint.view_row), 0.0
    if target.on_device is not None:
        held, there = footprint.bytes_on_host(block_rows), target.on_device.bytes_for(footprint)
    elif target.plan is None:
        held = footprint.bytes_held(block_rows)
    else:
        held = footprint.bytes_held(target.plan.block_rows, STREAM_BLOCKS, target.plan.room)
    fixed, growing = trial.seconds_for(n)
    is_cached = storage.on_disk + held < installed_memory()  # after the first read
    n_cold = min(trial.n_reads, 1) if is_cached else trial.n_reads
    growing = max(growing, storage.seconds_to_read(n_cold * storage.on_disk))
    return CostEstimate(
        seconds=fixed + growing,
        memory_bytes=held,
        view_bytes=storage.in_memory + storage.on_disk,
        n_reads=round(trial.n_reads),
        engine=target.engine,
        n_samples=n,
        n_clusters=trial.n_clusters,
        device=target.device,
        device_bytes=there,
    )


def _duration(seconds: float) -> str:
    """A duration in a suitable unit."""
    units = (("days", 86400), ("hours", 3600), ("minutes", 60))
    name, length = next((unit for unit in units if seconds >= 2 * unit[1]), ("seconds", 1))
    count = seconds / length
    return f"{count:.0f} {name}" if count >= 10 else f"{count:.1f} {name}"


def _size(n_bytes: float) -> str:
    """Bytes as MB, or as GB from one on."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
