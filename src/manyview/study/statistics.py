"""Significance of differences between methods: ranks, Friedman, Wilcoxon with Holm."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from manyview.utils.types import FloatArray


@dataclass(frozen=True)
class Comparison:
    """Methods compared by one metric over data sets or, if there is one, over its seeds."""

    metric: str
    over: str  # "data sets" or "seeds"
    scores: pd.DataFrame  # data sets or seeds × methods; NaN if a method has no result
    ranks: pd.Series[float]  # mean rank of each method, best first
    friedman_p: float
    critical_difference: float  # of mean ranks, Nemenyi, at 5 %
    pairs: pd.DataFrame  # of methods: difference, p, p after Holm


def compare_methods(rows: pd.DataFrame, metric: str = "nmi") -> Comparison:
    """Compare all methods of a benchmark over its data sets.

    With one data set they are compared over its seeds, each of which shuffles the rows anew: such
    a test says whether a difference on this data set is chance, nothing of others.

    Parameters
    ----------
    rows : DataFrame
        Rows of `run_benchmark`.
    metric : str, default="nmi"
        Column to compare by; higher is better.

    Returns
    -------
    Comparison
    """
    scores, over = mean_scores(rows, metric), "data sets"
    if len(scores) == 1:
        scores, over = seed_scores(rows, metric), "seeds"
    n_sets, n_methods = scores.shape
    p = np.nan
    if n_methods >= 3 and n_sets >= 2:
        p = float(stats.friedmanchisquare(*_ranked(scores).to_numpy().T).pvalue)
    gap = _nemenyi(n_methods, n_sets)
    return Comparison(metric, over, scores, friedman_ranks(scores), p, gap, wilcoxon_holm(scores))


def mean_scores(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean over seeds of each method on each data set; NaN if no run was done."""
    done = rows[rows["status"] == "done"]
    table = done.pivot_table(index="data", columns="method", values=metric, aggfunc="mean")
    return table.reindex(
        index=pd.unique(rows["data"]), columns=pd.unique(rows["method"])
    ).rename_axis(index="data", columns="method")


def seed_scores(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Score of each method with each seed, and each rate of missing rows; NaN if not done."""
    done = rows[rows["status"] == "done"]
    keys = [name for name in ("missing_rate", "seed") if name in rows]
    table = done.pivot_table(index=keys, columns="method", values=metric, aggfunc="mean")
    everything = rows[keys].drop_duplicates()
    index = pd.MultiIndex.from_frame(everything) if len(keys) > 1 else everything[keys[0]]
    return table.reindex(index=index, columns=pd.unique(rows["method"]))


def needed(n_tests: int, level: float) -> int:
    """Number of values with which a test can be significant: p ≥ 2 / 2ⁿ, times Holm's factor."""
    return int(np.floor(1 + np.log2(n_tests / level))) + 1


def _ranked(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank of each method on each data set; methods without a result rank last."""
    return scores.fillna(-np.inf).rank(axis=1, ascending=False)


def friedman_ranks(scores: pd.DataFrame) -> pd.Series[float]:
    """Mean rank of each method over the data sets, best first.

    Parameters
    ----------
    scores : DataFrame
        Data sets × methods; higher is better, NaN ranks last.

    Returns
    -------
    Series
    """
    return _ranked(scores).mean().sort_values()


def _nemenyi(n_methods: int, n_sets: int) -> float:
    """Critical difference of mean ranks at the 5 % level."""
    if n_methods < 2 or n_sets < 1:
        return float("nan")
    q = stats.studentized_range.ppf(0.95, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def wilcoxon_holm(scores: pd.DataFrame) -> pd.DataFrame:
    """Wilcoxon signed-rank test of every pair of methods, with Holm's correction.

    Parameters
    ----------
    scores : DataFrame
        Data sets (or seeds) × methods; pairs are compared where both have a result.

    Returns
    -------
    DataFrame
        Columns first, second, n_sets (or seeds), difference (mean of first − second), p, p_holm.
    """
    pairs = []
    for first, second in combinations(scores.columns, 2):
        both = scores[[first, second]].dropna()
        gap = (both[first] - both[second]).to_numpy()
        p = float(stats.wilcoxon(gap).pvalue) if np.any(gap != 0) else 1.0
        pairs.append((first, second, len(both), float(gap.mean()) if len(gap) else np.nan, p))
    table = pd.DataFrame(pairs, columns=["first", "second", "n_sets", "difference", "p"])
    return table.assign(p_holm=_holm(table["p"].to_numpy()))


def _holm(p: FloatArray) -> FloatArray:
    """Holm's step-down adjustment of p values."""
    order = np.argsort(p)
    steps = (len(p) - np.arange(len(p))) * p[order]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
