"""A sample of the rows in a few joint coordinates, and what it would look like as one blob."""

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
N_MIXED = 16  # rows in a mix: enough for it to be normal
ENOUGH_COMPLETE = 200  # samples; where a view is missing, the sample lies astray
TINY = float(np.finfo(np.float64).tiny)
LOST = 1e-6  # of the largest singular value: below, a coordinate is rounding


@dataclass(frozen=True)
class Coordinates:
    """P = U Σ of all scaled views side by side; X_v = P W_vᵀ as far as P tells."""

    points: FloatArray  # (n, D): P
    shares: tuple[FloatArray, ...]  # scaled view: (D, D), W_vᵀ W_v; they add up to the identity
    norms: tuple[FloatArray | None, ...]  # scaled view: (n,), of rows made to unit norm; else None

    def one_blob(self, rng: Generator) -> FloatArray:
        """Points of one blob with the mean and covariance of the rows, read as these were.

        A point is the mean and a random mix of rows about it, made before rows get unit norm: on
        the sphere even noise has a shape of its own, which is no structure.
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
                told = np.einsum("ij,ij->i", given @ share, given)
                untold = np.maximum(np.square(norm) - told, 0).mean()
                square = np.einsum("ij,ij->i", part, drawn) + untold
                part /= np.sqrt(np.maximum(square, TINY))[:, None]
            total += part
        return total


def draw_sample(data: MultiViewData, n_rows: int, rng: Generator) -> MultiViewData:
    """At most `n_rows` samples; only those with all views, where these are enough."""
    chosen = np.arange(data.n_samples)
    if data.present is not None and data.present.all(axis=1).sum() >= ENOUGH_COMPLETE:
        chosen = np.flatnonzero(data.present.all(axis=1))
    if len(chosen) > n_rows:
        chosen = np.sort(rng.choice(chosen, n_rows, replace=False))
    return data if len(chosen) == data.n_samples else data[chosen]


def locate(data: MultiViewData, scale: str | Sequence[str] | None, rng: Generator) -> Coordinates:
    """The leading coordinates of all rows, read as the estimator reads them."""
    engine = choose_engine("memory", "cpu", data)
    engine.load(data, None)
    widest = min(N_COORDINATES, data.n_samples)
    problem = build_problem(engine, Settings(1, 1.0, 1, (widest,), scale, 2.0), data.view_names)
    # rows as they are: where some lie far off, the start of a fit may take their mean off, P not
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
    """Norms of rows by the factors that make them one; 0 where a view is missing."""
    assert factor is not None
    return np.divide(1.0, factor, out=np.zeros_like(factor), where=factor > 0)
