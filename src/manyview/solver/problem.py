"""From data and settings to a `Problem`: readings, means, energy, dimensions, the absolute λ."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from manyview.blocks import Block, ColumnMoments, FloatArray, Sums
from manyview.engines import Engine
from manyview.errors import DataWarning
from manyview.kernels import Kernels
from manyview.readings import Reading, fit_readings
from manyview.solver.state import Problem

__all__ = [
    "Settings",
    "ViewColumns",
    "describe_columns",
    "find_readings",
    "measure",
    "pose",
    "read_and_state",
    "read_as",
    "restate",
    "scaled_lambda",
    "set_baselines",
    "set_row_factors",
    "state",
]

TINY = float(np.finfo(np.float64).tiny)
FAR = 1e4  # squared length of the mean, over the mean squared distance from it


@dataclass(frozen=True)
class Settings:
    """The estimator's parameters that define the objective."""

    n_clusters: int
    lam: float
    n_spaces: int
    latent_dims: Sequence[int] | None
    scale: str | Sequence[str] | None
    weight_exponent: float
    smooth: bool = False


def pose(engine: Engine, settings: Settings, view_names: Sequence[str]) -> Problem:
    """Fix the readings by a pass over the loaded rows, and state the problem."""
    readings = find_readings(engine, settings.scale, len(view_names))
    return read_and_state(engine, settings, readings, view_names)


def read_and_state(
    engine: Engine,
    settings: Settings,
    readings: tuple[Reading, ...],
    view_names: Sequence[str],
) -> Problem:
    """Lay readings over the rows, and state the problem."""
    levels = read_as(engine, readings)
    problem = state(engine, settings, readings, levels)
    _warn_of_empty_views(readings, problem.energies, view_names)
    return problem


def state(
    engine: Engine, settings: Settings, readings: tuple[Reading, ...], levels: FloatArray
) -> Problem:
    """Measure the rows as they are read, and state the problem."""
    totals = engine.map_reduce(measure).arrays
    *sums, present, energies, weight, n_present = totals
    dims = _latent_dims(settings, [len(total) for total in sums], engine.n_samples)
    lam = scaled_lambda(
        settings.lam,
        n_views=float(n_present) / float(weight),
        n_clusters=settings.n_clusters,
        n_spaces=len(dims),
        exponent=settings.weight_exponent,
        weight=float(weight),
    )
    means = tuple(total / max(n, TINY) for total, n in zip(sums, present, strict=True))
    is_complete = bool(levels.min() == len(readings))
    mean_squares = energies / np.maximum(present, TINY)
    is_far = tuple(
        is_complete and _is_far(reading, mean, float(square))
        for reading, mean, square in zip(readings, means, mean_squares, strict=True)
    )
    engine.map_reduce(set_baselines, means, is_far)
    return Problem(
        n_clusters=settings.n_clusters,
        dims=dims,
        lam=lam,
        exponent=settings.weight_exponent,
        readings=readings,
        means=means,
        energies=energies,
        is_far=is_far,
        weight=float(weight),
        levels=levels,
    )


def restate(engine: Engine, settings: Settings, problem: Problem) -> Problem:
    """The same problem on some of the rows: the same readings, groups, spaces and origin."""
    levels = read_as(engine, problem.readings, problem.levels)
    stated = state(engine, settings, problem.readings, levels)
    engine.map_reduce(set_baselines, problem.means, problem.is_far)
    return replace(stated, dims=problem.dims, means=problem.means, is_far=problem.is_far)


def find_readings(
    engine: Engine, scale: str | Sequence[str] | None, n_views: int
) -> tuple[Reading, ...]:
    """Readings of all views; only scalings need to know the columns."""
    if scale is None:
        return tuple(Reading(v) for v in range(n_views))
    return fit_readings(scale, engine.map_reduce(describe_columns).views)


def read_as(
    engine: Engine, readings: Sequence[Reading], levels: FloatArray | None = None
) -> FloatArray:
    """Lay readings over the rows of an engine, row factors included."""
    known = engine.read(readings, levels)
    engine.map_reduce(set_row_factors, tuple(reading.has_unit_rows for reading in readings))
    return known


