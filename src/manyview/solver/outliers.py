"""Outlier scores: how far a sample is from the members of its cluster, from the unsmoothed rows.

Three parts, each relative to the values of the members and counted only where it is above their
median: the distance to the cluster in the largest learned space, in units of the spread of the
cluster; the share of the scaled rows that bases cannot explain; and the joint deviation of the
explained shares and norms of all scaled views, in either direction. Smoothed rows would hide them.

Bases that were fitted to a row explain it too well. The bases used here come from a subset in
folds: the members' values are those with bases of the other folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator
from sklearn.covariance import ledoit_wolf

from manyview.data.scaling import ViewScaling, fit_scaling, fit_scalings
from manyview.engines import Engine
from manyview.kernels import Kernels
from manyview.kernels.block import Block
from manyview.kernels.statistics import ArraySums
from manyview.solver.inference import Fitted
from manyview.solver.initialization import cross_products, leading_coordinates
from manyview.solver.problem import Problem, Settings, measure_problem, set_baselines
from manyview.solver.scaled_rows import (
    ViewColumns,
    apply_scalings,
    describe_columns,
    set_row_factors,
)
from manyview.solver.updates import orthonormalize_all
from manyview.utils.types import FloatArray, IntArray

T = TypeVar("T", ArraySums, ViewColumns)

N_DIRECTIONS = 16  # leading directions of the rows, besides the learned bases
PRIOR = 60.0  # samples that the common covariance counts for in that of a cluster
MOST_ENTRIES = 1_000_000  # of the covariances of all clusters; beyond, they share one
QUANTILE = 0.99  # of the members' scores; the threshold is
LOOKED_AT = 1_000_000  # scores for it
MARGIN = 1.1  # times that, since the clusters and the embedding were fitted to the members
LARGEST = 1e6  # score of a sample whose scaled rows are not finite
FARTHEST = 1e15  # projection, relative to the size of the rows: float32 must hold its square
SMALL = 1e-9
TINY = float(np.finfo(np.float64).tiny)
LEAST_SHARE = 1e-4
MOST_SHARE = 0.95  # beyond, logits would magnify tiny differences, such as those of equal rows


@dataclass(frozen=True)
class OutlierReference:
    """What the scores of new samples are compared with."""

    n_dims: (
        int  # D: columns of the bases that are the largest learned space; the rest explains rows
    )
    bases: tuple[FloatArray, ...]  # scaled view: (d_v, D + r)
    centers: FloatArray  # (k, V, D): mean projection of the members
    whitening: FloatArray  # (k, D, D), or (1, D, D) if shared: unit covariance within clusters
    feature_mean: FloatArray  # (2V,): logits of the explained shares, then log norms
    feature_spread: FloatArray  # (2V,)
    feature_covariance: FloatArray  # (2V, 2V)
    part_median: FloatArray  # (3,), of the members: distance, unexplained share, deviation
    part_spread: FloatArray  # (3,)
    threshold: float
    columns: ViewColumns  # moments of the unscaled views
    problem: Problem  # the scalings of whole rows, and their means
    common_shares: tuple[FloatArray, ...] = ()  # view: (d_v,), samples with the commonest value


@dataclass(frozen=True)
class _Measured:
    """Projections and features of some rows."""

    projections: tuple[Any, ...]  # of each scaled view: (rows, D), relative to the mean
    features: Any  # (rows, 2V)
    present: Any  # (rows, V): 1 or 0


def unsmoothed_problem(fitted: Fitted) -> Problem:
    """The problem whose scaled views are not smoothed."""
    return (fitted if fitted.first is None else fitted.first).model.problem


def whole_problem(engine: Engine, fitted: Fitted) -> Problem:
    """The same with whole rows, where they are principal components: those hide what is new.

    The engine holds the rows that the means are taken over.
    """
    problem = unsmoothed_problem(fitted)
    if not any(scaling.has_components for scaling in problem.scalings):
        return problem
    engine.apply_scalings(
        [ViewScaling(v) for v in range(1 + max(s.view for s in problem.scalings))]
    )
    columns = engine.map_reduce(describe_columns).views
    scalings = tuple(
        fit_scaling("z-l2", s.view, columns[s.view]) if s.has_components else s
        for s in problem.scalings
    )
    given = (problem.n_clusters, 1.0, 1, (1,), None, problem.exponent)
    return measure_problem(engine, Settings(*given), scalings, apply_scalings(engine, scalings))


def score_rows(
    block: Block, kernels: Kernels, reference: OutlierReference
) -> tuple[Block, ArraySums]:
    """Replace the projections of labelled rows by their outlier score: (rows, 1)."""
    problem = reference.problem
    measured = _measure(
        _scaled(block, problem), kernels, problem, reference.bases, reference.n_dims
    )
    scores = _score(kernels, _parts(kernels, measured, block.labels, reference), reference)
    return replace(block, projection=scores[:, None]), ArraySums(())


def common_threshold(scores: FloatArray) -> float:
    """Score that few samples like those scored are above."""
    some = scores[:: max(len(scores) // LOOKED_AT, 1)]
    return MARGIN * float(np.quantile(some, QUANTILE, method="higher"))


def fit_reference(
    folds: Sequence[Engine],
    labels: IntArray,
    embedding: FloatArray,
    problem: Problem,
    rng: Generator,
    locate: Callable[[int, Generator], FloatArray] | None = None,
) -> tuple[OutlierReference, FloatArray]:
    """The reference from a subset in folds, and the scores of its rows.

    `labels` and `embedding`, the projections into the largest space, are those of all folds.
    `locate` computes their leading coordinates, if there is a shorter way than by products.
    """
    kernels = folds[0].kernels
    blocks = [
        [_with_factors(_scaled(block, problem), kernels, problem) for block in rows]
        for rows in (fold.sample(fold.n_samples, rng) for fold in folds)
    ]
    n_directions = max(min(N_DIRECTIONS, len(labels) // 3), 1)
    every = [block for fold in blocks for block in fold]
    short = replace(problem, dims=(n_directions,))
    leading = (
        leading_coordinates(every, kernels, short, rng)
        if locate is None
        else locate(n_directions, rng)
    )
    targets = np.hstack([embedding, leading])
    n_dims = embedding.shape[1]
    cuts = np.cumsum([fold.n_samples for fold in folds])[:-1]
    sums = [
        ArraySums(cross_products(fold, kernels, part))
        for fold, part in zip(blocks, np.split(targets, cuts), strict=True)
    ]
    columns = [reduce(add, [describe_given(block, kernels) for block in fold]) for fold in blocks]
    measured = []
    for f, fold in enumerate(blocks):
        bases = _bases(_of_others(sums, f), n_dims)
        rescaled = _rescaled(problem, _of_others(columns, f))
        measured += [
            _measure(_scaled(block, rescaled), kernels, problem, bases, n_dims) for block in fold
        ]
    members = _joined(measured)
    summed = (_bases(reduce(add, sums), n_dims), reduce(add, columns), problem)
    return _summarize(kernels, *summed, members, labels)


def _of_others(of_folds: Sequence[T], f: int) -> T:
    """Sum over all folds but one; over one fold, if it is the only one."""
    return reduce(add, [own for g, own in enumerate(of_folds) if g != f] or of_folds)


def describe_given(block: Block, kernels: Kernels) -> ViewColumns:
    """Column moments of the unscaled views."""
    return ViewColumns(tuple(kernels.columns(view, block.weights) for view in block.given))


def _rescaled(problem: Problem, columns: ViewColumns) -> Problem:
    """The problem with z-scores of other rows: a rare feature is as new to a row as it may be."""
    names = tuple(dict.fromkeys(s.name for s in problem.scalings if s.name is not None))
    if not names:
        return problem
    fitted = {(s.name, s.view): s for s in fit_scalings(names, columns.views)}
    new = [s if s.name is None else fitted[s.name, s.view] for s in problem.scalings]
    pairs = zip(problem.scalings, new, strict=True)
    scalings = tuple(replace(s, scale=other.scale, offset=other.offset) for s, other in pairs)
    return replace(problem, scalings=scalings)


def _bases(sums: ArraySums, n_dims: int) -> tuple[FloatArray, ...]:
    """Polar factors of X'ᵀ T in the learned space, and in the leading coordinates."""
    return orthonormalize_all([np.split(C, [n_dims], axis=1) for C in sums.arrays])


