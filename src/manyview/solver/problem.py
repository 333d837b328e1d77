"""`Problem`: constants of a fit, built from the rows of an engine and the settings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manyview.data.scaling import ViewScaling
from manyview.engines import Engine
from manyview.exceptions import DataWarning
from manyview.kernels import Kernels
from manyview.kernels.block import Block
from manyview.kernels.statistics import ArraySums, ClusterMoments
from manyview.solver.scaled_rows import FAR, apply_scalings, find_scalings, is_far
from manyview.utils.types import FloatArray, IntArray

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Problem:
    """Constants of a fit: from the data and the settings."""

    n_clusters: int
    dims: tuple[int, ...]  # d_p of each space
    lam: float  # λ of the objective, absolute
    exponent: float  # γ
    scalings: tuple[ViewScaling, ...]
    means: tuple[FloatArray, ...]  # v: (d_v,), mean row of each scaled view
    view_sum_squares: FloatArray  # (V,): Σ ω ‖x‖² of each scaled view
    is_far: tuple[bool, ...]  # v: whether the mean is subtracted before the products
    weight: float  # Σ ω
    n_present: FloatArray  # (G,): distinct numbers of scaled views present

    @property
    def n_scalings(self) -> int:
        """V of the equations."""
        return len(self.scalings)

    @property
    def is_unscaled(self) -> bool:
        """Whether the views are not scaled, and in their order."""
        return all(r.name is None and not r.is_smoothed for r in self.scalings)

    @cached_property
    def sum_squares(self) -> float:
        """Σ ω ‖x‖² over all scaled views."""
        return float(self.view_sum_squares.sum())

    @cached_property
    def starts(self) -> IntArray:
        """First column of each space: (m,)."""
        return np.concatenate([[0], np.cumsum(self.dims)[:-1]])

    def empty_moments(self) -> ClusterMoments:
        """Moments of an empty set of samples."""
        G, k, m = len(self.n_present), self.n_clusters, len(self.dims)
        return ClusterMoments(
            starts=self.starts,
            rows=np.zeros((G, k), dtype=np.int64),
            count=np.zeros((G, k)),
            mean=np.zeros((G, k, sum(self.dims))),
            scatter=np.zeros((G, k, m)),
        )


@dataclass(frozen=True)
class Settings:
    """Parameters of the estimator that define the objective."""

    n_clusters: int
    lam: float
    n_spaces: int
    latent_dims: Sequence[int] | None
    scale: str | Sequence[str] | None
    weight_exponent: float
    smooth: bool = False


def build_problem(
    engine: Engine,
    settings: Settings,
    view_names: Sequence[str],
    scalings: tuple[ViewScaling, ...] | None = None,
) -> Problem:
    """Scale the rows of an engine and build the problem; fits the scalings if not given."""
    if scalings is None:
        scalings = find_scalings(engine, engine, settings.scale, len(view_names))
    problem = measure_problem(engine, settings, scalings, apply_scalings(engine, scalings))
    warn_of_empty_views(scalings, problem.view_sum_squares, view_names)
    return problem


def measure_problem(
    engine: Engine, settings: Settings, scalings: tuple[ViewScaling, ...], n_present: FloatArray
) -> Problem:
    """Build the problem from scaled rows."""
    totals = engine.map_reduce(measure).arrays
    *sums, present, view_sum_squares, weight, total_present = totals
    dims = _latent_dims(settings, [len(total) for total in sums], engine.n_samples)
    lam = _counted_lambda(settings, len(dims), float(weight), float(total_present))
    means = tuple(total / max(n, TINY) for total, n in zip(sums, present, strict=True))
    is_complete = bool(n_present.min() == len(scalings))
    mean_squares = view_sum_squares / np.maximum(present, TINY)
    far = tuple(
        is_complete and _is_far(scaling, mean, float(square))
        for scaling, mean, square in zip(scalings, means, mean_squares, strict=True)
    )
    engine.map_reduce(set_baselines, means, far)
    return Problem(
        n_clusters=settings.n_clusters,
        dims=dims,
        lam=lam,
        exponent=settings.weight_exponent,
        scalings=scalings,
        means=means,
        view_sum_squares=view_sum_squares,
        is_far=far,
        weight=float(weight),
        n_present=n_present,
    )


def rebuild_on(engine: Engine, settings: Settings, problem: Problem) -> Problem:
    """The problem on a subset of the rows, with the same scalings, groups, spaces and origin."""
    n_present = apply_scalings(engine, problem.scalings, problem.n_present)
    rebuilt = measure_problem(engine, settings, problem.scalings, n_present)
    engine.map_reduce(set_baselines, problem.means, problem.is_far)
    return replace(rebuilt, dims=problem.dims, means=problem.means, is_far=problem.is_far)


def extend_problem(engine: Engine, settings: Settings, sampled: Problem) -> Problem:
    """The problem of a subset for all rows of an engine, without reading their views."""
    engine.map_reduce(set_baselines, sampled.means, sampled.is_far)
    weight, total_present = map(float, engine.map_reduce(count_present).arrays)
    lam = _counted_lambda(settings, len(sampled.dims), weight, total_present)
    return replace(sampled, lam=lam, weight=weight)


def _counted_lambda(
    settings: Settings, n_spaces: int, weight: float, total_present: float
) -> float:
    """λ from Σ ω, and Σ ω u of the scaled views present."""
    return scaled_lambda(
        settings.lam,
        n_views=total_present / weight,
        n_clusters=settings.n_clusters,
        n_spaces=n_spaces,
        exponent=settings.weight_exponent,
        weight=weight,
    )


def scaled_lambda(
    lam: float, *, n_views: float, n_clusters: int, n_spaces: int, exponent: float, weight: float
) -> float:
    """λ = lam V k m^γ / n, so that g n_c / V = lam at uniform weights and balanced clusters."""
    return lam * n_views * n_clusters * float(n_spaces**exponent) / weight


def _latent_dims(settings: Settings, widths: Sequence[int], n_samples: int) -> tuple[int, ...]:
    """d_p = min(p · min(k, 100), Σ_v min(d_v, n)), without duplicates, or as given."""
    if settings.latent_dims is not None:
        return tuple(int(d) for d in settings.latent_dims)
    most = sum(min(d, n_samples) for d in widths)
    step = min(settings.n_clusters, 100)
    return tuple(sorted({min(p * step, most) for p in range(1, settings.n_spaces + 1)}))


def _is_far(scaling: ViewScaling, mean: FloatArray, mean_square: float) -> bool:
    """Whether products with uncentered rows would lose significant digits.

    This is so if the mean, or the offset of a z-score, is large relative to the spread around it.
    With missing views, b has no common origin, and centering would not help.
    """
    if scaling.is_smoothed:
        return False
    if scaling.offset is not None:
        return is_far(scaling)
    length = float(mean @ mean)
    return length > FAR * max(mean_square - length, 0.0)


def warn_of_empty_views(
    scalings: Sequence[ViewScaling], view_sum_squares: FloatArray, view_names: Sequence[str]
) -> None:
    """Warn about views that are all zero, probably by mistake."""
    per_view = np.bincount([scaling.view for scaling in scalings], weights=view_sum_squares)
    for name, sum_squares in zip(view_names, per_view, strict=True):
        if sum_squares == 0:
            msg = f"View '{name}' is all zero after scaling, so it contains no information."
            warnings.warn(msg, DataWarning, stacklevel=4)


def set_baselines(
    block: Block, kernels: Kernels, means: Sequence[FloatArray], is_far: Sequence[bool]
) -> tuple[Block, ArraySums]:
    """Set the mean as baseline of scaled views that are far from the origin."""
    views = tuple(
        replace(view, baseline=mean if far else None)
        for view, mean, far in zip(block.views, means, is_far, strict=True)
    )
    return replace(block, views=views), ArraySums(())


def count_present(block: Block, kernels: Kernels) -> tuple[Block, ArraySums]:
    """Σ ω, and Σ ω u of the scaled views present."""
    weights = block.weights
    n_present = sum(
        float(weights.sum() if view.factor is None else (weights * (view.factor > 0)).sum())
        for view in block.views
    )
    return block, ArraySums((np.array(float(weights.sum())), np.array(n_present)))


def measure(block: Block, kernels: Kernels) -> tuple[Block, ArraySums]:
    """For each scaled view Σ ω x, Σ ω of the rows that have it, Σ ω‖x‖²; then Σ ω and Σ ω u."""
    weights = block.weights
    sums = kernels.accumulate(
        block.views, kernels.asarray(weights[:, None], like=block.projection)
    ).arrays
    found = np.array([kernels.total_squares(view, weights) for view in block.views])  # (V, 2)
    totals = (found[:, 0], found[:, 1], float(weights.sum()), found[:, 0].sum())
    return block, ArraySums((*(total[:, 0] for total in sums), *map(np.asarray, totals)))
