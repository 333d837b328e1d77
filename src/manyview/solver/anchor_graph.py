"""The anchor graph: rows smoothed along their nearest neighbors, found by a first fit.

Anchors are points among the projections b of the first fit, which combine all views. A sample gets
weights on its s nearest anchors, and each of its views is replaced by the weighted mean of the mean
rows around these anchors,

    x̄_i = f_i Σ_j B_ij M_vj,   M_vj = Σ_i ω_i B_ij x_vi / Σ_i ω_i B_ij,   f_i = 1 / ‖·‖,

one step of diffusion on the graph B Λ⁻¹ Bᵀ, which is never formed. Noise of single samples averages
out; missing views are filled in. An iteration on x̄ costs O(n s D): the views themselves are only
needed for M, which is stored in r ≤ min(m, d_v) coordinates, M_v = T_v L_vᵀ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from manyview.engines import Engine
from manyview.kernels import Kernels
from manyview.kernels.block import Block, ViewRows
from manyview.kernels.row_space import Lift
from manyview.kernels.statistics import ArraySums
from manyview.solver.initialization import fill_empty
from manyview.solver.model import Model
from manyview.solver.scaled_rows import set_row_factors
from manyview.solver.updates import share_out, stash_labels
from manyview.utils.threads import limit_blas
from manyview.utils.types import FloatArray, IntArray

N_NEAREST = 7
ANCHORS_PER_CLUSTER = 10
FEWEST_ANCHORS = 600
MOST_ANCHORS = 2000  # beyond, distances to anchors would cost more than the fit
DIGITS = 9  # to which distances are compared: rounding must not decide
USED = 1e-6  # of a sample: an anchor with less weight has it from rounding
ANCHOR_STEPS = 5  # of k-means: anchors only need to cover the samples


@dataclass(frozen=True)
class AnchorGraph:
    """Anchors, and the mean rows of all views around each."""

    anchors: FloatArray  # (m, D)
    tables: tuple[FloatArray, ...]  # scaled view: (m, r), mean rows in r coordinates
    lifts: tuple[FloatArray | Lift, ...]  # scaled view: (d_v, r), orthonormal: to the features

    def smooth(self, engine: Engine) -> None:
        """Smooth the rows of an engine, after projection by the first fit."""
        engine.map_reduce(anchor_weights, self.anchors)
        smooth_rows(engine, self.tables)

    def lift(self, bases: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """Bases of the smoothed rows in terms of the features."""
        return tuple(L @ H for L, H in zip(self.lifts, bases, strict=True))


def count_anchors(n_samples: int, n_clusters: int) -> int:
    """Number of anchors; 0 with too few samples or too many clusters."""
    wanted = max(ANCHORS_PER_CLUSTER * n_clusters, FEWEST_ANCHORS)
    m = min(n_samples, wanted)
    return m if max(n_clusters, N_NEAREST + 1) <= m <= MOST_ANCHORS else 0


def fit_anchor_graph(
    engine: Engine, model: Model, n_anchors: int, rng: Generator
) -> tuple[AnchorGraph, FloatArray]:
    """Compute the anchors from the projections of a fit, and cut their graph into clusters.

    The engine then has the anchor weights as projections, and two sets of stashed labels: those
    that it had, and those of the cut, whose sizes are returned.
    """
    anchors = _place_anchors(engine, n_anchors, rng)
    totals = engine.map_reduce(average, anchors).arrays
    engine.map_reduce(stash_labels)
    links = engine.map_reduce(link_anchors).arrays[0]
    sizes = engine.map_reduce(label_by_cut, cut_anchors(links, model.problem.n_clusters)).arrays[0]
    if np.any(sizes == 0):
        engine.scan(fill_empty, sizes.astype(np.int64), 0)
    engine.map_reduce(stash_labels)
    *sums, used = totals
    n_scalings = model.problem.n_scalings
    source = _nearest_used(anchors, used)
    tables, lifts = [], []
    for total, weight, mean in zip(
        sums[:n_scalings], sums[n_scalings:], model.problem.means, strict=True
    ):
        is_seen = (weight > 0)[:, None]
        rows = np.where(is_seen, total / np.where(is_seen, weight[:, None], 1), mean)  # (m, d_v)
        rows = rows[source]
        with limit_blas(1):
            L, R = np.linalg.qr(rows.T)  # (d_v, r), (r, m)
        tables.append(np.ascontiguousarray(R.T))
        lifts.append(L)
    return AnchorGraph(anchors, tuple(tables), tuple(lifts)), sizes


def _nearest_used(anchors: FloatArray, used: FloatArray) -> IntArray:
    """For each anchor itself or, if it has no weight in any sample, the nearest that has: (m,).

    Of anchors that coincide, as equal samples make them, rounding decides which are used. New
    samples may round to another one, which must then have the same mean rows.
    """
    source = np.arange(len(anchors))
    known = np.flatnonzero(used > USED)
    for j in np.flatnonzero(used <= USED):
        source[j] = known[np.square(anchors[known] - anchors[j]).sum(axis=1).argmin()]
    return source


def _place_anchors(engine: Engine, n_anchors: int, rng: Generator) -> FloatArray:
    """A few steps of k-means on the projections."""
    blocks = engine.sample(engine.n_samples, rng)  # all of them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # duplicate rows: anchors coincide
        kmeans = KMeans(
            n_anchors,
            init="random",
            n_init=1,
            max_iter=ANCHOR_STEPS,
            random_state=int(rng.integers(2**31)),
        ).fit(
            np.concatenate([block.projection for block in blocks]),
            sample_weight=np.concatenate([block.weights for block in blocks]),
        )
    return np.asarray(kmeans.cluster_centers_, dtype=np.float64)


def anchor_weights(block: Block, kernels: Kernels, anchors: FloatArray) -> tuple[Block, ArraySums]:
    """Replace b by the weights of the nearest anchors: (rows, m)."""
    return replace(
        block, projection=kernels.anchor_weights(block.projection, anchors, N_NEAREST)
    ), ArraySums(())


def average(block: Block, kernels: Kernels, anchors: FloatArray) -> tuple[Block, ArraySums]:
    """The same, with Σ ω B x of each scaled view per anchor, and Σ ω B of the rows that have it.

    Then Σ B.
    """
    block, _ = anchor_weights(block, kernels, anchors)
    shares = sparse.csr_array((block.projection * block.weights[:, None]).T)  # (m, rows)
    used = np.asarray(block.projection.sum(axis=0), dtype=np.float64)  # (m,)
    return block, ArraySums((*share_out(block.views, shares, kernels), used))


def link_anchors(block: Block, kernels: Kernels) -> tuple[Block, ArraySums]:
    """Bᵀ Ω B: how many samples two anchors share."""
    return block, ArraySums((kernels.anchor_links(block.projection, block.weights),))


def cut_anchors(links: FloatArray, n_clusters: int) -> FloatArray:
    """Spectral cut of the anchor graph, as scores of the clusters for each anchor: (m, k).

    The eigenvectors of Λ^(-1/2) Bᵀ Ω B Λ^(-1/2) are those of the graph B Λ⁻¹ Bᵀ, seen from the
    anchors. Pivots are k anchors with nearly orthogonal rows; after a rotation towards them, the
    largest coordinate is the cluster.
    """
    weight = links.sum(axis=1)  # (m,): Λ, since the weights of a sample sum to one
    root = np.divide(1.0, np.sqrt(weight), out=np.zeros_like(weight), where=weight > 0)
    m, k = len(links), n_clusters
    with limit_blas(1):
        _, vectors = eigh(links * root[:, None] * root, subset_by_index=[m - k, m - 1])
        scores = root[:, None] * vectors[:, ::-1]  # (m, k)
        norms = np.linalg.norm(scores, axis=1, keepdims=True)
        rows = scores / np.maximum(norms, np.finfo(float).tiny)
        left, _, right = np.linalg.svd(rows[_pivots(rows)].T)
    return np.asarray(scores @ (left @ right))


def _pivots(rows: FloatArray) -> list[int]:
    """As many rows as there are columns, each the farthest from the span of those before it.

    All rows have unit norm, so that the first would be a matter of rounding; it is the first row.
    """
    left, pivots = rows.copy(), []
    for _ in range(rows.shape[1]):
        squares = np.einsum("ij,ij->i", left, left)
        pivots.append(int(np.round(squares, DIGITS).argmax()))
        axis = left[pivots[-1]] / max(np.sqrt(squares[pivots[-1]]), np.finfo(float).tiny)
        left -= np.outer(left @ axis, axis)
    return pivots


def label_by_cut(block: Block, kernels: Kernels, scores: FloatArray) -> tuple[Block, ArraySums]:
    """Label each row by the cut of its anchors; returns the rows of each cluster."""
    labels = np.abs(block.projection @ scores).argmax(axis=1)
    sizes = np.bincount(labels, minlength=scores.shape[1]).astype(np.float64)
    return replace(block, labels=labels.astype(np.int32)), ArraySums((sizes,))


def link_clusters(block: Block, kernels: Kernels, n_clusters: int) -> tuple[Block, ArraySums]:
    """Σ_{i∈c} ω B_ij of smoothed rows: (k, m)."""
    shares = block.views[0].values  # times the row factors
    member = sparse.csr_array(
        (block.weights / shares.sum(axis=1), (block.labels, np.arange(len(block.labels)))),
        shape=(n_clusters, len(block.labels)),
    )
    return block, ArraySums(((member @ shares).toarray(),))


def assortativity(engine: Engine, n_clusters: int) -> float:
    """How much likelier than by chance a step on the graph B Λ⁻¹ Bᵀ stays in a cluster, at most 1.

    The engine holds smoothed rows.
    """
    links = engine.map_reduce(link_clusters, n_clusters).arrays[0]  # (k, m)
    sizes, weight = links.sum(axis=1), links.sum(axis=0)  # (k,), (m,)
    total = weight.sum()
    stays = np.sum(links**2 / np.maximum(weight, np.finfo(float).tiny)) / total
    by_chance = np.sum((sizes / total) ** 2)
    return float((stays - by_chance) / (1 - by_chance)) if by_chance < 1 else 0.0


def smooth_rows(engine: Engine, tables: tuple[FloatArray, ...]) -> None:
    """Replace the views by the smoothed rows, with unit norm."""
    engine.map_reduce(_set_smoothed, tables, tuple(table @ table.T for table in tables))
    engine.map_reduce(set_row_factors, (True,) * len(tables))
    engine.map_reduce(_take_factors_in)


def _set_smoothed(
    block: Block,
    kernels: Kernels,
    tables: tuple[FloatArray, ...],
    grams: tuple[FloatArray, ...],
) -> tuple[Block, ArraySums]:
    """Smoothed rows as views; no view is missing, so there is one group."""
    pairs = zip(tables, grams, strict=True)
    views = tuple(ViewRows(block.projection, table=table, gram=gram) for table, gram in pairs)
    empty = kernels.unprojected(block)
    return replace(block, views=views, group=0 * block.group, projection=empty), ArraySums(())


def _take_factors_in(block: Block, kernels: Kernels) -> tuple[Block, ArraySums]:
    """Multiply the row factors into the anchor weights, once instead of in each product."""
    views = tuple(kernels.take_factor_in(view) for view in block.views)
    return replace(block, views=views), ArraySums(())
