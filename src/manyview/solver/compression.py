"""Wide views in fewer coordinates: the same alternation, with bases from the span of Q_v.

Q_v (d_v, r) holds leading directions of a view. Bases H = Q G have X H = (X Q) G, so that G on the
rows X Q, with the energies of X, has the F of H on the rows X. An iteration costs r / d_v as much;
a few on the views themselves then free the bases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy import sparse

from manyview.blocks import Block, FloatArray, Sums, ViewRows
from manyview.engines import Engine
from manyview.kernels import Kernels
from manyview.solver.initialization import cross
from manyview.solver.problem import read_as
from manyview.solver.state import Problem, Solution
from manyview.threads import limit_blas

__all__ = ["Compression", "compress_rows", "find_directions"]

TIMES_LARGEST = 3  # coordinates of a view, over the dimension of the largest space
WORTHWHILE = 0.5  # coordinates of all views, over their features, at most


@dataclass(frozen=True)
class Compression:
    """Leading directions of each view, orthonormal; None where a view stays as it is."""

    directions: tuple[FloatArray | None, ...]  # v: (d_v, r)

    def apply(self, engine: Engine, problem: Problem) -> Problem:
        """Turn the rows of an engine into coordinates; the problem there."""
        engine.map_reduce(compress_rows, self.directions)
        means = (
            mean if Q is None else mean @ Q
            for mean, Q in zip(problem.means, self.directions, strict=True)
        )
        return replace(problem, means=tuple(means))

    def undo(self, engine: Engine, problem: Problem, solution: Solution) -> Solution:
        """Read the views themselves again; the same solution there."""
        read_as(engine, problem.readings, problem.levels)
        bases = (
            G if Q is None else Q @ G
            for G, Q in zip(solution.model.bases, self.directions, strict=True)
        )
        return replace(solution, model=replace(solution.model, problem=problem, bases=tuple(bases)))


def find_directions(few: Engine, problem: Problem, rng: Generator) -> Compression | None:
    """Directions from some of the rows by one step of subspace iteration; None where none pay."""
    widths = [len(mean) for mean in problem.means]
    r = TIMES_LARGEST * max(problem.dims)
    sample = few.sample(few.n_samples, rng)  # all of them
    is_plain = len(problem.levels) == 1 and problem.levels[0] == problem.n_readings
    is_dense = not any(isinstance(view.values, sparse.csr_array) for view in sample[0].views)
    is_narrower = sum(min(r, d) for d in widths) <= WORTHWHILE * sum(widths)
    if not (is_plain and is_dense and is_narrower) or any(problem.is_far) or few.n_samples < r:
        return None
    found = cross(sample, few.kernels, rng.standard_normal((few.n_samples, r)))
    return Compression(
        tuple(
            None if d <= r else _power_step(sample, few.kernels, v, C)
            for v, (d, C) in enumerate(zip(widths, found, strict=True))
        )
    )


def compress_rows(
    block: Block, kernels: Kernels, directions: Sequence[FloatArray | None]
) -> tuple[Block, Sums]:
    """X_v Q_v in place of X_v, row factors included."""
    views = tuple(
        view if Q is None else ViewRows(kernels.project([view], [Q]))
        for view, Q in zip(block.views, directions, strict=True)
    )
    return replace(block, views=views), Sums(())


def _power_step(sample: Sequence[Block], kernels: Kernels, v: int, C: FloatArray) -> FloatArray:
    """Orthonormal basis of X_vᵀ X_v C: (d_v, r)."""
    with limit_blas(1):
        Q, _ = np.linalg.qr(C)
    total = np.zeros_like(C)
    for block in sample:
        views = [block.views[v]]
        total += kernels.accumulate(views, kernels.project(views, [Q])).arrays[0]
    with limit_blas(1):
        Q, _ = np.linalg.qr(total)
    return np.asarray(Q)
