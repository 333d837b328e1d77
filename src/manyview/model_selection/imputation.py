"""Joint coordinates of rows with missing views, estimated from the views that they have.

With zeros, or the mean, in place of a missing view, a row moves towards the center, away from its
neighbors, and rows with the same views move together. Here x_v − m_v = p W_vᵀ + noise of variance ρ
in every view with mean m_v, and the coordinates p have the covariance Λ: with the present part
b = Σ_present (x_v − m_v) W_v and S = Σ_present W_vᵀ W_v, the expected coordinates are
p = b (S + ρ Λ⁻¹)⁻¹, and the missing part is p Σ_missing W_vᵀ W_v. So the row is b L plus the mean,
with a matrix L that all rows with the same views share. W, ρ and Λ are learned from the completed
rows, in a few rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyview.kernels import Kernels
from manyview.kernels.block import Block
from manyview.solver.problem import Problem
from manyview.utils.types import FloatArray, IntArray

N_ROUNDS = 5
LEAST_NOISE = 1e-4  # of the largest variance, divided by the number of coordinates
LOST = 1e-8  # of the largest variance: below, a coordinate is rounding noise
Bases = tuple[FloatArray, ...]  # scaled view: (d_v, D), together orthonormal


@dataclass(frozen=True)
class Completion:
    """How rows with missing views get their coordinates."""

    absent: NDArray[np.bool_]  # (n, V): scaled views that a row lacks
    lifts: tuple[tuple[IntArray, FloatArray, FloatArray], ...]
    # rows with the same views, their L, and what is added: the mean, less that of the part times L

    def apply(self, seen: FloatArray) -> FloatArray:
        """The completed rows, from Σ_present x_v W_v: (n, D)."""
        points = seen.copy()
        for rows, lift, shift in self.lifts:
            points[rows] = seen[rows] @ lift + shift
        return points


def find_absent(sample: Sequence[Block]) -> NDArray[np.bool_]:
    """Which scaled views each row lacks: (n, V)."""
    parts = []
    for block in sample:
        absent = np.zeros((len(block.labels), len(block.views)), dtype=np.bool_)
        for r, view in enumerate(block.views):
            if view.absent is not None:
                absent[view.absent, r] = True
        parts.append(absent)
    return np.vstack(parts)


def cross(sample: Sequence[Block], kernels: Kernels, P: FloatArray) -> list[FloatArray]:
    """X_vᵀ P of each scaled view, over the rows that have it."""
    ends = np.cumsum([len(block.labels) for block in sample])
    parts = [
        kernels.accumulate(block.views, kernels.asarray(part, like=block.projection)).arrays
        for block, part in zip(sample, np.split(P, ends[:-1]), strict=True)
    ]
    return [np.sum(arrays, axis=0) for arrays in zip(*parts, strict=True)]


def complete(
    sample: Sequence[Block],
    kernels: Kernels,
    P: FloatArray,
    absent: NDArray[np.bool_],
    problem: Problem,
) -> tuple[FloatArray, Bases, Completion]:
    """Coordinates of all rows, (n, D), bases and completion; P is a first guess."""
    D = P.shape[1]
    floor = LOST * np.square(P).sum() * np.eye(D)
    sums = cross(sample, kernels, P)
    bases = _orthonormal(
        [
            np.linalg.solve(P[has].T @ P[has] + floor, C.T).T
            for C, has in zip(sums, ~absent.T, strict=True)
        ]
    )
    n_values = sum(len(W) * n_has for W, n_has in zip(bases, (~absent).sum(axis=0), strict=True))
    covariance = None
    for _ in range(N_ROUNDS):
        shares = np.array([W.T @ W for W in bases])  # (V, D, D)
        seen = _project(sample, kernels, bases)
        if covariance is None:
            covariance, explained = np.cov(seen.T, bias=True), _explained(seen, shares, absent)
        least = LEAST_NOISE * np.linalg.eigvalsh(covariance)[-1] / D
        noise = max((problem.sum_squares - explained) / n_values, least)
        prior = noise * np.linalg.pinv(covariance, rcond=LOST, hermitian=True)
        means = np.array([mean @ W for mean, W in zip(problem.means, bases, strict=True)])  # (V, D)
        completion = _learn(absent, shares, means, prior)
        P = completion.apply(seen)
        explained = _explained(P, shares, absent)
        found = bases
        bases = _orthonormal(
            [
                C + W @ (P[gone].T @ P[gone])
                for C, W, gone in zip(cross(sample, kernels, P), found, absent.T, strict=True)
            ]
        )
        turn = np.vstack(found).T @ np.vstack(bases)  # (D, D)
        covariance = turn.T @ np.cov(P.T, bias=True) @ turn
    return P, found, completion


def _project(sample: Sequence[Block], kernels: Kernels, bases: Bases) -> FloatArray:
    parts = [kernels.project(block.views, bases) for block in sample]
    return np.asarray(np.vstack(parts), dtype=np.float64)


def _learn(
    absent: NDArray[np.bool_], shares: FloatArray, means: FloatArray, prior: FloatArray
) -> Completion:
    """The matrix L and the shift of each pattern of missing views."""
    patterns, which = np.unique(absent, axis=0, return_inverse=True)
    lifts = []
    for g, gone in enumerate(patterns):
        if gone.any():
            given = np.linalg.solve(shares[~gone].sum(axis=0) + prior, shares[gone].sum(axis=0))
            lift = np.eye(len(prior)) + given
            shift = means.sum(axis=0) - means[~gone].sum(axis=0) @ lift
            lifts.append((np.flatnonzero(which.ravel() == g), lift, shift))
    return Completion(absent, tuple(lifts))


def _explained(P: FloatArray, shares: FloatArray, absent: NDArray[np.bool_]) -> float:
    """Sum of squares of the present views that P accounts for."""
    return sum(
        float(np.einsum("ij,ij->", P[has] @ share, P[has]))
        for share, has in zip(shares, ~absent.T, strict=True)
    )


def _orthonormal(sums: Sequence[FloatArray]) -> Bases:
    """Orthonormal bases of the span of all views together."""
    joint, _ = np.linalg.qr(np.vstack(sums))
    return tuple(np.split(joint, np.cumsum([len(one) for one in sums])[:-1]))
