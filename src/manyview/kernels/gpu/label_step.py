"""The label step on a device: all rows of a batch at once, statistics frozen.

Costs of all clusters are matrix products; for few clusters a kernel in Triton reads the projections
once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyview.kernels import cpu
from manyview.kernels.block import CHUNK_ROWS, Block
from manyview.kernels.gpu.arrays import Kept, TensorArrays, all_same, fused_kernels, precision
from manyview.kernels.gpu.products import cluster_sums, row_pieces, space_dims, spaces, to_numpy
from manyview.kernels.statistics import ClusterMoments, Clusters, Moved
from manyview.kernels.sweep import Costs, leaving_costs, prepare_all
from manyview.utils.types import FloatArray

FEW_ROWS = 50_000  # up to here sums are made on the host
TOLERANCE = 1e-6  # relative decrease of F below which it may be rounding, in float32
FUSED_ROWS = 1024  # from which on a fused kernel pays


class TensorLabelStep(TensorArrays):
    """What `Kernels` does with rows and clusters in the label step, on a device."""

    def __init__(self, device: str, *, is_fast: bool = False) -> None:
        super().__init__(device, is_fast=is_fast)
        self._tables, self._products = Kept(), Kept()  # costs of the clusters, while none changes

    def moments(self, block: Block, like: ClusterMoments) -> ClusterMoments:
        """Count, mean and scatter of b in each group and cluster."""
        (G, k), D = like.count.shape, like.mean.shape[2]
        b, weights, starts = block.projection, block.weights, like.starts
        if self._is_fused(block, like):
            sums = fused_kernels().cluster_sums(b.contiguous(), block.labels, k)
            return _moments_of(sums, starts, self.first_weight(weights))
        which = block.labels if G == 1 else block.group * k + block.labels
        rows = torch.bincount(which, minlength=G * k)
        ones = torch.ones((len(b), 1), dtype=torch.float64, device=self.device)
        with precision(False):
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
        n_moved = None
        if self._is_fused(block, clusters.moments):
            labels, n_moved = self._best_labels(block, clusters)
        elif block.chunks is not None:
            rows = _rows_of(block.chunks, block.labels)
            labels = block.labels.clone()
            labels[rows] = self._propose(block.some(rows), clusters)
        else:
            labels = self._propose(block, clusters)
        rows = (labels != block.labels).nonzero()[:, 0] if n_moved != 0 else ()
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
        if not all_same(block.weights):
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
        if not is_plain or not all_same(block.weights):
            return False
        fused = fused_kernels()
        return fused is not None and bool(fused.fits(b.shape[1], k))

    def _best_labels(self, block: Block, clusters: Clusters) -> tuple[Tensor, int]:
        every = range(-(-len(block.labels) // CHUNK_ROWS))
        chunks = every if block.chunks is None else block.chunks
        weight = self.first_weight(block.weights)
        tables = self._tables.get(
            _arguments(clusters, weight), lambda: self._cost_tables(clusters, weight)
        )
        given = (block.projection.contiguous(), block.labels, chunks, CHUNK_ROWS, tables, TOLERANCE)
        found: tuple[Tensor, int] = fused_kernels().best_labels(*given)
        return found

    def _cost_tables(self, clusters: Clusters, weight: float) -> Tensor:
        """Costs of one group of rows."""
        moments, arrays = clusters.moments, cpu.cluster_arrays(clusters)
        dims = space_dims(moments.starts, moments.mean.shape[2])
        add, rem = prepare_all(arrays, weight), leaving_costs(arrays, weight)
        is_alone = moments.rows.sum(axis=0) <= 1
        rem = rem._replace(grow=np.where(is_alone, -np.inf, rem.grow))
        costs = [
            (cost.grow, np.repeat(cost.slope[0], dims, axis=1), cost.center) for cost in (add, rem)
        ]
        tables: Tensor = fused_kernels().cost_tables(costs, self.device)
        return tables

    def distance_bounds(self, block: Block, clusters: Clusters) -> Tensor:
        """Nothing: costs are computed anew, see `bound_violated`."""
        return torch.zeros((1, 1), device=self.device).expand(len(block.labels), 1)

    def bound_violated(self, block: Block, clusters: Clusters, since: ClusterMoments) -> Tensor:
        """Rows for which a move may lower F; on the device, their costs are computed anew."""
        if not all_same(block.weights):
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
        arrays, weight = cpu.cluster_arrays(clusters), self.first_weight(block.weights)
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
        tables = self._products.get(
            (*_arguments(clusters, weight), b.dtype),
            lambda: [self.asarray(table, like=b) for table in _cost_products(clusters, weight)],
        )
        k = tables[0].shape[2]
        with precision(False):
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


def _arguments(clusters: Clusters, weight: float) -> tuple[object, ...]:
    """What the costs of the clusters depend on."""
    numbers = (weight, clusters.size_weight, *clusters.coupling.tolist())
    return (clusters.moments, clusters.n_present, *map(float, numbers))


def _cost_products(clusters: Clusters, weight: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What b, ‖b‖² in each space and 1 are multiplied with: (G, D, k), (G, m, k), (G, k)."""
    costs, starts = prepare_all(cpu.cluster_arrays(clusters), weight), clusters.moments.starts
    slope, center = costs.slope, costs.center  # (G, k, m), (k, D)
    squares = np.add.reduceat(center**2, starts, axis=1)  # (k, m)
    along = np.repeat(slope, space_dims(starts, center.shape[1]), axis=2) * center  # (G, k, D)
    constant = costs.grow + np.sum(slope * squares, axis=2)  # (G, k)
    return -2 * along.transpose(0, 2, 1), slope.transpose(0, 2, 1), constant