def _scaled(block: Block, problem: Problem) -> Block:
    """The block with views scaled as before any smoothing, but for factors and baselines."""
    views = tuple(
        replace(block.given[s.view], map=s.map, scale=s.scale, offset=s.offset)
        for s in problem.scalings
    )
    return replace(block, views=views)


def _with_factors(block: Block, kernels: Kernels, problem: Problem) -> Block:
    """The same with row factors and baselines."""
    block, _ = set_row_factors(block, kernels, tuple(s.has_unit_rows for s in problem.scalings))
    return set_baselines(block, kernels, problem.means, problem.is_far)[0]


def _measure(
    block: Block, kernels: Kernels, problem: Problem, bases: Sequence[FloatArray], n_dims: int
) -> _Measured:
    """Projections, explained shares and norms of the rows of each scaled view."""
    xp, float64 = kernels.xp, kernels.float64
    projections, logits, norms, present = [], [], [], []
    sizes = problem.view_sum_squares / max(problem.weight, SMALL)  # mean ‖x‖² of a scaled view
    unit = _power_of_two(np.sqrt(sizes.sum()))
    scalings, is_far = problem.scalings, problem.is_far
    parts = zip(block.views, scalings, bases, problem.means, is_far, sizes, strict=True)
    for view, scaling, G, mean, far, size in parts:
        squares = float64(kernels.row_squares(view))
        factor = xp.ones_like(squares) if view.factor is None else view.factor
        present.append(float64(factor > 0))
        if scaling.has_unit_rows:
            factor = factor * kernels.unit_factors(squares, view.values.dtype)
        wide = np.column_stack([G, mean])
        scaled = replace(view, factor=factor, baseline=mean if far else None)
        product = kernels.project((scaled,), (wide,))
        if not far:
            product -= kernels.asarray(mean @ wide, like=product)
        # ‖x − mean‖² = ‖x‖² − 2 (x − mean)·mean − ‖mean‖²
        centered = factor**2 * squares - 2 * float64(product[:, -1]) - float(mean @ mean)
        explained = (float64(product[:, n_dims:-1]) ** 2).sum(1)
        share = explained / (xp.clip(centered, 0, None) + SMALL * max(size, TINY))
        share = xp.clip(share, LEAST_SHARE, MOST_SHARE)
        projections.append(xp.clip(product[:, :n_dims] / unit, -FARTHEST, FARTHEST))
        logits.append(xp.log(share / (1 - share)))
        norms.append(0.5 * xp.log(squares + SMALL))
    return _Measured(tuple(projections), xp.stack([*logits, *norms], 1), xp.stack(present, 1))


