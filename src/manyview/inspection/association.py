"""Association of metadata columns with the clusters: test, effect size, adjusted p.

Categories: χ² with the bias-corrected Cramér's V (Bergsma 2013). If counts are too small for χ²
(Cochran's rule), Fisher's exact test for 2 × 2 tables, else a permutation test of χ² with random
tables of the same margins. Numbers: Kruskal-Wallis with ε² = H / (n − 1). All p are adjusted by
Benjamini-Hochberg. Survival has tests of its own (`survival.py`): times are censored, so
they are not tested as numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from scipy import stats

from manyview.exceptions import ViewError
from manyview.inspection.cross_tables import box_plots, cross_table
from manyview.inspection.survival import compare_survival
from manyview.inspection.survival_columns import find_survival

MAX_CODES = 5  # integers with at most this many distinct values are category codes
N_TABLES = 9999  # random tables of a permutation test
CELLS = 1_000_000  # of the random tables in memory at a time
SHOWN = 2  # categories listed per cluster


@dataclass(frozen=True)
class Associations:
    """Results of the tests.

    Attributes
    ----------
    tested : list of dict
        Strongest association first: column, kind ("categorical" or "numeric"), test, n, n_missing,
        effect, effect_name, p, p_adjusted, by_cluster, a list of dicts of cluster and text, and
        the cross table or the box plots, as `cross_table` and `box_plots` return them.
    set_aside : list of dict
        Columns that cannot be tested: column and reason.
    survival : dict, optional
        Kaplan-Meier curves and log-rank tests, as `compare_survival` returns them.
    hints : tuple of str
        Columns that look like survival, and what to do with them.
    """

    tested: list[dict[str, Any]]
    set_aside: list[dict[str, str]]
    survival: dict[str, Any] | None = None
    hints: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """One sentence for each reason why columns were not tested, and the hints."""
        by_reason: dict[str, list[str]] = {}
        for column in self.set_aside:
            by_reason.setdefault(column["reason"], []).append(repr(column["column"]))
        aside = [
            f"Not tested for association: {', '.join(names)} ({reason})."
            for reason, names in by_reason.items()
        ]
        return [*aside, *self.hints, *(self.survival["notes"] if self.survival else ())]


def associate(
    table: pd.DataFrame,
    labels: NDArray[Any],
    *,
    time: str | None = None,
    event: str | None = None,
    seed: int = 0,
) -> Associations:
    """Test each column of a table for association with the clusters.

    Parameters
    ----------
    table : DataFrame of shape (n_samples, n_columns)
        Metadata of the samples; values may be missing.
    labels : array of int of shape (n_samples,)
        Cluster of each sample.
    time, event : str, optional
        Columns with survival: the time until the event or until the sample was last seen, and
        whether the event was seen (1, yes, dead) or not (0, no, alive).
    seed : int, default=0
        Seed of the random tables and permutations.

    Returns
    -------
    Associations

    Examples
    --------
    >>> import pandas as pd
    >>> from manyview.inspection.association import associate
    >>> table = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20})
    >>> result = associate(table, [0] * 20 + [1] * 20).tested[0]
    >>> result["effect_name"], round(result["effect"], 2)
    ("Cramér's V", 1.0)
    """
    labels = np.asarray(labels)
    if len(table) != len(labels):
        msg = f"The table has {len(table)} rows; expected {len(labels)}, one per label."
        raise ViewError(msg)
    survival, hints, apart = _survival(table, labels, time, event, seed)
    tested: list[dict[str, Any]] = []
    set_aside: list[dict[str, str]] = []
    n_clusters = np.unique(labels).size
    for j, name in enumerate(map(str, table.columns)):
        if name in apart:
            set_aside.append({"column": name, "reason": apart[name]})
            continue
        column = table.iloc[:, j].replace([np.inf, -np.inf], np.nan)
        is_known = column.notna().to_numpy()
        values, clusters = column[is_known], labels[is_known]
        reason = _untestable(values, clusters, n_clusters)
        if reason:
            set_aside.append({"column": name, "reason": reason})
            continue
        measure = _numeric if is_numeric(values) else _categorical
        sizes = {"n": int(is_known.sum()), "n_missing": int((~is_known).sum())}
        # a seed per column, so that other columns do not change its p
        found = measure(values, clusters, np.random.default_rng([seed, j]))
        tested.append({"column": name, **found, **sizes})
    for row, p in zip(tested, _adjusted([row["p"] for row in tested]), strict=True):
        row["p_adjusted"] = p
    tested.sort(key=lambda row: (row["p_adjusted"], -row["effect"]))
    return Associations(tested, set_aside, survival, hints)


def _survival(
    table: pd.DataFrame, labels: NDArray[Any], time: str | None, event: str | None, seed: int
) -> tuple[dict[str, Any] | None, tuple[str, ...], dict[str, str]]:
    """Survival by cluster, else a hint; and columns with the reason why they are no numbers."""
    if (time is None) != (event is None):
        given, other = ("time", "event") if event is None else ("event", "time")
        msg = (
            f"{given} is given without {other}; expected both: the time until the event or until a "
            f"sample was last seen, and whether the event was seen. Add {other}."
        )
        raise ViewError(msg)
    alike = [found for found in find_survival(table) if found.time not in (time, event)]
    apart = {found.time: "survival times, which are censored" for found in alike}
    if time is None or event is None:
        return None, tuple(found.hint for found in alike[:1]), apart
    apart |= dict.fromkeys((time, event), "survival: see the log-rank test")
    return compare_survival(table, labels, time, event, seed=seed), (), apart


def _adjusted(p: list[float]) -> list[float]:
    """Adjust p by Benjamini-Hochberg."""
    return [float(q) for q in stats.false_discovery_control(p)] if p else []


def _untestable(values: pd.Series, clusters: NDArray[Any], n_clusters: int) -> str:
    """Why a column cannot be tested; empty if it can."""
    n_values = values.nunique()
    if n_values < 2:
        return "empty" if n_values == 0 else "constant"
    if np.unique(clusters).size < 2:
        return "there is one cluster" if n_clusters == 1 else "known in one cluster only"
    is_number = is_numeric(values)
    if n_values == len(values) and (not is_number or _counts(values)):
        return "all different, as names are"
    if not is_number and n_values > len(values) / 2:
        return "nearly all different"
    return ""


def is_numeric(values: pd.Series) -> bool:
    """Whether a column is numeric; few distinct integers are codes."""
    if not types.is_numeric_dtype(values.dtype) or types.is_bool_dtype(values.dtype):
        return False
    return values.nunique() > MAX_CODES or bool((values % 1 != 0).any())


def _counts(values: pd.Series) -> bool:
    """Whether distinct numbers are consecutive integers."""
    return bool((values % 1 == 0).all()) and values.max() - values.min() == len(values) - 1


def _numeric(values: pd.Series, clusters: NDArray[Any], rng: np.random.Generator) -> dict[str, Any]:
    """Kruskal-Wallis, and the median and quartiles of each cluster."""
    by_cluster = values.astype(float).groupby(clusters)
    statistic, p = stats.kruskal(*(values.to_numpy() for _, values in by_cluster))
    quartiles = by_cluster.quantile(np.array([0.25, 0.5, 0.75])).unstack()
    return {
        "kind": "numeric",
        "test": "Kruskal-Wallis",
        "effect": float(statistic / (len(values) - 1)),
        "effect_name": "ε²",
        "p": float(p),
        "boxes": box_plots(values, clusters),
        "by_cluster": [
            {"cluster": int(c), "text": f"median {middle:.4g} ({low:.4g} to {high:.4g})"}
            for c, (low, middle, high) in zip(quartiles.index, quartiles.to_numpy(), strict=True)
        ],
    }


def _categorical(
    values: pd.Series, clusters: NDArray[Any], rng: np.random.Generator
) -> dict[str, Any]:
    """χ² or its replacement, and the most common categories of each cluster."""
    if types.is_float_dtype(values.dtype):  # all integers: shown without a decimal point
        values = values.astype(int)
    counts = pd.crosstab(clusters, values.astype(str).to_numpy())  # (clusters, categories)
    observed = counts.to_numpy()
    expected = stats.contingency.expected_freq(observed)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    if expected.min() >= 1 and (expected >= 5).mean() >= 0.8:
        freedom = (observed.shape[0] - 1) * (observed.shape[1] - 1)
        test, p = "chi-square", float(stats.chi2.sf(statistic, freedom))
    elif observed.shape == (2, 2):
        test, p = "Fisher's exact", float(stats.fisher_exact(observed).pvalue)
    else:
        test, p = "chi-square by permutation", _permuted(observed, expected, statistic, rng)
    return {
        "kind": "categorical",
        "test": test,
        "effect": _cramers_v(statistic, observed),
        "effect_name": "Cramér's V",
        "p": p,
        "table": cross_table(counts),
        "by_cluster": [
            {"cluster": int(c), "text": _commonest(counts.loc[c])} for c in counts.index
        ],
    }


def _permuted(
    observed: NDArray[Any], expected: NDArray[Any], statistic: float, rng: np.random.Generator
) -> float:
    """Share of random tables with the same margins whose χ² is at least as large."""
    law = stats.random_table(observed.sum(axis=1), observed.sum(axis=0))
    n_higher, n_drawn = 1, 1  # the table itself is one of them
    while n_drawn <= N_TABLES:
        size = min(N_TABLES + 1 - n_drawn, max(1, CELLS // observed.size))
        drawn = law.rvs(size=size, random_state=rng).reshape(size, *observed.shape)
        drawn_statistic = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))  # (size,)
        n_higher += int((drawn_statistic >= statistic * (1 - 1e-9)).sum())
        n_drawn += size
    return n_higher / n_drawn


def _cramers_v(statistic: float, observed: NDArray[Any]) -> float:
    """V = √(φ̃² / min(r̃ − 1, c̃ − 1)), where ~ marks the bias correction."""
    n, (r, c) = observed.sum(), observed.shape
    phi = max(0.0, statistic / n - (r - 1) * (c - 1) / (n - 1))
    rows, columns = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    freedom = min(rows, columns) - 1
    return float(min(1.0, np.sqrt(phi / freedom))) if freedom > 0 else 0.0


def _commonest(row: pd.Series) -> str:
    """The most common categories of one cluster, with their shares."""
    ordered = row[row > 0].sort_values(ascending=False, kind="stable")
    named = [f"{name} {count / row.sum():.0%}" for name, count in ordered.iloc[:SHOWN].items()]
    n_more = len(ordered) - SHOWN
    return ", ".join(named) + (f", {n_more} more" if n_more > 0 else "")
