"""Kernels for the CPU: BLAS for matrix products, numba for loops over rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.scaling import ColumnMoments
from manyview.kernels import bounds as row_bounds
from manyview.kernels import products, sweep
from manyview.kernels import rows as compiled_rows
from manyview.kernels.block import CHUNK_ROWS, Shrinkage, ViewRows
from manyview.kernels.statistics import ArraySums, ClusterMoments
from manyview.utils.types import FloatArray, IntArray

__all__ = [
    "accumulate",
    "anchor_weights",
    "asarray",
    "assign",
    "bound_violated",
    "columns",
    "distance_bounds",
    "embed",
    "margins",
    "moments",
    "nearest",
    "project",
    "row_squares",
    "shared_sums",
]

SAFETY = 1e-6  # larger than float32 rounding


def asarray(small: FloatArray, like: NDArray[Any]) -> NDArray[Any]:
    """Array in the dtype of `like`."""
    return np.asarray(small, dtype=like.dtype)


def columns(view: ViewRows, weights: FloatArray) -> ColumnMoments:
    """Weighted mean, scatter and minimum of the columns; missing rows have no weight."""
    X = products.mapped(view)
    w = weights if view.factor is None else weights * (view.factor > 0)  # (rows,)
    total = float(w.sum())
    resolution = float(np.finfo(X.dtype).eps)
    if total == 0:
        return ColumnMoments(0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.inf, resolution)
    mean = np.asarray(X.T @ w.astype(X.dtype), dtype=np.float64) / total  # (d_v,)
    if isinstance(X, sparse.csr_array):
        spread = products.with_values(X, (X.data - mean[X.indices]) ** 2)
        stored = products.with_values(X, np.ones(X.nnz)).T @ w  # (d_v,): weight of nonzero entries
        scatter = spread.T @ w + np.maximum(total - stored, 0) * mean**2
        smallest = min(float(X.data.min(initial=0.0)), 0.0)
    else:
        # a second pass removes the rounding of a float32 mean before it is squared
        centered = X - mean.astype(X.dtype)
        residual = np.asarray(w.astype(X.dtype) @ centered, dtype=np.float64) / total
        scatter = (
            np.asarray(w.astype(X.dtype) @ centered**2, dtype=np.float64) - total * residual**2
        )
        smallest = float(X[w > 0].min())
    return ColumnMoments(total, mean, np.maximum(scatter, 0), smallest, resolution)


def row_squares(view: ViewRows) -> FloatArray:
    """‖map(x) ∘ scale − offset‖² of each row."""
    X = products.mapped(view)
    if view.gram is not None:
        return np.asarray(compiled_rows.smoothed_squares(X.indptr, X.indices, X.data, view.gram))
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


def accumulate(views: Sequence[ViewRows], embedding: NDArray[Any]) -> ArraySums:
    """C_v = X_vᵀ Z."""
    return ArraySums(tuple(products.transposed_times(view, embedding) for view in views))


def shared_sums(view: ViewRows, shares: sparse.csr_array[Any]) -> FloatArray:
    """Σ_i s_ci x_i: weights times row factors times view."""
    X = products.mapped(view)
    if view.factor is not None:
        shares = products.with_values(shares, shares.data * view.factor[shares.indices])
    sums = shares.astype(X.dtype) @ X
    total = np.asarray(
        sums.toarray() if isinstance(sums, sparse.csr_array) else sums, dtype=np.float64
    )  # (k, d_v)
    if view.table is not None:
        total = total @ view.table
    if view.scale is not None:
        total *= view.scale
    if view.offset is not None:
        total -= shares.sum(axis=1)[:, None] * view.offset
    return total


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


def moments(
    projection: NDArray[Any],
    labels: IntArray,
    group: IntArray,
    weights: FloatArray,
    like: ClusterMoments,
) -> ClusterMoments:
    """Count, mean and scatter of b in each group and cluster."""
    rows, count = np.zeros_like(like.rows), np.zeros_like(like.count)
    mean, scatter = np.zeros_like(like.mean), np.zeros_like(like.scatter)
    ends = _ends(like.starts, mean.shape[2])
    sweep.cluster_moments(
        projection, labels, group, weights, like.starts, ends, rows, count, mean, scatter
    )
    return ClusterMoments(like.starts, rows, count, mean, scatter)


def embed(
    projection: NDArray[Any],
    labels: IntArray,
    group: IntArray,
    weights: FloatArray,
    shrinkage: Shrinkage,
) -> NDArray[Any]:
    """ω z, z = z̄_c + u / (u + g n_c) · (b − z̄_c), shift added back."""
    out = np.empty_like(projection)
    ends = _ends(shrinkage.starts, projection.shape[1])
    small = (weights, shrinkage.keep, shrinkage.center, shrinkage.shift)
    w, keep, center, shift = (asarray(values, like=projection) for values in small)
    state = (keep, center, shift, shrinkage.starts, ends)
    sweep.embed(projection, labels, group, w, *state, out)
    return out


def nearest(
    projection: NDArray[Any],
    group: IntArray,
    moments: ClusterMoments,
    n_present: FloatArray,
    coupling: FloatArray,
) -> NDArray[np.int32]:
    """Cluster of least add(c), statistics fixed."""
    labels = np.empty(len(projection), dtype=np.int32)
    clusters = _clusters(moments, n_present, coupling)
    costs = sweep.prepare_all(clusters, 1.0)
    for rows in _blocks(len(projection), moments.rows.shape[1]):
        b = projection[rows]
        bounds = _bounds(b, clusters, costs, 1.0)
        sweep.nearest(clusters, costs, bounds, b, group[rows], labels[rows])
    return labels


def margins(
    projection: NDArray[Any],
    labels: IntArray,
    group: IntArray,
    moments: ClusterMoments,
    n_present: FloatArray,
    coupling: FloatArray,
) -> FloatArray:
    """1 − add(own) / least add of another cluster, and that cluster; statistics fixed."""
    out = np.empty((len(projection), 2))
    clusters = _clusters(moments, n_present, coupling)
    costs = sweep.prepare_all(clusters, 1.0)
    for rows in _blocks(len(projection), moments.rows.shape[1]):
        b = projection[rows]
        bounds = _bounds(b, clusters, costs, 1.0)
        sweep.margins(clusters, costs, bounds, b, labels[rows], group[rows], out[rows])
    return out


def distance_bounds(
    projection: NDArray[Any],
    weights: FloatArray,
    moments: ClusterMoments,
    n_present: FloatArray,
    coupling: FloatArray,
) -> NDArray[Any]:
    """Nearest cluster, its distance and that of the next; none if weights or views vary."""
    if len(n_present) > 1 or not _all_same(weights):
        return np.empty((len(projection), 0), dtype=projection.dtype)
    clusters = _clusters(moments, n_present, coupling)
    costs = sweep.prepare_all(clusters, weights[0])
    out = np.empty((len(projection), 3))
    for rows in _blocks(len(projection), moments.rows.shape[1]):
        bounds = _bounds(projection[rows], clusters, costs, weights[0])
        row_bounds.distance_bounds(costs, bounds, out[rows])
    return (out * (1.0, 1 + SAFETY, 1 - SAFETY)).astype(np.float32)


def bound_violated(
    distance_bounds: NDArray[Any],
    labels: NDArray[np.int32],
    weights: FloatArray,
    moments: ClusterMoments,
    since: ClusterMoments,
    n_present: FloatArray,
    coupling: FloatArray,
) -> NDArray[np.bool_]:
    """Rows whose earlier distance bounds do not exclude a change."""
    out = np.ones(len(labels), dtype=np.bool_)
    if distance_bounds.shape[1] == 0:
        return out
    clusters = _clusters(moments, n_present, coupling)
    costs = sweep.prepare_all(clusters, weights[0])
    before = sweep.prepare_all(_clusters(since, n_present, coupling), weights[0])
    bounds = _no_bounds(costs)._replace(slope=before.slope[0], center=before.center)
    sweep.bound_all(clusters, costs, bounds, weights[0])
    row_bounds.bound_violated(distance_bounds, labels, before, costs, bounds, out)
    return out


def assign(
    projection: NDArray[Any],
    labels: NDArray[np.int32],
    group: IntArray,
    weights: FloatArray,
    order: IntArray,
    moments: ClusterMoments,
    n_present: FloatArray,
    coupling: FloatArray,
) -> int:
    """One sequential sweep; `labels` and `moments` are updated in place."""
    tolerance = 1e-12 if projection.dtype == np.float64 else 1e-6
    clusters = _clusters(moments, n_present, coupling)
    same_weight = _all_same(weights)
    n_moved = 0
    costs = sweep.prepare_all(clusters, weights[order[0]])
    for rows in _blocks(len(order), moments.rows.shape[1]):
        part = order[rows]
        is_whole = len(part) == len(projection)
        b = projection if is_whole else projection[part]
        own = labels if is_whole else labels[part]
        if not same_weight:
            costs = sweep.prepare_all(clusters, weights[part[0]])
        bounds = _bounds(b, clusters, costs, weights[0] if same_weight else None)
        within = order if is_whole else np.arange(len(part))
        where = slice(None) if is_whole else part
        n_moved += sweep.sweep(
            clusters, costs, bounds, b, own, group[where], weights[where], within, tolerance
        )
        if not is_whole:
            labels[part] = own
    return n_moved


def _blocks(n_rows: int, n_clusters: int) -> Iterator[slice]:
    """Slices of rows whose costs for all clusters fit into the cache."""
    at_once = max(CHUNK_ROWS * 4000 // max(n_clusters, 4000), 64)
    for start in range(0, n_rows, at_once):
        yield slice(start, start + at_once)


def _all_same(weights: FloatArray) -> bool:
    return bool(np.all(weights == weights[0]))


def _bounds(
    b: NDArray[Any], clusters: sweep.Clusters, costs: sweep.Costs, weight: float | None
) -> sweep.Bounds:
    """Costs of all rows by one matrix product; none if weights or views vary."""
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


def _clusters(
    moments: ClusterMoments, n_present: FloatArray, coupling: FloatArray
) -> sweep.Clusters:
    """Input of the compiled label step, which updates the arrays of `moments`."""
    ends = _ends(moments.starts, moments.mean.shape[2])
    state = (moments.rows, moments.count, moments.mean, moments.scatter)
    return sweep.Clusters(n_present, coupling, moments.starts, ends, *state)


def _ends(starts: IntArray, n_columns: int) -> IntArray:
    """Column after the last of each space."""
    return np.append(starts[1:], n_columns)
