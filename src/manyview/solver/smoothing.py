"""Samples seen through their neighbors: a second reading of all views, made from a first fit.

Anchors are points among the projections b of the first fit, where all views agree on what is near.
A sample becomes shares of its s nearest anchors, and each of its views the same mix of the mean
rows about those anchors,

    x̄_i = f_i Σ_j B_ij M_vj,   M_vj = Σ_i ω_i B_ij x_vi / Σ_i ω_i B_ij,   f_i = 1 / ‖·‖,

one step of diffusion over the graph B Λ⁻¹ Bᵀ that never forms it. What is noise in one sample
averages out; a view that a sample lacks is filled in. An iteration on x̄ costs O(n s D): the views
themselves are read only to make M, which is kept in r ≤ min(m, d_v) coordinates, M_v = T_v L_vᵀ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from manyview.blocks import Block, FloatArray, Sums, ViewRows
from manyview.engines import Engine
from manyview.kernels import Kernels
from manyview.solver.problem import set_row_factors
from manyview.solver.state import Model
from manyview.solver.updates import share_out
from manyview.threads import limit_blas

__all__ = [
    "N_NEAREST",
    "Neighborhood",
    "average",
    "count_anchors",
    "look_around",
    "mix",
    "read_mixes",
]

N_NEAREST = 7
ANCHORS_PER_CLUSTER = 10
FEWEST_ANCHORS = 600
MOST_ANCHORS = 2000  # beyond, distances to anchors cost more than the fit
ANCHOR_STEPS = 5  # of k-means: anchors need only be spread as the samples are


@dataclass(frozen=True)
class Neighborhood:
    """Anchors, and what the views are like about each."""

    anchors: FloatArray  # (m, D)
    tables: tuple[FloatArray, ...]  # reading: (m, r), mean rows in r coordinates
    lifts: tuple[FloatArray, ...]  # reading: (d_v, r), orthonormal: back to the features

    def read(self, engine: Engine) -> None:
        """Read the rows of an engine, which have been projected, through their neighbors."""
        engine.map_reduce(mix, self.anchors)
        read_mixes(engine, self.tables)

    def lift(self, bases: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """Bases of the mixed rows as bases of the features."""
        return tuple(L @ H for L, H in zip(self.lifts, bases, strict=True))


def count_anchors(n_samples: int, n_clusters: int) -> int:
    """Anchors for so many samples and clusters; 0 where the former are too few, the latter many."""
    wanted = max(ANCHORS_PER_CLUSTER * n_clusters, FEWEST_ANCHORS)
    m = min(n_samples, wanted)
    return m if max(n_clusters, N_NEAREST + 1) <= m <= MOST_ANCHORS else 0


def look_around(engine: Engine, model: Model, n_anchors: int, rng: Generator) -> Neighborhood:
    """Find the anchors in the projections of a fit; read the rows through them."""
    anchors = _place_anchors(engine, n_anchors, rng)
    totals = engine.map_reduce(average, anchors).arrays
    n_readings = model.problem.n_readings
    tables, lifts = [], []
    for total, weight, mean in zip(
        totals[:n_readings], totals[n_readings:], model.problem.means, strict=True
    ):
        is_seen = (weight > 0)[:, None]
        rows = np.where(is_seen, total / np.where(is_seen, weight[:, None], 1), mean)  # (m, d_v)
        with limit_blas(1):
            L, R = np.linalg.qr(rows.T)  # (d_v, r), (r, m)
        tables.append(np.ascontiguousarray(R.T))
        lifts.append(L)
    read_mixes(engine, tuple(tables))
    return Neighborhood(anchors, tuple(tables), tuple(lifts))


def _place_anchors(engine: Engine, n_anchors: int, rng: Generator) -> FloatArray:
    """A few steps of k-means on the projections."""
    blocks = engine.sample(engine.n_samples, rng)  # all of them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # copies of a row: anchors coincide
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


def mix(block: Block, kernels: Kernels, anchors: FloatArray) -> tuple[Block, Sums]:
    """Replace b by the shares of the nearest anchors: (rows, m)."""
    return replace(block, projection=kernels.mix(block.projection, anchors, N_NEAREST)), Sums(())


def average(block: Block, kernels: Kernels, anchors: FloatArray) -> tuple[Block, Sums]:
    """The same, and Σ ω B x of each reading about each anchor, and Σ ω B over the rows with it."""
    block, _ = mix(block, kernels, anchors)
    shares = sparse.csr_array((block.projection * block.weights[:, None]).T)  # (m, rows)
    return block, Sums(share_out(block.views, shares, kernels))


def read_mixes(engine: Engine, tables: tuple[FloatArray, ...]) -> None:
    """Let the mixes be the views, with rows of unit norm."""
    engine.map_reduce(_read_mixes, tables, tuple(table @ table.T for table in tables))
    engine.map_reduce(set_row_factors, (True,) * len(tables))
    engine.map_reduce(_take_factors_in)


def _read_mixes(
    block: Block,
    kernels: Kernels,
    tables: tuple[FloatArray, ...],
    grams: tuple[FloatArray, ...],
) -> tuple[Block, Sums]:
    """Every sample has every view now: there is one group."""
    pairs = zip(tables, grams, strict=True)
    views = tuple(ViewRows(block.projection, table=table, gram=gram) for table, gram in pairs)
    empty = np.empty((len(block.labels), 0), dtype=block.projection.dtype)
    group = np.zeros_like(block.group)
    return replace(block, views=views, group=group, projection=empty), Sums(())


def _take_factors_in(block: Block, kernels: Kernels) -> tuple[Block, Sums]:
    """Shares times the row factors: seven products a row, once, for one a column in each visit."""
    views = []
    for view in block.views:
        shares, factor = view.values, view.factor
        assert isinstance(shares, sparse.csr_array)
        assert factor is not None
        scaled = shares.data * np.repeat(factor, np.diff(shares.indptr)).astype(shares.dtype)
        values = sparse.csr_array((scaled, shares.indices, shares.indptr), shape=shares.shape)
        views.append(replace(view, values=values, factor=None))
    return replace(block, views=tuple(views)), Sums(())
