"""A subset of the rows in joint coordinates, and its reference, one blob of the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy import sparse

from manyview.data.views import MultiViewData
from manyview.engines import choose_engine
from manyview.solver.initialization import begin
from manyview.solver.problem import Settings, build_problem, set_baselines
from manyview.utils.types import FloatArray

N_COORDINATES = 60
N_MIXED = 16  # rows in a linear combination: enough for it to be nearly normal
ENOUGH_COMPLETE = 200  # samples; those with missing views have distorted coordinates
TINY = float(np.finfo(np.float64).tiny)
LOST = 1e-6  # of the largest singular value: below, a coordinate is rounding noise


@dataclass(frozen=True)
class Coordinates:
    """P = U Σ of all scaled views, concatenated; X_v ≈ P W_vᵀ."""

    points: FloatArray  # (n, D): P
    shares: tuple[FloatArray, ...]  # scaled view: (D, D), W_vᵀ W_v; they add up to the identity
    norms: tuple[FloatArray | None, ...]  # scaled view: (n,), or None without unit norms

    def one_blob(self, rng: Generator) -> FloatArray:
        """Points of one blob with the mean and covariance of the rows, and the same scaling.

        A point is the mean plus a random linear combination of centered rows, computed before rows
        are scaled to unit norm: on the sphere even noise has a shape, which is not structure.
        """
        n = len(self.points)
        rows = np.repeat(np.arange(n), N_MIXED)
        signs = rng.choice([-1.0, 1.0], n * N_MIXED) / np.sqrt(N_MIXED)
        mix = sparse.csr_array((signs, (rows, rng.integers(n, size=n * N_MIXED))), shape=(n, n))
        total = np.zeros_like(self.points)
        for share, norm in zip(self.shares, self.norms, strict=True):
            given = self.points if norm is None else self.points * norm[:, None]  # (n, D)
            mean = given.mean(axis=0)
            drawn = mean + mix @ (given - mean)
            part = drawn @ share
            if norm is not None:
                explained = np.einsum("ij,ij->i", given @ share, given)
                residual = np.maximum(np.square(norm) - explained, 0).mean()
                square = np.einsum("ij,ij->i", part, drawn) + residual
                part /= np.sqrt(np.maximum(square, TINY))[:, None]
            total += part
        return total


def draw_sample(data: MultiViewData, n_rows: int, rng: Generator) -> MultiViewData:
    """At most `n_rows` samples; only those with all views, if there are enough."""
    chosen = np.arange(data.n_samples)
    if data.present is not None and data.present.all(axis=1).sum() >= ENOUGH_COMPLETE:
        chosen = np.flatnonzero(data.present.all(axis=1))
    if len(chosen) > n_rows:
        chosen = np.sort(rng.choice(chosen, n_rows, replace=False))
    return data if len(chosen) == data.n_samples else data[chosen]


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
    P = P[:, is_kept]
    ends = np.cumsum([len(block.labels) for block in beginning.sample])
    parts = np.split(P / squares[is_kept], ends[:-1])
    kernels = engine.kernels
    crosses = [
        kernels.accumulate(block.views, kernels.asarray(part, like=block.projection)).arrays
        for block, part in zip(beginning.sample, parts, strict=True)
    ]
    loadings = [
        np.sum(cross, axis=0) for cross in zip(*crosses, strict=True)
    ]  # scaled view: (d_v, D)
    norms = [
        np.concatenate([_norms(block.views[r].factor) for block in beginning.sample])
        if scaling.has_unit_rows
        else None
        for r, scaling in enumerate(problem.scalings)
    ]
    return Coordinates(P, tuple(W.T @ W for W in loadings), tuple(norms))


def _norms(factor: FloatArray | None) -> FloatArray:
    """Norms of rows, from the factors that make them one; 0 if a view is missing."""
    assert factor is not None
    return np.divide(1.0, factor, out=np.zeros_like(factor), where=factor > 0)
