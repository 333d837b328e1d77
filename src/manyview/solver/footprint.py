"""Memory of a fit in addition to the views: one formula for the limit and for estimates.

Counted are arrays with a sample axis: of all rows, of the subset of the starts, and temporaries of
a block; and, for smoothed rows, the mean rows around the anchors. The rest is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from manyview.engines import ROW_BYTES
from manyview.kernels.row_space import is_wide
from manyview.solver.anchor_graph import N_NEAREST
from manyview.solver.scaled_rows import N_COMPONENTS
from manyview.utils.threads import n_threads

KEPT_PRODUCTS = 8  # arrays like the projections that a thread holds at its peak, measured
SLACK_BYTES = 12  # three float32
N_SQUARES = 3  # of a scaled wide view: Gram matrix, coordinates, and those in the engine
FEATURE_COLUMNS = 3  # arrays like the bases of a wide view: both models, and those of outliers
N_COORDINATES = 16  # bytes: starts hold two float64 for each dimension of the largest space


@dataclass(frozen=True)
class Footprint:
    """Sizes of a fit, and the bytes that follow from them."""

    n_samples: int
    n_subset: int  # samples of the starts
    n_features: tuple[int, ...]  # of each view
    itemsize: int
    dims: tuple[int, ...]  # of the spaces
    n_scalings: int
    n_anchors: int  # 0 if rows are not smoothed

    @property
    def view_row(self) -> int:
        """Bytes of a sample in all views."""
        return sum(self.n_features) * self.itemsize

    @property
    def made_row(self) -> int:
        """Bytes per sample that the engine keeps: b, bounds, anchor weights, row factors."""
        shares = N_NEAREST * (self.n_scalings * self.itemsize + 4)
        made = self._projected_row + SLACK_BYTES
        return made + (shares if self.n_anchors else 8 * self.n_scalings)

    @property
    def _projected_row(self) -> int:
        return sum(self.dims) * self.itemsize

    @property
    def _components_row(self) -> int:
        """Bytes of the stored principal components of a sample of the subset."""
        wide = sum(min(N_COMPONENTS, d) for d in self.n_features)
        return wide * self.itemsize if self.n_anchors else 0

    def bytes_held(self, block_rows: int, n_blocks: int = 0, room: float = np.inf) -> float:
        """Peak of bytes, including `n_blocks` blocks of the views.

        Arrays computed for all samples take at most `room`; the rest goes to scratch files.
        """
        n, few = self.n_samples, self.n_subset
        read = min(n_blocks * block_rows, 2 * n)  # rows: a single block is held twice
        always = n * ROW_BYTES + read * self.view_row + self._anchor_graph + self._row_spaces
        starts = few * N_COORDINATES * max(self.dims) + self._of_blocks(few, block_rows)
        starts += few * self._components_row
        made = min(n * self.made_row, room)
        if few == n:
            return always + made + starts
        copied = few * (self.view_row + self.made_row + ROW_BYTES)
        return always + copied + max(starts, made + self._of_blocks(n, block_rows))

    def bytes_on_host(self, block_rows: int) -> float:
        """The same for the host where a device passes over all samples: it holds the subset."""
        few = replace(self, n_samples=self.n_subset)
        copied = 0 if self.n_subset == self.n_samples else self.n_subset * self.view_row
        return few.bytes_held(block_rows) + copied + self.n_samples * ROW_BYTES

    @property
    def _anchor_graph(self) -> int:
        """Float64 of each scaled view: m × r, d_v × r and, of the table, m × m; r = min(m, d_v).

        Where a row space is used, d_v is its number of dimensions.
        """
        m, n, times = self.n_anchors, self.n_samples, self.n_scalings / len(self.n_features)
        widths = [n if is_wide(n, d) else d for d in self.n_features]
        return int(8 * times * sum(m * m + min(m, d) * (m + d) for d in widths))

    @property
    def _row_spaces(self) -> int:
        """Of wide views: n × n of each scaled view three times, and the features beside them.

        Bases of all spaces and axes of components are lifted to the features in float64; outlier
        scores copy the rows into folds.
        """
        n, times = self.n_samples, self.n_scalings / len(self.n_features)
        wide = [d for d in self.n_features if is_wide(n, d)]
        columns = FEATURE_COLUMNS * sum(self.dims) + N_COMPONENTS
        features = n * self.itemsize + 8 * times * columns
        return int(8 * n * n * N_SQUARES * times * len(wide) + features * sum(wide))

    def _of_blocks(self, n_rows: int, block_rows: int) -> int:
        """Temporary products of blocks, or a converted copy of one view.

        Threads that visit blocks in parallel return little of the memory that they freed.
        """
        widest = max(self.n_features) * self.itemsize
        if 1 < n_threads() <= -(-n_rows // block_rows):
            return n_threads() * block_rows * (widest + KEPT_PRODUCTS * self._projected_row)
        products = (3 if self.n_anchors else 2) * self._projected_row
        return min(n_rows, block_rows) * max(products, widest)
