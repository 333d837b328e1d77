"""Kernels for the CPU: BLAS for matrix products, numba for loops over rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.scaling import ColumnMoments, join_columns, largest_factor, shortest_norm
from manyview.kernels import bounds as row_bounds
from manyview.kernels import products, sweep, wide
from manyview.kernels import rows as compiled_rows
from manyview.kernels.block import CHUNK_ROWS, Block, Shrinkage, ViewRows
from manyview.kernels.statistics import ArraySums, ClusterMoments, Clusters, Moved
from manyview.utils.memory import installed_memory
from manyview.utils.threads import side_by_side
from manyview.utils.types import FloatArray, IntArray

xp = np
is_parallel = False
SAFETY = 1e-6  # more than float32 rounds
ROWS_CHECKED = 16  # before all others, whether the values are whole numbers


def float64(array: NDArray[Any]) -> FloatArray:
    """The same in float64."""
    return np.asarray(array, dtype=np.float64)


def asarray(small: FloatArray, like: NDArray[Any]) -> NDArray[Any]:
    """Array in the dtype of `like`."""
    return np.asarray(small, dtype=like.dtype)


def columns(view: ViewRows, weights: FloatArray) -> ColumnMoments:
    """Weighted mean, scatter and minimum of the columns; missing rows have no weight."""
    pieces = products.split_columns(view)
    if len(pieces) > 1:
        return join_columns(list(side_by_side(partial(columns, weights=weights), pieces)))
    X = products.mapped(view)
    w = weights if view.factor is None else weights * (view.factor > 0)  # (rows,)
    total = float(w.sum())
    resolution = float(np.finfo(X.dtype).eps)
    if total == 0:
        none = np.zeros(X.shape[1])
        return ColumnMoments(0.0, none, none, np.inf, resolution, is_integer=True)
    mean = np.asarray(X.T @ w.astype(X.dtype), dtype=np.float64) / total  # (d_v,)
    if isinstance(X, sparse.csr_array):
        spread = products.with_values(X, (X.data - mean[X.indices]) ** 2)
        stored = products.with_values(X, np.ones(X.nnz)).T @ w  # (d_v,): weight of nonzero entries
        scatter = spread.T @ w + np.maximum(total - stored, 0) * mean**2
        counted = X.data if w.all() else X.data[np.repeat(w > 0, np.diff(X.indptr))]
        smallest = min(float(counted.min(initial=0.0)), 0.0)
        n_zero = total * X.shape[1] - stored.sum()
    else:
        # a second pass removes the rounding of a float32 mean before it is squared
        centered = X - mean.astype(X.dtype)
        residual = np.asarray(w.astype(X.dtype) @ centered, dtype=np.float64) / total
        centered *= centered
        squares = np.asarray(w.astype(X.dtype) @ centered, dtype=np.float64)
        scatter = squares - total * residual**2
        counted = X if w.all() else X[w > 0]
        smallest = float(counted.min())
        n_zero = float(w @ np.count_nonzero(X == 0, axis=1))
    zeros = float(n_zero) / (total * max(X.shape[1], 1))
    return ColumnMoments(
        total, mean, np.maximum(scatter, 0), smallest, resolution, zeros, _is_integer(counted)
    )


def _is_integer(values: NDArray[Any]) -> bool:
    """Whether all values are whole numbers; usually the first few show that they are not."""
    return all(
        bool(np.all(part == np.rint(part)))
        for part in (values[:ROWS_CHECKED], values[ROWS_CHECKED:])
    )


def rows(array: NDArray[Any]) -> NDArray[Any]:
    """An array with a sample axis as it is."""
    return array


def to_host(array: NDArray[Any]) -> NDArray[Any]:
    """An array with a sample axis as it is."""
    return array


def joined(parts: Sequence[NDArray[Any]], dtype: Any = None) -> NDArray[Any]:
    """Arrays with a sample axis as one."""
    return np.concatenate(parts, dtype=dtype)


def full(n: int, value: float, dtype: Any) -> NDArray[Any]:
    """An array with a sample axis that has one value."""
    return np.full(n, value, dtype)


def host_block(block: Block) -> Block:
    """The block without its views."""
    return block.some(slice(None))


def free_bytes() -> float:
    """A share of the memory."""
    return float(installed_memory() / 4)


def copy(array: NDArray[Any]) -> NDArray[Any]:
    """The same values in memory of their own."""
    return array.copy()


def row_squares(view: ViewRows) -> FloatArray:
    """‖(map(ℓ x) ∘ scale − offset) W‖² of each row."""
    if view.table is not None and view.gram is None:
        rows = products.unfactored(view)
        return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    X = products.mapped(view)
    if view.gram is not None:
        squares = compiled_rows.smoothed_squares(X.indptr, X.indices, X.data, view.gram)
        return np.asarray(np.maximum(squares, 0))  # a row of next to nothing can round below
    d = X.shape[1]
    scale = np.ones(d) if view.scale is None else view.scale
    offset = np.zeros(d) if view.offset is None else view.offset
    if isinstance(X, sparse.csr_array):
        stored = products.with_values(X, (X.data * scale[X.indices] - offset[X.indices]) ** 2)
        at_zero = offset @ offset - products.with_values(X, offset[X.indices] ** 2).sum(axis=1)
        at_zero[np.diff(X.indptr) == d] = 0  # a full row has no zeros, only rounding noise
        return np.asarray(stored.sum(axis=1) + np.maximum(at_zero, 0))
    return np.asarray(compiled_rows.row_squares(X, scale, offset))


def project(views: Sequence[ViewRows], bases: Sequence[FloatArray]) -> NDArray[Any]:
    """A = Σ_v X_v H_v."""
    dtype = np.result_type(*(view.values.dtype for view in views))
    total = None
    for view, H in zip(views, bases, strict=True):
        part = products.times_basis(view, H)
        if total is None:
            total = part.astype(dtype, copy=False)
        else:
            total += part
    assert total is not None
    return total


def accumulate(
    views: Sequence[ViewRows], embedding: NDArray[Any], *, is_awaited: bool = True
) -> ArraySums:
    """C_v = X_vᵀ Z."""
    return ArraySums(tuple(products.transposed_times(view, embedding) for view in views))


def project_centered(
    block: Block, bases: Sequence[FloatArray], n_present: FloatArray, shift: FloatArray
) -> NDArray[Any]:
    """b = Σ_v X_v H_v / u − shift."""
    b = project(block.views, bases)
    b /= asarray(n_present[block.group][:, None], like=b)
    b -= asarray(shift, like=b)
    return b


def cluster_shares(block: Block, n_clusters: int) -> sparse.csr_array[Any]:
    """ω of each row in its cluster: (k, rows)."""
    every = np.arange(len(block.labels))
    shape = (n_clusters, len(every))
    return sparse.csr_array((block.weights, (block.labels, every)), shape=shape)


def present_shares(view: ViewRows, shares: sparse.csr_array[Any]) -> FloatArray:
    """Σ_i s_ci of the rows that have the view."""
    every = np.ones(shares.shape[1])
    return np.asarray(shares @ (every if view.factor is None else every * (view.factor > 0)))


def gram(rows: Sequence[ViewRows]) -> FloatArray:
    """X' X'ᵀ of the rows of all blocks, without row factors."""
    return wide.gram(rows)


def combine(rows: Sequence[ViewRows], Z: FloatArray) -> FloatArray:
    """X'ᵀ Z of the rows of all blocks."""
    return wide.combine(rows, Z)


