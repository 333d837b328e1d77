"""Kernels for the CPU: BLAS for the matrix products, numba for what runs over rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.blocks import (
    CHUNK_ROWS,
    ClusterMoments,
    ColumnMoments,
    FloatArray,
    IntArray,
    Shrinkage,
    Sums,
    ViewRows,
)
from manyview.kernels import _rows as compiled_rows
from manyview.kernels import _sweep as sweep

__all__ = [
    "accumulate",
    "asarray",
    "assign",
    "columns",
    "embed",
    "margins",
    "mix",
    "moments",
    "nearest",
    "project",
    "row_squares",
    "shared_sums",
]


def asarray(small: FloatArray, like: NDArray[Any]) -> NDArray[Any]:
    """Host array in the dtype of `like`."""
    return np.asarray(small, dtype=like.dtype)


def columns(view: ViewRows, weights: FloatArray) -> ColumnMoments:
    """Weighted mean, scatter and minimum of the columns; absent rows have no weight."""
    X = _mapped(view)
    w = weights if view.factor is None else weights * (view.factor > 0)  # (rows,)
    total = float(w.sum())
    resolution = float(np.finfo(X.dtype).eps)
    if total == 0:
        return ColumnMoments(0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.inf, resolution)
    mean = np.asarray(X.T @ w.astype(X.dtype), dtype=np.float64) / total  # (d_v,)
    if isinstance(X, sparse.csr_array):
        spread = _stored(X, (X.data - mean[X.indices]) ** 2)
        stored = _stored(X, np.ones(X.nnz)).T @ w  # (d_v,): weight of the entries that are not zero
        scatter = spread.T @ w + np.maximum(total - stored, 0) * mean**2
        smallest = min(float(X.data.min(initial=0.0)), 0.0)
    else:
        # a second look removes the rounding of a float32 mean before it is squared
        centered = X - mean.astype(X.dtype)
        residual = np.asarray(w.astype(X.dtype) @ centered, dtype=np.float64) / total
        scatter = (
            np.asarray(w.astype(X.dtype) @ centered**2, dtype=np.float64) - total * residual**2
        )
        smallest = float(X[w > 0].min())
    return ColumnMoments(total, mean, np.maximum(scatter, 0), smallest, resolution)


def row_squares(view: ViewRows) -> FloatArray:
    """‖map(x) ∘ scale − offset‖² of each row."""
    X = _mapped(view)
    if view.gram is not None:
        return np.asarray(compiled_rows.mixed_squares(X.indptr, X.indices, X.data, view.gram))
    d = X.shape[1]
    scale = np.ones(d) if view.scale is None else view.scale
    offset = np.zeros(d) if view.offset is None else view.offset
    if isinstance(X, sparse.csr_array):
        stored = _stored(X, (X.data * scale[X.indices] - offset[X.indices]) ** 2)
        at_zero = offset @ offset - _stored(X, offset[X.indices] ** 2).sum(axis=1)
        at_zero[np.diff(X.indptr) == d] = 0  # a full row has no zeros, only rounding
        return np.asarray(stored.sum(axis=1) + np.maximum(at_zero, 0))
    return np.asarray(compiled_rows.row_squares(X, scale, offset))


def project(views: Sequence[ViewRows], bases: Sequence[FloatArray]) -> NDArray[Any]:
    """A = Σ_v X_v H_v."""
    dtype = np.result_type(*(view.values.dtype for view in views))
    total = None
    for view, H in zip(views, bases, strict=True):
        part = _times_basis(view, H)
        if total is None:
            total = part.astype(dtype, copy=False)
        else:
            total += part
    assert total is not None
    return total


def accumulate(views: Sequence[ViewRows], embedding: NDArray[Any]) -> Sums:
    """C_v = X_vᵀ Z."""
    return Sums(tuple(_transposed_times(view, embedding) for view in views))


def shared_sums(view: ViewRows, shares: sparse.csr_array[Any]) -> FloatArray:
    """Σ_i s_ci x_i: the shares, times the row factors, times the view."""
    X = _mapped(view)
    if view.factor is not None:
        shares = _stored(shares, shares.data * view.factor[shares.indices])
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


def mix(projection: NDArray[Any], anchors: FloatArray, n_nearest: int) -> sparse.csr_array[Any]:
    """Each row as shares of its nearest anchors, a chunk of distances at a time."""
    n, dtype = len(projection), projection.dtype
    A = anchors.astype(dtype)
    square = np.einsum("ij,ij->i", A, A)  # (m,)
    nearest = np.empty((n, n_nearest), dtype=np.int32)
    shares = np.empty((n, n_nearest), dtype=dtype)
    for start in range(0, n, CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        distance = square - 2 * (projection[rows] @ A.T)  # (rows, m), less ‖b‖²
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
    sweep.embed(projection, labels, group, w, keep, center, shift, shrinkage.starts, ends, out)
    return out


def nearest(
    projection: NDArray[Any],
    group: IntArray,
    moments: ClusterMoments,
    levels: FloatArray,
    pull: FloatArray,
) -> NDArray[np.int32]:
    """Cluster of least add(c), statistics frozen."""
    labels = np.empty(len(projection), dtype=np.int32)
    clusters = _clusters(moments, levels, pull)
    costs = sweep.prepare_all(clusters, 1.0)
    for rows in _blocks(projection, moments.rows.shape[1]):
        b = projection[rows]
        bounds = _bounds(b, clusters, costs, 1.0)
        sweep.nearest(clusters, costs, bounds, b, group[rows], labels[rows])
    return labels


def margins(
    projection: NDArray[Any],
    labels: IntArray,
    group: IntArray,
    moments: ClusterMoments,
    levels: FloatArray,
    pull: FloatArray,
) -> FloatArray:
    """1 − add(own) / least add of another cluster, and which that is; statistics frozen."""
    out = np.empty((len(projection), 2))
    clusters = _clusters(moments, levels, pull)
    costs = sweep.prepare_all(clusters, 1.0)
    for rows in _blocks(projection, moments.rows.shape[1]):
        b = projection[rows]
        bounds = _bounds(b, clusters, costs, 1.0)
        sweep.margins(clusters, costs, bounds, b, labels[rows], group[rows], out[rows])
    return out


def assign(
    projection: NDArray[Any],
    labels: NDArray[np.int32],
    group: IntArray,
    weights: FloatArray,
    order: IntArray,
    moments: ClusterMoments,
    levels: FloatArray,
    pull: FloatArray,
) -> int:
    """One sequential sweep; `labels` and `moments` are updated in place."""
    tolerance = 1e-12 if projection.dtype == np.float64 else 1e-6
    clusters = _clusters(moments, levels, pull)
    same_weight = bool(np.all(weights == weights[0]))
    n_moved = 0
    costs = sweep.prepare_all(clusters, weights[order[0]])
    for rows in _blocks(projection, moments.rows.shape[1]):
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


def _blocks(projection: NDArray[Any], n_clusters: int) -> Iterator[slice]:
    """Rows whose costs for all clusters fit into the cache."""
    n_rows = max(CHUNK_ROWS * 4000 // max(n_clusters, 4000), 64)
    for start in range(0, len(projection), n_rows):
        yield slice(start, start + n_rows)


def _bounds(
    b: NDArray[Any], clusters: sweep.Clusters, costs: sweep.Costs, weight: float | None
) -> sweep.Bounds:
    """Costs of all rows by one matrix product; none where the weights or the views vary."""
    k, D = costs.center.shape
    m = len(clusters.pull)
    per_cluster = [np.zeros(k), np.ones(k), np.zeros((2, k))]
    if weight is None or len(clusters.levels) > 1:
        nothing = np.empty((0, k), dtype=b.dtype)
        return sweep.Bounds(
            nothing, nothing, 0.0, np.empty((0, m)), np.empty((0, D)), np.empty(0), *per_cluster
        )
    slope = costs.slope[0]  # (k, m)
    widths = clusters.ends - clusters.starts
    drawn = np.repeat(slope, widths, axis=1) * costs.center  # (k, D)
    length = np.einsum("kj,kj->k", drawn, costs.center)
    rounding = float((D + m + 8) * np.finfo(b.dtype).eps)
    square = compiled_rows.space_squares(b, clusters.starts, clusters.ends)  # (rows, m)
    # ‖b‖² and ‖center‖² ride along: a pass over (rows, k) costs as much as a narrow product
    left = np.hstack([b, square, np.ones((len(b), 1), dtype=b.dtype)])
    right = np.hstack([-2 * drawn, (1 - rounding) * slope, (1 - rounding) * length[:, None]])
    least = left @ right.T.astype(b.dtype)  # (rows, k)
    bounds = sweep.Bounds(
        least, square, rounding, slope.copy(), costs.center.copy(), length, *per_cluster
    )
    sweep.bound_all(clusters, costs, bounds, weight)
    return bounds


def _clusters(moments: ClusterMoments, levels: FloatArray, pull: FloatArray) -> sweep.Clusters:
    """What the compiled label step is given; it writes into the arrays of `moments`."""
    ends = _ends(moments.starts, moments.mean.shape[2])
    state = (moments.rows, moments.count, moments.mean, moments.scatter)
    return sweep.Clusters(levels, pull, moments.starts, ends, *state)


def _ends(starts: IntArray, n_columns: int) -> IntArray:
    """Column after the last of each space."""
    return np.append(starts[1:], n_columns)


def _stored(X: sparse.csr_array[Any], values: FloatArray) -> sparse.csr_array[Any]:
    """Other values, in float64, at the stored entries of X."""
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)


def _mapped(view: ViewRows) -> Any:
    """map(x), with the rows of absent samples set to zero."""
    X = view.values
    if view.absent is not None:
        X = X.copy()
        if isinstance(X, sparse.csr_array):
            X.data[np.isin(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), view.absent)] = 0
        else:
            X[view.absent] = 0
    if not view.takes_root:
        return X
    return X.sqrt() if isinstance(X, sparse.csr_array) else np.sqrt(X)


def _relative(view: ViewRows) -> NDArray[Any]:
    """x' − baseline, row by row: the subtraction that must come before the product."""
    X = _mapped(view)
    if isinstance(X, sparse.csr_array):  # far from the origin: there are no zeros to save
        X = X.toarray()
    rows = np.array(X) if view.scale is None else X * view.scale.astype(X.dtype)
    if view.offset is not None:
        rows -= view.offset.astype(X.dtype)
    if view.factor is not None:
        rows *= view.factor[:, None].astype(X.dtype)
    rows -= np.asarray(view.baseline, dtype=X.dtype)
    return np.asarray(rows)


