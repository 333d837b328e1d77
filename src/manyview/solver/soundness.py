"""Whether a fit from outside holds together: the kernels do not look where an index leads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manyview.readings import Reading
from manyview.solver.inference import Fitted
from manyview.solver.smoothing import N_NEAREST, Neighborhood
from manyview.solver.state import Model

__all__ = ["has_sound_shapes"]


def has_sound_shapes(fitted: Fitted, widths: Sequence[int]) -> bool:
    """Whether all arrays of a fit have the shapes that views of these widths lead to."""
    problem, first, neighborhood = fitted.model.problem, fitted.first, fitted.neighborhood
    if not all(_is_reading_sound(reading, widths) for reading in problem.readings):
        return False
    read = [widths[reading.view] for reading in problem.readings]  # width of each reading
    if first is not None and neighborhood is not None:
        if first.first is not None or not has_sound_shapes(first, widths):
            return False
        if not _are_neighbors_sound(neighborhood, read, sum(first.model.problem.dims)):
            return False
        read = [table.shape[1] for table in neighborhood.tables]
    elif first is not None or neighborhood is not None:
        return False
    return _is_model_sound(fitted.model, read) and _are_moments_sound(fitted)


def _is_reading_sound(reading: Reading, widths: Sequence[int]) -> bool:
    """There is such a view, and what scales it has its width."""
    return 0 <= reading.view < len(widths) and all(
        part is None or part.shape == (widths[reading.view],)
        for part in (reading.scale, reading.offset)
    )


def _is_model_sound(model: Model, read: Sequence[int]) -> bool:
    """Bases and means fit the readings; there is at least one of each."""
    problem = model.problem
    m, V, D = len(problem.dims), len(read), sum(problem.dims)
    return (
        min(problem.n_clusters, m, V, len(problem.levels), *problem.dims) > 0
        and [H.shape for H in model.bases] == [(d, D) for d in read]
        and [mean.shape for mean in problem.means] == [(d,) for d in read]
        and model.alpha.shape == (m,)
        and problem.energies.shape == (V,)
        and len(problem.is_far) == V
        and problem.levels.ndim == 1
    )


def _are_moments_sound(fitted: Fitted) -> bool:
    """The moments are those of the clusters, spaces and groups of the problem."""
    problem, moments = fitted.model.problem, fitted.moments
    groups = (len(problem.levels), problem.n_clusters)
    return (
        np.array_equal(moments.starts, problem.starts)
        and moments.rows.shape == moments.count.shape == groups
        and moments.mean.shape == (*groups, sum(problem.dims))
        and moments.scatter.shape == (*groups, len(problem.dims))
    )


def _are_neighbors_sound(neighborhood: Neighborhood, read: Sequence[int], n_dims: int) -> bool:
    """Anchors lie among the first projections; tables and lifts share their coordinates."""
    anchors, tables, lifts = neighborhood.anchors, neighborhood.tables, neighborhood.lifts
    n = len(anchors)
    return (
        n > N_NEAREST
        and anchors.shape == (n, n_dims)
        and len(tables) == len(lifts) == len(read)
        and all(
            table.shape == (n, *lift.shape[1:]) for table, lift in zip(tables, lifts, strict=True)
        )
        and all(lift.ndim == 2 and len(lift) == d for lift, d in zip(lifts, read, strict=True))
    )