def shared_sums(view: ViewRows, shares: sparse.csr_array[Any]) -> FloatArray:
    """Σ_i s_ci x_i: weights times row factors times view."""
    X = products.mapped(view)
    if view.factor is not None:
        shares = products.with_values(shares, shares.data * view.factor[shares.indices])
    sums = shares.astype(X.dtype) @ X
    total = np.asarray(
        sums.toarray() if isinstance(sums, sparse.csr_array) else sums, dtype=np.float64
    )  # (k, d_v)
    if view.scale is not None:
        total *= view.scale
    if view.offset is not None:
        total -= shares.sum(axis=1)[:, None] * view.offset
    return total if view.table is None else np.asarray(total @ view.table)


def sum_factors(view: ViewRows, wanted: float) -> FloatArray:
    """ℓ of rows that get the same sum; zero where it would overflow."""
    sums = np.asarray(products.mapped(view).sum(axis=1), dtype=np.float64).ravel()
    has_sum = sums > wanted / largest_factor(view.values.dtype)
    return np.divide(wanted, sums, out=np.zeros_like(sums), where=has_sum)


def unit_factors(squares: FloatArray, dtype: Any) -> FloatArray:
    """f = 1/‖·‖; 1 where it would overflow, or the square has lost digits."""
    norm = np.sqrt(squares)
    is_long = norm > shortest_norm(dtype)
    return np.divide(1.0, norm, out=np.ones_like(norm), where=is_long)


