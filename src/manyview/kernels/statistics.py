"""Results of a visit to a block: small float64 dataclasses that are summed with `+`.

The engine sums the results in the order of the blocks, so that they are reproducible to the bit for
a given partition into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.utils.types import FloatArray, IntArray

MOST_TAKEN = 0.9  # of a cluster, when a batch stands for more rows than it has
LEAST_KEPT = 0.01  # of a scatter from which another is subtracted


@dataclass(frozen=True)
class ArraySums:
    """Arrays that are summed elementwise; a device may hand over some that are on their way."""

    arrays: tuple[FloatArray, ...]

    def __add__(self, other: ArraySums) -> ArraySums:
        """Elementwise sum."""
        return ArraySums(
            tuple(np.asarray(a + b) for a, b in zip(self.arrays, other.arrays, strict=True))
        )


@dataclass(frozen=True)
class ClusterMoments:
    """Count, mean and scatter of b in each cluster, for each number of scaled views present.

    With all views present there is one group. Scatter is per space and around the mean of the
    group, against cancellation for data far from the origin.
    """

    starts: IntArray  # (m,): first column of each space
    rows: NDArray[np.int64]  # (G, k): number of rows
    count: FloatArray  # (G, k): sum of the sample weights
    mean: FloatArray  # (G, k, D)
    scatter: FloatArray  # (G, k, m)

    def __add__(self, other: ClusterMoments) -> ClusterMoments:
        """Moments of the union of two sets of rows."""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)  # (G, k)
        delta = other.mean - self.mean
        distance = np.add.reduceat(delta**2, self.starts, axis=-1)  # (G, k, m)
        return ClusterMoments(
            starts=self.starts,
            rows=self.rows + other.rows,
            count=count,
            mean=self.mean + share[:, :, None] * delta,
            scatter=self.scatter + other.scatter + (self.count * share)[:, :, None] * distance,
        )

    def grown(self, growth: float) -> ClusterMoments:
        """The same clusters with multiplied weights."""
        return replace(self, count=self.count * growth, scatter=self.scatter * growth)

    def replaced(
        self, before: ClusterMoments, after: ClusterMoments, times: int = 1
    ) -> ClusterMoments:
        """The same clusters when `times` as many rows as those of `before` are those of `after`.

        Where that would take more than there is, a small share of the cluster stays.
        """
        n, part = self.count, before.count
        most, least = (1.0, 0.0) if times == 1 else (MOST_TAKEN, LEAST_KEPT)
        taken = np.minimum(times * part, most * n)  # (G, k)
        rest = n - taken
        ratio = np.divide(taken, rest, out=np.zeros_like(n), where=rest > 0)
        delta = before.mean - self.mean
        distance = np.add.reduceat(delta**2, self.starts, axis=-1)  # (G, k, m)
        share = np.divide(taken, part, out=np.zeros_like(n), where=part > 0)[:, :, None]
        lost = share * before.scatter + (n * ratio)[:, :, None] * distance
        kept = replace(
            self,
            rows=np.maximum(self.rows - times * before.rows, 0),
            count=rest,
            mean=self.mean - ratio[:, :, None] * delta,
            scatter=np.where(rest[:, :, None] > 0, self.scatter - lost, 0).clip(
                least * self.scatter
            ),
        )
        return kept + replace(after.grown(times), rows=times * after.rows)

    def copy(self) -> ClusterMoments:
        """A copy, for a sweep that updates it in place."""
        return ClusterMoments(
            self.starts, self.rows.copy(), self.count.copy(), self.mean.copy(), self.scatter.copy()
        )

    def regroup(self, n_present: Sequence[int], wanted: Sequence[int]) -> ClusterMoments:
        """The same clusters, with empty groups added for the numbers `wanted` of views."""
        order = [list(wanted).index(level) for level in n_present]
        shape = (len(wanted), *self.count.shape[1:])

        def spread(values: NDArray[Any]) -> NDArray[Any]:
            out = np.zeros(shape + values.shape[2:], dtype=values.dtype)
            out[order] = values
            return out

        return ClusterMoments(
            self.starts,
            spread(self.rows),
            spread(self.count),
            spread(self.mean),
            spread(self.scatter),
        )


@dataclass(frozen=True)
class Accumulated:
    """What one visit of the rows gives for the next iteration."""

    cross: ArraySums  # of each scaled view, X_vᵀ Z: (d_v, D)
    sums: ArraySums  # of each scaled view, Σ ω x over each group and cluster: (d_v, G k)
    moments: ClusterMoments  # of b at the new labels
    squares: ArraySums = ArraySums(())  # Σ ω ‖x‖² of each scaled view, from the first visit: (V,)

    def __add__(self, other: Accumulated) -> Accumulated:
        """Of the union of two sets of rows."""
        return Accumulated(
            self.cross + other.cross,
            self.sums + other.sums,
            self.moments + other.moments,
            self.squares + other.squares,
        )


@dataclass(frozen=True)
class Moved:
    """Moments of the rows that a label step with frozen statistics has moved, before and after."""

    before: ClusterMoments
    after: ClusterMoments

    @property
    def n_moved(self) -> int:
        """Number of these rows."""
        return int(self.before.rows.sum())

    def __add__(self, other: Moved) -> Moved:
        """Moments of the union of two sets of rows."""
        return Moved(self.before + other.before, self.after + other.after)


@dataclass(frozen=True)
class Frozen:
    """Moments that the label step of a batch uses; a shard has its own, brought up to date."""

    moments: ClusterMoments
    n_shards: int  # that move at the same time: each move counts as often

    def after(self, moved: Moved) -> Frozen:
        """Statistics for the next batch."""
        if moved.n_moved == 0:
            return self
        return replace(
            self, moments=self.moments.replaced(moved.before, moved.after, self.n_shards)
        )

    def joined(self, moved: Moved) -> Frozen:
        """Statistics once all shards that moved at the same time have done so."""
        return replace(self, moments=self.moments.replaced(moved.before, moved.after))


@dataclass(frozen=True)
class Clusters:
    """What the label step needs of the clusters: their moments, and the coupling of samples."""

    moments: ClusterMoments
    n_present: FloatArray  # (G,): number of scaled views present in each group
    coupling: FloatArray  # (m,): g of each space
    size_weight: float = 0.0  # τ, of the entropy of the sizes
    sample_weight: float = 1.0  # of a sample that is labelled with the statistics frozen
