"""The recommendation, from the scores of each number of clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

STRUCTURE = 0.25  # excess × stability; noise, blobs and continua stay below
WORDS = {0.7: "high", 0.4: "moderate", 0.0: "low"}  # from this confidence on
FEW_BLOBS, MANY_BLOBS = 6, 8  # for the p-value, with and without clear structure
SIGNIFICANT = 0.05  # largest p-value of a clear structure: long blobs may vary much
NEARLY = 0.95  # of the best score: such numbers of clusters are named, too
SETTINGS = ("n_clusters", "scale", "lam", "view_modularity", "gain")  # columns


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommended number of clusters, scaling and λ.

    Attributes
    ----------
    n_clusters : int
        The recommendation. Without clear structure, it is that of the steadiest split, the
        largest excess × stability; or 1, if 1 is among the candidates.
    has_structure : bool
        Whether the clusters are clearer than those of a reference, one blob of the same shape:
        for the number of clusters with the largest score, excess × stability is at least 0.25, and
        the p-value below 0.05.
    confidence : float
        Between 0 and 1. For clusters, excess × stability, reduced by up to a half if another
        number of clusters, more than one away, scores as well; for no structure, the relative
        distance of that product below 0.25. High from 0.7 on, moderate from 0.4 on.
    sentence : str
        The recommendation in words.
    table : pandas.DataFrame
        One row per number of clusters: `modularity` of the partition and of the reference
        (`one_blob`); `excess`, the modularity above the reference as a share of the way to
        unconnected clusters; `stability`, the adjusted Rand index with partitions of halves of the
        subset; `silhouette` and
        `davies_bouldin` in the joint coordinates; `eigengap`; and `score` =
        modularity² · excess · √stability, whose largest value is recommended.
    scale : None, str or list of str
        The recommended `scale` of OMVCDR.
    lam : float
        The recommended `lam` of OMVCDR.
    advice : str
        The recommended scale and lam in words; empty with tune=False.
    settings : pandas.DataFrame
        One row per scale and lam that was tried: `view_modularity`, the mean modularity of the
        clusters of a fit in the neighbor graphs of single views, and `gain`, its relative gain over
        the given setting. Another setting is recommended if its gain is larger than 0.02.
    p_value : float
        Chance that one blob of the same shape, partitioned into as many clusters as recommended,
        or as the steadiest split has, reaches their modularity: the tail of a t distribution
        through eight blobs, or six if structure is clear. It does not account for the choice among
        the candidates.
    """

    n_clusters: int
    has_structure: bool
    confidence: float
    sentence: str
    table: pd.DataFrame
    scale: str | Sequence[str] | None = "auto"
    lam: float = 2.0  # the default of the estimator
    advice: str = ""
    settings: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=SETTINGS))
    p_value: float = float("nan")


def decide(
    rows: Sequence[Mapping[str, Any]],
    n_samples: int,
    p_value: Callable[[int, float, int], float],
    *,
    may_be_one: bool = False,
) -> Choice:
    """Recommend the number of clusters with the largest score, or else the steadiest split.

    `p_value` is that of a number of clusters and its modularity, by a number of blobs; `may_be_one`
    recommends 1 if there is no clear structure.
    """
    table = pd.DataFrame(list(rows)).sort_values("n_clusters", ignore_index=True)
    factors = table[["modularity", "excess", "stability"]].clip(lower=0)
    table["score"] = factors["modularity"] ** 2 * factors["excess"] * factors["stability"] ** 0.5
    strengths = factors["excess"] * factors["stability"]
    at = int(table["score"].argmax())
    strength, p = float(strengths[at]), 1.0
    if strength >= STRUCTURE:
        p = p_value(int(table["n_clusters"][at]), float(table["modularity"][at]), FEW_BLOBS)
    has_structure = p < SIGNIFICANT
    if not has_structure:
        at = int(strengths.argmax())
        p = p_value(int(table["n_clusters"][at]), float(table["modularity"][at]), MANY_BLOBS)
    row = table.iloc[at]
    k = int(row["n_clusters"])
    figures = (
        f"on {n_samples} samples, their modularity is {max(row['excess'], 0):.0%} of the way from "
        "that of one blob to that of unconnected clusters, and their stability between halves of "
        f"the samples is {row['stability']:.2f} (maximum: 1)"
    )
    if has_structure:
        confidence, also = _compare(table, at, strength)
        lead = f"{k} clusters, {_word(confidence)} confidence ({confidence:.2f})"
        sentence = f"{lead}: {figures}; p-value against one blob: {_few_digits(p)}.{also}"
        return Choice(k, True, confidence, sentence, table, p_value=p)
    confidence = max(1 - strength / STRUCTURE, 0.0)
    sentence = (
        f"There is no clear structure, {_word(confidence)} confidence ({confidence:.2f}): the "
        f"steadiest split has {k} clusters, but {figures}; p-value against one blob: "
        f"{_few_digits(p)}."
    )
    if may_be_one:
        sentence += " One cluster is recommended, since it is among the candidates."
    return Choice(1 if may_be_one else k, False, confidence, sentence, table, p_value=p)


def _compare(table: pd.DataFrame, at: int, strength: float) -> tuple[float, str]:
    """Confidence in the best row, beside the others, and a sentence on those nearly as good."""
    k, best = table["n_clusters"][at], table["score"][at]
    is_far = (table["n_clusters"] - k).abs() > 1
    rival = float((table.loc[is_far, "score"] / best).max()) if is_far.any() else 0.0
    confidence = strength * (1 - rival**8 / 2)  # a rival at 0.9 of the score reduces it by a fifth
    near = table.loc[table["score"] >= NEARLY * best, "n_clusters"]
    others = ", ".join(str(other) for other in near if other != k)
    return confidence, f" Nearly as good: {others}." if others else ""


def _few_digits(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"{p:.2g}"


def _word(confidence: float) -> str:
    return next(word for least, word in WORDS.items() if confidence >= least)
