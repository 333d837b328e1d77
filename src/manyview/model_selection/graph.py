"""Spectral clustering of a neighbor graph: its spectrum, partitions, and their modularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dgeqp3
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from manyview.utils.types import FloatArray, IntArray

PIECE_ROWS = 256  # whose distances to all points are held at a time
FEWEST_NEIGHBORS, MOST_NEIGHBORS = 5, 25
PRECISION = 1e-4  # of the eigenvalues
TINY = float(np.finfo(np.float64).tiny)
LEAST = 1e-30  # of the product of two radii: copies of a point get weight 1
EARLIER = 1e-6  # by which the first row is longer than the last: of equal rows, the first is pivot


@dataclass(frozen=True)
class Spectrum:
    """Largest eigenvalues of a random walk on a graph, and its eigenvectors."""

    values: FloatArray  # (most,)
    vectors: FloatArray  # (n, most)

    def partition(self, n_clusters: int) -> IntArray:
        """Clusters by a pivoted QR of the first k eigenvectors: no start, no iteration.

        The pivots are k samples with nearly orthogonal rows; after a rotation towards them, the
        largest coordinate of a row is its cluster.
        """
        rows = self.vectors[:, :n_clusters]
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.maximum(norms, TINY)  # (n, k)
        # all rows have norm 1: without an order, rounding would choose the first pivot
        ordered = rows * np.linspace(1 + EARLIER, 1, len(rows))[:, None]
        pivots = dgeqp3(ordered.T, overwrite_a=True)[1][:n_clusters] - 1  # counted from 1
        left, _, right = np.linalg.svd(rows[pivots].T)
        return np.asarray(np.abs(rows @ (left @ right)).argmax(axis=1))


def join_neighbors(points: FloatArray, n_neighbors: int | None = None) -> sparse.csr_array:
    """Weights exp(−‖x − x'‖² / (σ σ')) of the nearest points, σ the distance of the last.

    By default, of the √n / 2 nearest.
    """
    from manyview.kernels.rows import nearest_shares  # loads numba only when needed

    n = len(points)
    points = points - points.mean(axis=0)  # against cancellation far from the origin
    wanted = round(np.sqrt(n) / 2) if n_neighbors is None else n_neighbors
    s = min(max(FEWEST_NEIGHBORS, min(MOST_NEIGHBORS, wanted)), n - 1)
    squares = np.einsum("ij,ij->i", points, points)  # (n,)
    nearest, distances = np.empty((n, s), dtype=np.int32), np.empty((n, s))
    unused = np.empty((PIECE_ROWS, s))
    for start in range(0, n, PIECE_ROWS):
        rows = slice(start, start + PIECE_ROWS)
        between = points[rows] @ points.T  # (rows, n)
        between *= -2
        between += squares[rows, None]
        between += squares
        own = np.arange(len(between))
        between[own, start + own] = np.inf
        nearest_shares(between, nearest[rows], unused[: len(between)])  # faster than argpartition
        distances[rows] = np.take_along_axis(between, nearest[rows], axis=1)
    np.maximum(distances, 0, out=distances)
    radius = np.sqrt(distances.max(axis=1))  # (n,)
    weights = np.exp(-distances / np.maximum(radius[:, None] * radius[nearest], LEAST))
    graph = sparse.csr_array((weights.ravel(), nearest.ravel(), np.arange(n + 1) * s), shape=(n, n))
    return sparse.csr_array((graph + graph.T) / 2)


def decompose(graph: sparse.csr_array, n_vectors: int, rng: np.random.Generator) -> Spectrum:
    """Leading eigenpairs of D^(-1/2) A D^(-1/2).

    Each part without a link to the others has eigenvalue 1, and its own vector. Of a multiple
    eigenvalue, Lanczos iteration finds the second vector by rounding only, or not at all.
    """
    n = graph.shape[0]
    degrees = np.asarray(graph.sum(axis=1), dtype=np.float64)  # (n,)
    root = sparse.diags_array(1 / np.sqrt(degrees))
    walk = root @ graph @ root
    parts = _parts(graph, degrees)
    n_found = min(parts.shape[1], n_vectors)
    n_more = n_vectors - n_found
    if n_more == 0:
        values, vectors = np.zeros(0), np.zeros((n, 0))
    elif n_vectors > n // 3:
        values, vectors = np.linalg.eigh(walk.toarray() - 2 * parts @ parts.T)
    else:
        rest: Any = walk
        if n_found:
            rest = LinearOperator(
                walk.shape, lambda x: walk @ x - 2 * parts @ (parts.T @ x), dtype=walk.dtype
            )
        # float32 would take two thirds of the time, but finds clusters in some continua
        values, vectors = eigsh(rest, n_more, which="LA", v0=rng.random(n) + 0.5, tol=PRECISION)
    order = np.argsort(-values)[:n_more]
    return Spectrum(
        np.r_[np.ones(n_found), values[order]],
        np.hstack([parts[:, :n_found], vectors[:, order]]),
    )


def _parts(graph: sparse.csr_array, degrees: FloatArray) -> FloatArray:
    """Eigenvectors of the parts of a graph, the heaviest first; none if all of it is linked.

    Points so far away that all their weights are 0 have eigenvalue 0.
    """
    n_parts, part = connected_components(graph, directed=False)
    if n_parts == 1:
        return np.zeros((len(part), 0))
    weights = np.bincount(part, weights=degrees)  # (parts,)
    heaviest = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]
    squares = np.where(part[:, None] == heaviest, degrees[:, None] / weights[heaviest], 0)
    return np.asarray(np.sqrt(squares))


def modularity(graph: sparse.csr_array, labels: IntArray, n_clusters: int) -> float:
    """Share of the edge weight inside clusters, minus its expectation given the degrees."""
    within, expected = inside(graph, labels, n_clusters)
    return within - expected


def assortativity(graph: sparse.csr_array, labels: IntArray, n_clusters: int) -> float:
    """Modularity as a share of its largest value for clusters of these sizes; 0 for one cluster."""
    within, expected = inside(graph, labels, n_clusters)
    return (within - expected) / (1 - expected) if expected < 1 else 0.0


def inside(graph: sparse.csr_array, labels: IntArray, n_clusters: int) -> tuple[float, float]:
    """Share of the edge weight inside clusters, and its expectation given the degrees."""
    source = np.repeat(labels, np.diff(graph.indptr))  # cluster of the row of each entry
    within = graph.data @ (source == labels[graph.indices])
    degrees = np.bincount(source, weights=graph.data, minlength=n_clusters)  # (k,)
    total = degrees.sum()
    return float(within / total), float(np.square(degrees / total).sum())
