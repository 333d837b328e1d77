"""Whether each cluster comes back if the samples are drawn again."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from manyview.data.views import MultiViewData
from manyview.reliability.subset import Subset, draw_subset
from manyview.solver.problem import Settings
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray, IntArray

SAMPLE_ROWS = 1000
ROWS_PER_CLUSTER, MOST_ROWS = 10, 5000
N_RESAMPLES = 10
N_INIT = 5  # starts of each fit, as in a fit to all samples
RETURNS = 0.6  # a cluster with a smaller mean Jaccard index does not come back


def cluster_stability(
    data: MultiViewData, labels: IntArray, settings: Settings, rng: Generator
) -> FloatArray:
    """Mean Jaccard index of each cluster with its best match in fits of resampled samples: (k,).

    Each fit is to the distinct samples of a bootstrap draw from a subset. NaN for a cluster that
    has no sample in the subset, or if there are too few samples for another fit.
    """
    k = settings.n_clusters
    found: FloatArray = np.full((N_RESAMPLES, k), np.nan)
    if k < 2 or data.n_samples < 2 * k:
        return np.asarray(found[0])
    with limit_threads(1):
        n_rows = min(max(SAMPLE_ROWS, ROWS_PER_CLUSTER * k), MOST_ROWS)
        subset = draw_subset(data, labels, settings, n_rows, rng)
        for draw in range(N_RESAMPLES):
            rows = np.unique(rng.integers(len(subset.rows), size=len(subset.rows)))
            if len(rows) >= k and subset.views:
                found[draw] = _best_jaccard(subset, rows, int(rng.integers(2**31)))
    is_known = ~np.isnan(found)
    total, count = np.where(is_known, found, 0).sum(axis=0), is_known.sum(axis=0)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _best_jaccard(subset: Subset, rows: IntArray, seed: int) -> FloatArray:
    """Jaccard index of each cluster with the most similar one of another fit; NaN if absent."""
    k, labels = subset.n_clusters, subset.labels[rows]
    common = np.zeros((k, k))
    np.add.at(common, (labels, subset.refit(rows, seed, N_INIT)), 1)
    sizes = common.sum(axis=1, keepdims=True)  # (k, 1)
    union = sizes + common.sum(axis=0) - common
    best = np.max(common / np.maximum(union, 1), axis=1)
    return np.asarray(np.where(sizes[:, 0] > 0, best, np.nan))
