"""Model and solution: small, immutable, float64."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manyview.kernels.statistics import ClusterMoments
from manyview.solver.problem import Problem
from manyview.utils.types import FloatArray


@dataclass(frozen=True)
class Model:
    """The parameters of the model: bases and space weights."""

    problem: Problem
    bases: tuple[FloatArray, ...]  # v: (d_v, D)
    alpha: FloatArray  # (m,)
    size_weight: float = 0.0  # τ, of the entropy of the sizes

    @cached_property
    def coupling(self) -> FloatArray:
        """g_p = λ α_p^γ: (m,)."""
        return self.problem.lam * self.alpha**self.problem.exponent

    @cached_property
    def near_shift(self) -> FloatArray:
        """The part of `shift` that the products have not subtracted yet: (D,)."""
        return self._mean_projection([not is_far for is_far in self.problem.is_far])

    @cached_property
    def shift(self) -> FloatArray:
        """Mean of b with all views, Σ_v H_vᵀ x̄_v / V; projections are stored without it: (D,)."""
        return self._mean_projection([True] * self.problem.n_scalings)

    def _mean_projection(self, is_counted: list[bool]) -> FloatArray:
        """Σ_v H_vᵀ x̄_v / V over the scaled views that are counted: (D,)."""
        parts = zip(self.problem.means, self.bases, is_counted, strict=True)
        total = sum(
            (mean @ H for mean, H, counts in parts if counts), np.zeros(sum(self.problem.dims))
        )
        return np.asarray(total) / self.problem.n_scalings


@dataclass(frozen=True)
class Solution:
    """Result of a start; the labels stay in the engine."""

    model: Model
    moments: ClusterMoments
    objective: float
    history: FloatArray  # F at the initialization, after each iteration, and after the final sweeps
    n_iter: int
    converged: bool
    start: int = 0  # which of the starts it came from
    stability: float = float("nan")  # agreement with the other starts
