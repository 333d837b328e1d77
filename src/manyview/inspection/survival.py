"""Survival by cluster: Kaplan-Meier curves, the log-rank test, and tests of all pairs.

Kaplan and Meier (1958) with log-log confidence intervals, as scipy has them; the log-rank test of k
groups (Mantel 1966, Peto and Peto 1972). If a cluster expects few events, p is that of permuted
log-rank scores (Hothorn et al. 2006). The p of pairs are adjusted by Benjamini-Hochberg.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from manyview.inspection.survival_columns import read_events, read_times
from manyview.utils.types import FloatArray

FEW_EVENTS = 5  # expected in a cluster: with fewer, p is by permutation
N_PERMUTED = 9999
CELLS = 1_000_000  # of the permutations in memory at a time
MOST_CLUSTERS = 20  # for tests of all pairs
N_TICKS = 6  # approximate number of times at which the numbers at risk are counted
MEDIAN = 0.5


@dataclass(frozen=True)
class LogRank:
    """Result of a log-rank test.

    Attributes
    ----------
    statistic, freedom, p_chi_square
        χ², its degrees of freedom, and the p-value of both.
    p : float
        That of χ², or, if a group expects few events, that of permuted log-rank scores.
    is_permuted : bool
        Whether `p` is by permutation.
    expected : array of shape (n_groups,)
        Events of each group, if all groups had the same hazard.
    """

    statistic: float
    freedom: int
    p_chi_square: float
    p: float
    is_permuted: bool
    expected: FloatArray

    @property
    def name(self) -> str:
        """Name of the test."""
        return "log-rank by permutation" if self.is_permuted else "log-rank"


def log_rank(
    time: FloatArray, event: NDArray[np.bool_], groups: NDArray[Any], *, seed: int = 0
) -> LogRank | None:
    """Test whether groups have the same hazard.

    Parameters
    ----------
    time : array of shape (n_samples,)
        Time until the event, or until the sample was last seen.
    event : array of bool of shape (n_samples,)
        Whether the event was seen; False where the time is censored.
    groups : array of shape (n_samples,)
        Group of each sample.
    seed : int, default=0
        Seed of the permutations.

    Returns
    -------
    LogRank or None
        None if fewer than two groups are at risk when events happen.
    """
    names, group = np.unique(groups, return_inverse=True)
    moments = np.unique(time[event])  # (T,)
    n_before = np.searchsorted(moments, time, side="right")  # (n,): at risk at these moments
    dead = np.bincount(n_before[event] - 1, minlength=len(moments))  # d_j
    at_risk = _at_risk(n_before, group, (len(names), len(moments)))  # n_gj: (k, T)
    total = at_risk.sum(axis=0)  # n_j
    expected = (at_risk * (dead / total)).sum(axis=1)  # (k,)
    is_informed = expected > 0
    if is_informed.sum() < 2:
        return None
    share = at_risk / total
    spread = dead * (total - dead) / np.maximum(total - 1, 1)  # (T,)
    covariance = np.diag((share * spread).sum(axis=1)) - (share * spread) @ share.T
    surplus = np.bincount(group, weights=event, minlength=len(names)) - expected
    statistic = float(surplus @ np.linalg.pinv(covariance, hermitian=True) @ surplus)
    freedom = int(is_informed.sum()) - 1
    p = p_chi_square = float(stats.chi2.sf(statistic, freedom))
    is_permuted = bool(expected.min() < FEW_EVENTS)
    if is_permuted:
        hazard = np.concatenate([[0.0], np.cumsum(dead / total)])  # Nelson-Aalen
        p = _permuted(event - hazard[n_before], group, np.random.default_rng(seed))
    return LogRank(statistic, freedom, p_chi_square, p, is_permuted, expected)


def _at_risk(
    n_before: NDArray[np.intp], group: NDArray[np.intp], shape: tuple[int, int]
) -> FloatArray:
    """Members of each group that are at risk at each moment."""
    counts = np.zeros((shape[0], shape[1] + 1))
    np.add.at(counts, (group, n_before), 1)
    return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:])


def _permuted(scores: FloatArray, group: NDArray[np.intp], rng: np.random.Generator) -> float:
    """Share of permutations whose Σ_g (Σ scores)² / n_g is at least as large."""
    size = np.bincount(group)
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])

    def statistic(ordered: FloatArray) -> FloatArray:
        return np.asarray((np.add.reduceat(ordered, starts, axis=-1) ** 2 / size).sum(axis=-1))

    seen = statistic(scores[np.argsort(group, kind="stable")])
    n_higher, n_drawn = 1, 1  # the groups as they are count as one of them
    while n_drawn <= N_PERMUTED:
        n_rows = min(N_PERMUTED + 1 - n_drawn, max(1, CELLS // len(scores)))
        drawn = statistic(rng.permuted(np.tile(scores, (n_rows, 1)), axis=1))
        n_higher += int((drawn >= seen * (1 - 1e-9)).sum())
        n_drawn += n_rows
    return n_higher / n_drawn


@dataclass(frozen=True)
class KaplanMeier:
    """Survival of one group: arrays over the distinct times, with 95 % confidence intervals.

    Attributes
    ----------
    time, survival, low, high : array
        At each time, the share that survives it; the bounds are NaN where nobody survives.
    """

    time: FloatArray
    survival: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, time: FloatArray, event: NDArray[np.bool_]) -> KaplanMeier:
        """Estimate the curve of censored times."""
        curve: Any = stats.ecdf(stats.CensoredData.right_censored(time, ~event)).sf
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # bounds at 0 and 1 are undefined
            bounds = curve.confidence_interval(method="log-log")
        survival = curve.probabilities
        return cls(
            curve.quantiles,
            survival,
            _bound(bounds.low.probabilities, survival),
            _bound(bounds.high.probabilities, survival),
        )

    def median(self) -> tuple[float | None, float | None, float | None]:
        """First time that at most half survive, and its confidence interval; None: not reached."""
        return (
            _first(self.time, self.survival),
            _first(self.time, self.low),
            _first(self.time, self.high),
        )

    def at(self, time: FloatArray) -> FloatArray:
        """Survival at any times."""
        return np.append(1.0, self.survival)[np.searchsorted(self.time, time, side="right")]


def _bound(values: Any, survival: FloatArray) -> FloatArray:
    """A bound of the interval: 1 where all survive, NaN where nobody does."""
    return np.where(survival == 1, 1.0, np.where(survival == 0, np.nan, values))


def _first(time: FloatArray, curve: FloatArray) -> float | None:
    below = np.flatnonzero(curve <= MEDIAN + 1e-12)
    return float(time[below[0]]) if below.size else None


def compare_survival(
    table: pd.DataFrame, labels: NDArray[Any], time: str, event: str, *, seed: int = 0
) -> dict[str, Any]:
    """Kaplan-Meier curves of the clusters, and the log-rank test of all and of each pair.

    Parameters
    ----------
    table : DataFrame of shape (n_samples, n_columns)
        Metadata of the samples; samples without a time or an event are left out.
    labels : array of int of shape (n_samples,)
        Cluster of each sample.
    time, event : str
        Columns: the time, and whether the event was seen (1, yes, dead) or censored (0, no, alive).
    seed : int, default=0
        Seed of the permutations.

    Returns
    -------
    dict
        `time`, `event`, `n`, `n_missing`, `n_events`, `notes`, `clusters` (size, events, median
        and curve of each), `ticks` with the numbers at risk of each cluster, `test` (None if there
        are too few clusters with events) and `pairs`.
    """
    times, (events, notes) = read_times(table, time), read_events(table, event)
    is_known = np.isfinite(times) & np.isfinite(events)
    known, seen, cluster = times[is_known], events[is_known] == 1, labels[is_known]
    names = np.unique(cluster)
    test = log_rank(known, seen, cluster, seed=seed) if len(names) > 1 and seen.any() else None
    ticks = _ticks(float(known.max())) if len(known) else np.zeros(1)
    return {
        "time": time,
        "event": event,
        "n": len(known),
        "n_missing": int((~is_known).sum()),
        "n_events": int(seen.sum()),
        "notes": notes,
        "ticks": ticks.tolist(),
        "clusters": [
            {
                "cluster": int(c),
                "expected": None if test is None else float(test.expected[g]),
                **_describe(known[cluster == c], seen[cluster == c], ticks),
            }
            for g, c in enumerate(names)
        ],
        "test": None if test is None else _as_dict(test),
        "pairs": [] if test is None else _pairs(known, seen, cluster, seed),
    }


def _describe(time: FloatArray, event: NDArray[np.bool_], ticks: FloatArray) -> dict[str, Any]:
    """One cluster: events, median, curve, censored times, numbers at risk."""
    curve = KaplanMeier.of(time, event)
    median, low, high = curve.median()
    changes = np.isin(curve.time, time[event])
    censored = np.unique(time[~event])
    return {
        "n": len(time),
        "n_events": int(event.sum()),
        "median": median,
        "median_low": low,
        "median_high": high,
        "last": float(time.max()),
        "curve": {
            name: [None if np.isnan(x) else float(x) for x in getattr(curve, name)[changes]]
            for name in ("time", "survival", "low", "high")
        },
        "censored": {"time": censored.tolist(), "survival": curve.at(censored).tolist()},
        "at_risk": [int((time >= tick).sum()) for tick in ticks],
    }


def _as_dict(test: LogRank) -> dict[str, Any]:
    keys = ("name", "statistic", "freedom", "p", "p_chi_square")
    return {key: getattr(test, key) for key in keys}


def _pairs(
    time: FloatArray, event: NDArray[np.bool_], cluster: NDArray[Any], seed: int
) -> list[dict[str, Any]]:
    """The log-rank test of each pair of clusters, adjusted over the pairs; none if too many."""
    names = np.unique(cluster)
    if not 2 < len(names) <= MOST_CLUSTERS:  # of two clusters, the test of all is that of the pair
        return []
    pairs: list[dict[str, Any]] = []
    for a, b in combinations(names.tolist(), 2):
        rows = np.isin(cluster, [a, b])
        test = log_rank(time[rows], event[rows], cluster[rows], seed=seed)
        if test is not None:
            pairs.append({"a": a, "b": b, **_as_dict(test)})
    if pairs:
        adjusted = stats.false_discovery_control([pair["p"] for pair in pairs])
        for pair, p in zip(pairs, adjusted, strict=True):
            pair["p_adjusted"] = float(p)
    return sorted(pairs, key=lambda pair: pair["p_adjusted"])


def _ticks(longest: float) -> FloatArray:
    """Round times from zero to the longest."""
    rough = max(longest, np.finfo(float).tiny) / N_TICKS
    unit = 10.0 ** np.floor(np.log10(rough))
    step = unit * min((m for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.85), default=10)
    return np.asarray(np.arange(int(longest / step * (1 + 1e-9)) + 1) * step)
