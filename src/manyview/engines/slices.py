"""Some rows of a view, or of a block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.conversion import View
from manyview.kernels.block import Block


def slice_rows(view: View, rows: slice) -> View:
    """A slice of rows without a copy: scipy would copy data and 64-bit indices."""
    if not isinstance(view, sparse.csr_array):
        return view[rows]
    ends = view.indptr[rows.start : rows.stop + 1]
    stored = slice(ends[0], ends[-1])
    part = sparse.csr_array((rows.stop - rows.start, view.shape[1]), dtype=view.dtype)
    part.data, part.indices, part.indptr = view.data[stored], view.indices[stored], ends - ends[0]
    return part


def take_rows_of(block: Block, rows: NDArray[np.intp]) -> Block:
    """Some rows of a block, views included."""
    views = tuple(
        replace(
            view,
            values=view.values[rows],
            factor=None if view.factor is None else view.factor[rows],
            absent=None if view.absent is None else np.flatnonzero(np.isin(rows, view.absent)),
            level=None if view.level is None else view.level[rows],
        )
        for view in block.views
    )
    return Block(
        views, block.weights[rows], block.group[rows], block.labels[rows], block.projection[rows]
    )
