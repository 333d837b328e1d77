"""Blocks of rows, and the statistics that blocks add up to.

Everything here is plain data. A `Block` holds what an engine keeps about some rows; the other
classes are results of visiting a block, small, float64, and added with `+` in the order of the
blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CHUNK_ROWS",
    "Block",
    "ClusterMoments",
    "ColumnMoments",
    "FloatArray",
    "IntArray",
    "Shrinkage",
    "Sums",
    "ViewRows",
]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]

CHUNK_ROWS = 1024  # a constant of the data, not of the engine: the sweep's order is defined by it


@dataclass(frozen=True)
class ViewRows:
    """The rows of one reading of one view inside a block: x' = f · (map(x) ∘ scale − offset).

    Where a dense view lies far from the origin, products are taken of x' − baseline instead, so
    that no digits are lost; `project` then leaves the baseline out, `accumulate` puts it back.
    With a table, `values` are shares of its rows: x' = f · (values · table), and nothing else.
    """

    values: Any  # (rows, d_v) as the user gave them: an array, a CSR array, or rows yet unread
    takes_root: bool = False
    scale: FloatArray | None = None  # (d_v,)
    offset: FloatArray | None = None  # (d_v,)
    factor: FloatArray | None = None  # (rows,), zero where the sample lacks the view
    absent: IntArray | None = None  # rows that hold no values
    baseline: FloatArray | None = None  # (d_v,): taken off each x' before it is multiplied
    table: FloatArray | None = None  # (columns of values, d_v)
    gram: FloatArray | None = None  # of the rows of the table: once for all blocks


@dataclass(frozen=True)
class Block:
    """Some rows of all readings, with what the solver has made of them so far."""

    views: tuple[ViewRows, ...]
    weights: FloatArray  # (rows,)
    group: IntArray  # (rows,), index into the distinct numbers of readings present
    labels: NDArray[np.int32]  # (rows,)
    projection: Any  # (rows, D): b_i, centred
    given: tuple[ViewRows, ...] = ()  # the user's views as they are; () inside a sweep or a sample
    kept: tuple[NDArray[np.int32], ...] = ()  # labels of the starts so far, (rows,) each
    slack: Any = None  # (rows, 3) or (rows, 0): how firmly rows sat when last looked at


@dataclass(frozen=True)
class Shrinkage:
    """How each b is drawn to its cluster, eq. (Z): z = z̄_c + keep · (b − z̄_c) + shift."""

    starts: IntArray  # (m,): first column of each space
    keep: FloatArray  # (G, k, m): u / (u + g n_c)
    center: FloatArray  # (k, D): z̄_c, centred
    shift: FloatArray  # (D,): what centring took away


@dataclass(frozen=True)
class Sums:
    """Arrays that add up elementwise."""

    arrays: tuple[FloatArray, ...]

    def __add__(self, other: Sums) -> Sums:
        """Elementwise sum."""
        return Sums(
            tuple(np.asarray(a + b) for a, b in zip(self.arrays, other.arrays, strict=True))
        )


@dataclass(frozen=True)
class ColumnMoments:
    """Weight, mean, scatter and smallest value of the columns of one view."""

    weight: float
    mean: FloatArray  # (d_v,)
    scatter: FloatArray  # (d_v,): sum of squared distances to the mean
    smallest: float
    resolution: float  # relative rounding of the values

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        """Moments of the union of two sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        delta = other.mean - self.mean
        return ColumnMoments(
            weight=weight,
            mean=self.mean + share * delta,
            scatter=self.scatter + other.scatter + self.weight * share * delta**2,
            smallest=min(self.smallest, other.smallest),
            resolution=self.resolution,
        )

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each column."""
        return np.sqrt(self.scatter / max(self.weight, np.finfo(float).tiny))

    @property
    def mean_square_norm(self) -> float:
        """Mean of the squared norms of the rows."""
        return float(np.sum(self.deviation**2 + self.mean**2))


@dataclass(frozen=True)
class ClusterMoments:
    """Count, mean and scatter of b in each cluster, for each number of readings present.

    With all views present there is one group. Scatter is per space and about the group's own mean,
    so that nothing cancels when the data lie far from the origin.
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
        """The same clusters with that many times the weight."""
        return replace(self, count=self.count * growth, scatter=self.scatter * growth)

    def copy(self) -> ClusterMoments:
        """Arrays of its own, for a sweep that updates them in place."""
        return ClusterMoments(
            self.starts, self.rows.copy(), self.count.copy(), self.mean.copy(), self.scatter.copy()
        )

    def regroup(self, levels: Sequence[int], wanted: Sequence[int]) -> ClusterMoments:
        """The same clusters with empty groups added: one for each number of readings `wanted`."""
        order = [list(wanted).index(level) for level in levels]
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
