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
from manyview.kernels.sparse_rows import Pattern, SparseRows
from manyview.kernels.statistics import ArraySums, ClusterMoments, Clusters, Moved
from manyview.kernels.sweep import Costs, leaving_costs, prepare_all
from manyview.utils.memory import installed_memory
from manyview.utils.types import FloatArray

TILE_ROWS = 8192  # whose sums are float32
STAGED_BYTES = 1 << 25
FEW_ROWS = 50_000  # up to here sums are made on the host
FUSED_ROWS = 1024  # from which on a fused kernel pays
TOLERANCE = 1e-6  # relative decrease of F below which it may be rounding, in float32
COST_BYTES = 1 << 30  # of the costs of some rows for all clusters
ROWS_CHECKED = 16  # before all others, whether the values are whole numbers
MAPS = {"sqrt": torch.sqrt, "log1p": torch.log1p}
SHORT = (torch.float16, torch.bfloat16)  # types that are computed with in float32


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
        self._is_fast = is_fast  # TF32 in the products with the views

    # arrays

    xp = torch
    is_parallel = True

    def rows(self, array: Any) -> Any:
        """Move an array with a sample axis to the device."""
        return _tensor(array, self.device)

    def to_host(self, array: Any) -> NDArray[Any]:
        """An array with a sample axis, in numpy."""
        return _staged(array) if isinstance(array, Tensor) else np.asarray(array)

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
        found: Tensor = _tensor(array, self.device).double()
        return found

    def asarray(self, small: Any, like: Tensor) -> Tensor:
        """An array on the device and in the dtype of `like`."""
        return _tensor(small, like.device).to(like.dtype)

    # views

    def columns(self, view: ViewRows, weights: Tensor) -> ColumnMoments:
        """Weighted mean, scatter and minimum of the columns; missing rows have no weight."""
        X = _mapped(view)
        w = weights if view.factor is None else weights * (view.factor > 0)
        total = float(w.sum())
        resolution = float(np.finfo(_numpy_dtype(X.dtype)).eps)
        d = X.shape[1]
        if total == 0:
            none = np.zeros(d)
            return ColumnMoments(0.0, none, none, np.inf, resolution, is_integer=True)
        kept = w > 0
        if isinstance(X, SparseRows):
            mean = X.column_sums(w) / total
            spread = X.with_values((X.values - mean[X.pattern.columns]) ** 2)
            stored = X.with_values(torch.ones_like(X.values)).column_sums(w)
            scatter = spread.column_sums(w) + (total - stored).clamp(min=0) * mean**2
            values = X.values[kept[X.pattern.row_of]]
            smallest = min(float(values.min()) if len(values) else 0.0, 0.0)
            n_zero = total * d - float(stored.sum())
        else:
            weighted = X if bool((w == 1).all()) else X * w.to(X.dtype)[:, None]
            mean = weighted.sum(0, dtype=torch.float64) / total
            centered = (X - mean.to(X.dtype)).square_()
            if weighted is not X:
                centered *= w.to(X.dtype)[:, None]
            scatter = centered.sum(0, dtype=torch.float64)
            values = X if bool(kept.all()) else X[kept]
            smallest = float(values.min())
            n_zero = float(w.double() @ (X == 0).sum(1).double())
        zeros = n_zero / (total * max(d, 1))
        found = (_host(mean), _host(scatter.clamp(min=0)), smallest, resolution, zeros)
        return ColumnMoments(total, *found, _is_integer(values))

    def levels(self, view: ViewRows, wanted: float) -> Tensor:
        """ℓ of rows that get the same sum; zero where it would overflow."""
        X = _mapped(view)
        sums = X.row_sums() if isinstance(X, SparseRows) else X.sum(1, dtype=torch.float64)
        least = wanted / largest_factor(_numpy_dtype(X.dtype))
        return torch.where(sums > least, wanted / sums, 0.0)

    def row_squares(self, view: ViewRows) -> Tensor:
        """‖(map(ℓ x) ∘ scale − offset) W‖² of each row."""
        if view.gram is not None:
            return _smoothed_squares(_mapped(view), view.gram)
        if view.table is not None:
            rows = _unfactored(view)
            return rows.square_().sum(1, dtype=torch.float64)
        X = _mapped(view)
        if not isinstance(X, SparseRows):
            if view.scale is not None:
                X = X * _tensor(view.scale, X.device).to(X.dtype)
            if view.offset is not None:
                X = X - _tensor(view.offset, X.device).to(X.dtype)
            return X.square().sum(1, dtype=torch.float64)
        d, columns = X.shape[1], X.pattern.columns
        scale = _tensor(np.ones(d) if view.scale is None else view.scale, X.device)
        offset = _tensor(np.zeros(d) if view.offset is None else view.offset, X.device)
        stored = X.with_values((X.values * scale[columns] - offset[columns]) ** 2).row_sums()
        at_zero = (offset @ offset) - X.with_values(offset[columns] ** 2).row_sums()
        at_zero[X.pattern.ends.diff() == d] = 0
        return stored + at_zero.clamp(min=0)

    def unit_factors(self, squares: Tensor, dtype: Any) -> Tensor:
        """f = 1/‖·‖; 1 where it would overflow, or the square has lost digits."""
        norm = squares.sqrt()
        return torch.where(norm > shortest_norm(_numpy_dtype(dtype)), 1 / norm, 1.0)

    def total_squares(self, view: ViewRows, weights: Tensor) -> tuple[float, float]:
        """Σ ω over the rows that have the view, and Σ ω ‖x'‖²."""
        factor = torch.ones_like(weights) if view.factor is None else view.factor
        squares = (weights * factor**2) @ self.row_squares(view)
        return float(weights @ (factor > 0).to(weights.dtype)), float(squares)

    def store_scaled(self, view: ViewRows) -> ViewRows:
        """The same scaled rows, with everything but the row factors applied."""
        values = _unfactored(view)
        return ViewRows(values, factor=view.factor, absent=view.absent, baseline=view.baseline)

    def take_factor_in(self, view: ViewRows) -> ViewRows:
        """Smoothed rows whose anchor weights are multiplied by the row factors."""
        return replace(view, values=view.values.times_rows(view.factor), factor=None)

    def project(self, views: Sequence[ViewRows], bases: Sequence[FloatArray]) -> Tensor:
        """A = Σ_v X_v H_v."""
        parts = zip(views, bases, strict=True)
        with _precision(self._is_fast):
            total = _times_basis(*next(parts))
            for view, H in parts:
                part = _times_basis(view, H)
                total = total + part if part.dtype != total.dtype else total.add_(part)
        return total

    def accumulate(self, views: Sequence[ViewRows], embedding: Tensor) -> ArraySums:
        """C_v = X_vᵀ Z."""
        with _precision(self._is_fast):
            return ArraySums(tuple(_host(_transposed_times(view, embedding)) for view in views))

    # smoothed rows

    def anchor_weights(self, projection: Tensor, anchors: FloatArray, n_nearest: int) -> SparseRows:
        """Weights of the nearest anchors of each row, some rows at a time."""
        A = self.asarray(anchors, like=projection)
        square, (n, m) = A.square().sum(1), (len(projection), len(A))
        columns = torch.empty((n, n_nearest), dtype=torch.int64, device=self.device)
        shares = torch.empty((n, n_nearest), dtype=projection.dtype, device=self.device)
        with _precision(False):
            for rows in _pieces(n, m, projection.element_size()):
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
        if len(n_present) > 1 or not all(map(_is_plain, block.views)):
            b = self.project(block.views, bases)
            u = self.asarray(n_present, like=b)
            b.div_(u if len(u) == 1 else u[block.group][:, None])
            return b.sub_(self.asarray(shift, like=b))
        b, constant = None, -shift
        parts = []
        for view, H in zip(block.views, bases, strict=True):
            of_view = H / n_present[0]
            constant = constant if view.offset is None else constant - view.offset @ of_view
            parts.append(of_view if view.scale is None else view.scale[:, None] * of_view)
        with _precision(self._is_fast):
            for view, of_view in zip(block.views, parts, strict=True):
                X = _mapped(view)
                small = _tensor(of_view, X.device).to(X.dtype)
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
        return _host(counted.double())

    def cluster_shares(self, block: Block, n_clusters: int) -> ClusterShares:
        """ω of each row in its cluster."""
        return ClusterShares(block.labels, block.weights, n_clusters)

    def shared_sums(self, view: ViewRows, shares: ClusterShares) -> FloatArray:
        """Σ_i s_ci x_i: weights times row factors times view."""
        X = _mapped(view)
        weights = shares.weights if view.factor is None else shares.weights * view.factor
        with _precision(False):
            if isinstance(X, SparseRows):
                one_hot = _one_hot(shares.labels, weights, shares.n_clusters)
                total = _host(X.transposed_times(one_hot).T)
            else:
                total = _host(_cluster_sums(X, shares.labels, weights, shares.n_clusters))
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
        return _host(_cluster_sums(ones, shares.labels, weights, shares.n_clusters)[:, 0])

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
            count = _cluster_sums(ones, which, weights, G * k)  # (G k, 1)
            total = _cluster_sums(b, which, weights, G * k)
            mean = torch.where(count > 0, total / count, 0.0)
            own = mean.to(b.dtype)
            scatter = torch.zeros((G * k, len(starts)), dtype=torch.float64, device=self.device)
            for part in _pieces(len(b), D, b.element_size()):
                apart = (b[part] - own[which[part]]).square_()
                squares = torch.stack([x.sum(1) for x in _spaces(apart, starts)], dim=1)
                scatter += _cluster_sums(squares, which[part], weights[part], G * k)
        return ClusterMoments(
            starts,
            _host(rows).astype(np.int64).reshape(G, k),
            _host(count).reshape(G, k),
            _host(mean).reshape(G, k, D),
            _host(scatter).reshape(G, k, len(starts)),
        )

    def embed(self, block: Block, shrinkage: Shrinkage) -> Tensor:
        """ω z, z = z̄_c + u / (u + g n_c) · (b − z̄_c), shift added back."""
        b = block.projection
        k, dims = shrinkage.center.shape[0], _dims(shrinkage.starts, b.shape[1])
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
        moments, arrays = clusters.moments, cpu.cluster_arrays(clusters)
        weight, b = float(block.weights[0]), block.projection.contiguous()
        dims = _dims(moments.starts, b.shape[1])
        add, rem = prepare_all(arrays, weight), leaving_costs(arrays, weight)
        is_alone = moments.rows.sum(axis=0) <= 1
        costs = [
            (cost.grow, np.repeat(cost.slope[0], dims, axis=1), cost.center) for cost in (add, rem)
        ]
        costs[1] = (np.where(is_alone, -np.inf, rem.grow), *costs[1][1:])
        every = range(-(-len(block.labels) // CHUNK_ROWS))
        chunks = every if block.chunks is None else block.chunks
        labels: Tensor = _fused().best_labels(b, block.labels, chunks, CHUNK_ROWS, costs, TOLERANCE)
        return labels

    def distance_bounds(self, block: Block, clusters: Clusters) -> Tensor:
        """Nothing: costs are computed anew, see `bound_violated`."""
        return torch.zeros((1, 1), device=self.device).expand(len(block.labels), 1)

    def bound_violated(self, block: Block, clusters: Clusters, since: ClusterMoments) -> Tensor:
        """Rows for which a move may lower F; on the device, their costs are computed anew."""
        if not _all_same(block.weights):
            return torch.ones(len(block.labels), dtype=torch.bool, device=self.device)
        out = torch.empty(len(block.labels), dtype=torch.bool, device=self.device)
        for rows, _, gain in self._gains(block, clusters, slack=1.0):
            out[rows] = gain > 0
        return out

    def host_block(self, block: Block) -> Block:
        """The block without its views, in numpy."""
        host = self.to_host
        given = (host(block.weights), host(block.group), host(block.labels))
        return Block((), *given, host(block.projection))

    def _gains(
        self, block: Block, clusters: Clusters, slack: float = -1.0
    ) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Best other cluster of each row and the decrease of F, plus `slack` times its rounding."""
        arrays, weight = cpu.cluster_arrays(clusters), float(block.weights[0])
        leaving = leaving_costs(arrays, weight)
        alone = torch.as_tensor(clusters.moments.rows.sum(axis=0) <= 1, device=self.device)
        b = block.projection
        rounding = float((b.shape[1] + 8) * torch.finfo(b.dtype).eps)
        for rows, costs in self._add_costs(block, clusters, weight):
            own = block.labels[rows].long()
            leave, size = self._own_costs(block, rows, leaving, clusters.moments.starts)
            add, best = costs.scatter_(1, own[:, None], torch.inf).min(1)
            gain = (leave - add) + slack * rounding * size
            yield rows, best, torch.where(alone[own], -torch.inf, gain)

    def _add_costs(
        self, block: Block, clusters: Clusters, weight: float
    ) -> Iterator[tuple[slice, Tensor]]:
        """add(c) of some rows and all clusters by one matrix product: (rows, k)."""
        b, starts = block.projection, clusters.moments.starts
        costs = prepare_all(cpu.cluster_arrays(clusters), weight)
        right = self.asarray(_wide_costs(costs, starts), like=b)  # (G, D + m + 1, k)
        k = right.shape[2]
        with _precision(False):
            for rows in _pieces(len(b), max(k, b.shape[1]), b.element_size()):
                left = _widen(b[rows], starts)
                if len(right) == 1:
                    yield rows, left @ right[0]
                    continue
                out, group = (
                    torch.empty((len(left), k), dtype=b.dtype, device=b.device),
                    block.group,
                )
                for u, of_group in enumerate(right):
                    some = (group[rows] == u).nonzero()[:, 0]
                    out[some] = left[some] @ of_group
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
        distance = torch.stack([x.sum(1) for x in _spaces(apart, starts)], dim=1)
        squares = torch.stack([x.square().sum(1) for x in _spaces(b, starts)], dim=1)
        leave = grow + (slope * distance).sum(1)
        return leave, grow.abs() + (slope * (distance + 2 * squares)).sum(1)


def _tensor(array: Any, device: torch.device) -> Any:
    """An array on a device; numbers of a sparse one, too."""
    if isinstance(array, SparseRows):
        return array
    if isinstance(array, Tensor):
        return array.to(device)
    return torch.as_tensor(np.ascontiguousarray(array), device=device)


def _host(tensor: Tensor) -> FloatArray:
    found: FloatArray = tensor.detach().cpu().numpy()
    return found


def _staged(tensor: Tensor) -> NDArray[Any]:
    """A tensor in numpy; a large one comes by way of memory that the GPU can write to itself."""
    if not tensor.is_cuda or tensor.nbytes < STAGED_BYTES:
        return _host(tensor)
    out = torch.empty(tensor.shape, dtype=tensor.dtype)
    flat, source = out.view(-1), tensor.detach().contiguous().view(-1)
    step = STAGED_BYTES // tensor.element_size()
    stage = torch.empty(step, dtype=tensor.dtype, pin_memory=True)
    for start in range(0, len(source), step):
        part = source[start : start + step]
        flat[start : start + step] = stage[: len(part)].copy_(part)
    found: NDArray[Any] = out.numpy()
    return found


def _numpy_dtype(dtype: Any) -> Any:
    """The numpy dtype that a tensor of some dtype is computed with."""
    if not isinstance(dtype, torch.dtype):
        return dtype
    return np.float64 if dtype == torch.float64 else np.float32


def _pieces(n: int, width: int, itemsize: int) -> Iterator[slice]:
    """Rows whose (rows, width) arrays are of bounded size."""
    step = max(COST_BYTES // max(width * itemsize, 1), 1024)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _spaces(b: Tensor, starts: Any) -> Sequence[Tensor]:
    """The columns of each space."""
    parts: Sequence[Tensor] = b.tensor_split([int(start) for start in starts[1:]], dim=1)
    return parts


def _dims(starts: Any, n_columns: int) -> NDArray[np.int64]:
    return np.diff([*starts, n_columns])


def _is_integer(values: Tensor) -> bool:
    """Whether all values are whole numbers; usually the first few show that they are not."""
    parts = (values[:ROWS_CHECKED], values[ROWS_CHECKED:])
    return all(bool((part == part.round()).all()) for part in parts)


def _all_same(weights: Tensor, value: float | None = None) -> bool:
    if weights.stride(0) == 0 or len(weights) < 2:  # one number for all rows
        return value is None or float(weights[0]) == value
    first = weights[:1] if value is None else value
    return bool((weights == first).all())


def _is_plain(view: ViewRows) -> bool:
    """Whether a product with the stored values is one with the scaled rows, but for an offset."""
    parts = (view.factor, view.table, view.baseline)
    return not isinstance(view.values, SparseRows) and all(part is None for part in parts)


@cache
def _fused() -> Any:
    """The kernels in Triton, which comes with torch where there is a GPU that it knows."""
    try:
        from manyview.kernels import fused
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


def _mapped(view: ViewRows) -> Any:
    """map(ℓ x), with missing rows set to zero."""
    X = view.values
    if not isinstance(X, SparseRows):
        X = X.float() if X.dtype in SHORT else X
    if view.absent is not None:
        is_there = torch.ones(X.shape[0], dtype=X.dtype, device=X.device)
        is_there[view.absent] = 0
        if isinstance(X, SparseRows):
            X = X.with_values(torch.where(is_there[X.pattern.row_of] > 0, X.values, 0.0))
        else:
            X = torch.where(is_there[:, None] > 0, X, 0.0)
    if view.level is not None:
        level = view.level.to(X.dtype)
        X = X.times_rows(level) if isinstance(X, SparseRows) else X * level[:, None]
    if view.map is None:
        return X
    function = MAPS[view.map]
    if isinstance(X, SparseRows):
        return X.with_values(torch.copysign(function(X.values.abs()), X.values))
    return torch.copysign(function(X.abs()), X)


def _unfactored(view: ViewRows) -> Tensor:
    """(map(ℓ x) ∘ scale − offset) W as a dense tensor of its own."""
    X = _mapped(view)
    rows = X.to_dense() if isinstance(X, SparseRows) else X
    if view.scale is not None:
        rows = rows * _tensor(view.scale, rows.device).to(rows.dtype)
    if view.offset is not None:
        rows = rows - _tensor(view.offset, rows.device).to(rows.dtype)
    if view.table is not None:
        return rows @ _tensor(view.table, rows.device).to(rows.dtype)
    return rows.clone() if rows is X else rows


def _relative(view: ViewRows) -> Tensor:
    """x' − baseline, subtracted before the product against cancellation."""
    rows = _unfactored(view)
    if view.factor is not None:
        rows *= view.factor.to(rows.dtype)[:, None]
    return rows.sub_(_tensor(view.baseline, rows.device).to(rows.dtype))


def _times_basis(view: ViewRows, H: FloatArray) -> Tensor:
    """X' H = f · (map(X) (scale ∘ H) − offset · H), H ← W H; with a baseline, (X' − baseline) H."""
    if view.baseline is not None:
        rows = _relative(view)
        return rows @ _tensor(H, rows.device).to(rows.dtype)
    X = _mapped(view)
    if view.table is not None:
        H = view.table @ H
    small = _tensor(H if view.scale is None else view.scale[:, None] * H, X.device).to(X.dtype)
    product: Tensor = X.times(small) if isinstance(X, SparseRows) else X @ small
    if view.offset is not None:
        product -= _tensor(view.offset @ H, X.device).to(X.dtype)
    if view.factor is not None:
        product *= view.factor.to(X.dtype)[:, None]
    return product


def _transposed_times(view: ViewRows, Z: Tensor) -> Tensor:
    """X'ᵀ Z = Wᵀ (scale ∘ (map(X)ᵀ (f ∘ Z)) − offset ⊗ Σ f z), in float64."""
    if view.baseline is not None:
        relative = _tiled(_relative(view), Z)
        return relative + torch.outer(
            _tensor(view.baseline, Z.device), Z.sum(0, dtype=torch.float64)
        )
    X = _mapped(view)
    weighted = Z if view.factor is None else Z * view.factor.to(Z.dtype)[:, None]
    weighted = weighted.to(X.dtype)
    product = X.transposed_times(weighted) if isinstance(X, SparseRows) else _tiled(X, weighted)
    if view.scale is not None:
        product = product * _tensor(view.scale, Z.device)[:, None]
    if view.offset is not None:
        sums = weighted.sum(0, dtype=torch.float64)
        product = product - torch.outer(_tensor(view.offset, Z.device), sums)
    return product if view.table is None else _tensor(view.table, Z.device).T @ product


def _tiled(X: Tensor, Z: Tensor) -> Tensor:
    """Xᵀ Z, tiles of rows added in float64."""
    n = len(X) // TILE_ROWS * TILE_ROWS
    total = (X[n:].T @ Z[n:]).double()
    if n:
        tiles = [part[:n].unflatten(0, (-1, TILE_ROWS)) for part in (X, Z)]
        total += torch.bmm(tiles[0].mT, tiles[1]).sum(0, dtype=torch.float64)
    return total


def _one_hot(labels: Tensor, weights: Tensor, n_clusters: int) -> Tensor:
    """ω in the column of its cluster: (rows, k)."""
    out = torch.zeros((len(labels), n_clusters), dtype=weights.dtype, device=labels.device)
    return out.scatter_(1, labels.long()[:, None], weights[:, None])


def _cluster_sums(X: Tensor, labels: Tensor, weights: Tensor, n_clusters: int) -> Tensor:
    """Σ_{i∈c} ω x, in float64: (k, columns)."""
    total = torch.zeros((n_clusters, X.shape[1]), dtype=torch.float64, device=X.device)
    for rows in _pieces(len(X), n_clusters, X.element_size()):
        one_hot = _one_hot(labels[rows], weights[rows].to(X.dtype), n_clusters)
        total += _tiled(one_hot, X[rows])
    return total


def _smoothed_squares(shares: SparseRows, gram: FloatArray) -> Tensor:
    """‖Σ_j s_j t_j‖² of each row of weights, from the inner products of the t_j."""
    n = shares.shape[0]
    G = _tensor(gram, shares.device)
    columns, values = shares.pattern.columns.view(n, -1), shares.values.view(n, -1).double()
    out = torch.empty(n, dtype=torch.float64, device=shares.device)
    for rows in _pieces(n, columns.shape[1] ** 2, 16):
        links = G[columns[rows, :, None], columns[rows, None, :]]
        out[rows] = torch.einsum("ia,ib,iab->i", values[rows], values[rows], links)
    return out.clamp_(min=0)


def _widen(b: Tensor, starts: Any) -> Tensor:
    """[b, ‖b‖² in each space, 1]."""
    squares = [x.square().sum(1, keepdim=True) for x in _spaces(b, starts)]
    return torch.cat([b, *squares, torch.ones_like(squares[0])], dim=1)


def _wide_costs(costs: Costs, starts: Any) -> FloatArray:
    """Columns [−2 slope ∘ center, slope, grow + Σ slope ‖center‖²] of all clusters, by group."""
    slope, center = costs.slope, costs.center  # (G, k, m), (k, D)
    squares = np.add.reduceat(center**2, starts, axis=1)  # (k, m)
    along = np.repeat(slope, _dims(starts, center.shape[1]), axis=2) * center  # (G, k, D)
    constant = costs.grow + np.sum(slope * squares, axis=2)  # (G, k)
    wide = np.concatenate([-2 * along, slope, constant[:, :, None]], axis=2)
    return np.ascontiguousarray(wide.transpose(0, 2, 1))
