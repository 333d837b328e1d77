"""A block: some rows of all views, with what the solver has made of them so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.utils.types import FloatArray, IntArray

CHUNK_ROWS = 1024  # a constant of the data, not of the engine: the sweep's order is defined by it


@dataclass(frozen=True)
class ViewRows:
    """The rows of one scaled view inside a block: x' = f · (map(x) ∘ scale − offset).

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
    """Some rows of all scaled views, with what the solver has made of them so far."""

    views: tuple[ViewRows, ...]
    weights: FloatArray  # (rows,)
    group: IntArray  # (rows,), index into the distinct numbers of scaled views present
    labels: NDArray[np.int32]  # (rows,)
    projection: Any  # (rows, D): b_i, centred
    given: tuple[ViewRows, ...] = ()  # the user's views as they are; () inside a sweep or a sample
    stashed: tuple[NDArray[np.int32], ...] = ()  # labels of the starts so far, (rows,) each
    distance_bounds: Any = None  # (rows, 3), or (rows, 0) where unknown: see `kernels.bounds`


@dataclass(frozen=True)
class Shrinkage:
    """How each b is drawn to its cluster, eq. (Z): z = z̄_c + keep · (b − z̄_c) + shift."""

    starts: IntArray  # (m,): first column of each space
    keep: FloatArray  # (G, k, m): u / (u + g n_c)
    center: FloatArray  # (k, D): z̄_c, centred
    shift: FloatArray  # (D,): what centring took away
