"""Online learning: each batch is labelled, updates the model, and is discarded.

Label updates use the statistics of all samples so far; the bases are the polar factors of X'ᵀ Z
summed over all batches, where earlier batches contribute the z of their time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.random import Generator

from manyview.engines import Engine
from manyview.kernels.statistics import ArraySums
from manyview.solver.description import sum_clusters
from manyview.solver.inference import Fitted
from manyview.solver.problem import measure
from manyview.solver.updates import (
    accumulate,
    cluster_moments,
    predict,
    project,
    shrinkage,
    update_alpha,
    update_H,
    update_Y,
)


@dataclass(frozen=True)
class BatchTotals:
    """Sums over past batches, in addition to their cluster moments."""

    cross: ArraySums  # scaled view: (d_v, D), Σ_batches X'ᵀ Z
    totals: ArraySums  # sums of the rows of each cluster, from `sum_clusters`
    n_samples: int
    unit: float = 1.0  # of the sample weights, given with the first batch


def begin_batches(engine: Engine, fitted: Fitted, unit: float) -> BatchTotals:
    """Sums over the first batch, whose rows are in the engine, scaled as in the fit."""
    engine.map_reduce(predict, fitted.model, fitted.moments, fitted.least_weight)
    cross = engine.map_reduce(accumulate, shrinkage(fitted.moments, fitted.model))
    totals = engine.map_reduce(sum_clusters, fitted.model.problem)
    return BatchTotals(cross, totals, engine.n_samples, unit)


def learn(
    engine: Engine, fitted: Fitted, seen: BatchTotals, rng: Generator
) -> tuple[Fitted, BatchTotals]:
    """Update the model with the rows of an engine, scaled as in the fit."""
    model, before = fitted.model, fitted.moments
    *_, view_sum_squares, weight, _ = engine.map_reduce(measure).arrays
    total = model.problem.weight + float(weight)
    problem = replace(
        model.problem,
        weight=total,
        lam=model.problem.lam * model.problem.weight / total,  # λ depends on the number of samples
        view_sum_squares=model.problem.view_sum_squares + view_sum_squares,
    )
    model = replace(model, problem=problem)
    engine.map_reduce(predict, model, before, fitted.least_weight)
    moments = before + engine.map_reduce(cluster_moments, model)
    seed = int(rng.integers(2**31))
    moments, _, _ = engine.scan(update_Y, (moments.copy(), 0, 0), seed, model)
    cross = seen.cross + engine.map_reduce(accumulate, shrinkage(moments, model))
    model = update_H(cross, model)
    totals = seen.totals + engine.map_reduce(sum_clusters, problem)
    moments = before + engine.map_reduce(project, model)
    model = update_alpha(moments, model)
    fitted = replace(fitted, model=model, moments=moments)
    return fitted, BatchTotals(cross, totals, seen.n_samples + engine.n_samples, seen.unit)
