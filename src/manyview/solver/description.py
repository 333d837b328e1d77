"""Description of a solution in terms of the user's views: cluster means and view weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from manyview.kernels import Kernels
from manyview.kernels.block import Block
from manyview.kernels.statistics import ArraySums
from manyview.solver.model import Model
from manyview.solver.problem import TINY, Problem
from manyview.solver.updates import share_out
from manyview.utils.types import FloatArray


@dataclass(frozen=True)
class Description:
    """Cluster means and view weights."""

    cluster_centers: list[FloatArray]  # v: (k, d_v), before scaling; NaN if no sample has the view
    view_weights: FloatArray  # (V,)
    cluster_view_weights: FloatArray  # (k, V)


def describe_sums(totals: ArraySums, count: FloatArray, model: Model, n_views: int) -> Description:
    """Cluster means and view weights, from the result of `sum_clusters` and Σ ω, (k,)."""
    which = tuple(scaling.view for scaling in model.problem.scalings)
    sums = totals.arrays
    raw, weight = sums[:n_views], sums[n_views : 2 * n_views]  # v: (k, d_v) and (k,)
    with np.errstate(invalid="ignore", divide="ignore"):
        centers = [total / n[:, None] for total, n in zip(raw, weight, strict=True)]
    n_scalings = len(which)
    scaled, present = sums[2 * n_views : -n_scalings], sums[-n_scalings:]  # (k, d_v) and (k,)
    shares, by_cluster = _view_shares(scaled, present, count, model)
    of_view = np.equal.outer(which, np.arange(n_views)).astype(np.float64)  # (scaled views, V)
    return Description(centers, shares @ of_view, by_cluster @ of_view)


def sum_clusters(block: Block, kernels: Kernels, problem: Problem) -> tuple[Block, ArraySums]:
    """Σ_{i∈c} ω x of each view, and Σ ω over the rows that have it; then of the scaled views."""
    *sums, _ = sum_and_count(block, kernels, problem)[1].arrays
    return block, ArraySums(tuple(sums))


def sum_and_count(block: Block, kernels: Kernels, problem: Problem) -> tuple[Block, ArraySums]:
    """The same, and Σ ω of each cluster at the end."""
    shares = kernels.cluster_shares(block, problem.n_clusters)
    given = share_out(block.given, shares, kernels)
    scaled = given if problem.is_unscaled else share_out(block.views, shares, kernels)
    count = kernels.present_shares(replace(block.given[0], factor=None), shares)
    return block, ArraySums((*given, *scaled, count))


def describe(totals: ArraySums, model: Model, n_views: int) -> Description:
    """Cluster means and view weights, from the result of `sum_and_count`."""
    *sums, count = totals.arrays
    return describe_sums(ArraySums(tuple(sums)), count, model, n_views)


def _view_shares(
    sums: tuple[FloatArray, ...],
    weights: tuple[FloatArray, ...],
    count: FloatArray,
    model: Model,
) -> tuple[FloatArray, FloatArray]:
    """Σ_p α_p Σ_c n_c (ā_pvc − ā_pv)·(ā_pc − ā_p) / Σ_c n_c ‖ā_pc − ā_p‖², by scaled view.

    Sums to 1. Then the same without the sums over c: shares in the separation of each cluster.
    """
    n = count[:, None]  # (k, 1); zero where the labels of `predict` leave a cluster empty
    parts = []
    for total, weight, mean, H in zip(sums, weights, model.problem.means, model.bases, strict=True):
        # relative to the mean of the scaled view, so that missing rows contribute nothing
        part = (total - weight[:, None] * mean) @ H / np.maximum(n, TINY)  # (k, D)
        parts.append(part - (n * part).sum(axis=0) / n.sum())
    whole = np.sum(parts, axis=0)
    starts = model.problem.starts
    along = np.stack(
        [np.add.reduceat(n * part * whole, starts, axis=1) for part in parts]
    )  # (scaled views, k, m)
    return _shared(along.sum(axis=1), model.alpha), _shared(along, model.alpha).T


def _shared(along: FloatArray, alpha: FloatArray) -> FloatArray:
    """Σ_p α_p of the share of each scaled view in their sum; equal shares if all are zero."""
    total = along.sum(axis=0)  # (…, m)
    shares = np.divide(along, total, out=np.full_like(along, 1 / len(along)), where=total > 0)
    return np.asarray(shares @ alpha)
