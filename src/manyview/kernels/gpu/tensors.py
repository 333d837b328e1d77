"""Kernels in torch, for a GPU; on the CPU they are tested.

Blocks hold tensors on one device; what comes back is float64 in numpy. Sums over rows are made of
tiles in the precision of the rows, which are added in float64. No step adds in an order that could
change, so that the same call gives the same result.

Of the functions of `Kernels`, those of the label step are in `label_step`, those of arrays in
`arrays`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyview.data.scaling import ColumnMoments, largest_factor, shortest_norm
from manyview.kernels.block import Block, Shrinkage, ViewRows
from manyview.kernels.gpu.arrays import Kept, fused_kernels, precision
from manyview.kernels.gpu.label_step import FUSED_ROWS, TensorLabelStep
from manyview.kernels.gpu.products import (
    cluster_sums,
    column_moments,
    is_plain,
    mapped,
    numpy_dtype,
    one_hot_rows,
    raw_rows,
    row_pieces,
    row_squares,
    space_dims,
    times_basis,
    to_numpy,
    transposed_times,
    unfactored,
)
from manyview.kernels.gpu.sparse_rows import Pattern, SparseRows
from manyview.kernels.gpu.transfers import Arriving
from manyview.kernels.statistics import ArraySums
from manyview.utils.types import FloatArray


@dataclass(frozen=True)
class ClusterShares:
    """Weights of rows in their clusters."""

    labels: Tensor  # (rows,)
    weights: Tensor  # (rows,)
    n_clusters: int


class TensorKernels(TensorLabelStep):
    """The functions of `Kernels` on a device."""

    def __init__(self, device: str, *, is_fast: bool = False) -> None:
        super().__init__(device, is_fast=is_fast)
        self._folded, self._there = Kept(), Kept()  # what a product with the views needs
        self._leaving: Any = None  # stream of results

    # views

    def columns(self, view: ViewRows, weights: Tensor) -> ColumnMoments:
        """Weighted mean, scatter and minimum of the columns; missing rows have no weight."""
        return column_moments(view, weights)

    def sum_factors(self, view: ViewRows, wanted: float) -> Tensor:
        """ℓ of rows that get the same sum; zero where it would overflow."""
        X = mapped(view)
        sums = X.row_sums() if isinstance(X, SparseRows) else X.sum(1, dtype=torch.float64)
        least = wanted / largest_factor(numpy_dtype(X.dtype))
        return torch.where(sums > least, wanted / sums, 0.0)

    def row_squares(self, view: ViewRows) -> Tensor:
        """‖(map(ℓ x) ∘ scale − offset) W‖² of each row."""
        if (
            self.device.type == "cuda"
            and view.table is None
            and (fused := fused_kernels()) is not None
        ):
            X = raw_rows(view)
            if fused.can_project([X], 0):
                found: Tensor = fused.row_squares(X, view.scale, view.offset)
                return found
        return row_squares(view)

    def unit_factors(self, squares: Tensor, dtype: Any) -> Tensor:
        """f = 1/‖·‖; 1 where it would overflow, or the square has lost digits."""
        norm = squares.sqrt()
        return torch.where(norm > shortest_norm(numpy_dtype(dtype)), 1 / norm, 1.0)

    def total_squares(self, view: ViewRows, weights: Tensor) -> tuple[float, float]:
        """Σ ω over the rows that have the view, and Σ ω ‖x'‖²."""
        factor = torch.ones_like(weights) if view.factor is None else view.factor
        squares = (weights * factor**2) @ self.row_squares(view)
        return float(weights @ (factor > 0).to(weights.dtype)), float(squares)

    def store_scaled(self, view: ViewRows) -> ViewRows:
        """The same scaled rows, with everything but the row factors applied."""
        values = unfactored(view)
        return ViewRows(values, factor=view.factor, absent=view.absent, baseline=view.baseline)

    def take_factor_in(self, view: ViewRows) -> ViewRows:
        """Smoothed rows whose anchor weights are multiplied by the row factors."""
        return replace(view, values=view.values.times_rows(view.factor), factor=None)

    def project(self, views: Sequence[ViewRows], bases: Sequence[FloatArray]) -> Tensor:
        """A = Σ_v X_v H_v."""
        parts = zip(views, bases, strict=True)
        with precision(self._is_fast):
            total = times_basis(*next(parts))
            for view, H in parts:
                part = times_basis(view, H)
                total = total + part if part.dtype != total.dtype else total.add_(part)
        return total

    def accumulate(
        self, views: Sequence[ViewRows], embedding: Tensor, *, is_awaited: bool = True
    ) -> ArraySums:
        """C_v = X_vᵀ Z; unless awaited, that of a view can be read while the next is computed."""
        with precision(self._is_fast):
            found = (transposed_times(view, embedding) for view in views)
            if is_awaited or self.device.type != "cuda":
                return ArraySums(tuple(map(to_numpy, found)))
            if self._leaving is None:
                self._leaving = torch.cuda.Stream(self.device)
            arriving: Any = tuple(Arriving.begin(C, self._leaving) for C in found)
        return ArraySums(arriving)

    # smoothed rows

    def anchor_weights(self, projection: Tensor, anchors: FloatArray, n_nearest: int) -> SparseRows:
        """Weights of the nearest anchors of each row, some rows at a time."""
        A = self.asarray(anchors, like=projection)
        square, (n, m) = A.square().sum(1), (len(projection), len(A))
        columns = torch.empty((n, n_nearest), dtype=torch.int64, device=self.device)
        shares = torch.empty((n, n_nearest), dtype=projection.dtype, device=self.device)
        with precision(False):
            for rows in row_pieces(n, m, projection.element_size()):
                distance = torch.addmm(square, projection[rows], A.T, alpha=-2)
                found = distance.topk(n_nearest + 1, dim=1, largest=False)
                apart = found.values[:, -1:] - found.values[:, :-1]
                total = apart.sum(1, keepdim=True)
                shares[rows] = torch.where(total > 0, apart / total, 1.0 / n_nearest)
                columns[rows] = found.indices[:, :-1]
        ends = torch.arange(n + 1, device=self.device) * n_nearest
        return SparseRows(Pattern(ends, columns.ravel(), m), shares.ravel())

    # clusters

    def unprojected(self, block: Block) -> Tensor:
        """A projection without columns."""
        dtype = block.projection.dtype
        return torch.empty((len(block.labels), 0), dtype=dtype, device=self.device)

    def project_centered(
        self,
        block: Block,
        bases: Sequence[FloatArray],
        n_present: FloatArray,
        shift: FloatArray,
    ) -> Tensor:
        """b = Σ_v X_v H_v / u − shift; where views are plain, the products do all of it."""
        if len(n_present) > 1 or not all(map(is_plain, block.views)):
            b = self.project(block.views, bases)
            u = self.asarray(n_present, like=b)
            b.div_(u if len(u) == 1 else u[block.group][:, None])
            return b.sub_(self.asarray(shift, like=b))
        scales = [part for view in block.views for part in (view.scale, view.offset)]
        folded = self._folded.get(
            (bases, n_present, shift, *scales), lambda: _fold(block, bases, n_present[0], shift)
        )
        is_large = self.device.type == "cuda" and len(block.labels) >= FUSED_ROWS
        if is_large and (fused := fused_kernels()) is not None:
            views = [raw_rows(view) for view in block.views]
            if fused.can_project(views, len(shift)):
                found: Tensor = fused.project(views, *folded, is_fast=self._is_fast)
                return found
        return self._add_products(block, folded)

    def _add_products(self, block: Block, folded: tuple[list[FloatArray], FloatArray]) -> Tensor:
        """Σ_v X_v part_v + constant by products of the library."""
        rows = [mapped(view) for view in block.views]
        kinds = [X.dtype for X in rows]
        parts, constant = self._there.get(
            (folded, *kinds),
            lambda: (
                [self.asarray(part, like=X) for part, X in zip(folded[0], rows, strict=True)],
                self.asarray(folded[1], like=rows[0]),
            ),
        )
        with precision(self._is_fast):
            b = torch.addmm(constant, rows[0], parts[0])
            for X, part in zip(rows[1:], parts[1:], strict=True):
                b = b.to(torch.promote_types(b.dtype, X.dtype))
                b.addmm_(X.to(b.dtype), part.to(b.dtype))
        return b

    def label_sizes(self, labels: Tensor, n_clusters: int) -> FloatArray:
        """Number of rows with each label; negative labels are not counted."""
        counted = torch.bincount(labels + 1, minlength=n_clusters + 1)[1:]
        return to_numpy(counted.double())

    def cluster_shares(self, block: Block, n_clusters: int) -> ClusterShares:
        """ω of each row in its cluster."""
        return ClusterShares(block.labels, block.weights, n_clusters)

    def shared_sums(self, view: ViewRows, shares: ClusterShares) -> FloatArray:
        """Σ_i s_ci x_i: weights times row factors times view."""
        X = mapped(view)
        weights = shares.weights if view.factor is None else shares.weights * view.factor
        with precision(False):
            if isinstance(X, SparseRows):
                one_hot = one_hot_rows(shares.labels, weights, shares.n_clusters)
                total = to_numpy(X.transposed_times(one_hot).T)
            else:
                total = to_numpy(cluster_sums(X, shares.labels, weights, shares.n_clusters))
        if view.scale is not None:
            total = total * view.scale
        if view.offset is not None:
            total = total - np.outer(self._totals(shares, weights), view.offset)
        return total if view.table is None else np.asarray(total @ view.table)

    def present_shares(self, view: ViewRows, shares: ClusterShares) -> FloatArray:
        """Σ_i s_ci of the rows that have the view."""
        weights = shares.weights
        return self._totals(shares, weights if view.factor is None else weights * (view.factor > 0))

    def _totals(self, shares: ClusterShares, weights: Tensor) -> FloatArray:
        ones = torch.ones((len(weights), 1), dtype=torch.float64, device=self.device)
        return to_numpy(cluster_sums(ones, shares.labels, weights, shares.n_clusters)[:, 0])

    def embed(self, block: Block, shrinkage: Shrinkage) -> Tensor:
        """ω z, z = z̄_c + u / (u + g n_c) · (b − z̄_c), shift added back."""
        b = block.projection
        k, dims = shrinkage.center.shape[0], space_dims(shrinkage.starts, b.shape[1])
        # z = keep ∘ b + rest, with rows of keep and rest by group and cluster
        keep = np.repeat(shrinkage.keep, dims, axis=-1)  # (G, k, D)
        rest = (1 - keep) * shrinkage.center + shrinkage.shift
        which = block.labels if len(keep) == 1 else block.group * k + block.labels
        tables = [self.asarray(t.reshape(-1, b.shape[1]), like=b) for t in (keep, rest)]
        if b.is_cuda and b.dtype == torch.float32 and fused_kernels() is not None:
            out: Tensor = fused_kernels().embed(b.contiguous(), which.contiguous(), *tables)
        else:
            out = torch.addcmul(tables[1][which], tables[0][which], b)
        if not self.has_weights_of_one(block.weights):
            out *= block.weights.to(b.dtype)[:, None]
        return out

    def embed_with_shares(self, block: Block, shrinkage: Shrinkage) -> Tensor:
        """ω z, and ω in the column of its group and cluster."""
        z = self.embed(block, shrinkage)
        G, k, _ = shrinkage.keep.shape
        shares = torch.zeros((len(z), G * k), dtype=z.dtype, device=z.device)
        which = block.labels.long() if G == 1 else block.group * k + block.labels
        shares.scatter_(1, which[:, None], block.weights.to(z.dtype)[:, None])
        return torch.cat([z, shares], dim=1)


def _fold(
    block: Block, bases: Sequence[FloatArray], n_present: float, shift: FloatArray
) -> tuple[list[FloatArray], FloatArray]:
    """What the stored rows are multiplied with, and added to it, to get b."""
    constant, parts = -shift, []
    for view, H in zip(block.views, bases, strict=True):
        of_view = H / n_present
        constant = constant if view.offset is None else constant - view.offset @ of_view
        parts.append(of_view if view.scale is None else view.scale[:, None] * of_view)
    return parts, constant
