"""Bipartite graphs between samples and their nearest anchors, which are samples, too."""

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from manyview.baselines._base import Budget
from manyview.baselines._finish import dense
from manyview.baselines._structured_graph import Edges
from manyview.data.conversion import View
from manyview.utils.types import FloatArray, IntArray

BLOCK = 2**23  # distances per block: 64 MB

Graph: TypeAlias = "sparse.csr_array[Any]"


def anchor_graph(X: View, anchors: IntArray, n_neighbors: int, budget: Budget) -> Graph:
    """b_ij = (d_i,s+1 − d_ij) / Σ_l (d_i,s+1 − d_il) over the s nearest anchors, squared distances.

    Parameters
    ----------
    X : view of shape (n_samples, d_v)
    anchors : array of int of shape (n_anchors,)
        Rows of X.
    n_neighbors : int
        s; at most the number of anchors minus one.
    budget : Budget
        Checked between blocks of rows.

    Returns
    -------
    CSR array of shape (n_samples, n_anchors)
        Rows sum to one.
    """
    n, m = X.shape[0], len(anchors)
    s = min(n_neighbors, m - 1)
    if s == 0:
        return sparse.csr_array(np.ones((n, 1)))
    A = X[anchors].astype(np.float64)
    nearest = np.empty((n, s), dtype=np.int64)
    weights = np.empty((n, s))
    n_rows = max(1, BLOCK // m)
    for first in range(0, n, n_rows):
        budget.tick("joining samples to anchors")
        rows = slice(first, first + n_rows)
        distances = _distances(X[rows].astype(np.float64), A)
        order = np.argpartition(distances, s, axis=1)  # the s nearest, then the next
        near = np.take_along_axis(distances, order[:, : s + 1], axis=1)
        nearest[rows] = order[:, :s]
        gap = near[:, s:] - near[:, :s]
        total = gap.sum(axis=1, keepdims=True)
        weights[rows] = np.where(total > 0, gap / np.where(total > 0, total, 1), 1 / s)
    starts = np.arange(0, n * s + 1, s)
    return sparse.csr_array((weights.ravel(), nearest.ravel(), starts), shape=(n, m))


def joint_support(graphs: list[Graph]) -> tuple[Edges, FloatArray]:
    """Edges of all graphs, by sample; and the graphs on them, (V, E)."""
    n, m = graphs[0].shape
    keys = [np.repeat(np.arange(n), np.diff(G.indptr)) * m + G.indices for G in graphs]
    joint = np.unique(np.concatenate(keys))  # (E,)
    B = np.zeros((len(graphs), len(joint)))
    for b, key, G in zip(B, keys, graphs, strict=True):
        b[np.searchsorted(joint, key)] = G.data
    return Edges(joint // m, joint % m, (n, m)), B


def _distances(X: View, A: View) -> FloatArray:
    """‖x_i − a_j‖²."""
    distances: FloatArray = dense(X @ A.T)
    distances *= -2
    distances += _sqnorms(X)[:, None]
    distances += _sqnorms(A)
    return np.maximum(distances, 0, out=distances)


def _sqnorms(X: View) -> FloatArray:
    """‖x_i‖²."""
    return np.asarray((X * X).sum(axis=1), dtype=np.float64).ravel()