def total_squares(view: ViewRows, weights: FloatArray) -> tuple[float, float]:
    """Σ ω over the rows that have the view, and Σ ω ‖x'‖²."""
    factor = np.ones(len(weights)) if view.factor is None else view.factor
    squares = (weights * factor**2) @ row_squares(view)
    return float(weights @ (factor > 0)), float(squares)


def unprojected(block: Block) -> NDArray[Any]:
    """A projection without columns."""
    return np.empty((len(block.labels), 0), dtype=block.projection.dtype)


def take_factor_in(view: ViewRows) -> ViewRows:
    """Smoothed rows whose anchor weights are multiplied by the row factors."""
    shares, factor = view.values, view.factor
    assert factor is not None
    scaled = shares.data * np.repeat(factor, np.diff(shares.indptr)).astype(shares.dtype)
    values = sparse.csr_array((scaled, shares.indices, shares.indptr), shape=shares.shape)
    return replace(view, values=values, factor=None)


def label_sizes(labels: NDArray[np.int32], n_clusters: int) -> FloatArray:
    """Number of rows with each label; negative labels are not counted."""
    return np.bincount(labels[labels >= 0], minlength=n_clusters).astype(np.float64)


def store_scaled(view: ViewRows) -> ViewRows:
    """The same scaled rows, with everything but the row factors applied."""
    values = products.unfactored(view)
    return ViewRows(values, factor=view.factor, absent=view.absent, baseline=view.baseline)


