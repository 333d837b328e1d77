"""The four updates and the objective, each with its equation, and the visits that they need.

Z has a closed form per cluster (Z), so it is computed from b on the fly and never stored. F is a
function of the cluster moments, so convergence checks, restarts and weights need no data. The label
step needs b, not X: an iteration visits X twice, once for each product, or once with both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from manyview.exceptions import ViewError
from manyview.kernels import Kernels
from manyview.kernels.block import Block, Shrinkage, ViewRows
from manyview.kernels.statistics import (
    Accumulated,
    ArraySums,
    ClusterMoments,
    Clusters,
    Frozen,
    Moved,
)
from manyview.solver.model import Model
from manyview.solver.problem import TINY
from manyview.utils.threads import side_by_side
from manyview.utils.types import FloatArray, IntArray

Swept: TypeAlias = tuple[ClusterMoments, int, int]  # after a sweep; rows that moved, and were seen

RIDGE = 1e-6  # of the mean variance, added to all variances of a likelihood
EPSILON = float(np.finfo(np.float64).eps)
NEARLY_ORTHONORMAL = 0.1  # CᵀC − 1, from where few Newton steps take less time than eigenvectors
ROUNDED_SQUARE = 1e-8  # an error whose square is rounding
WELL_CONDITIONED = 1e-8  # smallest over largest eigenvalue of CᵀC


def project(block: Block, kernels: Kernels, model: Model) -> tuple[Block, ClusterMoments]:
    """b_i = Σ_v H_vᵀ x_vi / u_i − shift, and the moments of b per cluster."""
    block = replace(block, projection=_project(block, kernels, model))
    return cluster_moments(block, kernels, model)


def project_rows(block: Block, kernels: Kernels, model: Model) -> tuple[Block, ArraySums]:
    """b_i alone, without moments."""
    return replace(block, projection=_project(block, kernels, model)), ArraySums(())


def cluster_moments(block: Block, kernels: Kernels, model: Model) -> tuple[Block, ClusterMoments]:
    """Moments of b per cluster, from existing projections."""
    like = model.problem.empty_moments()
    return block, kernels.moments(block, like)


def predict(
    block: Block,
    kernels: Kernels,
    model: Model,
    moments: ClusterMoments,
    sample_weight: float = 1.0,
) -> tuple[Block, ArraySums]:
    """y_i = argmin_c add(c), statistics frozen; returns the rows of each cluster.

    add is concave in the weight of the sample. So where no move of a sample lowers F, its own
    cluster has the least add for any `sample_weight` that is at most its weight.
    """
    block = replace(block, projection=_project(block, kernels, model))
    return relabel(block, kernels, model, moments, sample_weight)


def relabel(
    block: Block, kernels: Kernels, model: Model, moments: ClusterMoments, sample_weight: float
) -> tuple[Block, ArraySums]:
    """The labels of `predict`, from existing projections."""
    labels = kernels.nearest(block, _clusters(moments, model, sample_weight))
    sizes = kernels.label_sizes(labels, model.problem.n_clusters)
    if sizes.sum() < len(labels):  # no cost is a number
        msg = (
            "The samples have values so far from those of the fit that their distances to the "
            "clusters overflow; expected samples like those of the fit. Check their units."
        )
        raise ViewError(msg)
    return replace(block, labels=labels), ArraySums((sizes,))


def update_Y(
    block: Block,
    kernels: Kernels,
    carry: Swept,
    order: IntArray,
    model: Model,
) -> tuple[Block, Swept]:
    """Move each sample, in the given order, to the cluster that lowers F most."""
    moments, n_moved, n_seen = carry
    moved = kernels.assign(block, order, _clusters(moments, model))
    return block, (moments, n_moved + moved, n_seen + len(order))


def update_Y_at_once(
    block: Block, kernels: Kernels, carry: Frozen, model: Model
) -> tuple[Block, Moved]:
    """Move all samples of a batch to the cluster that lowers F most, statistics frozen."""
    labels, moved = kernels.move(block, _clusters(carry.moments, model))
    return replace(block, labels=labels), moved


def compute_bounds(
    block: Block, kernels: Kernels, model: Model, moments: ClusterMoments
) -> tuple[Block, ArraySums]:
    """Distance bounds of each row, for sweeps to skip by; returns how many rows have them."""
    distance_bounds = kernels.distance_bounds(block, _clusters(moments, model))
    n_known = float(len(distance_bounds) if distance_bounds.shape[1] else 0)
    return replace(block, distance_bounds=distance_bounds), ArraySums((np.array(n_known),))


def bound_violated(
    block: Block, kernels: Kernels, carry: Swept, model: Model, since: ClusterMoments
) -> NDArray[np.bool_]:
    """Samples whose bounds, taken at the moments `since`, no longer rule out a move."""
    return kernels.bound_violated(block, _clusters(carry[0], model), since)


def accumulate(block: Block, kernels: Kernels, shrink: Shrinkage) -> tuple[Block, ArraySums]:
    """C_v = X_vᵀ diag(ω) Z, with Z made on the fly from b, eq. (Z)."""
    return block, kernels.accumulate(block.views, kernels.embed(block, shrink), is_awaited=False)


def predict_and_accumulate(
    block: Block, kernels: Kernels, model: Model, moments: ClusterMoments
) -> tuple[Block, Accumulated]:
    """The labels of `predict`, what the next iteration needs of the rows, and their squares."""
    block = predict(block, kernels, model, moments)[0]
    block, found = accumulate_all(block, kernels, model, shrinkage(moments, model))
    squares = [kernels.total_squares(view, block.weights)[1] for view in block.views]
    return block, replace(found, squares=ArraySums((np.array(squares),)))


def project_and_accumulate(
    block: Block, kernels: Kernels, model: Model, shrink: Shrinkage
) -> tuple[Block, ArraySums]:
    """C_v at the labels as they are, and at b of this model."""
    return accumulate(project_rows(block, kernels, model)[0], kernels, shrink)


def accumulate_all(
    block: Block, kernels: Kernels, model: Model, shrink: Shrinkage
) -> tuple[Block, Accumulated]:
    """C_v, the sums of the clusters in each scaled view, and the moments of b."""
    like = model.problem.empty_moments()
    G, k, D = like.mean.shape
    if G * k <= D or any(view.baseline is not None for view in block.views):  # see `shared_sums`
        wide = kernels.accumulate(block.views, kernels.embed_with_shares(block, shrink)).arrays
        cross, sums = ArraySums(tuple(C[:, :D] for C in wide)), [C[:, D:] for C in wide]
    else:
        cross = kernels.accumulate(block.views, kernels.embed(block, shrink))
        shares = kernels.cluster_shares(
            replace(block, labels=block.group * k + block.labels), G * k
        )
        sums = [kernels.shared_sums(view, shares).T for view in block.views]
    return block, Accumulated(cross, ArraySums(tuple(sums)), kernels.moments(block, like))


def project_once(
    block: Block, kernels: Kernels, model: Model, shrink: Shrinkage
) -> tuple[Block, ArraySums]:
    """First stage of the one visit of an iteration: b."""
    return project_rows(block, kernels, model)


def update_Y_once(
    block: Block, kernels: Kernels, carry: Swept, order: IntArray, model: Model, shrink: Shrinkage
) -> tuple[Block, Swept]:
    """Second stage: the label step, from the moments that are known before the visit."""
    return update_Y(block, kernels, carry, order, model)


def update_Y_of_batch(
    block: Block, kernels: Kernels, carry: Frozen, model: Model, shrink: Shrinkage
) -> tuple[Block, Moved]:
    """The same for all samples of a block, statistics frozen."""
    return update_Y_at_once(block, kernels, carry, model)


def moments_ahead(found: Accumulated, model: Model) -> ClusterMoments:
    """Moments at new bases before any row is visited: means from the sums; scatters as they were.

    b̄_c = Σ_v H_vᵀ s_vc / (u n_c) − shift, with s the cluster sums in the views, eq. (A).
    """
    problem, before = model.problem, found.moments
    (G, k, D), n = before.mean.shape, before.count
    u = problem.n_present
    is_complete = G == 1 and u[0] == problem.n_scalings
    total = np.zeros((G * k, D))
    for s, mean, H in zip(found.sums.arrays, problem.means, model.bases, strict=True):
        # relative to the mean row, against cancellation
        near = s - np.outer(mean, n) if is_complete else s
        total += near.T @ H
    mass = (u[:, None] * n)[:, :, None]
    mean = np.divide(total.reshape(G, k, D), mass, out=np.zeros((G, k, D)), where=mass > 0)
    if not is_complete:
        mean = np.where(mass > 0, mean - model.shift, 0)
    return replace(before, mean=mean)


def embed(block: Block, kernels: Kernels, shrink: Shrinkage) -> tuple[Block, ArraySums]:
    """Replace b by z, eq. (Z)."""
    unweighted = replace(block, weights=kernels.rows(np.ones(len(block.labels))))
    return replace(block, projection=kernels.embed(unweighted, shrink)), ArraySums(())


def margins(
    block: Block, kernels: Kernels, model: Model, moments: ClusterMoments, sample_weight: float
) -> tuple[Block, ArraySums]:
    """Replace b by the margin in F of each label, and by the next cluster: (rows, 2)."""
    found = kernels.margins(block, _clusters(moments, model, sample_weight))
    return replace(block, projection=found), ArraySums(())


def cluster_costs(
    block: Block, kernels: Kernels, model: Model, moments: ClusterMoments, sample_weight: float
) -> tuple[Block, ArraySums]:
    """Replace b by the cost in F of each cluster: (rows, k)."""
    found = kernels.cluster_costs(block, _clusters(moments, model, sample_weight))
    return replace(block, projection=found), ArraySums(())


def stash_labels(block: Block, kernels: Kernels) -> tuple[Block, ArraySums]:
    """Stash the labels of this start."""
    return replace(block, stashed=(*block.stashed, kernels.copy(block.labels))), ArraySums(())


def take_labels(block: Block, kernels: Kernels, position: int) -> tuple[Block, ArraySums]:
    """Set the labels to a copy of stashed ones."""
    return replace(block, labels=kernels.copy(block.stashed[position])), ArraySums(())


def scatter_rows(block: Block, kernels: Kernels, model: Model) -> tuple[Block, ArraySums]:
    """Σ ω b and Σ ω b bᵀ in the largest space."""
    first = int(model.problem.starts[-1])
    return block, kernels.scatter(block, first)


def restore_labels(block: Block, kernels: Kernels, n_start: int) -> tuple[Block, ArraySums]:
    """Restore the labels of a start; projections stay those of the last one."""
    return replace(block, labels=block.stashed[n_start], stashed=()), ArraySums(())


def contingency(
    block: Block, kernels: Kernels, n_start: int, other: int, k: int
) -> tuple[Block, csr_array[Any]]:
    """Count the rows in each pair of clusters of two starts: (k, k)."""
    pairs = (block.stashed[n_start], block.stashed[other])
    ones = np.ones(len(block.labels), dtype=np.int64)
    return block, csr_array((ones, pairs), shape=(k, k))


def share_out(views: Sequence[ViewRows], shares: Any, kernels: Kernels) -> tuple[FloatArray, ...]:
    """Σ_i s_ci x_i of each view, (k, d_v), then Σ_i s_ci of the rows that have it, (k,)."""
    sums = (kernels.shared_sums(view, shares) for view in views)
    return (*sums, *(kernels.present_shares(view, shares) for view in views))


def _project(block: Block, kernels: Kernels, model: Model) -> Any:
    return kernels.project_centered(block, model.bases, model.problem.n_present, model.near_shift)


def _clusters(moments: ClusterMoments, model: Model, sample_weight: float = 1.0) -> Clusters:
    given = (model.problem.n_present, model.coupling, model.size_weight)
    return Clusters(moments, *given, sample_weight)


def shrinkage(moments: ClusterMoments, model: Model) -> Shrinkage:
    """keep = u / (u + g n_c), and z̄_c: the mean of b over a cluster, weighted by keep."""
    problem = model.problem
    n = moments.count.sum(axis=0)  # (k,)
    u = problem.n_present[:, None, None]  # (G, 1, 1)
    keep = u / (u + n[:, None] * model.coupling)  # (G, k, m)
    share = keep * moments.count[:, :, None]  # (G, k, m)
    share = share / np.maximum(share.sum(axis=0), np.finfo(float).tiny)
    center = np.sum(_per_column(share, problem.dims) * moments.mean, axis=0)  # (k, D)
    return Shrinkage(problem.starts, keep, center, model.shift)


def _per_column(per_space: FloatArray, dims: tuple[int, ...]) -> FloatArray:
    """Repeat the value of each space over its columns: (…, m) -> (…, D)."""
    return np.repeat(per_space, dims, axis=-1)


def _spread(moments: ClusterMoments, shrink: Shrinkage) -> FloatArray:
    """Σ_{i∈c} ‖b_i − z̄_c‖² in each group, cluster and space: (G, k, m)."""
    offset = np.add.reduceat((moments.mean - shrink.center) ** 2, moments.starts, axis=-1)
    return moments.scatter + moments.count[:, :, None] * offset


def objective(moments: ClusterMoments, model: Model) -> float:
    """F = m Σ‖x‖² − Σ u_i‖b_i‖² + Σ_c Σ_{i∈c} ρ_i ‖b_i − z̄_c‖², with ρ = g n keep, eq. (F)."""
    problem = model.problem
    shrink = shrinkage(moments, model)
    n = moments.count.sum(axis=0)  # (k,)
    rho = model.coupling * n[:, None] * shrink.keep  # (G, k, m)
    clustering = float(np.sum(rho * _spread(moments, shrink)))
    square = np.add.reduceat((moments.mean + shrink.shift) ** 2, moments.starts, axis=-1)
    explained = moments.scatter + moments.count[:, :, None] * square  # (G, k, m)
    explained_energy = float(np.sum(problem.n_present[:, None, None] * explained))
    sizes = model.size_weight * float(np.sum(n * (1 - np.log(np.maximum(n, TINY) / n.sum()))))
    return len(problem.dims) * problem.sum_squares - explained_energy + clustering + sizes


def cost_variance(moments: ClusterMoments, model: Model) -> float:
    """Cost of a sample in its cluster, per dimension: Σ_p Σ_c Σ_{i∈c} ρ ‖b − z̄_c‖² / (n d_p)."""
    shrink = shrinkage(moments, model)
    n = moments.count.sum(axis=0)  # (k,)
    rho = model.coupling * n[:, None] * shrink.keep  # (G, k, m)
    per_space = np.sum(rho * _spread(moments, shrink), axis=(0, 1))  # (m,)
    return float(np.sum(per_space / np.array(model.problem.dims)) / n.sum())


def log_likelihood(moments: ClusterMoments, scatter: ArraySums) -> float:
    """Mean log-likelihood of the labels in the largest space, up to a constant: eq. (L).

    The clusters are Gaussians of any size with a common covariance, W / n: −½ log |W / n| minus the
    entropy of the sizes. `scatter` is that of all rows, from `scatter_rows`, at the same bases.
    """
    n, first = moments.count[0], moments.starts[-1]
    total, square = scatter.arrays
    weight, means = n.sum(), moments.mean[0, :, first:]  # (k, d)
    between = (means.T * n) @ means
    within = (square - between) / weight  # (d, d)
    mean = total / weight
    size = np.trace(square) / weight
    spread, d = size - mean @ mean, len(within)
    # of rows that are all equal, rounding is left, which may be singular
    within[np.diag_indices(d)] += max(RIDGE * spread / d, EPSILON * size, TINY)
    shares = n[n > 0] / weight
    return float(np.sum(shares * np.log(shares)) - np.linalg.slogdet(within)[1] / 2)


def update_alpha(moments: ClusterMoments, model: Model) -> Model:
    """α_p ∝ r_p^(−1/(γ−1)), r_p = 2 Σ_c n_c Σ_{i∈c} keep² ‖b_i − z̄_c‖², eq. (α)."""
    shrink = shrinkage(moments, model)
    n = moments.count.sum(axis=0)  # (k,)
    r = 2 * np.sum(n[:, None] * shrink.keep**2 * _spread(moments, shrink), axis=(0, 1))  # (m,)
    floor = 1e-12 * model.problem.sum_squares
    if not np.any(r > floor):
        return model
    logits = -np.log(np.maximum(r, max(floor, np.finfo(float).tiny))) / (model.problem.exponent - 1)
    alpha = np.exp(logits - logits.max())
    updated = replace(model, alpha=alpha / alpha.sum())
    # because of the floor, the closed form can miss the minimum: compare F
    return updated if objective(moments, updated) <= objective(moments, model) else model


def update_H(cross: ArraySums, model: Model) -> Model:
    """H_pv = U Wᵀ, where U Σ Wᵀ = C_pv, eq. (H)."""
    columns = [slice(*ends) for ends in pairwise([*model.problem.starts.tolist(), None])]
    parts, before = (
        [[C[:, own] for own in columns] for C in of] for of in (cross.arrays, model.bases)
    )
    return replace(model, bases=orthonormalize_all(parts, before))


def over_relaxed_step(turned: Model, before: Model) -> Model:
    """H = polar factor of 2 H − H_before: over-relaxation by a factor of two."""
    ahead = [2 * H - B for H, B in zip(turned.bases, before.bases, strict=True)]
    return update_H(ArraySums(tuple(ahead)), turned)


def orthonormalize_all(
    parts: Sequence[Sequence[FloatArray]], before: Sequence[Sequence[FloatArray]] | None = None
) -> tuple[FloatArray, ...]:
    """Polar factors of C_pv, concatenated per view; `before` where C_pv is zero."""
    flat = [C for of_view in parts for C in of_view]
    fallback = [None] * len(flat) if before is None else [H for of_view in before for H in of_view]
    pairs = list(zip(flat, fallback, strict=True))
    size = float(sum(C.shape[0] * C.shape[1] ** 2 for C in flat))
    found = iter(list(side_by_side(lambda pair: orthonormalize(*pair), pairs, size)))
    return tuple(np.hstack([next(found) for _ in of_view]) for of_view in parts)


def orthonormalize(C: FloatArray, fallback: FloatArray | None = None) -> FloatArray:
    """Polar factor U Wᵀ of C: by CᵀC if that loses at most half of the digits."""
    C = np.asarray(C)  # which may have to arrive
    if fallback is not None and not np.any(C):
        return fallback
    largest = np.abs(C).max(initial=0.0)
    if largest < 1 + NEARLY_ORTHONORMAL:
        apart = C.T @ C - np.eye(C.shape[1])
        if np.abs(apart).max(initial=0.0) < NEARLY_ORTHONORMAL:
            return _polish(C, apart)
    scaled = C / largest if largest > 0 else C
    squares, W = np.linalg.eigh(scaled.T @ scaled)
    if squares[0] > WELL_CONDITIONED * squares[-1]:
        Q = scaled @ ((W / np.sqrt(squares)) @ W.T)
        return np.asarray(1.5 * Q - 0.5 * Q @ (Q.T @ Q))  # a Newton step restores the digits
    U, _, Wt = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(U @ Wt)


def _polish(H: FloatArray, apart: FloatArray) -> FloatArray:
    """Polar factor of columns that are nearly orthonormal, by HᵀH − 1; each step squares that."""
    while True:
        H = H - 0.5 * (H @ apart)
        if np.abs(apart).max(initial=0.0) < ROUNDED_SQUARE:
            return H
        apart = H.T @ H - np.eye(len(apart))
