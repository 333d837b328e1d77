"""Initialization: bases from a truncated SVD, labels from k-means in its span.

Both use a subset of the rows. The random vectors are on the sample axis, so that the order of the
views does not matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from manyview.engines import Engine
from manyview.kernels import Kernels
from manyview.kernels.block import Block
from manyview.kernels.statistics import ArraySums, ClusterMoments
from manyview.solver.model import Model
from manyview.solver.problem import TINY, Problem
from manyview.solver.updates import orthonormalize_all, project
from manyview.utils.threads import limit_blas
from manyview.utils.types import FloatArray, IntArray

SAMPLE_ROWS = 10_000
ROWS_PER_CLUSTER = 5
POWER_STEPS = 3
MORE_COLUMNS = 10  # of a subspace iteration than are wanted
SMALL_KMEANS = 2e7  # multiplications of a step, below which threads mostly wait for each other
KMEANS_STEPS = 6  # the sweeps that follow converge the labels
MANY_CLUSTERS = 1000  # beyond, k-means++ seeding costs more than the fit


@dataclass(frozen=True)
class Beginning:
    """Shared by all starts of a fit."""

    sample: tuple[Block, ...]
    model: Model
    coordinates: FloatArray  # (sample rows, largest d_p): P = U Σ of the concatenated views


def begin(engine: Engine, problem: Problem, rng: Generator) -> Beginning:
    """P from a truncated SVD of a sample; H_pv = polar factor of X_vᵀ P, uniform weights."""
    n_rows = max(SAMPLE_ROWS, ROWS_PER_CLUSTER * problem.n_clusters)
    sample = engine.sample(n_rows, rng)
    P = leading_coordinates(sample, engine.kernels, problem, rng)
    cross = cross_products(sample, engine.kernels, P)
    # missing columns are completed orthonormally by the SVD
    bases = orthonormalize_all([[_fit_width(C, d) for d in problem.dims] for C in cross])
    m = len(problem.dims)
    return Beginning(sample, Model(problem, bases, np.full(m, 1 / m)), P)


def first_moments(
    beginning: Beginning, kernels: Kernels, init: str, rng: Generator
) -> ClusterMoments:
    """Moments of the clusters of k-means on P."""
    problem = beginning.model.problem
    weights = np.concatenate([block.weights for block in beginning.sample])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few distinct rows: `solve` warns
        has_many = problem.n_clusters > MANY_CLUSTERS
        kmeans = KMeans(
            problem.n_clusters,
            init="random" if has_many else init,
            n_init=1,
            max_iter=1 if has_many else KMEANS_STEPS,
            random_state=int(rng.integers(2**31)),
        )
        is_small = beginning.coordinates.size * problem.n_clusters < SMALL_KMEANS
        with limit_blas(1) if is_small else nullcontext():
            kmeans.fit(beginning.coordinates, sample_weight=weights)
    labels = kmeans.labels_.astype(np.int32)
    ends = np.cumsum([len(block.labels) for block in beginning.sample])
    moments = problem.empty_moments()
    for block, own in zip(beginning.sample, np.split(labels, ends[:-1]), strict=True):
        moments = moments + project(replace(block, labels=own), kernels, beginning.model)[1]
    # counts of all samples, not of the subset: λ is scaled to the former
    return moments.grown(problem.weight / weights.sum())


def count_distinct(beginning: Beginning, rng: Generator) -> int:
    """Number of sampled rows that differ by more than rounding.

    Equal rows are neighbors along a random direction; neighbors are compared in all coordinates.
    """
    P = beginning.coordinates
    rounding = 1e3 * np.finfo(beginning.sample[0].projection.dtype).eps * np.abs(P).max()
    order = np.argsort(P @ rng.standard_normal(P.shape[1]))
    differ = np.zeros(len(P) - 1, dtype=np.bool_)
    for column in P.T:
        differ |= np.abs(np.diff(column[order])) > rounding
    return 1 + int(np.count_nonzero(differ))


def fill_empty(
    block: Block, kernels: Kernels, sizes: NDArray[np.int64], order: IntArray
) -> tuple[Block, NDArray[np.int64]]:
    """Give each empty cluster a sample of a larger one; `sizes` is the carry."""
    labels, sizes = block.labels.copy(), sizes.copy()
    for i in order:
        empty = np.flatnonzero(sizes == 0)
        if empty.size == 0:
            break
        if sizes[labels[i]] > 1:
            sizes[labels[i]] -= 1
            labels[i] = empty[0]
            sizes[empty[0]] = 1
    return replace(block, labels=labels), sizes


def has_no_empty(sizes: NDArray[np.int64]) -> bool:
    """Whether no cluster is empty."""
    return bool(np.all(sizes > 0))


def leading_coordinates(
    sample: Sequence[Block], kernels: Kernels, problem: Problem, rng: Generator
) -> FloatArray:
    """U Σ of the concatenated views by subspace iteration; missing rows are the mean row."""
    n = sum(len(block.labels) for block in sample)
    width = min(max(problem.dims) + MORE_COLUMNS, n, sum(len(mean) for mean in problem.means))
    root = np.sqrt(np.concatenate([block.weights for block in sample]))[:, None]  # (n, 1)
    Q = rng.standard_normal((n, width))
    # smoothed rows have few directions
    for _ in range(1 if problem.scalings[0].is_smoothed else POWER_STEPS):
        Q = _times(sample, kernels, problem, cross_products(sample, kernels, root * Q))
        with limit_blas(1):
            Q, _ = np.linalg.qr(root * Q)
    right = np.vstack(cross_products(sample, kernels, root * Q))  # (Σ d_v, width): Xᵀ Q
    with limit_blas(1):
        U, singular, _ = np.linalg.svd(right.T, full_matrices=False)
    keep = min(max(problem.dims), width)
    return np.asarray((Q @ U)[:, :keep] * singular[:keep] / root)


def coordinates_of_grams(
    grams: Sequence[FloatArray],
    absent: NDArray[np.bool_],
    weights: FloatArray,
    n_columns: int,
    rng: Generator,
) -> FloatArray:
    """The same from the Gram matrices of the scaled views, and which rows lack each: (V, n).

    X with mean rows for missing ones, times Xᵀ, is G + absent ⊗ (G ω / Σ ω).
    """
    n, root = len(weights), np.sqrt(weights)[:, None]  # (n, 1)
    plain = np.sum(grams, axis=0)
    filled = plain.copy()
    for gram, missing in zip(grams, absent, strict=True):
        if missing.any():
            present = max(float(weights @ ~missing), TINY)
            filled += np.outer(missing, gram @ weights / present)
    width = min(n_columns + MORE_COLUMNS, n)
    Q = rng.standard_normal((n, width))
    for _ in range(POWER_STEPS):
        with limit_blas(1):
            Q, _ = np.linalg.qr(root * (filled @ (root * Q)))
    squares, U = np.linalg.eigh((root * Q).T @ plain @ (root * Q))
    keep = min(n_columns, width)
    singular = np.sqrt(np.maximum(squares[::-1][:keep], 0))
    return np.asarray((Q @ U[:, ::-1][:, :keep]) * singular / root)


def cross_products(
    sample: Sequence[Block], kernels: Kernels, Z: FloatArray
) -> tuple[FloatArray, ...]:
    """X_vᵀ Z over the subset, one array per view, without baselines, as in `project`."""
    ends = np.cumsum([len(block.labels) for block in sample])
    total: ArraySums | None = None
    for block, part in zip(sample, np.split(Z, ends[:-1]), strict=True):
        sums = kernels.accumulate(block.views, kernels.asarray(part, like=block.projection))
        column_sums = part.sum(axis=0)  # (columns,)
        near = ArraySums(
            tuple(
                C if view.baseline is None else C - np.outer(view.baseline, column_sums)
                for C, view in zip(sums.arrays, block.views, strict=True)
            )
        )
        total = near if total is None else total + near
    assert total is not None
    return total.arrays


def _times(
    sample: Sequence[Block], kernels: Kernels, problem: Problem, bases: Sequence[FloatArray]
) -> FloatArray:
    """Σ_v X_v G_v over the subset; missing rows are the mean row of their view."""
    parts = []
    for block in sample:
        rows = np.asarray(kernels.project(block.views, bases), dtype=np.float64)
        for view, mean, G in zip(block.views, problem.means, bases, strict=True):
            if view.absent is not None:
                rows[view.absent] += mean @ G
        parts.append(rows)
    return np.vstack(parts)


def _fit_width(C: FloatArray, d_p: int) -> FloatArray:
    """The first d_p columns, padded with zeros."""
    wanted = np.zeros((C.shape[0], d_p))
    wanted[:, : C.shape[1]] = C[:, :d_p]
    return wanted