def _times_basis(view: ViewRows, H: FloatArray) -> NDArray[Any]:
    """X' H = f · (map(X) (scale ∘ H) − offset · H); with a baseline, (X' − baseline) H."""
    if view.baseline is not None:
        rows = _relative(view)
        return np.asarray(rows @ H.astype(rows.dtype))
    X = _mapped(view)
    scaled = H if view.scale is None else view.scale[:, None] * H  # (d_v, D)
    if view.table is not None:
        scaled = view.table @ scaled
    product = X @ scaled.astype(X.dtype)  # (rows, D)
    if view.offset is not None:
        product -= (view.offset @ H).astype(X.dtype)
    if view.factor is not None:
        product *= view.factor[:, None].astype(X.dtype)
    return np.asarray(product)


def _transposed_times(view: ViewRows, Z: NDArray[Any]) -> FloatArray:
    """X'ᵀ Z = scale ∘ (map(X)ᵀ (f ∘ Z)) − offset ⊗ Σ f z."""
    if view.baseline is not None:
        relative = np.asarray(_relative(view).T @ Z, dtype=np.float64)
        return relative + np.outer(view.baseline, Z.sum(axis=0, dtype=np.float64))
    X = _mapped(view)
    weighted = Z if view.factor is None else Z * view.factor[:, None].astype(Z.dtype)  # (rows, D)
    product = np.asarray(X.T @ weighted.astype(X.dtype, copy=False), dtype=np.float64)  # (d_v, D)
    if view.table is not None:
        product = view.table.T @ product
    if view.scale is not None:
        product = product * view.scale[:, None]
    if view.offset is not None:
        product = product - np.outer(view.offset, weighted.sum(axis=0, dtype=np.float64))
    return product