def _joined(parts: Sequence[_Measured]) -> _Measured:
    """The rows of all parts, in float64."""

    def join(arrays: Sequence[Any]) -> FloatArray:
        return np.concatenate(arrays).astype(np.float64)

    projections = zip(*(part.projections for part in parts), strict=True)
    features, present = ([getattr(m, name) for m in parts] for name in ("features", "present"))
    return _Measured(tuple(map(join, projections)), join(features), join(present))


def _power_of_two(size: float) -> float:
    """The power of two near a size, so that a division by it is exact; 1 for zero."""
    return float(np.ldexp(1.0, int(np.frexp(size)[1]))) if size > 0 else 1.0


def _summarize(
    kernels: Kernels,
    bases: tuple[FloatArray, ...],
    columns: ViewColumns,
    problem: Problem,
    members: _Measured,
    labels: IntArray,
) -> tuple[OutlierReference, FloatArray]:
    """The reference from the measured members, and their scores."""
    n_clusters = problem.n_clusters
    twice = np.hstack([members.present, members.present])  # (rows, 2V)
    weight = np.maximum(twice.sum(axis=0), 1)
    mean = np.sum(twice * members.features, axis=0) / weight
    centered = twice * (members.features - mean)
    spread = np.sqrt(np.sum(centered**2, axis=0) / weight)
    centers = _centers(members, labels, n_clusters)
    offsets = _offsets(kernels, members, labels, centers)
    reference = OutlierReference(
        n_dims=members.projections[0].shape[1],
        bases=bases,
        centers=centers,
        whitening=_whitening(offsets, labels, n_clusters),
        feature_mean=mean,
        feature_spread=np.maximum(spread, SMALL),
        feature_covariance=_covariance(centered),
        part_median=np.zeros(3),
        part_spread=np.ones(3),
        threshold=0.0,
        columns=columns,
        problem=problem,
    )
    parts = _parts(kernels, members, labels, reference)
    median = np.median(parts, axis=0)
    part_spread = np.maximum(np.quantile(parts, 0.84, axis=0) - median, SMALL)
    reference = replace(reference, part_median=median, part_spread=part_spread)
    scores = _score(kernels, parts, reference)
    return replace(reference, threshold=common_threshold(scores)), scores


def _centers(members: _Measured, labels: IntArray, n_clusters: int) -> FloatArray:
    """Mean projection of the members of each cluster that have a scaled view; else zero."""
    own = np.equal.outer(np.arange(n_clusters), labels).astype(np.float64)  # (k, rows)
    pairs = zip(members.projections, members.present.T, strict=True)
    sums = np.stack([own @ (rows * has_view[:, None]) for rows, has_view in pairs], 1)  # (k, V, D)
    return np.asarray(sums / np.maximum(own @ members.present, 1)[:, :, None])


