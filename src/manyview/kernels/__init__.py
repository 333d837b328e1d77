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
from manyview.exceptions import EngineUnavailableError
from manyview.kernels.block import Block, Shrinkage, ViewRows
from manyview.kernels.statistics import ArraySums, ClusterMoments, Clusters, Moved
from manyview.utils.optional import needed
from manyview.utils.types import FloatArray, IntArray

__all__ = ["Kernels", "choose_kernels"]


class Kernels(Protocol):
    """What is computed on one block; b, y, u, ω are its projection, labels, group and weights."""

    is_parallel: bool  # rows are many times faster at once than one by one
    xp: Any  # numpy or torch, for what both call the same

    def float64(self, array: Any) -> Any:
        """An array of the library or of numpy, on the device in float64."""

    def asarray(self, small: FloatArray, like: Any) -> Any:
        """Convert a small array to the library, device and dtype of `like`."""

    def columns(self, view: ViewRows, weights: FloatArray) -> ColumnMoments:
        """Moments of the columns of an unscaled view."""

    def rows(self, array: Any) -> Any:
        """Move an array with a sample axis to the library and device of the blocks."""

    def to_host(self, array: Any) -> NDArray[Any]:
        """An array with a sample axis, in numpy."""

    def joined(self, parts: Sequence[Any], dtype: Any = None) -> NDArray[Any]:
        """Arrays with a sample axis as one, in numpy and memory of its own."""

    def full(self, n: int, value: float, dtype: Any) -> Any:
        """An array with a sample axis that has one value: (n,)."""

    def host_block(self, block: Block) -> Block:
        """A block without its views, in numpy."""

    def free_bytes(self) -> float:
        """Memory of the device that new arrays may take."""

    def copy(self, array: Any) -> Any:
        """The same values in memory of their own."""

    def sum_factors(self, view: ViewRows, wanted: float) -> Any:
        """ℓ of rows that get the sum `wanted`; zero where it would overflow: (rows,)."""

    def unit_factors(self, squares: Any, dtype: Any) -> Any:
        """f = 1/‖·‖ of rows of these squared norms; 1 for rows too short for their dtype."""

    def total_squares(self, view: ViewRows, weights: Any) -> tuple[float, float]:
        """Σ ω over the rows that have the view, and Σ ω ‖x'‖²."""

    def unprojected(self, block: Block) -> Any:
        """A projection without columns: (rows, 0)."""

    def take_factor_in(self, view: ViewRows) -> ViewRows:
        """Smoothed rows whose anchor weights are multiplied by the row factors, once."""

    def project_centered(
        self,
        block: Block,
        bases: Sequence[FloatArray],
        n_present: FloatArray,
        shift: FloatArray,
    ) -> Any:
        """b = Σ_v X_v H_v / u − shift: (rows, D)."""

    def label_sizes(self, labels: Any, n_clusters: int) -> FloatArray:
        """Number of rows with each label; negative labels are not counted: (k,)."""

    def cluster_shares(self, block: Block, n_clusters: int) -> Any:
        """ω of each row in its cluster, for `shared_sums`: (k, rows)."""

    def present_shares(self, view: ViewRows, shares: Any) -> FloatArray:
        """Σ_i s_ci of the rows that have the view: (k,)."""

    def row_squares(self, view: ViewRows) -> Any:
        """‖(map(ℓ x) ∘ scale − offset) W‖² of each row, before the row factor."""

    def store_scaled(self, view: ViewRows) -> ViewRows:
        """The same scaled rows as a dense array, but for the row factors."""

    def project(self, views: Sequence[ViewRows], bases: Sequence[FloatArray]) -> Any:
        """A = Σ_v X_v H_v, spaces concatenated: (rows, D)."""

    def accumulate(
        self, views: Sequence[ViewRows], embedding: Any, *, is_awaited: bool = True
    ) -> ArraySums:
        """C_v = X_vᵀ Z: one (d_v, D) array per view, which may still have to arrive."""

    def gram(self, rows: Sequence[ViewRows]) -> FloatArray:
        """X' X'ᵀ of the rows of all blocks without their factors, in float64: (n, n)."""

    def combine(self, rows: Sequence[ViewRows], Z: FloatArray) -> FloatArray:
        """X'ᵀ Z of one scaled view over its rows in all blocks, in float64: (d_v, columns)."""

    def shared_sums(self, view: ViewRows, shares: Any) -> FloatArray:
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

    def embed_with_shares(self, block: Block, shrinkage: Shrinkage) -> Any:
        """The same, and ω in a column for each group and cluster: (rows, D + G k)."""

    def nearest(self, block: Block, clusters: Clusters) -> NDArray[np.int32]:
        """Label each row by the cluster of least add(c), statistics frozen."""

    def move(self, block: Block, clusters: Clusters) -> tuple[Any, Moved]:
        """Labels after each row alone has moved to where F falls most; statistics frozen."""

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


def choose_kernels(device: str, *, tf32: bool = False) -> Kernels:
    """Kernels for a device: "cpu", or a name that torch knows."""
    if device == "cpu":
        from manyview.kernels import cpu

        return cast(Kernels, cpu)
    torch = needed("torch", f"device={device!r}")
    if device.startswith("cuda") and not torch.cuda.is_available():
        msg = (
            f"device={device!r} needs a GPU that torch can use; torch {torch.__version__} finds "
            "none. Use device='cpu', or a build of torch with CUDA and its driver."
        )
        raise EngineUnavailableError(msg)
    from manyview.kernels.gpu.tensors import TensorKernels

    return cast(Kernels, TensorKernels("cpu" if device == "torch" else device, is_fast=tf32))
