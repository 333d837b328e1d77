"""A whole fit: the alternation on the views and, where asked for, once more on mixed rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from manyview.engines import Engine
from manyview.solver.alternation import Schedule, solve
from manyview.solver.inference import Fitted
from manyview.solver.problem import Settings, state
from manyview.solver.smoothing import N_NEAREST, count_anchors, look_around
from manyview.solver.state import OnStep, Problem, Solution

__all__ = ["check_memory", "fit"]

FIRST_PULL = 0.2  # of λ: at weak pull all spaces count, and neighbors are not drawn to one cluster


def fit(
    engine: Engine,
    problem: Problem,
    settings: Settings,
    schedule: Schedule,
    rng: Generator,
    on_step: OnStep,
) -> tuple[Solution, Fitted]:
    """Solve a problem; with `settings.smooth`, find neighbors by one start, then solve on mixes."""
    k = settings.n_clusters
    n_anchors = count_anchors(engine.n_samples, k) if settings.smooth else 0
    if n_anchors == 0:
        solution = solve(engine, problem, schedule, rng, on_step)
        return solution, Fitted(solution.model, solution.moments)
    weak = replace(problem, lam=FIRST_PULL * problem.lam)
    first = solve(engine, weak, replace(schedule, n_init=1), rng, on_step)
    neighborhood = look_around(engine, first.model, n_anchors, rng)
    readings = tuple(replace(reading, is_mixed=True) for reading in problem.readings)
    mixed = state(engine, settings, readings, levels=np.array([float(len(readings))]))
    solution = solve(engine, mixed, schedule, rng, on_step)
    before = Fitted(first.model, first.moments)
    return solution, Fitted(solution.model, solution.moments, before, neighborhood)


def check_memory(problem: Problem, n_samples: int, itemsize: int, limit: float | None) -> None:
    """Refuse what would exceed a limit in bytes: projections and mixes grow with the samples."""
    mixes = N_NEAREST * (itemsize + 4)
    needed = n_samples * (sum(problem.dims) * itemsize + mixes + 20)
    if limit is not None and needed > limit:
        msg = (
            f"The fit needs about {needed / 1e6:.0f} MB beside the views; memory_limit allows "
            f"{limit / 1e6:.0f} MB. Raise it, or ask for smaller latent_dims."
        )
        raise MemoryError(msg)