def _offsets(kernels: Kernels, measured: _Measured, labels: Any, centers: FloatArray) -> Any:
    """Mean offset from the cluster over the scaled views present: (rows, D).

    Multiplied by √(share present), since a mean over fewer views scatters more.
    """
    present = measured.present
    n_views = present.shape[1]
    total: Any = 0.0
    for v, rows in enumerate(measured.projections):
        apart = rows - kernels.asarray(centers[:, v], like=rows)[labels]
        total = total + apart * kernels.asarray(present[:, v : v + 1], like=rows)
    counted = kernels.xp.clip(present.sum(1), 1, None)
    return total / kernels.asarray(kernels.xp.sqrt(counted * n_views)[:, None], like=rows)


def _whitening(offsets: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    """Whitening within each cluster, its covariance shrunk to the common one."""
    common = _inverse_root(_covariance(offsets))  # (D, D)
    n_dims = len(common)
    if n_clusters * n_dims**2 > MOST_ENTRIES:
        return common[None]
    whitened = offsets @ common
    own = []
    for c in range(n_clusters):
        rows = whitened[labels == c]
        covariance = (rows.T @ rows + PRIOR * np.eye(n_dims)) / (len(rows) + PRIOR)
        own.append(common @ _inverse_root(covariance))
    return np.stack(own)


def _covariance(centered: FloatArray) -> FloatArray:
    """Covariance of centered rows, shrunk; zero for one row."""
    if len(centered) < 2:
        return np.zeros((centered.shape[1],) * 2)
    return np.asarray(ledoit_wolf(centered, assume_centered=True)[0])


def _inverse_root(covariance: FloatArray) -> FloatArray:
    """W with Wᵀ S W = I; directions without variance are kept finite."""
    values, vectors = np.linalg.eigh(covariance)
    least = max(1e-10 * float(values[-1]), 1e-20)
    return np.asarray(vectors / np.sqrt(np.maximum(values, least)))


def _parts(kernels: Kernels, measured: _Measured, labels: Any, reference: OutlierReference) -> Any:
    """Log distance, mean unexplained share, log deviation of the features: (rows, 3)."""
    xp, float64 = kernels.xp, kernels.float64
    offsets = _offsets(kernels, measured, labels, reference.centers)
    whitening = kernels.asarray(reference.whitening, like=offsets)
    if len(whitening) == 1:
        distance = _norms(kernels, offsets @ whitening[0])
    else:
        distance = xp.zeros_like(offsets[:, 0])
        for c, W in enumerate(whitening):
            rows = labels == c
            distance[rows] = _norms(kernels, offsets[rows] @ W)
    distance, present = float64(distance), measured.present
    n_views = present.shape[1]
    centered = xp.hstack([present, present]) * (measured.features - float64(reference.feature_mean))
    logits = (centered / float64(reference.feature_spread))[:, :n_views]
    # means over fewer views scatter more, as in `_offsets`
    unexplained = -logits.sum(1) / xp.sqrt(xp.clip(present.sum(1), 1, None) * n_views)
    deviation = _deviation(kernels, centered, present, reference.feature_covariance)
    return xp.stack([xp.log(distance + SMALL), unexplained, xp.log(deviation + SMALL)], 1)


def _norms(kernels: Kernels, rows: Any) -> Any:
    return kernels.xp.sqrt((rows**2).sum(1))


def _deviation(kernels: Kernels, centered: Any, present: Any, covariance: FloatArray) -> Any:
    """Root mean square deviation in the features present, by their covariance: (rows,)."""
    float64 = kernels.float64
    if bool(present.all()):
        found = centered @ float64(_inverse_root(covariance))
        return _norms(kernels, found) / float(np.sqrt(len(covariance)))
    patterns, which = np.unique(kernels.to_host(present), axis=0, return_inverse=True)
    pattern_of, deviation = kernels.rows(which.ravel()), kernels.xp.zeros_like(centered[:, 0])
    for p, pattern in enumerate(patterns):
        rows, columns = pattern_of == p, np.flatnonzero(np.tile(pattern, 2))
        if columns.size:
            W = _inverse_root(covariance[np.ix_(columns, columns)])
            offsets = centered[rows][:, kernels.rows(columns)] @ float64(W)
            deviation[rows] = _norms(kernels, offsets) / float(np.sqrt(columns.size))
    return deviation


def _score(kernels: Kernels, parts: Any, reference: OutlierReference) -> Any:
    """√(Σ z²) over the parts above the members' median, z in units of their spread."""
    xp, float64 = kernels.xp, kernels.float64
    z = (parts - float64(reference.part_median)) / float64(reference.part_spread)
    score = _norms(kernels, xp.clip(z, 0, None))
    return xp.clip(xp.nan_to_num(score, nan=LARGEST, posinf=LARGEST), None, LARGEST)
