"""Kernels: computations on one block, with a given array library.

A kernel module has the functions of `Kernels` and no state. The engine stores rows, kernels compute
with them. To add a module, implement the functions and register it in `choose_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.scaling import ColumnMoments
from manyview.kernels.block import Block, Shrinkage, ViewRows
from manyview.kernels.statistics import ArraySums, ClusterMoments, Clusters
from manyview.utils.types import FloatArray, IntArray

__all__ = ["Kernels", "choose_kernels"]


class Kernels(Protocol):
    """What is computed on one block; b, y, u, ω are its projection, labels, group and weights."""

    def asarray(self, small: FloatArray, like: Any) -> Any:
        """Convert a small array to the library, device and dtype of `like`."""

    def columns(self, view: ViewRows, weights: FloatArray) -> ColumnMoments:
        """Moments of the columns of an unscaled view."""

    def row_sums(self, view: ViewRows) -> FloatArray:
        """Sum of the values of each row, before they are scaled."""

    def row_squares(self, view: ViewRows) -> FloatArray:
        """‖(map(ℓ x) ∘ scale − offset) W‖² of each row, before the row factor."""

    def store_scaled(self, view: ViewRows) -> ViewRows:
        """The same scaled rows as a dense array, but for the row factors."""

    def project(self, views: Sequence[ViewRows], bases: Sequence[FloatArray]) -> Any:
        """A = Σ_v X_v H_v, spaces concatenated: (rows, D)."""

    def accumulate(self, views: Sequence[ViewRows], embedding: Any) -> ArraySums:
        """C_v = X_vᵀ Z: one (d_v, D) array per view."""

    def gram(self, rows: Sequence[ViewRows]) -> FloatArray:
        """X' X'ᵀ of the rows of all blocks without their factors, in float64: (n, n)."""

    def combine(self, rows: Sequence[ViewRows], Z: FloatArray) -> FloatArray:
        """X'ᵀ Z of one scaled view over its rows in all blocks, in float64: (d_v, columns)."""

    def shared_sums(self, view: ViewRows, shares: sparse.csr_array[Any]) -> FloatArray:
        """Σ_i s_ci x_i for weights (k, rows) of the rows: (k, d_v)."""

    def anchor_weights(
        self, projection: Any, anchors: FloatArray, n_nearest: int
    ) -> sparse.csr_array[Any]:
        """Weights of each row on its nearest anchors: (rows, anchors), rows sum to one.

        With δ the squared distances in rising order, the weight of anchor j ≤ s is proportional to
        δ_{s+1} − δ_j.
        """

    def moments(self, block: Block, like: ClusterMoments) -> ClusterMoments:
        """Count, mean and scatter of b in each group and cluster, shaped as `like`."""

    def scatter(self, block: Block, first: int) -> ArraySums:
        """Σ ω b and Σ ω b bᵀ of the columns from `first` on."""

    def anchor_links(self, shares: sparse.csr_array[Any], weights: FloatArray) -> FloatArray:
        """Bᵀ diag(ω) B of anchor weights B: (anchors, anchors)."""

    def embed(self, block: Block, shrinkage: Shrinkage) -> Any:
        """ω z of eq. (Z): each b drawn towards the mean of its cluster, the shift added back."""

    def nearest(self, block: Block, clusters: Clusters) -> NDArray[np.int32]:
        """Label each row by the cluster of least add(c), statistics frozen."""

    def margins(self, block: Block, clusters: Clusters) -> FloatArray:
        """1 − add(own) / least add of another cluster, in [0, 1], and which that is: (rows, 2)."""

    def cluster_costs(self, block: Block, clusters: Clusters) -> FloatArray:
        """add(c) of each row and cluster, statistics frozen: (rows, k)."""

    def distance_bounds(self, block: Block, clusters: Clusters) -> Any:
        """Nearest cluster, distance to it at most, the next at least: (rows, 3) or (rows, 0)."""

    def bound_violated(
        self, block: Block, clusters: Clusters, since: ClusterMoments
    ) -> NDArray[np.bool_]:
        """Rows whose bounds, computed at `since`, do not exclude a change; all without bounds."""

    def assign(self, block: Block, order: IntArray, clusters: Clusters) -> int:
        """Sweep once over the rows of `order`; changes labels and moments in place, never raises F.

        Returns the number of changed labels.
        """


def choose_kernels(device: str) -> Kernels:
    """Kernel module for a device."""
    from manyview.kernels import cpu

    return cast(Kernels, cpu)
