"""What the solver holds and returns: small, immutable, float64."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from manyview.blocks import ClusterMoments, FloatArray, IntArray
from manyview.readings import Reading

logger = logging.getLogger("manyview.solver")

__all__ = ["Model", "OnStep", "Problem", "Progress", "Solution", "Step", "narrator"]


@dataclass(frozen=True)
class Problem:
    """Everything about the data and the settings that stays fixed during a fit."""

    n_clusters: int
    dims: tuple[int, ...]  # d_p of each space
    lam: float  # λ of the objective, absolute
    exponent: float  # γ
    readings: tuple[Reading, ...]
    means: tuple[FloatArray, ...]  # v: (d_v,), mean row of each reading
    energies: FloatArray  # (V,): Σ ω ‖x‖² of each reading
    is_far: tuple[bool, ...]  # v: whether the mean is taken off before the products
    weight: float  # Σ ω
    levels: FloatArray  # (G,): distinct numbers of readings present

    @property
    def n_readings(self) -> int:
        """V of the equations."""
        return len(self.readings)

    @property
    def reads_as_given(self) -> bool:
        """Whether the readings are the user's views, in their order."""
        return all(r.scaling is None and not r.is_mixed for r in self.readings)

    @property
    def energy(self) -> float:
        """Σ ω ‖x‖² over all readings."""
        return float(self.energies.sum())

    @property
    def starts(self) -> IntArray:
        """First column of each space: (m,)."""
        return np.concatenate([[0], np.cumsum(self.dims)[:-1]])

    def empty_moments(self) -> ClusterMoments:
        """Moments of no sample at all, in the right shapes."""
        G, k, m = len(self.levels), self.n_clusters, len(self.dims)
        return ClusterMoments(
            starts=self.starts,
            rows=np.zeros((G, k), dtype=np.int64),
            count=np.zeros((G, k)),
            mean=np.zeros((G, k, sum(self.dims))),
            scatter=np.zeros((G, k, m)),
        )


@dataclass(frozen=True)
class Model:
    """The unknowns that are not per sample."""

    problem: Problem
    bases: tuple[FloatArray, ...]  # v: (d_v, D)
    alpha: FloatArray  # (m,)

    @property
    def pull(self) -> FloatArray:
        """g_p = λ α_p^γ: (m,)."""
        return self.problem.lam * self.alpha**self.problem.exponent

    @property
    def near_shift(self) -> FloatArray:
        """The part of `shift` that the products have not taken off already: (D,)."""
        return self._mean_projection([not is_far for is_far in self.problem.is_far])

    @property
    def shift(self) -> FloatArray:
        """Mean of b with all views, Σ_v H_vᵀ x̄_v / V; projections are stored without it: (D,)."""
        return self._mean_projection([True] * self.problem.n_readings)

    def _mean_projection(self, is_counted: list[bool]) -> FloatArray:
        """Σ_v H_vᵀ x̄_v / V over the readings that are counted: (D,)."""
        parts = zip(self.problem.means, self.bases, is_counted, strict=True)
        total = sum(
            (mean @ H for mean, H, counts in parts if counts), np.zeros(sum(self.problem.dims))
        )
        return np.asarray(total) / self.problem.n_readings


Step: TypeAlias = Literal["start", "bases", "labels", "weights", "settle"]


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each step; F never rises within a start."""

    start: int  # which restart, from 0
    n_starts: int
    n_iter: int
    max_iter: int
    step: Step
    objective: float
    n_moved: int
    model: Model
    labels: Callable[[], NDArray[np.int32]]  # gathered only when called


OnStep: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True)
class Solution:
    """A fixed point of the alternation, or where it stopped; the labels stay in the engine."""

    model: Model
    moments: ClusterMoments
    objective: float
    history: FloatArray  # F at the start and after each iteration, and after the last sweeps
    n_iter: int
    converged: bool
    start: int = 0  # which of the starts it came from
    stability: float = float("nan")  # its agreement with the other starts


def narrator(callback: OnStep | None, verbose: int) -> OnStep:
    """One function that tells both the user's callback and, if asked, the log."""

    def tell(progress: Progress) -> None:
        if verbose and progress.step == "weights":
            logger.info(
                "start %d/%d, iteration %d: F = %.6g, %d labels moved",
                progress.start + 1,
                progress.n_starts,
                progress.n_iter,
                progress.objective,
                progress.n_moved,
            )
        if callback is not None:
            callback(progress)

    return tell
