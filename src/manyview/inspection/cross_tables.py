"""Metadata by cluster, to be seen: cross tables with residuals, and the parts of box plots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from manyview.utils.types import FloatArray

MOST_CATEGORIES = 20  # with a column of their own: the most common
MOST_CLUSTERS = 100  # with a row of their own: the largest
REACH = 1.5  # of a whisker, in interquartile ranges


def cross_table(counts: pd.DataFrame) -> dict[str, Any]:
    """Counts by cluster and category, with standardized residuals.

    Parameters
    ----------
    counts : DataFrame, one row per cluster, one column per category
        Number of samples.

    Returns
    -------
    dict
        `categories`, the number of `n_other` ones, and `rows`: cluster, n, counts, n_other, and
        residuals, (O − E) / √(E (1 − row share) (1 − column share)), about standard normal where
        cluster and category are independent.
    """
    residuals = pd.DataFrame(_residuals(counts.to_numpy()), counts.index, counts.columns)
    common = counts.sum().sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES]
    shown = [name for name in counts.columns if name in set(common)]
    return {
        "categories": list(map(str, shown)),
        "n_other": counts.shape[1] - len(shown),
        "rows": [
            {
                "cluster": int(c),
                "n": int(counts.loc[c].sum()),
                "counts": counts.loc[c, shown].tolist(),
                "n_other": int(counts.loc[c].sum() - counts.loc[c, shown].sum()),
                "residuals": residuals.loc[c, shown].tolist(),
            }
            for c in largest(counts.sum(axis=1))
        ],
    }


def _residuals(observed: NDArray[Any]) -> FloatArray:
    expected = stats.contingency.expected_freq(observed)
    rows, columns = (observed.sum(axis=axis, keepdims=True) / observed.sum() for axis in (1, 0))
    spread = np.sqrt(expected * (1 - rows) * (1 - columns))
    return np.asarray(
        np.divide(observed - expected, spread, out=np.zeros_like(expected), where=spread > 0)
    )


def box_plots(values: pd.Series, clusters: NDArray[Any]) -> dict[str, Any]:
    """Quartiles and whiskers of a number, by cluster.

    Parameters
    ----------
    values : Series of shape (n_samples,)
        The numbers, without missing ones.
    clusters : array of int of shape (n_samples,)
        Cluster of each sample.

    Returns
    -------
    dict
        `low` and `high`, the ends of all whiskers, and `rows`: cluster, n, mean, q1, median, q3,
        low and high (the farthest values within 1.5 interquartile ranges of the box) and
        n_beyond.
    """
    groups = dict(list(values.astype(float).groupby(clusters)))
    sizes = pd.Series({c: len(group) for c, group in groups.items()})
    rows = [_box(int(c), np.asarray(groups[c], dtype=np.float64)) for c in largest(sizes)]
    return {
        "low": min(row["low"] for row in rows),
        "high": max(row["high"] for row in rows),
        "rows": rows,
    }


def _box(cluster: int, values: FloatArray) -> dict[str, Any]:
    q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
    reach = REACH * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return {
        "cluster": cluster,
        "n": len(values),
        "mean": float(values.mean()),
        "low": float(min(inside.min(), q1)),
        "q1": float(q1),
        "median": float(median),
        "q3": float(q3),
        "high": float(max(inside.max(), q3)),
        "n_beyond": int(len(values) - len(inside)),
    }


def largest(sizes: pd.Series) -> list[Any]:
    """Numbers of the largest clusters, in rising order."""
    ordered = sizes.sort_values(ascending=False, kind="stable")
    return sorted(ordered.index[:MOST_CLUSTERS])
