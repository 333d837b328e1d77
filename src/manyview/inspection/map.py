"""2-D maps of the samples, in time linear in their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist, squareform

from manyview.data.conversion import read_rows
from manyview.data.views import MultiViewData
from manyview.inspection.features import Profile
from manyview.utils.types import FloatArray, IntArray

N_SURE = 50  # samples of each cluster that are always drawn
PIECE_ROWS = 8192
MOST_LAID_OUT = 500  # clusters; beyond, the principal axes are used
N_ROUNDS = 200
ASIDE = 0.12  # spread within clusters, relative to the distance of evenly spaced clusters


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


def _pieces(rows: NDArray[np.intp]) -> Iterator[Any]:
    """Pieces of sorted positions; slices, which avoid copies, if they are contiguous."""
    for start in range(0, len(rows), PIECE_ROWS):
        piece = rows[start : start + PIECE_ROWS]
        is_run = piece[-1] - piece[0] + 1 == len(piece)
        yield slice(int(piece[0]), int(piece[-1]) + 1) if is_run else piece


def embed_rows(
    transform: Callable[[MultiViewData], Any], data: MultiViewData, rows: NDArray[np.intp]
) -> NDArray[Any]:
    """Embedding of some samples, made piece by piece: (rows, D)."""
    return np.concatenate([np.asarray(transform(data[piece])) for piece in _pieces(rows)])


def cluster_means(embedding: NDArray[Any], labels: IntArray, k: int) -> FloatArray:
    """Mean row of each cluster, zero where it has none: (k, D)."""
    n, count = len(labels), np.maximum(np.bincount(labels, minlength=k), 1)
    members = csr_array((1 / count[labels], (labels, np.arange(n))), shape=(k, n))
    return np.asarray(members @ embedding, dtype=np.float64)


def place_samples(embedding: NDArray[Any], labels: IntArray, k: int) -> FloatArray:
    """Coordinates of the samples, between those of the clusters and nearer to similar ones.

    Clusters are placed by multidimensional scaling of their means. A sample is placed at the mean
    of their coordinates, weighted by 1 / distance⁶ in the embedding, plus a small offset along the
    two widest axes within clusters, against overplotting.
    """
    shift = embedding.mean(axis=0, dtype=np.float64)
    means = cluster_means(embedding, labels, k) - shift  # (k, D)
    places = _lay_out(means)  # (k, 2)
    axes = _widest_axes(embedding, labels, means + shift)  # (D, 2)
    between, aside = np.empty((len(labels), 2)), np.empty((len(labels), 2))
    for start in range(0, len(labels), PIECE_ROWS):
        rows = slice(start, start + PIECE_ROWS)
        Z = embedding[rows] - shift  # (rows, D)
        distance = cdist(Z, means, "sqeuclidean")  # (rows, k)
        nearest = distance.min(axis=1, keepdims=True)
        tiny = np.finfo(float).tiny
        weights = ((nearest + tiny) / (distance + tiny)) ** 3
        between[rows] = weights @ places / weights.sum(axis=1, keepdims=True)
        aside[rows] = (Z - means[labels[rows]]) @ axes
    aside /= np.sqrt(np.mean(aside**2)) or 1.0
    near = aside / np.sqrt(1 + (aside**2).sum(axis=1, keepdims=True) / 4)  # within two widths
    return np.asarray(between + ASIDE * _spacing(places) * near)


def _lay_out(means: FloatArray) -> FloatArray:
    """Points in the plane whose distances approximate those of the means: (k, 2)."""
    k = len(means)
    U, s, _ = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    places = np.zeros((k, 2))
    places[:, : min(2, len(s))] = (U * s)[:, :2]
    if k > MOST_LAID_OUT:
        return places
    wanted = squareform(pdist(means))  # (k, k)
    for _ in range(N_ROUNDS):
        # one step of stress majorization: L <- B(L) L / k
        distance = squareform(pdist(places))
        ratio = np.divide(wanted, distance, out=np.zeros_like(distance), where=distance > 0)
        places = (ratio.sum(axis=1)[:, None] * places - ratio @ places) / k
    return places


def _widest_axes(embedding: NDArray[Any], labels: IntArray, means: FloatArray) -> FloatArray:
    """Two principal axes of the embedding within clusters: (D, 2)."""
    D = embedding.shape[1]
    scatter = np.zeros((D, D))
    for start in range(0, len(labels), PIECE_ROWS):
        rows = slice(start, start + PIECE_ROWS)
        left = embedding[rows] - means[labels[rows]]
        scatter += left.T @ left
    axes = np.zeros((D, 2))
    axes[:, : min(2, D)] = np.linalg.eigh(scatter)[1][:, ::-1][:, :2]
    return axes


def _spacing(places: FloatArray) -> float:
    """Distance of evenly spaced clusters; 1 if there is only one position."""
    extent = np.sqrt(np.sum(places.var(axis=0)))
    return float(2 * extent / np.sqrt(len(places))) or 1.0


def place_view(data: MultiViewData, v: int, rows: NDArray[np.intp], profile: Profile) -> FloatArray:
    """Samples by one view: standardized features along the principal axes of cluster means."""
    weighted = np.sqrt(profile.count / profile.count.sum())[:, None] * profile.standardized
    _, _, Vt = np.linalg.svd(weighted, full_matrices=False)  # (k, d_v)
    axes = np.zeros((Vt.shape[1], 2))
    axes[:, : min(2, len(Vt))] = Vt[:2].T
    axes *= profile.scale[:, None]
    with np.errstate(all="ignore"):  # rows of missing views may hold any value
        placed = [np.asarray(read_rows(data.views[v], piece) @ axes) for piece in _pieces(rows)]
    points = np.concatenate(placed).astype(np.float64) - profile.overall @ axes  # (rows, 2)
    if data.present is not None:
        points[~data.present[rows, v]] = np.nan
    return points
