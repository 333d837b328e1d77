"""Whether the groups look unequal, although the model prefers clusters of equal size.

At small λ, the objective of the model is that of balanced clusters: a large group may be split, and
two small ones merged. The neighbor graph of a subset has no such preference. Its own partitions
into as many clusters, one spectral, one merged from small pieces, are compared with the labels: if
the better one keeps most neighbors together, has a clearly larger modularity, and fewer effective
clusters, the exponential of the entropy of the sizes, then the groups are likely to be unequal.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from manyview.data.views import MultiViewData
from manyview.model_selection.graph import decompose, inside, join_neighbors, modularity
from manyview.model_selection.sample import locate
from manyview.solver.fitting import n_effective
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray, IntArray

MOST_ROWS = 1500
ROWS_PER_CLUSTER = 10  # fewer say nothing on sizes
PIECES = 3  # per cluster, before they are merged
CLEARLY = 0.04  # gain in modularity
FEWER = 0.9  # effective clusters, relative to those of the labels
GOOD = 0.8  # share of the neighbors that are kept together: below, groups are not clear enough


def advise_sizes(
    X: Any,
    labels: Any,
    *,
    scale: str | Sequence[str] | None = "auto",
    random_state: int = 0,
) -> str | None:
    """Say so if the groups look unequal, although the model prefers clusters of equal size.

    Parameters
    ----------
    X : views
        The samples of the fit: anything that `MultiViewData.of` accepts.
    labels : array of int of shape (n_samples,)
        The clusters of the fit.
    scale : None, str or list of str, default="auto"
        Scaling of the views, as in the fit.
    random_state : int, default=0
        Seed of the subset of at most 1500 samples, and of the pieces.

    Returns
    -------
    str or None
        What was seen and what to try, in three sentences; None if there is nothing to say.

    Examples
    --------
    >>> from manyview.datasets import make_multiview_blobs
    >>> from manyview.reliability.sizes import advise_sizes
    >>> data, target = make_multiview_blobs(n_clusters=4, random_state=0, return_X_y=True)
    >>> advise_sizes(data, target) is None
    True
    """
    data = MultiViewData.of(X)
    rng = np.random.default_rng(random_state)
    rows = np.arange(data.n_samples)
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    names, own = np.unique(np.asarray(labels)[rows], return_inverse=True)
    k = len(names)
    if k < 2 or len(rows) < ROWS_PER_CLUSTER * k:
        return None
    with limit_threads(1):
        points = locate(data[rows], scale, rng).points
        graph = join_neighbors(points)
        pieces = _cut_into_pieces(points, PIECES * k, random_state)
        free = max(
            decompose(graph, k, rng).partition(k),
            _merge(graph, pieces, k),
            key=lambda partition: modularity(graph, partition, k),
        )
    gain = modularity(graph, free, k) - modularity(graph, own, k)
    is_unequal = _n_effective(free) <= FEWER * _n_effective(own)
    kept, kept_now = inside(graph, free, k)[0], inside(graph, own, k)[0]
    if gain < CLEARLY or not is_unequal or kept < GOOD:
        return None
    return (
        f"The model prefers clusters of equal size, and the groups look unequal: the clusters have "
        f"{_sizes(own)} of the samples; a partition without that preference has {_sizes(free)}, "
        f"and keeps {kept:.0%} of the neighbors together instead of {kept_now:.0%}. A large group "
        "may have been split, and small ones merged. Try twice as many clusters, and merge those "
        "that belong together; a larger lam, such as lam=10, helps in some cases."
    )


def _cut_into_pieces(points: FloatArray, n_pieces: int, random_state: int) -> IntArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few distinct points: fewer pieces
        return np.asarray(KMeans(n_pieces, n_init=1, random_state=random_state).fit_predict(points))


def _merge(graph: sparse.csr_array, pieces: IntArray, n_clusters: int) -> IntArray:
    """Merge the two pieces whose union has the largest modularity, until there are few enough."""
    m = int(pieces.max()) + 1
    member = sparse.csr_array((np.ones(len(pieces)), (pieces, np.arange(len(pieces)))))  # (m, n)
    links: FloatArray = (member @ graph @ member.T).toarray()
    links /= links.sum()
    into = np.arange(m)
    for _ in range(m - n_clusters):
        degrees = links.sum(axis=1)
        gain = links - np.outer(degrees, degrees)
        is_left = np.isin(np.arange(m), into)
        gain[~is_left] = gain[:, ~is_left] = -np.inf
        np.fill_diagonal(gain, -np.inf)
        kept, gone = np.unravel_index(gain.argmax(), gain.shape)
        links[kept] += links[gone]
        links[:, kept] += links[:, gone]
        links[gone] = links[:, gone] = 0
        into[into == gone] = kept
    return np.asarray(np.unique(into[pieces], return_inverse=True)[1])


def _n_effective(labels: IntArray) -> float:
    """Effective clusters of labels."""
    return n_effective(np.bincount(labels).astype(np.float64))


def _sizes(labels: IntArray) -> str:
    shares = np.bincount(labels) / len(labels)
    return f"{shares[shares > 0].min():.0%} to {shares.max():.0%}"
