"""Kernels in torch, for a GPU; on the CPU they are tested.

Blocks hold tensors on one device; what comes back is float64 in numpy. Sums over rows are made of
tiles in the precision of the rows, which are added in float64. No step adds in an order that could
change, so that the same call gives the same result.

The label step is one matrix product of a batch with all clusters, statistics frozen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from manyview.data.scaling import ColumnMoments, largest_factor, shortest_norm
from manyview.kernels import cpu
from manyview.kernels.block import CHUNK_ROWS, Block, Shrinkage, ViewRows
from manyview.kernels.gpu.products import (
    cluster_sums,
    column_moments,
    is_plain,
    mapped,
    numpy_dtype,
    one_hot_rows,
    row_pieces,
    row_squares,
    space_dims,
    spaces,
    stored,
    times_basis,
    to_numpy,
    to_tensor,
    transposed_times,
    unfactored,
)
from manyview.kernels.gpu.sparse_rows import Pattern, SparseRows
from manyview.kernels.gpu.transfers import to_host
from manyview.kernels.statistics import ArraySums, ClusterMoments, Clusters, Moved
from manyview.kernels.sweep import Costs, leaving_costs, prepare_all
from manyview.utils.memory import installed_memory
from manyview.utils.types import FloatArray

FEW_ROWS = 50_000  # up to here sums are made on the host
FUSED_ROWS = 1024  # from which on a fused kernel pays
TOLERANCE = 1e-6  # relative decrease of F below which it may be rounding, in float32


@dataclass(frozen=True)
class ClusterShares:
    """Weights of rows in their clusters."""

    labels: Tensor  # (rows,)
    weights: Tensor  # (rows,)
    n_clusters: int


@contextmanager
def _precision(is_fast: bool) -> Iterator[None]:
    """Products of float32 in TF32, or in float32."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = is_fast
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


