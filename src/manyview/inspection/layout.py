"""Points in the plane that keep neighbors together: t-SNE of landmarks, and the rest beside them.

The layout knows no labels. t-SNE (L. van der Maaten, G. Hinton, Journal of Machine Learning
Research 9, 2008) places landmarks, at most a thousand random samples, by exact gradients; each
further sample lies beside the landmark that is nearest in the coordinates, not between several:
their mean would contract the clusters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors

from manyview.inspection.coordinates import principal_components
from manyview.utils.threads import limit_blas
from manyview.utils.types import FloatArray

N_LANDMARKS = 1000
FEWEST = 12  # samples; fewer have no neighborhoods, and lie along their principal axes
PERPLEXITY = 30.0  # effective number of neighbors, or fewer in small data
SMALLEST_PERPLEXITY = 4.0
PER_NEIGHBOR = 6  # samples: a neighborhood is a part of the data
SEARCH_STEPS = 30
N_STEPS = 250
N_EXAGGERATED = 75  # first steps, with stronger attraction
EXAGGERATION = 12.0
LEARNING_RATE = 50.0
MOST_GAIN, LEAST_GAIN = 0.2, 0.01


def lay_out(X: FloatArray) -> FloatArray:
    """Coordinates in the plane of samples with coordinates X: (n, 2)."""
    n = len(X)
    if n < FEWEST:
        return principal_components(X, 2)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.permutation(n)[:N_LANDMARKS])
    landmarks = X[chosen]
    with limit_blas(1):  # the products are thin, and the result does not depend on the threads
        places = _tsne(landmarks)
        if n <= N_LANDMARKS:
            return places
        nearest = pairwise_distances_argmin(*(part.astype(np.float32) for part in (X, landmarks)))
    radius = _spacing(places)[nearest] * np.sqrt(rng.random(n))
    angle = 2 * np.pi * rng.random(n)
    points: FloatArray = places[nearest] + radius[:, None] * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )
    points[chosen] = places
    return points


def _spacing(places: FloatArray) -> FloatArray:
    """Distance of each landmark to its third neighbor on the map, without outliers: (m,)."""
    distance, _ = NearestNeighbors(n_neighbors=3).fit(places).kneighbors()
    third = distance[:, 2]
    return np.asarray(np.minimum(third, 2 * np.median(third)))


def _tsne(X: FloatArray) -> FloatArray:
    """Minimize KL(P‖Q), Q ∝ 1 / (1 + distance²), from the principal axes: (m, 2)."""
    P = _affinities(X)
    Y = principal_components(X, 2).astype(np.float32)
    Y *= np.float32(0.01) / (Y[:, 0].std() or np.float32(1))
    step, gain = np.zeros_like(Y), np.ones_like(Y)
    buffers = np.empty((2, *P.shape), dtype=np.float32)
    P *= np.float32(EXAGGERATION)
    for t in range(N_STEPS):
        if t == N_EXAGGERATED:
            P /= np.float32(EXAGGERATION)
        gradient = _gradient(P, Y, buffers)
        is_turn = np.sign(gradient) != np.sign(step)
        gain = np.maximum(np.where(is_turn, gain + MOST_GAIN, gain * (1 - MOST_GAIN)), LEAST_GAIN)
        momentum = 0.5 if t < N_EXAGGERATED else 0.8
        step = (momentum * step - LEARNING_RATE * gain * gradient).astype(np.float32)
        Y += step
        Y -= Y.mean(axis=0)
    return np.asarray(Y, dtype=np.float64)


def _gradient(
    P: NDArray[np.float32], Y: NDArray[np.float32], buffers: NDArray[np.float32]
) -> NDArray[np.float32]:
    """4 Σ_j (p_ij − q_ij) (y_i − y_j) / (1 + ‖y_i − y_j‖²): (m, 2)."""
    near, force = buffers  # (m, m) each
    square, one = np.einsum("ij,ij->i", Y, Y)[:, None], np.ones((len(Y), 1), dtype=np.float32)
    np.matmul(np.hstack([-2 * Y, one, 1 + square]), np.hstack([Y, square, one]).T, out=near)
    np.divide(1, near, out=near)
    np.multiply(near, -1 / (near.sum() - len(Y)), out=force)  # near_ii = 1
    force += P
    force *= near
    total = force @ np.hstack([Y, one])  # (m, 3)
    return np.asarray(4 * (total[:, 2:] * Y - total[:, :2]))


def _affinities(X: FloatArray) -> NDArray[np.float32]:
    """p_ij of Gaussian neighborhoods with the same perplexity, symmetric: (m, m), sum 1."""
    m = len(X)
    perplexity = float(np.clip(m / PER_NEIGHBOR, SMALLEST_PERPLEXITY, PERPLEXITY))
    search = NearestNeighbors(n_neighbors=min(m - 1, int(3 * perplexity)), algorithm="brute")
    distance, neighbors = search.fit(X).kneighbors()
    square = distance**2 - distance[:, :1] ** 2  # (m, neighbors)
    square /= np.maximum(square.mean(axis=1, keepdims=True), np.finfo(float).tiny)
    low, high, precision = np.zeros((m, 1)), np.full((m, 1), np.inf), np.ones((m, 1))
    for _ in range(SEARCH_STEPS):
        share = np.exp(-precision * square)
        total = share.sum(axis=1, keepdims=True)
        entropy = np.log(total) + precision * (share * square).sum(axis=1, keepdims=True) / total
        is_wide = entropy > np.log(perplexity)
        low, high = np.where(is_wide, precision, low), np.where(is_wide, high, precision)
        precision = np.where(np.isinf(high), 2 * precision, (low + high) / 2)
    P = np.zeros((m, m), dtype=np.float32)
    np.put_along_axis(P, neighbors, (share / total).astype(np.float32), axis=1)
    P += P.T.copy()
    return np.asarray(P / P.sum(dtype=np.float64), dtype=np.float32)
