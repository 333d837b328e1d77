"""Bipartite graphs with a given number of connected components, on sparse supports.

Edges are flat arrays; nothing has samples × anchors entries. The constraint is on the eigenvalues
of P̂ᵀP̂, P̂ = D₁^(-1/2) P D₂^(-1/2): as many of them equal 1 as P has components.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from manyview.utils.types import FloatArray, IntArray

_MAX_PASSES = 50
_FIRST_LAM = 0.1
_SLACK = 1e-7  # of a sum of eigenvalues
_SMALL = 200  # anchors; below, a dense decomposition is as fast as Lanczos'
_FIRST_DEGREES = (1.0, 0.01)  # in its first pass, the program takes U and 10 V for U/√d₁ and V/√d₂


@dataclass(frozen=True)
class Edges:
    """Edges between samples and anchors."""

    rows: IntArray  # (E,): sample
    cols: IntArray  # (E,): anchor
    shape: tuple[int, int]  # samples, anchors

    def where(self, is_kept: NDArray[np.bool_]) -> "Edges":
        """The selected edges."""
        return Edges(self.rows[is_kept], self.cols[is_kept], self.shape)


@dataclass(frozen=True)
class StructuredGraph:
    """A graph on a given support, and its connected components."""

    values: FloatArray  # (E,)
    labels: NDArray[np.int32]  # (n,): component of each sample, the largest first
    embedding: FloatArray  # (n, <= k): leading left singular vectors of P̂
    n_components: int
    n_passes: int


@dataclass(frozen=True)
class _Spectrum:
    """Leading singular vectors of P̂, scaled by √½, and the arrays they are computed from."""

    left: FloatArray  # (n, <= k)
    right: FloatArray  # (m, <= k)
    scales: tuple[FloatArray, FloatArray]  # d₁^(-1/2) of (n, 1), d₂^(-1/2) of (m, 1)
    eigenvalues: FloatArray  # (<= k + 1,), of P̂ᵀP̂, descending
    labels: NDArray[np.int32]  # (n,)
    n_components: int

    def vectors(self) -> tuple[FloatArray, FloatArray]:
        """U and V."""
        return self.left, self.right

    def points(self) -> tuple[FloatArray, FloatArray]:
        """u_i / √d₁_i and v_j / √d₂_j."""
        return self.left * self.scales[0], self.right * self.scales[1]


def structure_graph(
    edges: Edges,
    values: FloatArray,
    n_clusters: int,
    *,
    start: FloatArray,
    is_released: bool = False,
    tick: Callable[[], None] = lambda: None,
) -> StructuredGraph:
    """The graph closest to G, on its support, with k connected components.

    P = (S + T)/2 with simplex rows S and simplex columns T, both nearest to G − λ/2 dist; dist_ij =
    ‖u_i/√d₁_i − v_j/√d₂_j‖², and λ doubles or halves until the number of components is k.

    Parameters
    ----------
    edges : Edges
        Support of G and more.
    values : array of shape (E,)
        G ≥ 0; entries of 0 are no edges.
    n_clusters : int
        Components wanted, k. Where G has more, it is returned as it is.
    start : array of shape (n_anchors,)
        Where Lanczos' iterations start.
    is_released : bool, default=False
        The released program: scalars for the degrees in the first pass, and a λ that proved too
        large keeps the vectors it gave.
    tick : callable
        Called often; raises where the time is over.

    Returns
    -------
    StructuredGraph
    """
    is_edge = values > 0
    edges, G = edges.where(is_edge), values[is_edge]
    found = _spectrum(edges, G, n_clusters, start, tick)
    P, lam, n_passes = G, _FIRST_LAM, 0
    U, V = found.points()
    if is_released:
        U, V = (X / np.sqrt(d) for X, d in zip(found.vectors(), _FIRST_DEGREES, strict=True))
    n_most = _MAX_PASSES if found.n_components <= n_clusters else 0
    while n_passes < n_most:
        n_passes += 1
        P = _project(edges, G - lam / 2 * _distances(edges, U, V))
        found = _spectrum(edges, P, n_clusters, start, tick)
        if found.eigenvalues[:n_clusters].sum() < n_clusters - _SLACK:
            lam *= 2
        elif found.eigenvalues.sum() > n_clusters + 1 - _SLACK:
            lam /= 2
            if not is_released:
                continue  # from the previous vectors
        else:
            break
        U, V = found.points()
    structured = np.zeros(len(is_edge))
    structured[is_edge] = P
    return StructuredGraph(structured, found.labels, found.left, found.n_components, n_passes)


def project_groups(values: FloatArray, groups: IntArray, n_groups: int) -> FloatArray:
    """Project the entries of each group onto the probability simplex, all groups at once.

    Michelot's method: shift the positive entries so that they sum to 1, drop those that fell below
    zero, repeat. It is exact, and needs no sorting.

    Parameters
    ----------
    values : array of shape (E,)
    groups : array of int of shape (E,)
        Group of each entry.
    n_groups : int

    Returns
    -------
    array of shape (E,)
    """
    is_positive = np.ones(len(values), dtype=bool)
    while True:
        count = np.bincount(groups, weights=is_positive, minlength=n_groups)
        total = np.bincount(groups, weights=values * is_positive, minlength=n_groups)
        shifted = values - ((total - 1) / np.maximum(count, 1))[groups]
        remains = is_positive & (shifted > 0)
        if np.array_equal(remains, is_positive):
            return np.where(is_positive, shifted, 0.0)
        is_positive = remains


def _project(edges: Edges, values: FloatArray) -> FloatArray:
    """P = (S + T)/2, S with rows and T with columns on the simplex."""
    n, m = edges.shape
    by_row = project_groups(values, edges.rows, n)
    return (by_row + project_groups(values, edges.cols, m)) / 2


def _distances(edges: Edges, U: FloatArray, V: FloatArray) -> FloatArray:
    """‖u_i − v_j‖² along the edges, one dimension at a time, to avoid (E, k) arrays."""
    distances = np.zeros(len(edges.rows))
    for u, v in zip(U.T, V.T, strict=True):
        distances += (u[edges.rows] - v[edges.cols]) ** 2
    return distances


def _spectrum(
    edges: Edges, values: FloatArray, k: int, start: FloatArray, tick: Callable[[], None]
) -> _Spectrum:
    """Leading k + 1 eigenvalues of P̂ᵀP̂, and k singular vectors."""
    n, m = edges.shape
    P = sparse.csr_array((values, (edges.rows, edges.cols)), shape=edges.shape)
    P.eliminate_zeros()
    degrees: tuple[FloatArray, FloatArray] = P.sum(axis=1), P.sum(axis=0)
    left_scale, right_scale = (1 / np.sqrt(np.where(d > 0, d, 1.0))[:, None] for d in degrees)
    hat = P.copy()  # P̂
    hat.data *= np.repeat(left_scale.ravel(), np.diff(P.indptr)) * right_scale[P.indices, 0]
    labels, anchor_labels, n_components = _components(P)
    # a component gives the eigenvalue 1 and this vector: Lanczos' iterations miss multiple ones
    known_vectors = np.zeros((m, min(n_components, k + 1)))
    is_known = (anchor_labels >= 0) & (anchor_labels < known_vectors.shape[1])
    known_vectors[is_known, anchor_labels[is_known]] = np.sqrt(degrees[1][is_known])
    known_vectors /= np.linalg.norm(known_vectors, axis=0)
    eigenvalues, right = np.ones(known_vectors.shape[1]), known_vectors
    n_more = min(k + 1, n, m) - n_components
    if n_more > 0:
        more, vectors = _leading(hat, known_vectors, n_more, start, tick)
        eigenvalues = np.append(eigenvalues, more)
        right = np.hstack([known_vectors, vectors])
    left = hat @ right / np.sqrt(np.maximum(eigenvalues, _SLACK))
    half = np.sqrt(0.5)
    scales = left_scale, right_scale
    return _Spectrum(
        half * left[:, :k], half * right[:, :k], scales, eigenvalues, labels, n_components
    )


def _components(P: "sparse.csr_array[Any]") -> tuple[NDArray[np.int32], IntArray, int]:
    """Component of each sample, the largest first; of each anchor (−1: no sample); their number."""
    n = P.shape[0]
    both: Any = sparse.block_array([[None, P], [P.T, None]], format="csr")
    n_found, found = connected_components(both, directed=False)
    count = np.bincount(found[:n], minlength=n_found)
    order = np.argsort(-count, kind="stable")
    n_components = int(np.count_nonzero(count))
    rank = np.empty(n_found, dtype=np.int32)
    rank[order] = np.arange(n_found)
    rank[count == 0] = -1
    return rank[found[:n]], rank[found[n:]], n_components


def _leading(
    hat: "sparse.csr_array[Any]",
    known_vectors: FloatArray,
    n_more: int,
    start: FloatArray,
    tick: Callable[[], None],
) -> tuple[FloatArray, FloatArray]:
    """Largest eigenvalues of P̂ᵀP̂, without the known vectors, descending, and eigenvectors."""
    m = hat.shape[1]
    transposed = hat.T.tocsr()
    if m <= _SMALL or n_more > m // 4:
        gram = (transposed @ hat).toarray() - known_vectors @ known_vectors.T
        values, vectors = linalg.eigh(gram, subset_by_index=[m - n_more, m - 1])
    else:

        def multiply(x: FloatArray) -> FloatArray:
            tick()
            product: FloatArray = transposed @ (hat @ x) - known_vectors @ (known_vectors.T @ x)
            return product

        operator = LinearOperator((m, m), matvec=multiply, dtype=np.float64)
        width = min(m, max(4 * n_more + 1, 40))
        values, vectors = eigsh(operator, n_more, which="LA", v0=start, ncv=width, tol=1e-10)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
