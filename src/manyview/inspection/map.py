"""2-D maps of the samples, in time linear in their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import silhouette_samples

from manyview.data.views import MultiViewData
from manyview.inspection.coordinates import joint_coordinates, row_pieces, view_coordinates
from manyview.inspection.layout import lay_out
from manyview.solver.inference import Fitted
from manyview.utils.types import FloatArray, IntArray

N_MEANS = 10_000  # samples whose mean is that of their cluster
N_SILHOUETTES = 2000  # samples; all of their distances are compared
N_SURE = 50  # samples of each cluster that are always drawn


def draw_rows(labels: IntArray, n_most: int) -> NDArray[np.intp]:
    """All positions or, if there are more than `n_most`, a random subset with all clusters."""
    n = len(labels)
    if n <= n_most:
        return np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    by_cluster = np.argsort(labels[order], kind="stable")
    sizes = np.bincount(labels)
    rank = np.empty(n, dtype=np.intp)
    rank[by_cluster] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[np.argsort(rank >= N_SURE, kind="stable")[:n_most]])


def distances_to_means(
    transform: Callable[[MultiViewData], Any],
    data: MultiViewData,
    rows: NDArray[np.intp],
    labels: IntArray,
) -> FloatArray:
    """Distance in the embedding of some samples to the mean of their cluster: (rows,).

    The embedding is made piece by piece, and never held as a whole: with many clusters it is wider
    than the views. Of many samples, the means are those of a part.
    """
    few = draw_rows(labels, N_MEANS)
    embedding = _embed_rows(transform, data, rows[few])  # (few, D)
    means = cluster_means(embedding, labels[few], int(labels.max()) + 1).astype(embedding.dtype)
    if len(few) == len(rows):
        return _lengths(embedding - means[labels])
    parts, start = [], 0
    for piece in row_pieces(rows):
        part = np.asarray(transform(data[piece]))
        own = labels[start : start + len(part)]
        parts.append(_lengths(part - means[own]))
        start += len(part)
    return np.concatenate(parts)


def _embed_rows(
    transform: Callable[[MultiViewData], Any], data: MultiViewData, rows: NDArray[np.intp]
) -> NDArray[Any]:
    return np.concatenate([np.asarray(transform(data[piece])) for piece in row_pieces(rows)])


def _lengths(rows: NDArray[Any]) -> FloatArray:
    return np.asarray(np.linalg.norm(rows, axis=1), dtype=np.float64)


def cluster_means(embedding: NDArray[Any], labels: IntArray, k: int) -> FloatArray:
    """Mean row of each cluster, zero where it has none: (k, D)."""
    n, count = len(labels), np.maximum(np.bincount(labels, minlength=k), 1)
    members = csr_array((1 / count[labels], (labels, np.arange(n))), shape=(k, n))
    return np.asarray(members @ embedding, dtype=np.float64)


def place_samples(
    fitted: Fitted, data: MultiViewData, rows: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Places of samples by all views, without the labels, and the coordinates they are made of."""
    coordinates = joint_coordinates(fitted, data, rows)
    return lay_out(coordinates), coordinates


def silhouettes(coordinates: FloatArray, labels: IntArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Silhouettes of at most `N_SILHOUETTES` samples, with all clusters: positions and values."""
    few = draw_rows(labels, N_SILHOUETTES)
    if not 1 < len(np.unique(labels[few])) < len(few):
        return few[:0], np.zeros(0)
    return few, np.asarray(silhouette_samples(coordinates[few], labels[few]), dtype=np.float64)


def place_view(fitted: Fitted, data: MultiViewData, v: int, rows: NDArray[np.intp]) -> FloatArray:
    """Places of samples by one view: along its principal axes; NaN for those that lack it."""
    has_it = np.ones(len(rows), dtype=bool) if data.present is None else data.present[rows, v]
    points = np.full((len(rows), 2), np.nan)
    if has_it.any():
        points[has_it] = view_coordinates(fitted, data, v, rows[has_it])
    return points
