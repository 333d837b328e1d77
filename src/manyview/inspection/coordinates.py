"""Coordinates of samples that no label has touched: those from which a fit starts.

The views are scaled as in the fit, but neither smoothed nor shrunk towards clusters, both of which
would separate any clusters, even those of noise. The bases come from a truncated SVD of a subset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.engines import Engine, choose_engine
from manyview.kernels import Kernels
from manyview.kernels.block import Block
from manyview.kernels.statistics import ArraySums
from manyview.solver.inference import Fitted
from manyview.solver.initialization import begin
from manyview.solver.outliers import unsmoothed_problem
from manyview.solver.problem import Problem, set_baselines
from manyview.solver.scaled_rows import apply_scalings
from manyview.utils.types import FloatArray

PIECE_ROWS = 8192
N_AXES_ROWS = 1000  # samples whose SVD gives the bases
FEWEST_JOINT, MOST_JOINT = 10, 50  # principal components of all views
PER_CLUSTER = 2  # of them; more would be noise
SPARE = 10  # coordinates beside those that are kept as principal components
LOST = 1e-6  # of the largest singular value: below, a coordinate is rounding noise


def row_pieces(rows: NDArray[np.intp]) -> Iterator[Any]:
    """Pieces of sorted positions."""
    for start in range(0, len(rows), PIECE_ROWS):
        yield _as_slice(rows[start : start + PIECE_ROWS])


def _as_slice(rows: NDArray[np.intp]) -> Any:
    """Sorted positions as a slice, which avoids a copy, if they are contiguous."""
    is_run = rows[-1] - rows[0] + 1 == len(rows)
    return slice(int(rows[0]), int(rows[-1]) + 1) if is_run else rows


def joint_coordinates(fitted: Fitted, data: MultiViewData, rows: NDArray[np.intp]) -> FloatArray:
    """Leading principal components of some samples by all of their views: (rows, D)."""
    problem = unsmoothed_problem(fitted)
    n_kept = int(np.clip(PER_CLUSTER * problem.n_clusters, FEWEST_JOINT, MOST_JOINT))
    return principal_components(_coordinates(problem, data, rows, n_kept + SPARE), n_kept)


def view_coordinates(
    fitted: Fitted, data: MultiViewData, v: int, rows: NDArray[np.intp]
) -> FloatArray:
    """The two principal components of samples by one view, which they have: (rows, 2)."""
    alone = replace(
        data,
        views=data.views[v : v + 1],
        view_names=data.view_names[v : v + 1],
        feature_names=data.feature_names[v : v + 1],
        present=None,
    )
    problem = _of_view(unsmoothed_problem(fitted), v)
    return principal_components(_coordinates(problem, alone, rows, 2 + SPARE), 2)


def principal_components(X: FloatArray, n_wanted: int) -> FloatArray:
    """The first principal components of the rows; zeros where there are fewer: (n, n_wanted)."""
    centered = X - X.mean(axis=0)
    _, axes = np.linalg.eigh(centered.T @ centered)
    wanted = np.zeros((X.shape[1], n_wanted))
    wanted[:, : X.shape[1]] = axes[:, ::-1][:, :n_wanted]
    return np.asarray(centered @ wanted)


def _of_view(problem: Problem, v: int) -> Problem:
    """The part of a problem that concerns one view."""
    own = [r for r, scaling in enumerate(problem.scalings) if scaling.view == v]
    return replace(
        problem,
        scalings=tuple(replace(problem.scalings[r], view=0) for r in own),
        means=tuple(problem.means[r] for r in own),
        view_sum_squares=problem.view_sum_squares[own],
        is_far=tuple(problem.is_far[r] for r in own),
        n_present=np.array([float(len(own))]),
    )


def _coordinates(
    problem: Problem, data: MultiViewData, rows: NDArray[np.intp], n_most: int
) -> FloatArray:
    """Mean over the present views of the centered rows in the bases: (rows, at most n_most)."""
    rng = np.random.default_rng(0)
    subset = np.sort(rng.permutation(rows)[:N_AXES_ROWS])
    engine, own = _load(data[_as_slice(subset)], problem)
    n_features = sum(len(mean) for mean in problem.means)
    own = replace(own, n_clusters=1, dims=(min(n_most, len(subset), n_features),))
    beginning = begin(engine, own, rng)
    squares = np.einsum("ij,ij->j", beginning.coordinates, beginning.coordinates)  # (D,)
    n_kept = max(1, int(np.count_nonzero(squares > LOST**2 * squares.max())))
    bases = tuple(H[:, :n_kept] for H in beginning.model.bases)
    middles = tuple(mean @ H for mean, H in zip(problem.means, bases, strict=True))
    found = np.empty((len(rows), n_kept))
    end = 0
    for piece in row_pieces(rows):
        engine, own = _load(data[piece], problem)
        engine.map_reduce(_project_centered, bases, middles, own.n_present)
        part = engine.gather("projection")
        end += len(part)
        found[end - len(part) : end] = part
    return found


def _load(data: MultiViewData, problem: Problem) -> tuple[Engine, Problem]:
    """An engine with rows scaled as in the fit, and the problem in their groups."""
    engine = choose_engine("memory", "cpu", data)
    engine.load(data, None)
    n_present = apply_scalings(engine, problem.scalings)
    is_complete = len(n_present) == 1 and n_present[0] == problem.n_scalings
    is_far = problem.is_far if is_complete else (False,) * problem.n_scalings
    engine.map_reduce(set_baselines, problem.means, is_far)
    return engine, replace(problem, n_present=n_present, is_far=is_far)


def _project_centered(
    block: Block,
    kernels: Kernels,
    bases: tuple[FloatArray, ...],
    middles: tuple[FloatArray, ...],
    n_present: FloatArray,
) -> tuple[Block, ArraySums]:
    """Σ_v H_vᵀ (x_vi − x̄_v) / u_i over the present views: a missing view moves no sample."""
    b = np.asarray(kernels.project(block.views, bases), dtype=np.float64)  # (rows, D)
    for view, middle in zip(block.views, middles, strict=True):
        if view.baseline is None:  # else the products have subtracted it
            has_it = 1.0 if view.factor is None else (view.factor > 0)[:, None]
            b -= has_it * middle
    b /= n_present[block.group][:, None]
    return replace(block, projection=b), ArraySums(())
