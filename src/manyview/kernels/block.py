"""A block: some rows of all views, with their labels and projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manyview.utils.types import FloatArray, IntArray

CHUNK_ROWS = 1024  # the same for all engines, since it defines the order of the sweep


@dataclass(frozen=True)
class ViewRows:
    """The rows of one scaled view inside a block: x' = f · (map(ℓ x) ∘ scale − offset) W.

    If a dense view is far from the origin, products use x' − baseline instead, against
    cancellation; `project` then omits the baseline, `accumulate` adds it back. The table W has
    principal components; for smoothed rows, it has the rows that `values` are weights of.
    """

    values: Any  # (rows, d_v), unscaled: an array, a CSR array, or rows on disk
    map: str | None = None  # of `data.scaling.MAPS`
    scale: FloatArray | None = None  # (d_v,)
    offset: FloatArray | None = None  # (d_v,)
    factor: Any = None  # (rows,), zero for missing rows
    absent: Any = None  # missing rows
    baseline: FloatArray | None = None  # (d_v,): subtracted from x' before products
    table: FloatArray | None = None  # (columns of values, r): W
    gram: FloatArray | None = None  # W Wᵀ of smoothed rows, shared by all blocks
    level: Any = None  # (rows,): ℓ


@dataclass(frozen=True)
class Block:
    """Some rows of all scaled views, with their labels and projections.

    Arrays with a sample axis are of the library of the kernels.
    """

    views: tuple[ViewRows, ...]
    weights: Any  # (rows,), float64
    group: Any  # (rows,), index into the distinct numbers of scaled views present
    labels: Any  # (rows,), int32
    projection: Any  # (rows, D): b_i, centered
    given: tuple[ViewRows, ...] = ()  # the unscaled views; () inside a sweep or a subset
    stashed: tuple[Any, ...] = ()  # labels of the starts so far, (rows,) each
    chunks: range | None = None  # of which a label step at once takes the rows; None: all
    distance_bounds: Any = None  # (rows, 3), or (rows, 0) if unknown: see `kernels.bounds`

    def some(self, rows: Any) -> Block:
        """Some rows, without their views, which the label step does not need."""
        return Block(
            (), self.weights[rows], self.group[rows], self.labels[rows], self.projection[rows]
        )


@dataclass(frozen=True)
class Shrinkage:
    """Shrinkage of b towards its cluster, eq. (Z): z = z̄_c + keep · (b − z̄_c) + shift."""

    starts: IntArray  # (m,): first column of each space
    keep: FloatArray  # (G, k, m): u / (u + g n_c)
    center: FloatArray  # (k, D): z̄_c, centered
    shift: FloatArray  # (D,): removed by centering
