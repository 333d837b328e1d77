"""Simulated Gaussian clusters in several views, for tests, examples and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import Bunch

from manyview.datasets._bundle import bundle
from manyview.exceptions import NotEnoughSamplesError, ViewError

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.int64]

BLOCK_VALUES = 1 << 18  # values drawn at once, to stay in the cache


def make_multiview_blobs(
    n_samples: int = 300,
    n_features: Sequence[int] = (20, 30),
    *,
    n_clusters: int = 3,
    separation: float = 6.0,
    cluster_std: float | Sequence[float] = 1.0,
    proportions: Sequence[float] | None = None,
    noise_views: int = 0,
    missing_rate: float = 0.0,
    dtype: DTypeLike = np.float64,
    random_state: int | np.random.Generator | None = None,
    return_X_y: bool = False,
) -> Bunch:
    """Simulate Gaussian clusters in several views, with different centers in each view.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples, in random order.
    n_features : sequence of int, default=(20, 30)
        Number of features of each view.
    n_clusters : int, default=3
        Number of clusters.
    separation : float, default=6.0
        Root mean square distance between two centers, independent of the number of features.
    cluster_std : float or sequence of float, default=1.0
        Standard deviation of each feature inside a cluster; a sequence has one value per view.
    proportions : sequence of float, optional
        Relative sizes of the clusters; None: equal sizes.
    noise_views : int, default=0
        Number of views, at the end, that are noise without clusters.
    missing_rate : float, default=0.0
        Expected share of view rows that are missing (NaN). Each sample keeps at least one view, so
        at most (V - 1) / V for V views.
    dtype : {float32, float64}, default=float64
        Type of the views, which are drawn in place without temporary copies.
    random_state : int, Generator or None, default=None
        Seed or generator; the same seed gives the same views.
    return_X_y : bool, default=False
        Return `(data, target)` instead of a Bunch.

    Returns
    -------
    Bunch or (MultiViewData, array of shape (n_samples,))
        `data`, `target` (cluster of each sample), `view_names` and `DESCR`.

    Examples
    --------
    >>> from manyview.datasets import make_multiview_blobs
    >>> make_multiview_blobs(100, (5, 8), missing_rate=0.2, random_state=0).data.n_features
    (5, 8)
    """
    n_views = len(n_features)
    _check(n_features, noise_views, missing_rate, np.dtype(dtype))
    spreads = _one_per_view(cluster_std, n_views)  # (V,)
    rng = np.random.default_rng(random_state)
    labels = draw_labels(n_samples, n_clusters, proportions, rng)  # (n,)
    present = _draw_present(n_samples, n_views, missing_rate, rng)  # (n, V)
    views = {}
    for v, width in enumerate(n_features):
        centers = rng.standard_normal((n_clusters, width)) * separation / np.sqrt(2 * width)
        if v >= n_views - noise_views:
            centers[:] = 0
        views[f"view_{v}"] = _draw_view(centers.astype(dtype), spreads[v], labels, rng)
        views[f"view_{v}"][~present[:, v]] = np.nan
    description = (
        f"Gaussian clusters, drawn with separation {separation}, standard deviation {cluster_std}, "
        f"{noise_views} views of noise and {missing_rate:.0%} of rows missing."
    )
    return bundle(views, labels, description, as_pair=return_X_y)


def _check(
    n_features: Sequence[int], noise_views: int, missing_rate: float, dtype: np.dtype[Any]
) -> None:
    """Refuse invalid parameters."""
    n_views = len(n_features)
    if n_views == 0 or min(n_features) < 1:
        msg = f"n_features={n_features!r}; expected one positive number per view."
        raise ViewError(msg)
    if not 0 <= noise_views <= n_views:
        msg = f"noise_views={noise_views}; expected 0 to {n_views}, the number of views."
        raise ViewError(msg)
    if not 0 <= missing_rate <= (n_views - 1) / n_views:
        msg = (
            f"missing_rate={missing_rate}; expected 0 to {(n_views - 1) / n_views:.3g}, since each "
            f"sample keeps one of its {n_views} views. Lower it or add views."
        )
        raise ViewError(msg)
    if dtype not in (np.float32, np.float64):
        msg = f"dtype={dtype}; expected float32 or float64."
        raise ViewError(msg)


def _one_per_view(cluster_std: float | Sequence[float], n_views: int) -> FloatArray:
    spreads = np.asarray(cluster_std, dtype=float)
    if spreads.shape not in ((), (n_views,)) or not (spreads >= 0).all():
        msg = f"cluster_std={cluster_std!r}; expected a number >= 0, or {n_views} of them."
        raise ViewError(msg)
    return np.broadcast_to(spreads, n_views)


def draw_labels(
    n_samples: int,
    n_clusters: int,
    proportions: Sequence[float] | None,
    rng: np.random.Generator,
) -> IntArray:
    """Random labels with counts as close to the proportions as possible."""
    if n_clusters < 1:
        msg = f"n_clusters={n_clusters}; expected 1 or more."
        raise ViewError(msg)
    shares = np.ones(n_clusters) if proportions is None else np.asarray(proportions, dtype=float)
    if shares.shape != (n_clusters,) or not (shares > 0).all():
        msg = f"proportions={proportions!r}; expected {n_clusters} positive numbers: cluster sizes."
        raise ViewError(msg)
    ends = np.rint(np.cumsum(shares / shares.sum()) * n_samples).astype(np.int64)
    counts = np.diff(ends, prepend=0)  # (k,)
    if counts.min() < 1:
        msg = (
            f"n_samples={n_samples} leaves some of the {n_clusters} clusters empty; "
            "raise it, or use fewer or more even clusters."
        )
        raise NotEnoughSamplesError(msg)
    labels = np.repeat(np.arange(n_clusters, dtype=np.int64), counts)
    rng.shuffle(labels)
    return labels


def _draw_present(
    n_samples: int, n_views: int, missing_rate: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Keep one view of each sample, and drop others at random to meet the rate."""
    if missing_rate == 0:
        return np.ones((n_samples, n_views), dtype=bool)
    present = rng.random((n_samples, n_views)) >= missing_rate * n_views / (n_views - 1)
    present[np.arange(n_samples), rng.integers(n_views, size=n_samples)] = True
    return present


def _draw_view(
    centers: FloatArray, spread: float, labels: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Draw rows around the center of their label, block by block."""
    X = np.empty((len(labels), centers.shape[1]), dtype=centers.dtype)
    step = max(1, BLOCK_VALUES // centers.shape[1])
    for start in range(0, len(labels), step):
        rows = X[start : start + step]
        rng.standard_normal(dtype=X.dtype, out=rows)
        rows *= spread
        rows += centers[labels[start : start + step]]
    return X
