"""A whole fit: the alternation on the views and, where asked for, once more on mixed rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from manyview.engines import Engine, rows_per_block
from manyview.solver.alternation import Schedule, polish, solve
from manyview.solver.footprint import Footprint
from manyview.solver.inference import Fitted
from manyview.solver.problem import Settings, find_readings, pose, read_and_state, restate, state
from manyview.solver.smoothing import count_anchors, look_around
from manyview.solver.state import OnStep, Problem, Solution

__all__ = ["Check", "count_few", "fit", "memory_check"]

FIRST_PULL = 0.2  # of λ: at weak pull all spaces count, and neighbors are not drawn to one cluster
FIRST_ITERATIONS = 3  # neighbors hardly change later
FIRST_SWEEPS = 3  # before the iterations: enough to tell a good start from a bad one
SAMPLE_ROWS = 10_000  # neighbors are found, and starts are made, on so many,
ROWS_PER_CLUSTER = 10  # and on no fewer for each cluster

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
    n_few = count_few(engine.n_samples, settings.n_clusters)
    n_anchors = count_anchors(n_few, settings.n_clusters) if settings.smooth else 0
    if n_anchors == 0:
        problem = pose(engine, settings, view_names)
        check(problem, 0)
        schedule = replace(schedule, strides=True)
        few = engine.subsample(n_few, rng)
        if few is engine:
            solution = solve(engine, problem, schedule, rng, on_step)
        else:
            coarse = solve(few, restate(few, settings, problem), schedule, rng, on_step)
            solution = polish(engine, problem, coarse, schedule, rng, on_step)
        return solution, Fitted(solution.model, solution.moments)
    readings = find_readings(engine, settings.scale, len(view_names))
    few = engine.subsample(n_few, rng)
    weak = replace(settings, lam=FIRST_PULL * settings.lam)
    problem = read_and_state(few, weak, readings, view_names)
    check(problem, n_anchors)
    short = replace(schedule, first_sweeps=FIRST_SWEEPS)
    most = min(schedule.max_iter, FIRST_ITERATIONS)
    once = replace(short, n_init=1, max_iter=most, last_sweeps=1)
    first = solve(few, problem, once, rng, on_step)
    before = Fitted(first.model, first.moments)
    neighborhood = look_around(few, first.model, n_anchors, rng)
    mixed = _state_mixed(few, settings, problem)
    solution = solve(few, mixed, replace(short, keeps_labels=True, is_brisk=True), rng, on_step)
    fitted = Fitted(solution.model, solution.moments, before, neighborhood)
    if few is engine:
        return solution, fitted
    fitted.read(engine)
    mixed = _state_mixed(engine, settings, problem)
    solution = polish(engine, mixed, solution, replace(schedule, is_brisk=True), rng, on_step)
    return solution, replace(fitted, model=solution.model, moments=solution.moments)


def _state_mixed(engine: Engine, settings: Settings, problem: Problem) -> Problem:
    """The problem on mixed rows: no sample lacks a view."""
    readings = tuple(replace(reading, is_mixed=True) for reading in problem.readings)
    return state(engine, settings, readings, levels=np.array([float(len(readings))]))


def count_few(n_samples: int, n_clusters: int) -> int:
    """Samples that starts are made on, and neighbors found among."""
    return min(n_samples, max(SAMPLE_ROWS, ROWS_PER_CLUSTER * n_clusters))


def memory_check(
    n_samples: int, n_features: tuple[int, ...], itemsize: int, limit: float | None
) -> Check:
    """Refuse a fit in memory that would exceed a limit in bytes."""

    def check(problem: Problem, n_anchors: int) -> None:
        n_few = count_few(n_samples, problem.n_clusters)
        sizes = (problem.dims, problem.n_readings, n_anchors)
        footprint = Footprint(n_samples, n_few, n_features, itemsize, *sizes)
        needed = footprint.bytes_held(rows_per_block(footprint.view_row))
        if limit is not None and needed > limit:
            msg = (
                f"The fit needs about {needed / 1e6:.0f} MB beside the views; memory_limit allows "
                f"{limit / 1e6:.0f} MB. Raise it, ask for smaller latent_dims, or pass "
                "engine='stream'."
            )
            raise MemoryError(msg)

    return check