def scaled_lambda(
    lam: float, *, n_views: float, n_clusters: int, n_spaces: int, exponent: float, weight: float
) -> float:
    """λ = lam V k m^γ / n, so that g n_c / V = lam at uniform weights and balanced clusters."""
    return lam * n_views * n_clusters * float(n_spaces**exponent) / weight


def _latent_dims(settings: Settings, widths: Sequence[int], n_samples: int) -> tuple[int, ...]:
    """d_p = min(p · min(k, 100), Σ_v min(d_v, n)), equal values kept once, or as the user asked."""
    if settings.latent_dims is not None:
        return tuple(int(d) for d in settings.latent_dims)
    most = sum(min(d, n_samples) for d in widths)
    step = min(settings.n_clusters, 100)
    return tuple(sorted({min(p * step, most) for p in range(1, settings.n_spaces + 1)}))


def _is_far(reading: Reading, mean: FloatArray, mean_square: float) -> bool:
    """Whether a product with the rows as they are would lose the digits that matter.

    That is so where the mean, or what a z-score takes off, is long beside the spread about it. With
    missing views b has no common origin to begin with, and nothing would be gained.
    """
    if reading.is_mixed:
        return False
    if reading.offset is not None and reading.scale is not None:
        return bool(reading.offset @ reading.offset > FAR * np.count_nonzero(reading.scale))
    length = float(mean @ mean)
    return length > FAR * max(mean_square - length, 0.0)


def _warn_of_empty_views(
    readings: Sequence[Reading], energies: FloatArray, view_names: Sequence[str]
) -> None:
    """An all-zero view is allowed, and probably a mistake."""
    per_view = np.bincount([reading.view for reading in readings], weights=energies)
    for name, energy in zip(view_names, per_view, strict=True):
        if energy == 0:
            msg = f"View '{name}' is all zero as it is read (scaled or not): it says nothing."
            warnings.warn(msg, DataWarning, stacklevel=4)


@dataclass(frozen=True)
class ViewColumns:
    """Column moments of all views; adds up."""

    views: tuple[ColumnMoments, ...]

    def __add__(self, other: ViewColumns) -> ViewColumns:
        """Moments of the union of two sets of rows."""
        return ViewColumns(tuple(a + b for a, b in zip(self.views, other.views, strict=True)))


def describe_columns(block: Block, kernels: Kernels) -> tuple[Block, ViewColumns]:
    """Column moments of the views as given."""
    return block, ViewColumns(tuple(kernels.columns(view, block.weights) for view in block.views))


def set_row_factors(
    block: Block, kernels: Kernels, has_unit_rows: tuple[bool, ...]
) -> tuple[Block, Sums]:
    """Fix f = 1/‖·‖ of the readings with unit rows; rows of zeros stay zero."""
    views = []
    for view, is_unit in zip(block.views, has_unit_rows, strict=True):
        if is_unit:
            norm = np.sqrt(kernels.row_squares(view))
            factor = np.divide(1.0, norm, out=np.ones_like(norm), where=norm > 0)
            view = replace(
                view, factor=factor if view.factor is None else factor * (view.factor > 0)
            )
        views.append(view)
    return replace(block, views=tuple(views)), Sums(())


def set_baselines(
    block: Block, kernels: Kernels, means: Sequence[FloatArray], is_far: Sequence[bool]
) -> tuple[Block, Sums]:
    """Take the mean off the rows of readings that lie far from the origin."""
    views = tuple(
        replace(view, baseline=mean if far else None)
        for view, mean, far in zip(block.views, means, is_far, strict=True)
    )
    return replace(block, views=views), Sums(())


def measure(block: Block, kernels: Kernels) -> tuple[Block, Sums]:
    """Σ ω x of each reading; Σ ω over the rows that have it, and Σ ω‖x‖²; Σ ω and Σ ω u in all."""
    weights = block.weights
    sums = kernels.accumulate(
        block.views, kernels.asarray(weights[:, None], like=block.projection)
    ).arrays
    present, energies = [], []
    for view in block.views:
        factor = np.ones(len(weights)) if view.factor is None else view.factor
        present.append(float(weights @ (factor > 0)))
        energies.append(float((weights * factor**2) @ kernels.row_squares(view)))
    totals = (np.array(present), np.array(energies), weights.sum(), np.sum(present))
    return block, Sums((*(total[:, 0] for total in sums), *map(np.asarray, totals)))