def anchor_weights(
    projection: NDArray[Any], anchors: FloatArray, n_nearest: int
) -> sparse.csr_array[Any]:
    """Weights of the nearest anchors of each row, one chunk of distances at a time."""
    n, dtype = len(projection), projection.dtype
    A = anchors.astype(dtype)
    square = np.einsum("ij,ij->i", A, A)  # (m,)
    nearest = np.empty((n, n_nearest), dtype=np.int32)
    shares = np.empty((n, n_nearest), dtype=dtype)
    for start in range(0, n, CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        distance = square - 2 * (projection[rows] @ A.T)  # (rows, m), minus ‖b‖²
        compiled_rows.nearest_shares(distance, nearest[rows], shares[rows])
    ends = np.arange(n + 1) * n_nearest
    return sparse.csr_array((shares.ravel(), nearest.ravel(), ends), shape=(n, len(A)))


def moments(block: Block, like: ClusterMoments) -> ClusterMoments:
    """Count, mean and scatter of b in each group and cluster."""
    rows, count = np.zeros_like(like.rows), np.zeros_like(like.count)
    mean, scatter = np.zeros_like(like.mean), np.zeros_like(like.scatter)
    spaces = (like.starts, _ends(like.starts, mean.shape[2]))
    of_rows = (block.projection, block.labels, block.group, block.weights)
    sweep.cluster_moments(*of_rows, *spaces, rows, count, mean, scatter)
    return ClusterMoments(like.starts, rows, count, mean, scatter)


def scatter(block: Block, first: int) -> ArraySums:
    """Σ ω b and Σ ω b bᵀ of the columns from `first` on."""
    b = np.asarray(block.projection[:, first:], dtype=np.float64)
    weighted = b * block.weights[:, None]
    return ArraySums((weighted.sum(axis=0), weighted.T @ b))


def anchor_links(shares: sparse.csr_array[Any], weights: FloatArray) -> FloatArray:
    """Bᵀ diag(ω) B of anchor weights B."""
    B = shares.astype(np.float64)
    weighted = products.with_values(B, B.data * np.repeat(weights, np.diff(B.indptr)))
    return np.asarray((B.T @ weighted).toarray())


def embed(block: Block, shrinkage: Shrinkage) -> NDArray[Any]:
    """ω z, z = z̄_c + u / (u + g n_c) · (b − z̄_c), shift added back."""
    b: NDArray[Any] = block.projection
    out = np.empty_like(b)
    small = (block.weights, shrinkage.keep, shrinkage.center, shrinkage.shift)
    w, keep, center, shift = (asarray(values, like=b) for values in small)
    state = (keep, center, shift, shrinkage.starts, _ends(shrinkage.starts, b.shape[1]))
    sweep.embed(b, block.labels, block.group, w, *state, out)
    return out


def embed_with_shares(block: Block, shrinkage: Shrinkage) -> NDArray[Any]:
    """ω z, and ω in the column of its group and cluster."""
    (G, k, _), (n, D) = shrinkage.keep.shape, block.projection.shape
    out = np.zeros((n, D + G * k), dtype=block.projection.dtype)
    out[:, :D] = embed(block, shrinkage)
    out[np.arange(n), D + block.group * k + block.labels] = block.weights
    return out


def nearest(block: Block, clusters: Clusters) -> NDArray[np.int32]:
    """Cluster of least add(c), statistics frozen."""
    labels = np.empty(len(block.labels), dtype=np.int32)
    arrays, weight = cluster_arrays(clusters), clusters.sample_weight
    costs = sweep.prepare_all(arrays, weight)
    for rows in _blocks(len(labels), clusters):
        b = block.projection[rows]
        bounds = _bounds(b, arrays, costs, weight)
        sweep.nearest(arrays, costs, bounds, b, block.group[rows], labels[rows])
    return labels


def margins(block: Block, clusters: Clusters) -> FloatArray:
    """1 − add(own) / least add of another cluster, and which that is; statistics frozen."""
    out = np.empty((len(block.labels), 2))
    arrays, weight = cluster_arrays(clusters), clusters.sample_weight
    costs = sweep.prepare_all(arrays, weight)
    for rows in _blocks(len(out), clusters):
        b = block.projection[rows]
        bounds = _bounds(b, arrays, costs, weight)
        own = (block.labels[rows], block.group[rows])
        sweep.margins(arrays, costs, bounds, b, *own, out[rows])
    return out


def cluster_costs(block: Block, clusters: Clusters) -> FloatArray:
    """add(c) of each row and cluster, statistics frozen."""
    out = np.empty((len(block.labels), clusters.moments.rows.shape[1]))
    arrays = cluster_arrays(clusters)
    costs = sweep.prepare_all(arrays, clusters.sample_weight)
    sweep.costs_of_all(arrays, costs, block.projection, block.group, out)
    return out


def distance_bounds(block: Block, clusters: Clusters) -> NDArray[Any]:
    """Nearest cluster, the distance to it and to the next; unknown where weights or views vary."""
    b, weights = block.projection, block.weights
    if len(clusters.n_present) > 1 or not _all_same(weights):
        return np.empty((len(b), 0), dtype=b.dtype)
    arrays = cluster_arrays(clusters)
    costs = sweep.prepare_all(arrays, weights[0])
    out = np.empty((len(b), 3))
    for rows in _blocks(len(b), clusters):
        bounds = _bounds(b[rows], arrays, costs, weights[0])
        row_bounds.distance_bounds(costs, bounds, out[rows])
    return (out * (1.0, 1 + SAFETY, 1 - SAFETY)).astype(np.float32)


def bound_violated(block: Block, clusters: Clusters, since: ClusterMoments) -> NDArray[np.bool_]:
    """Rows that the distance bounds of earlier do not hold where they are."""
    out = np.ones(len(block.labels), dtype=np.bool_)
    if block.distance_bounds.shape[1] == 0:
        return out
    arrays, weight = cluster_arrays(clusters), block.weights[0]
    costs = sweep.prepare_all(arrays, weight)
    before = sweep.prepare_all(cluster_arrays(replace(clusters, moments=since)), weight)
    bounds = _no_bounds(costs)._replace(slope=before.slope[0], center=before.center)
    sweep.bound_all(arrays, costs, bounds, weight)
    row_bounds.bound_violated(block.distance_bounds, block.labels, before, costs, bounds, out)
    return out


def assign(block: Block, order: IntArray, clusters: Clusters) -> int:
    """One sequential sweep; labels and moments are updated in place."""
    b, labels, group, weights = block.projection, block.labels, block.group, block.weights
    tolerance = _tolerance(b)
    arrays = cluster_arrays(clusters)
    same_weight = _all_same(weights)
    n_moved = 0
    costs = sweep.prepare_all(arrays, weights[order[0]])
    for rows in _blocks(len(order), clusters):
        part = order[rows]
        is_whole = len(part) == len(b)
        where = slice(None) if is_whole else part
        own_b, own_labels = b[where], labels[where]  # views of the whole, copies of a part
        if not same_weight:
            costs = sweep.prepare_all(arrays, weights[part[0]])
        bounds = _bounds(own_b, arrays, costs, weights[0] if same_weight else None)
        within = order if is_whole else np.arange(len(part))
        own = (own_b, own_labels, group[where], weights[where])
        n_moved += sweep.sweep(arrays, costs, bounds, *own, within, tolerance)
        if not is_whole:
            labels[part] = own_labels
    return n_moved


def move(block: Block, clusters: Clusters) -> tuple[NDArray[np.int32], Moved]:
    """Labels after each row alone has moved to where F falls most; statistics frozen."""
    labels = propose(block, clusters)
    rows = np.flatnonzero(labels != block.labels)
    moved = block.some(rows)
    before = moments(moved, clusters.moments)
    return labels, Moved(before, moments(replace(moved, labels=labels[rows]), clusters.moments))


def propose(block: Block, clusters: Clusters) -> NDArray[np.int32]:
    """The labels of `move`."""
    b, labels, weights = block.projection, block.labels, block.weights
    out = np.empty(len(b), dtype=np.int32)
    arrays = cluster_arrays(clusters)
    same_weight = _all_same(weights)
    for rows in _blocks(len(b), clusters):
        costs = sweep.prepare_all(arrays, weights[rows.start])
        bounds = _bounds(b[rows], arrays, costs, weights[0] if same_weight else None)
        own = (b[rows], labels[rows], block.group[rows], weights[rows])
        sweep.propose(arrays, costs, bounds, *own, _tolerance(b), out[rows])
    return out


def _tolerance(b: NDArray[Any]) -> float:
    """Decrease of F, relative to what a move takes away, below which it may be rounding."""
    return 1e-12 if b.dtype == np.float64 else 1e-6


def _blocks(n_rows: int, clusters: Clusters) -> Iterator[slice]:
    """Rows whose costs for all clusters fit into the cache."""
    n_clusters = clusters.moments.rows.shape[1]
    at_once = max(CHUNK_ROWS * 4000 // max(n_clusters, 4000), 64)
    for start in range(0, n_rows, at_once):
        yield slice(start, start + at_once)


def _all_same(weights: FloatArray) -> bool:
    return bool(np.all(weights == weights[0]))


def _bounds(
    b: NDArray[Any], clusters: sweep.ClusterArrays, costs: sweep.Costs, weight: float | None
) -> sweep.Bounds:
    """Costs of all rows by one matrix product; none if weights or views vary, or it overflows."""
    if weight is None or len(clusters.n_present) > 1:
        return _no_bounds(costs, b.dtype)
    (n, D), (k, m) = b.shape, costs.slope.shape[1:]
    spaces = (clusters.starts, clusters.ends)
    rounding = float((D + m + 8) * np.finfo(b.dtype).eps)
    slope, length = costs.slope[0].copy(), np.empty(k)
    # includes ‖b‖² and ‖center‖²: a pass over (rows, k) costs as much as a narrow product
    shapes = ((n, D + m + 1), (D + m + 1, k), (n, m))
    left, right, square = (np.empty(shape, dtype=b.dtype) for shape in shapes)
    compiled_rows.widen(b, *spaces, left, square)
    if not square.max(initial=0) < np.finfo(b.dtype).max * SAFETY:  # rows unlike those of the fit
        return _no_bounds(costs, b.dtype)
    compiled_rows.draw(costs.center, slope, *spaces, 1 - rounding, right, length)
    started = (slope, costs.center.copy(), length)
    bounds = sweep.Bounds(left @ right, square, rounding, *started, *_unmoved(k))
    sweep.bound_all(clusters, costs, bounds, weight)
    return bounds


def _no_bounds(costs: sweep.Costs, dtype: Any = np.float64) -> sweep.Bounds:
    """Bounds without rows, with clusters that have not shifted."""
    _, k, m = costs.slope.shape
    nothing = np.empty((0, k), dtype=dtype)
    none = (nothing, nothing, 0.0, np.empty((0, m)), np.empty((0, costs.center.shape[1])))
    return sweep.Bounds(*none, np.empty(0), *_unmoved(k))


def _unmoved(k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Initial center_shift, shrunk and leaving of the clusters."""
    return np.zeros(k), np.ones(k), np.zeros((2, k))


def cluster_arrays(clusters: Clusters) -> sweep.ClusterArrays:
    """What the compiled label step is given; it writes into the arrays of the moments."""
    moments = clusters.moments
    ends = _ends(moments.starts, moments.mean.shape[2])
    state = (moments.rows, moments.count, moments.mean, moments.scatter)
    sizes = (float(clusters.size_weight), float(moments.count.sum()))
    given = (clusters.n_present, clusters.coupling, *sizes, moments.starts, ends)
    return sweep.ClusterArrays(*given, *state)


def _ends(starts: IntArray, n_columns: int) -> IntArray:
    """Column after the last of each space."""
    return np.append(starts[1:], n_columns)
