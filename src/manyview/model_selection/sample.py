"""A subset of the rows in joint coordinates, and its reference, one blob of the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from manyview.data.views import MultiViewData
from manyview.engines import choose_engine
from manyview.model_selection.imputation import Completion, complete, cross, find_absent
from manyview.solver.initialization import begin
from manyview.solver.problem import Settings, build_problem, set_baselines
from manyview.utils.types import FloatArray

N_COORDINATES = 60
N_MIXED = 16  # rows in a linear combination: enough for it to be nearly normal
FEWEST_COMPLETE = 60  # samples with all views, and at least this share of the subset:
LEAST_COMPLETE = 1 / 3  # then the others, whose coordinates are estimated, can be left out
TINY = float(np.finfo(np.float64).tiny)
LOST = 1e-6  # of the largest singular value: below, a coordinate is rounding noise


@dataclass(frozen=True)
class Coordinates:
    """P = U Σ of all scaled views, concatenated; X_v ≈ P W_vᵀ."""

    points: FloatArray  # (n, D): P
    shares: tuple[FloatArray, ...]  # scaled view: (D, D), W_vᵀ W_v; they add up to the identity
    norms: tuple[FloatArray | None, ...]  # scaled view: (n,), or None without unit norms
    completion: Completion | None = None  # None if no row lacks a view

    def one_blob(self, rng: Generator) -> FloatArray:
        """Points of one blob with the mean and covariance of the rows, and the same scaling.

        A point is the mean plus a random linear combination of centered rows, computed before rows
        are scaled to unit norm: on the sphere even noise has a shape, which is not structure. It
        lacks the views that the row in its place lacks, and is completed in the same way.
        """
        n = len(self.points)
        rows = np.repeat(np.arange(n), N_MIXED)
        signs = rng.choice([-1.0, 1.0], n * N_MIXED) / np.sqrt(N_MIXED)
        mix = sparse.csr_array((signs, (rows, rng.integers(n, size=n * N_MIXED))), shape=(n, n))
        total = np.zeros_like(self.points)
        for v, (share, norm) in enumerate(zip(self.shares, self.norms, strict=True)):
            given = self.points if norm is None else self.points * norm[:, None]  # (n, D)
            mean = given.mean(axis=0)
            apart = given - mean
            has = np.ones(n, np.bool_) if self.completion is None else ~self.completion.absent[:, v]
            if not has.all():
                squares = np.einsum("ij,ij->i", apart @ share, apart)
                # a part that was estimated varies less than one that was seen
                apart = apart * np.sqrt(squares[has].mean() / max(squares.mean(), TINY))
            drawn = mean + mix @ apart
            part = drawn @ share
            if norm is not None:
                explained = np.einsum("ij,ij->i", given @ share, given)
                residual = np.maximum(np.square(norm) - explained, 0)[has].mean()
                square = np.einsum("ij,ij->i", part, drawn) + residual
                part /= np.sqrt(np.maximum(square, TINY))[:, None]
            total += part * has[:, None]
        return total if self.completion is None else self.completion.apply(total)


def draw_sample(
    data: MultiViewData, n_rows: int, rng: Generator, *, only_complete: bool = False
) -> MultiViewData:
    """At most `n_rows` samples; only those with all views, if wanted, or if they are as many."""
    if data.present is not None:
        data = _linked(data, data.present)
    chosen = np.arange(data.n_samples)
    if data.present is not None:
        whole = np.flatnonzero(data.present.all(axis=1))
        chosen = whole if only_complete or len(whole) >= n_rows else chosen
    if len(chosen) > n_rows:
        chosen = np.sort(rng.choice(chosen, n_rows, replace=False))
    return data if len(chosen) == data.n_samples else data[chosen]


def has_enough_complete(data: MultiViewData, n_rows: int, least: int = 0) -> bool:
    """Whether some samples lack views, and those that have all are enough to be used alone."""
    if data.present is None or data.present.all():
        return False
    n_whole = int(data.present.all(axis=1).sum())
    wanted = LEAST_COMPLETE * min(data.n_samples, n_rows)
    return n_whole >= max(FEWEST_COMPLETE, wanted, least)


def _linked(data: MultiViewData, present: NDArray[np.bool_]) -> MultiViewData:
    """The samples and views that are linked by samples with several views; the most samples.

    Between views that no sample links, no distance is known: they would look like clusters.
    """
    n_parts, part_of = connected_components(sparse.csr_array(present.T.astype(int) @ present))
    if n_parts == 1:
        return data
    own = part_of[present.argmax(axis=1)]  # (n,)
    largest = np.bincount(own, minlength=n_parts).argmax()
    names = [name for name, part in zip(data.view_names, part_of, strict=True) if part == largest]
    return data.in_order(names)[np.flatnonzero(own == largest)]


def locate(data: MultiViewData, scale: str | Sequence[str] | None, rng: Generator) -> Coordinates:
    """The leading joint coordinates of all rows, scaled as in the estimator."""
    engine = choose_engine("memory", "cpu", data)
    engine.load(data, None)
    widest = min(N_COORDINATES, data.n_samples)
    problem = build_problem(engine, Settings(1, 1.0, 1, (widest,), scale, 2.0), data.view_names)
    # no centering: with outlying rows, the start of a fit may subtract their mean, P does not
    engine.map_reduce(set_baselines, problem.means, (False,) * problem.n_scalings)
    beginning = begin(engine, problem, rng)
    P = beginning.coordinates
    squares = np.einsum("ij,ij->j", P, P)  # (D,)
    is_kept = squares > LOST**2 * squares.max()
    P, squares = P[:, is_kept], squares[is_kept]
    sample, kernels = beginning.sample, engine.kernels
    absent = find_absent(sample)
    completion = None
    if absent.any():
        P, bases, completion = complete(sample, kernels, P, absent, problem)
    else:
        bases = tuple(cross(sample, kernels, P / squares))
    norms = [
        _norms(np.concatenate([block.views[r].factor for block in sample]), absent[:, r])
        if scaling.has_unit_rows
        else None
        for r, scaling in enumerate(problem.scalings)
    ]
    return Coordinates(P, tuple(W.T @ W for W in bases), tuple(norms), completion)


def _norms(factor: FloatArray, absent: NDArray[np.bool_]) -> FloatArray:
    """Norms of rows, from the factors that make them one; the mean if a view is missing."""
    norms = np.divide(1.0, factor, out=np.zeros_like(factor), where=factor > 0)
    if absent.any() and not absent.all():
        norms[absent] = norms[~absent].mean()
    return norms
