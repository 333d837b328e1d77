"""Every feature against every cluster: effect, means, area under the ROC curve, rank."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, stats

from manyview.data.views import MultiViewData
from manyview.inspection.features import Profile, feature_values
from manyview.inspection.map import draw_rows
from manyview.utils.types import FloatArray, IntArray

MOST_ROWS = 1_000_000  # of the table
CELLS = 5_000_000  # of the samples that a view is ranked on
LEAST_SAMPLES = 1000  # for the ranks, of however many features
PIECE_CELLS = 1_000_000  # ranked at a time
FAR = 1e300  # the rank of an effect without bound


def rank_features(
    profiles: Mapping[str, Profile], data: MultiViewData, labels: IntArray
) -> tuple[pd.DataFrame, list[str]]:
    """Table of all features and clusters, and notes on what is not in it.

    Parameters
    ----------
    profiles : dict of Profile
        Means and effects by view, as an explanation has them.
    data : MultiViewData
        The samples of the fit.
    labels : array of int of shape (n_samples,)
        Cluster of each sample.

    Returns
    -------
    tuple of a DataFrame, and of a list of str
        One row per cluster and feature, the strongest of a cluster first: cluster, rank, view,
        feature, effect, mean, rest, auroc, n.
    """
    strength = np.hstack([profile.strength for profile in profiles.values()])  # (k, d)
    k, d = strength.shape
    n_most = max(1, min(d, MOST_ROWS // k))
    order = np.argsort(-strength, axis=1, kind="stable")[:, :n_most]  # (k, n_most)
    areas, n_ranked = _areas(data, labels, k)
    cluster, at = np.repeat(np.arange(k), n_most), order.ravel()
    stacked = {
        name: np.hstack([getattr(profile, name) for profile in profiles.values()])[cluster, at]
        for name in ("effect", "mean", "rest")
    }
    sizes = [len(profile.names) for profile in profiles.values()]
    view = np.repeat(np.arange(len(sizes)), sizes)[at]
    counts = np.vstack([profile.count for profile in profiles.values()])  # (V, k)
    table = pd.DataFrame(
        {
            "cluster": cluster,
            "rank": np.tile(np.arange(1, n_most + 1), k),
            "view": np.array(list(profiles), dtype=object)[view],
            "feature": np.concatenate([profile.names for profile in profiles.values()])[at],
            **stacked,
            "auroc": areas[cluster, at],
            "n": counts[view, cluster].astype(np.int64),
        }
    )
    return table, _notes(n_most, d, n_ranked, len(labels))


def _notes(n_most: int, n_features: int, n_ranked: int, n_samples: int) -> list[str]:
    notes = []
    if n_most < n_features:
        notes.append(
            f"features.csv has the {n_most:,} strongest of {n_features:,} features of each cluster."
        )
    if n_ranked < n_samples:
        notes.append(
            f"AUROC in features.csv is from {n_ranked:,} of the {n_samples:,} samples, drawn at "
            "random."
        )
    return notes


def _areas(data: MultiViewData, labels: IntArray, k: int) -> tuple[FloatArray, int]:
    """Areas of all views, side by side: (k, d); and the smallest number of samples used."""
    areas, least = [], len(labels)
    for v, d in enumerate(data.n_features):
        rows = draw_rows(labels, max(LEAST_SAMPLES, CELLS // d))
        least = min(least, len(rows))
        areas.append(area_under_curve(data, v, rows, labels[rows], k))
    return np.hstack(areas), least


def area_under_curve(
    data: MultiViewData, v: int, rows: NDArray[np.intp], labels: IntArray, k: int
) -> FloatArray:
    """Chance that a feature is larger in a cluster than outside of it; a tie counts half: (k, d).

    From midranks: (Σ ranks − n_c (n_c + 1) / 2) / (n_c (n − n_c)). NaN without others.
    """
    if data.present is not None:
        has_it = data.present[rows, v]
        rows, labels = rows[has_it], labels[has_it]
    n, d = len(rows), data.n_features[v]
    members = sparse.csr_array((np.ones(n), (labels, np.arange(n))), shape=(k, n))
    size = np.bincount(labels, minlength=k)[:, None].astype(np.float64)
    areas = np.full((k, d), np.nan)
    step = max(1, PIECE_CELLS // max(n, 1))
    for start in range(0, d, step):
        columns = np.arange(start, min(start + step, d))
        ranks = stats.rankdata(feature_values(data, v, rows, columns), axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            areas[:, columns] = (members @ ranks - size * (size + 1) / 2) / (size * (n - size))
    return areas
