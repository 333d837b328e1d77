"""A whole fit: the alternation on the views and, with smoothing, again on smoothed rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from manyview.data.views import MultiViewData
from manyview.engines import Engine, rows_per_block
from manyview.exceptions import MemoryLimitError
from manyview.kernels.row_space import Lift, RowSpace, is_wide
from manyview.solver.alternation import Schedule, refine, solve
from manyview.solver.anchor_graph import (
    assortativity,
    count_anchors,
    fit_anchor_graph,
    smooth_rows,
)
from manyview.solver.footprint import Footprint
from manyview.solver.inference import Fitted
from manyview.solver.model import Model, Solution
from manyview.solver.problem import (
    TINY,
    Problem,
    Settings,
    build_problem,
    extend_problem,
    measure,
    measure_problem,
    rebuild_on,
    set_baselines,
    warn_of_empty_views,
)
from manyview.solver.progress import OnStep, Progress
from manyview.solver.scaled_rows import (
    apply_scalings,
    find_row_spaces,
    find_scalings,
    narrow_engine,
    store_scaled,
)
from manyview.solver.updates import predict, relabel
from manyview.utils.types import FloatArray

# of λ: with weak coupling all spaces have weight, and neighbors do not depend on the first labels
FIRST_COUPLING = 0.05
FIRST_ITERATIONS = 3  # neighbors hardly change later
INITIAL_SWEEPS = 3  # before the iterations: enough to compare starts
UNEVEN = 0.9  # effective clusters of the cut, relative to k: below, clusters of any size are tried
CLEARLY = 0.1  # gain in assortativity for which they are taken,
SLIGHTLY = 0.03  # or this, if the other clusters hardly keep neighbors together, as in a cut blob:
LOOSE = 0.8  # assortativity below which they do not
FREE_COUPLING = 5.0  # of λ: no preference for equal sizes
SIZE_PRIOR = 0.7  # a mixture's would be 2, but labels that are not soft empty small clusters
GAIN = 30  # a decrease of F ends a refinement: relative to `tol` and to the decrease so far
SUBSET_GAIN = 100  # the same of starts on a subset, which are refined
SAMPLE_ROWS = 10_000  # size of the subset for starts and anchors,
ROWS_PER_CLUSTER = 10  # and its minimum per cluster

Check: TypeAlias = Callable[[Problem, int], None]  # of a problem, and its number of anchors


def fit(
    engine: Engine,
    settings: Settings,
    schedule: Schedule,
    view_names: Sequence[str],
    rng: Generator,
    on_step: OnStep,
    check: Check,
) -> tuple[Solution, Fitted]:
    """Cluster the rows of an engine; `check` may refuse the problem before it is solved."""
    n_subset = count_subset(engine.n_samples, settings.n_clusters)
    n_anchors = count_anchors(n_subset, settings.n_clusters) if settings.smooth else 0
    if schedule.reads_once and schedule.batches and not engine.splits_into(schedule.batches):
        if n_anchors == 0 and n_subset < engine.n_samples:
            msg = (
                "n_passes=1 was asked for, but the device holds the views in larger blocks than "
                "the batches of a parallel label step. Pass n_passes=2 or 'auto'."
            )
            raise ValueError(msg)
        schedule = replace(schedule, reads_once=False)
    parts = _Parts(engine, settings, schedule, rng, on_step)
    if n_anchors > 0:
        return parts.fit_smoothed(view_names, n_subset, n_anchors, check)
    if n_subset < engine.n_samples and schedule.reads_once:
        return parts.fit_reading_once(view_names, n_subset, check)
    problem = build_problem(engine, settings, view_names)
    check(problem, 0)
    narrow = narrow_rows(engine, problem)
    if narrow is not None:
        own = replace(parts, engine=narrow.engine, on_step=narrow.lifting(on_step))
        return narrow.lift(engine, *own.fit_unsmoothed(narrow.problem, n_subset))
    return parts.fit_unsmoothed(problem, n_subset)


def label_samples(engine: Engine, fitted: Fitted, data: MultiViewData) -> Fitted:
    """Label the samples of a fit by the steps of `predict`, which then returns these labels.

    The last sweep leaves them the same but for rounding, ties such as those of equal samples, and
    samples of no weight, which it has not seen. Where the projections of the fit were made by the
    steps of `predict`, they are used.
    """
    if not holds_projections(engine, fitted, data):
        return fitted.label(engine, data)
    engine.map_reduce(relabel, fitted.model, fitted.moments, fitted.least_weight)
    return fitted


def holds_projections(engine: Engine, fitted: Fitted, data: MultiViewData) -> bool:
    """Whether the engine has all samples, projected by the steps of `predict`."""
    n, k = engine.n_samples, fitted.model.problem.n_clusters
    # `store_scaled`, or coordinates of row spaces
    is_stored = count_subset(n, k) == n and (fitted.anchor_graph is not None or has_wide(data))
    is_free = fitted.model.size_weight > 0  # products may subtract the mean of other rows first
    return n == data.n_samples and not (is_stored or is_free)


def has_wide(data: MultiViewData) -> bool:
    """Whether a fit works in the row space of a view."""
    return any(is_wide(data.n_samples, d) for d in data.n_features)


@dataclass(frozen=True)
class _Parts:
    """The parts of a fit; each is the same alternation on other rows."""

    engine: Engine
    settings: Settings
    schedule: Schedule
    rng: Generator
    on_step: OnStep

    def fit_unsmoothed(self, problem: Problem, n_subset: int) -> tuple[Solution, Fitted]:
        """Starts on a subset, if there are more rows, and refinement on all."""
        subset = self._subsample(n_subset)
        if subset is self.engine:
            schedule = replace(self.schedule, over_relax=True)
            solution = solve(subset, problem, schedule, self.rng, self.on_step)
        else:
            own = rebuild_on(subset, self.settings, problem)
            solution = self._solve_and_refine(subset, own, problem)
        return solution, Fitted(solution.model, solution.moments)

    def fit_reading_once(
        self, view_names: Sequence[str], n_subset: int, check: Check
    ) -> tuple[Solution, Fitted]:
        """The same with one visit of all rows in an iteration.

        The means are those of the subset, so that the first visit of all rows can label them.
        """
        engine, settings = self.engine, self.settings
        scalings = find_scalings(engine, engine, settings.scale, len(view_names))
        n_present = apply_scalings(engine, scalings)
        subset = self._subsample(n_subset)
        own = measure_problem(
            subset, settings, scalings, apply_scalings(subset, scalings, n_present)
        )
        check(own, 0)
        problem = extend_problem(engine, settings, own)
        solution = self._solve_and_refine(subset, own, problem)
        warn_of_empty_views(scalings, solution.model.problem.view_sum_squares, view_names)
        return solution, Fitted(solution.model, solution.moments)

    def _solve_and_refine(self, subset: Engine, own: Problem, problem: Problem) -> Solution:
        """Starts on a subset, which stop early, and refinement of the best on all rows."""
        schedule = replace(self.schedule, over_relax=True)
        short = replace(schedule, batches=None, gain_stop=SUBSET_GAIN)
        coarse = solve(subset, own, short, self.rng, self.on_step)
        if subset is not self.engine:
            subset.release()
        long = replace(schedule, gain_stop=GAIN)
        return refine(self.engine, problem, coarse, long, self.rng, self.on_step)

    def fit_smoothed(
        self, view_names: Sequence[str], n_subset: int, n_anchors: int, check: Check
    ) -> tuple[Solution, Fitted]:
        """A first solution, the anchor graph, and a second solution on smoothed rows."""
        engine, settings = self.engine, self.settings
        subset = self._subsample(n_subset)
        scalings = find_scalings(engine, subset, settings.scale, len(view_names))
        weak = replace(settings, lam=FIRST_COUPLING * settings.lam)
        problem = build_problem(subset, weak, view_names, scalings)
        check(problem, n_anchors)
        narrow = narrow_rows(subset, problem) if subset is engine else None
        if narrow is not None:
            on_step = narrow.lifting(self.on_step)
            own = replace(self, engine=narrow.engine, on_step=on_step)
            found = own.fit_graph(narrow.engine, narrow.problem, n_anchors)
            return narrow.lift(engine, *found)
        subset.map_reduce(store_scaled)
        return self.fit_graph(subset, problem, n_anchors)

    def fit_graph(
        self, subset: Engine, problem: Problem, n_anchors: int
    ) -> tuple[Solution, Fitted]:
        """The parts of a smoothed fit once rows are scaled."""
        settings, rng = self.settings, self.rng
        short = replace(self.schedule, initial_sweeps=INITIAL_SWEEPS, batches=None)
        most = min(short.max_iter, FIRST_ITERATIONS)
        once = replace(short, n_init=1, max_iter=most, final_sweeps=1)
        first = solve(subset, problem, once, rng, self.on_step)
        anchor_graph, cut_sizes = fit_anchor_graph(subset, first.model, n_anchors, rng)
        is_uneven = n_effective(cut_sizes) <= UNEVEN * settings.n_clusters
        twin = subset.twin() if is_uneven else None
        smooth_rows(subset, anchor_graph.tables)
        warm = replace(short, n_warm=2, stop_early=True)
        smoothed = _build_smoothed(subset, settings, problem)
        solution = solve(subset, smoothed, warm, rng, self.on_step)
        before = Fitted(first.model, first.moments)
        fitted = Fitted(solution.model, solution.moments, before, anchor_graph)
        if twin is not None:
            free = self._solve_free(twin, problem, warm)
            fitted.scale_rows(twin)
            kept = [assortativity(rows, settings.n_clusters) for rows in (subset, twin)]
            needed = SLIGHTLY if kept[0] < LOOSE else CLEARLY
            if kept[1] >= kept[0] + needed:
                return self._extend_free(subset, problem, free)
        return self._extend(subset, problem, fitted, solution)

    def _subsample(self, n_rows: int) -> Engine:
        """The rows for starts and anchors; a copy where the engine moves labels in batches."""
        is_apart = self.schedule.batches is not None
        return self.engine.subsample(n_rows, self.rng, is_apart=is_apart)

    def _extend(
        self, subset: Engine, problem: Problem, fitted: Fitted, solution: Solution
    ) -> tuple[Solution, Fitted]:
        """Refine a solution on the smoothed rows of a subset with those of all samples."""
        if subset is self.engine:
            return solution, fitted
        subset.release()
        fitted.scale_rows(self.engine)
        smoothed = _build_smoothed(self.engine, self.settings, problem)
        solution = self._refine(smoothed, solution)
        return solution, replace(fitted, model=solution.model, moments=solution.moments)

    def _solve_free(self, engine: Engine, problem: Problem, schedule: Schedule) -> Solution:
        """Clusters of any size, from stashed labels: strong coupling, and a prior on the sizes.

        Unsmoothed, since a small cluster is hardly a neighborhood.
        """
        free = self._build_free(engine, problem)
        engine.map_reduce(store_scaled)
        chosen = replace(schedule, n_init=schedule.n_warm, size_prior=SIZE_PRIOR)
        return solve(engine, free, chosen, self.rng, self.on_step)

    def _extend_free(
        self, subset: Engine, problem: Problem, solution: Solution
    ) -> tuple[Solution, Fitted]:
        """Label all samples by a solution of `_solve_free`, and refine it if there are more."""
        if subset is self.engine:
            fitted = Fitted(solution.model, solution.moments)
            own = fitted.scale_rows(self.engine)
            self.engine.map_reduce(predict, own.model, own.moments)
            return solution, fitted
        subset.release()
        solution = self._refine(self._build_free(self.engine, problem), solution)
        return solution, Fitted(solution.model, solution.moments)

    def _build_free(self, engine: Engine, problem: Problem) -> Problem:
        """The problem on unsmoothed rows, with strong coupling."""
        n_present = apply_scalings(engine, problem.scalings, problem.n_present)
        strong = replace(self.settings, lam=FREE_COUPLING * self.settings.lam)
        free = measure_problem(engine, strong, problem.scalings, n_present)
        return replace(free, dims=problem.dims)

    def _refine(self, problem: Problem, solution: Solution) -> Solution:
        schedule = replace(self.schedule, stop_early=True)
        return refine(self.engine, problem, solution, schedule, self.rng, self.on_step)


@dataclass(frozen=True)
class NarrowRows:
    """Rows in coordinates of their row spaces, and the problem on them.

    A fit runs on them as on any rows; its result is lifted to the features, so that new samples are
    scaled, projected and explained as ever.
    """

    engine: Engine
    problem: Problem
    given: Problem  # on the features
    spaces: list[RowSpace | None]  # of each scaled view; None: its columns are kept

    def lifting(self, on_step: OnStep) -> OnStep:
        """What is notified of steps, with models in terms of the features."""

        def notify(progress: Progress) -> None:
            model = progress.model
            on_step(replace(progress, find_model=lambda: self._lift_model(model)))

        return notify

    def lift(self, engine: Engine, solution: Solution, fitted: Fitted) -> tuple[Solution, Fitted]:
        """The result of a fit in terms of the features, whose engine gets its labels."""
        graph = fitted.anchor_graph
        if graph is None:
            engine.put_labels(self.engine.gather("labels"))
            model = self._lift_model(solution.model)
            return replace(solution, model=model), replace(fitted, model=model)
        assert fitted.first is not None
        engine.take_rows(self.engine)  # smoothed
        model = self._lift_model(solution.model)
        first = replace(fitted.first, model=self._lift_model(fitted.first.model))
        lifts = tuple(
            L if space is None else _lift_later(space, np.asarray(L))
            for space, L in zip(self.spaces, graph.lifts, strict=True)
        )
        fitted = replace(fitted, model=model, first=first, anchor_graph=replace(graph, lifts=lifts))
        return replace(solution, model=model), fitted

    def _lift_model(self, model: Model) -> Model:
        """A model in terms of the features; of smoothed rows, in those of their tables."""
        if model.problem.scalings[0].is_smoothed:
            scalings = tuple(replace(scaling, is_smoothed=True) for scaling in self.given.scalings)
            return replace(model, problem=replace(model.problem, scalings=scalings))
        bases = tuple(
            H if space is None else _polish(space.lift(H), model.problem.dims)
            for space, H in zip(self.spaces, model.bases, strict=True)
        )
        means = self.given.means
        problem = replace(model.problem, scalings=self.given.scalings, means=means)
        return replace(model, bases=bases, problem=problem)


def narrow_rows(engine: Engine, problem: Problem) -> NarrowRows | None:
    """The rows of an engine that holds scaled ones, narrow; None if no view is wide.

    A view keeps its columns if products subtract its mean, or if it has fewer dimensions than a
    space.
    """
    n, widths = engine.n_samples, [len(mean) for mean in problem.means]
    wanted = [
        is_wide(n, d) and not is_far for d, is_far in zip(widths, problem.is_far, strict=True)
    ]
    if not any(wanted):
        return None
    spaces = find_row_spaces(engine, wanted, least_rank=max(problem.dims))
    if all(space is None for space in spaces):
        return None
    narrow, scalings = narrow_engine(engine, spaces, problem.scalings)
    n_present = apply_scalings(narrow, scalings, problem.n_present)
    totals = narrow.map_reduce(measure).arrays
    n_views = len(scalings)
    pairs = zip(totals[:n_views], totals[n_views], strict=True)
    means = tuple(total / max(count, TINY) for total, count in pairs)
    narrow.map_reduce(set_baselines, means, problem.is_far)
    own = replace(problem, scalings=scalings, means=means, n_present=n_present)
    return NarrowRows(narrow, own, problem, spaces)


def _lift_later(space: RowSpace, L: FloatArray) -> FloatArray | Lift:
    """L in terms of the features; files may be gone when it is needed."""
    return Lift(space, L) if space.is_in_memory else space.lift(L)


def _polish(bases: FloatArray, dims: Sequence[int]) -> FloatArray:
    """Bases of all spaces, orthonormal again where rounding left something: a Newton step each."""
    parts = np.split(bases, np.cumsum(dims)[:-1], axis=1)
    return np.hstack([1.5 * H - 0.5 * H @ (H.T @ H) for H in parts])


def _build_smoothed(engine: Engine, settings: Settings, problem: Problem) -> Problem:
    """The problem on smoothed rows, where no view is missing."""
    scalings = tuple(replace(scaling, is_smoothed=True) for scaling in problem.scalings)
    return measure_problem(engine, settings, scalings, n_present=np.array([float(len(scalings))]))


def n_effective(sizes: FloatArray) -> float:
    """Exponential of the entropy of the sizes: k, if all k are equal."""
    shares = sizes[sizes > 0] / sizes.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


def count_subset(n_samples: int, n_clusters: int) -> int:
    """Size of the subset for starts and anchors."""
    return min(n_samples, max(SAMPLE_ROWS, ROWS_PER_CLUSTER * n_clusters))


def memory_check(
    n_samples: int, n_features: tuple[int, ...], itemsize: int, limit: float | None
) -> Check:
    """Check that refuses a fit in memory beyond a limit in bytes."""

    def check(problem: Problem, n_anchors: int) -> None:
        n_subset = count_subset(n_samples, problem.n_clusters)
        sizes = (problem.dims, problem.n_scalings, n_anchors)
        footprint = Footprint(n_samples, n_subset, n_features, itemsize, *sizes)
        needed = footprint.bytes_held(rows_per_block(footprint.view_row))
        if limit is not None and needed > limit:
            msg = (
                f"The fit needs about {needed / 1e6:.0f} MB in addition to the views; memory_limit "
                f"allows {limit / 1e6:.0f} MB. Raise it, use smaller latent_dims, or pass "
                "engine='stream'."
            )
            raise MemoryLimitError(msg)

    return check