class TensorKernels:
    """The functions of `Kernels` on a device."""

    def __init__(self, device: str, *, is_fast: bool = False) -> None:
        self.device = torch.device(device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self._is_fast = is_fast  # TF32 in the products with the views
        self._tables: tuple[ClusterMoments, tuple[float, ...], Tensor] | None = None

    # arrays

    xp = torch
    is_parallel = True

    def rows(self, array: Any) -> Any:
        """Move an array with a sample axis to the device."""
        return to_tensor(array, self.device)

    def to_host(self, array: Any) -> NDArray[Any]:
        """An array with a sample axis, in numpy."""
        return self.joined([array]) if isinstance(array, Tensor) else np.asarray(array)

    def joined(self, parts: Sequence[Tensor], dtype: Any = None) -> NDArray[Any]:
        """Arrays with a sample axis as one, in numpy."""
        kind = parts[0].dtype if dtype is None else getattr(torch, np.dtype(dtype).name)
        like = torch.empty((0,), dtype=kind).numpy().dtype
        # numpy asks for large pages, which the first writing to an array waits for less often
        out = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=like)
        first = 0
        for part in parts:
            to_host(part.to(kind), torch.from_numpy(out[first : first + len(part)]))
            first += len(part)
        return out

    def full(self, n: int, value: float, dtype: Any) -> Tensor:
        """An array with a sample axis that has one value."""
        wanted = torch.from_numpy(np.empty(0, dtype)).dtype
        return torch.full((1,), value, dtype=wanted, device=self.device).expand(n)

    def free_bytes(self) -> float:
        """Memory of the device that new arrays may take."""
        if self.device.type != "cuda":
            return float(installed_memory() / 4)
        free, total = torch.cuda.mem_get_info(self.device)
        share = getattr(torch.cuda, "get_per_process_memory_fraction", lambda device: 1.0)
        allowed = total * share(self.device)
        cached = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return float(min(free + cached, allowed - torch.cuda.memory_allocated(self.device)))

    def copy(self, array: Tensor) -> Tensor:
        """The same values in memory of their own."""
        return array.clone()

    def float64(self, array: Any) -> Tensor:
        """An array on the device in float64."""
        found: Tensor = to_tensor(array, self.device).double()
        return found

    def asarray(self, small: Any, like: Tensor) -> Tensor:
        """An array on the device and in the dtype of `like`."""
        return to_tensor(small, like.device).to(like.dtype)

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
        if self.device.type == "cuda" and view.table is None and (fused := _fused()) is not None:
            X = stored(view)
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
        with _precision(self._is_fast):
            total = times_basis(*next(parts))
            for view, H in parts:
                part = times_basis(view, H)
                total = total + part if part.dtype != total.dtype else total.add_(part)
        return total

    def accumulate(self, views: Sequence[ViewRows], embedding: Tensor) -> ArraySums:
        """C_v = X_vᵀ Z."""
        with _precision(self._is_fast):
            found = [transposed_times(view, embedding) for view in views]
        return ArraySums(tuple(map(to_numpy, found)))

    # smoothed rows

    def anchor_weights(self, projection: Tensor, anchors: FloatArray, n_nearest: int) -> SparseRows:
        """Weights of the nearest anchors of each row, some rows at a time."""
        A = self.asarray(anchors, like=projection)
        square, (n, m) = A.square().sum(1), (len(projection), len(A))
        columns = torch.empty((n, n_nearest), dtype=torch.int64, device=self.device)
        shares = torch.empty((n, n_nearest), dtype=projection.dtype, device=self.device)
        with _precision(False):
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
        constant, parts = -shift, []
        for view, H in zip(block.views, bases, strict=True):
            of_view = H / n_present[0]
            constant = constant if view.offset is None else constant - view.offset @ of_view
            parts.append(of_view if view.scale is None else view.scale[:, None] * of_view)
        is_large = self.device.type == "cuda" and len(block.labels) >= FUSED_ROWS
        if is_large and (fused := _fused()) is not None:
            views = [stored(view) for view in block.views]
            if fused.can_project(views, len(shift)):
                found: Tensor = fused.project(views, parts, constant, is_fast=self._is_fast)
                return found
        b = None
        with _precision(self._is_fast):
            for view, of_view in zip(block.views, parts, strict=True):
                X = mapped(view)
                small = to_tensor(of_view, X.device).to(X.dtype)
                if b is None:
                    b = torch.addmm(self.asarray(constant, like=X), X, small)
                else:
                    b = b.to(torch.promote_types(b.dtype, X.dtype))
                    b.addmm_(X.to(b.dtype), small.to(b.dtype))
        assert b is not None
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
        with _precision(False):
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

    def moments(self, block: Block, like: ClusterMoments) -> ClusterMoments:
        """Count, mean and scatter of b in each group and cluster."""
        (G, k), D = like.count.shape, like.mean.shape[2]
        b, weights, starts = block.projection, block.weights, like.starts
        if self._is_fused(block, like):
            sums = _fused().cluster_sums(b.contiguous(), block.labels, k)
            return _moments_of(sums, starts, float(weights[0]))
        which = block.labels if G == 1 else block.group * k + block.labels
        rows = torch.bincount(which, minlength=G * k)
        ones = torch.ones((len(b), 1), dtype=torch.float64, device=self.device)
        with _precision(False):
            count = cluster_sums(ones, which, weights, G * k)  # (G k, 1)
            total = cluster_sums(b, which, weights, G * k)
            mean = torch.where(count > 0, total / count, 0.0)
            own = mean.to(b.dtype)
            scatter = torch.zeros((G * k, len(starts)), dtype=torch.float64, device=self.device)
            for part in row_pieces(len(b), D, b.element_size()):
                apart = (b[part] - own[which[part]]).square_()
                squares = torch.stack([x.sum(1) for x in spaces(apart, starts)], dim=1)
                scatter += cluster_sums(squares, which[part], weights[part], G * k)
        return ClusterMoments(
            starts,
            to_numpy(rows).astype(np.int64).reshape(G, k),
            to_numpy(count).reshape(G, k),
            to_numpy(mean).reshape(G, k, D),
            to_numpy(scatter).reshape(G, k, len(starts)),
        )

    def embed(self, block: Block, shrinkage: Shrinkage) -> Tensor:
        """ω z, z = z̄_c + u / (u + g n_c) · (b − z̄_c), shift added back."""
        b = block.projection
        k, dims = shrinkage.center.shape[0], space_dims(shrinkage.starts, b.shape[1])
        # z = keep ∘ b + rest, with rows of keep and rest by group and cluster
        keep = np.repeat(shrinkage.keep, dims, axis=-1)  # (G, k, D)
        rest = (1 - keep) * shrinkage.center + shrinkage.shift
        which = block.labels if len(keep) == 1 else block.group * k + block.labels
        tables = [self.asarray(t.reshape(-1, b.shape[1]), like=b) for t in (keep, rest)]
        if b.is_cuda and b.dtype == torch.float32 and _fused() is not None:
            out: Tensor = _fused().embed(b.contiguous(), which.contiguous(), *tables)
        else:
            out = torch.addcmul(tables[1][which], tables[0][which], b)
        if not _all_same(block.weights, 1.0):
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

    # the label step

    def nearest(self, block: Block, clusters: Clusters) -> Tensor:
        """Cluster of least add(c), statistics frozen; -1 where no cost is a number."""
        labels = torch.empty_like(block.labels)
        for rows, costs in self._add_costs(block, clusters, clusters.sample_weight):
            least, where = costs.min(1)
            labels[rows] = torch.where(least.isfinite(), where, -1).to(labels.dtype)
        return labels

    def margins(self, block: Block, clusters: Clusters) -> Tensor:
        """1 − add(own) / least add of another cluster, and which that is; statistics frozen."""
        b = block.projection
        out = torch.empty((len(b), 2), dtype=b.dtype, device=self.device)
        for rows, costs in self._add_costs(block, clusters, clusters.sample_weight):
            own = block.labels[rows].long()[:, None]
            add = costs.gather(1, own)
            least, other = costs.scatter(1, own, torch.inf).min(1, keepdim=True)
            is_other = least.isfinite() & (least > 0)
            margin = torch.where(is_other, 1 - add / least, (costs.shape[1] < 2) * 1.0)
            following = torch.where(least.isfinite(), other, own)
            out[rows, :1], out[rows, 1:] = margin.clamp(min=0), following.to(out.dtype)
        return out

    def cluster_costs(self, block: Block, clusters: Clusters) -> Tensor:
        """add(c) of each row and cluster, statistics frozen."""
        parts = [c.double() for _, c in self._add_costs(block, clusters, clusters.sample_weight)]
        return torch.cat(parts)

    def move(self, block: Block, clusters: Clusters) -> tuple[Tensor, Moved]:
        """Labels after each row alone has moved to where F falls most; statistics frozen."""
        if self._is_fused(block, clusters.moments):
            labels = self._best_labels(block, clusters)
        elif block.chunks is not None:
            rows = _rows_of(block.chunks, block.labels)
            labels = block.labels.clone()
            labels[rows] = self._propose(block.some(rows), clusters)
        else:
            labels = self._propose(block, clusters)
        rows = (labels != block.labels).nonzero()[:, 0]
        if len(rows) == 0:
            return labels, Moved(none := _empty(clusters.moments), none)
        before, there = block.some(rows), labels[rows]
        if len(rows) <= FEW_ROWS:  # a launch would take longer than the sums
            host = self.host_block(before)
            after = replace(host, labels=self.to_host(there))
            both = (cpu.moments(part, clusters.moments) for part in (host, after))
        else:
            after = replace(before, labels=there)
            both = (self.moments(part, clusters.moments) for part in (before, after))
        return labels, Moved(*both)

    def _propose(self, block: Block, clusters: Clusters) -> Tensor:
        if not _all_same(block.weights):
            return self.rows(cpu.propose(self.host_block(block), clusters))
        labels = torch.empty_like(block.labels)
        for rows, best, gain in self._gains(block, clusters):
            own = block.labels[rows]
            labels[rows] = torch.where(gain > 0, best.to(own.dtype), own)
        return labels

    def _is_fused(self, block: Block, like: ClusterMoments) -> bool:
        """Whether one kernel in Triton does it: few clusters, and rows that count the same."""
        b, (G, k) = block.projection, like.count.shape
        is_plain = b.is_cuda and b.dtype == torch.float32 and G == 1 and len(b) >= FUSED_ROWS
        if not is_plain or not _all_same(block.weights):
            return False
        fused = _fused()
        return fused is not None and bool(fused.fits(b.shape[1], k))

    def _best_labels(self, block: Block, clusters: Clusters) -> Tensor:
        every = range(-(-len(block.labels) // CHUNK_ROWS))
        chunks = every if block.chunks is None else block.chunks
        tables = self._cost_tables(clusters, float(block.weights[0]))
        given = (block.projection.contiguous(), block.labels, chunks, CHUNK_ROWS, tables, TOLERANCE)
        labels: Tensor = _fused().best_labels(*given)
        return labels

    def _cost_tables(self, clusters: Clusters, weight: float) -> Tensor:
        """Costs of one group of rows; those of the batch before, if no row has moved since."""
        moments, small = clusters.moments, (weight, clusters.size_weight, *clusters.coupling)
        if self._tables is not None and self._tables[0] is moments and self._tables[1] == small:
            return self._tables[2]
        arrays, dims = (
            cpu.cluster_arrays(clusters),
            space_dims(moments.starts, moments.mean.shape[2]),
        )
        add, rem = prepare_all(arrays, weight), leaving_costs(arrays, weight)
        is_alone = moments.rows.sum(axis=0) <= 1
        rem = rem._replace(grow=np.where(is_alone, -np.inf, rem.grow))
        costs = [
            (cost.grow, np.repeat(cost.slope[0], dims, axis=1), cost.center) for cost in (add, rem)
        ]
        tables: Tensor = _fused().cost_tables(costs, self.device)
        self._tables = moments, small, tables
        return tables

    def distance_bounds(self, block: Block, clusters: Clusters) -> Tensor:
        """Nothing: costs are computed anew, see `bound_violated`."""
        return torch.zeros((1, 1), device=self.device).expand(len(block.labels), 1)

    def bound_violated(self, block: Block, clusters: Clusters, since: ClusterMoments) -> Tensor:
        """Rows for which a move may lower F; on the device, their costs are computed anew."""
        if not _all_same(block.weights):
            return torch.ones(len(block.labels), dtype=torch.bool, device=self.device)
        out = torch.empty(len(block.labels), dtype=torch.bool, device=self.device)
        for rows, _, gain in self._gains(block, clusters, tolerated=1.0):
            out[rows] = gain > 0
        return out

    def host_block(self, block: Block) -> Block:
        """The block without its views, in numpy."""
        weights, group = self.to_host(block.weights), self.to_host(block.group)
        return Block((), weights, group, self.to_host(block.labels), self.to_host(block.projection))

    def _gains(
        self, block: Block, clusters: Clusters, tolerated: float = -1.0
    ) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Best other cluster of each row and the decrease of F, plus `tolerated` roundings."""
        arrays, weight = cpu.cluster_arrays(clusters), float(block.weights[0])
        leaving = leaving_costs(arrays, weight)
        alone = torch.as_tensor(clusters.moments.rows.sum(axis=0) <= 1, device=self.device)
        b = block.projection
        rounding = float((b.shape[1] + 8) * torch.finfo(b.dtype).eps)
        for rows, costs in self._add_costs(block, clusters, weight):
            own = block.labels[rows].long()
            leave, size = self._own_costs(block, rows, leaving, clusters.moments.starts)
            add, best = costs.scatter_(1, own[:, None], torch.inf).min(1)
            gain = (leave - add) + tolerated * rounding * size
            yield rows, best, torch.where(alone[own], -torch.inf, gain)

    def _add_costs(
        self, block: Block, clusters: Clusters, weight: float
    ) -> Iterator[tuple[slice, Tensor]]:
        """add(c) of some rows and all clusters by matrix products: (rows, k)."""
        b, starts = block.projection, clusters.moments.starts
        costs = prepare_all(cpu.cluster_arrays(clusters), weight)
        tables = [self.asarray(table, like=b) for table in _cost_products(costs, starts)]
        k = len(costs.grow)
        with _precision(False):
            for rows in row_pieces(len(b), max(k, b.shape[1]), b.element_size()):
                part = b[rows]
                squares = torch.stack([x.square().sum(1) for x in spaces(part, starts)], dim=1)
                if len(tables[0]) == 1:
                    along, slope, constant = (table[0] for table in tables)
                    yield rows, torch.addmm(constant, part, along).addmm_(squares, slope)
                    continue
                out = torch.empty((len(part), k), dtype=b.dtype, device=b.device)
                for u, (along, slope, constant) in enumerate(zip(*tables, strict=True)):
                    some = (block.group[rows] == u).nonzero()[:, 0]
                    costs_of_group = torch.addmm(constant, part[some], along)
                    out[some] = costs_of_group.addmm_(squares[some], slope)
                yield rows, out

    def _own_costs(
        self, block: Block, rows: slice, leaving: Costs, starts: Any
    ) -> tuple[Tensor, Tensor]:
        """rem(c) of each row, and the size of what was subtracted for it: (rows,) each."""
        b, labels = block.projection[rows], block.labels[rows].long()
        G, k, m = leaving.slope.shape
        which = labels if G == 1 else block.group[rows] * k + labels
        slope = self.asarray(leaving.slope.reshape(G * k, m), like=b)[which]
        grow = self.asarray(leaving.grow, like=b)[labels]
        center = self.asarray(leaving.center, like=b)
        apart = (b - center[labels]).square_()
        distance = torch.stack([x.sum(1) for x in spaces(apart, starts)], dim=1)
        squares = torch.stack([x.square().sum(1) for x in spaces(b, starts)], dim=1)
        leave = grow + (slope * distance).sum(1)
        return leave, grow.abs() + (slope * (distance + 2 * squares)).sum(1)


def _all_same(weights: Tensor, value: float | None = None) -> bool:
    if weights.stride(0) == 0 or len(weights) < 2:  # one number for all rows
        return value is None or float(weights[0]) == value
    first = weights[:1] if value is None else value
    return bool((weights == first).all())


@cache
def _fused() -> Any:
    """The kernels in Triton, which comes with torch where there is a GPU that it knows."""
    try:
        from manyview.kernels.gpu import fused
    except ImportError:
        return None
    return fused


def _rows_of(chunks: range, labels: Tensor) -> Tensor:
    """Positions of the rows of some chunks."""
    first = torch.arange(chunks.start, chunks.stop, chunks.step, device=labels.device) * CHUNK_ROWS
    rows = (first[:, None] + torch.arange(CHUNK_ROWS, device=labels.device)).ravel()
    return rows[rows < len(labels)]


def _moments_of(sums: Any, starts: Any, weight: float) -> ClusterMoments:
    """Moments of one group of rows of equal weight, from sums by cluster."""
    n, total = sums.count[:, None], sums.total
    mean = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
    scatter = np.add.reduceat(np.maximum(sums.squares - n * mean**2, 0), starts, axis=1)
    rows = np.rint(n.T).astype(np.int64)
    return ClusterMoments(starts, rows, weight * n.T, mean[None], weight * scatter[None])


def _empty(like: ClusterMoments) -> ClusterMoments:
    """Moments of no rows."""
    rows = np.zeros_like(like.rows)
    zeros = [np.zeros_like(part) for part in (like.count, like.mean, like.scatter)]
    return ClusterMoments(like.starts, rows, *zeros)


def _cost_products(costs: Costs, starts: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What b, ‖b‖² in each space and 1 are multiplied with: (G, D, k), (G, m, k), (G, k)."""
    slope, center = costs.slope, costs.center  # (G, k, m), (k, D)
    squares = np.add.reduceat(center**2, starts, axis=1)  # (k, m)
    along = np.repeat(slope, space_dims(starts, center.shape[1]), axis=2) * center  # (G, k, D)
    constant = costs.grow + np.sum(slope * squares, axis=2)  # (G, k)
    return -2 * along.transpose(0, 2, 1), slope.transpose(0, 2, 1), constant
