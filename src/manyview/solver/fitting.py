"""A whole fit: the alternation on the views and, with smoothing, again on smoothed rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from manyview.engines import Engine, rows_per_block
from manyview.solver.alternation import Schedule, refine, solve
from manyview.solver.anchor_graph import count_anchors, fit_anchor_graph
from manyview.solver.footprint import Footprint
from manyview.solver.inference import Fitted
from manyview.solver.model import Solution
from manyview.solver.problem import Problem, Settings, build_problem, measure_problem, rebuild_on
from manyview.solver.progress import OnStep
from manyview.solver.scaled_rows import find_scalings, store_scaled

# of λ: with weak coupling all spaces have weight, and neighbors do not depend on the first labels
FIRST_COUPLING = 0.05
FIRST_ITERATIONS = 3  # neighbors hardly change later
INITIAL_SWEEPS = 3  # before the iterations: enough to compare starts
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
    if n_anchors == 0:
        problem = build_problem(engine, settings, view_names)
        check(problem, 0)
        schedule = replace(schedule, over_relax=True)
        subset = engine.subsample(n_subset, rng)
        if subset is engine:
            solution = solve(engine, problem, schedule, rng, on_step)
        else:
            coarse = solve(subset, rebuild_on(subset, settings, problem), schedule, rng, on_step)
            solution = refine(engine, problem, coarse, schedule, rng, on_step)
        return solution, Fitted(solution.model, solution.moments)
    subset = engine.subsample(n_subset, rng)
    scalings = find_scalings(engine, subset, settings.scale, len(view_names))
    weak = replace(settings, lam=FIRST_COUPLING * settings.lam)
    problem = build_problem(subset, weak, view_names, scalings)
    check(problem, n_anchors)
    subset.map_reduce(store_scaled)
    short = replace(schedule, initial_sweeps=INITIAL_SWEEPS)
    most = min(schedule.max_iter, FIRST_ITERATIONS)
    once = replace(short, n_init=1, max_iter=most, final_sweeps=1)
    first = solve(subset, problem, once, rng, on_step)
    before = Fitted(first.model, first.moments)
    anchor_graph = fit_anchor_graph(subset, first.model, n_anchors, rng)
    smoothed = _build_smoothed(subset, settings, problem)
    solution = solve(subset, smoothed, replace(short, n_warm=2, stop_early=True), rng, on_step)
    fitted = Fitted(solution.model, solution.moments, before, anchor_graph)
    if subset is engine:
        return solution, fitted
    fitted.scale_rows(engine)
    smoothed = _build_smoothed(engine, settings, problem)
    solution = refine(engine, smoothed, solution, replace(schedule, stop_early=True), rng, on_step)
    return solution, replace(fitted, model=solution.model, moments=solution.moments)


def _build_smoothed(engine: Engine, settings: Settings, problem: Problem) -> Problem:
    """The problem on smoothed rows, where no view is missing."""
    scalings = tuple(replace(scaling, is_smoothed=True) for scaling in problem.scalings)
    return measure_problem(engine, settings, scalings, n_present=np.array([float(len(scalings))]))


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
            raise MemoryError(msg)

    return check
