"""The recommendation, from the scores of each number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

STRUCTURE = 0.25  # excess × stability; noise, blobs and continua stay below
WORDS = {0.7: "high", 0.4: "moderate", 0.0: "low"}  # from this confidence on
NEARLY = 0.95  # of the best score: such numbers of clusters are named, too
SETTINGS = ("n_clusters", "scale", "lam", "view_modularity", "gain")  # columns


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommended number of clusters, scaling and λ.

    Attributes
    ----------
    n_clusters : int
        The recommendation; 1 if no structure was found.
    has_structure : bool
        Whether the clusters are clearer than those of a reference, one blob of the same shape:
        excess × stability is at least 0.25.
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
    """

    n_clusters: int
    has_structure: bool
    confidence: float
    sentence: str
    table: pd.DataFrame
    scale: str | Sequence[str] | None = "auto"
    lam: float = 0.5
    advice: str = ""
    settings: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=SETTINGS))


def decide(rows: Sequence[Mapping[str, Any]], n_samples: int) -> Choice:
    """Recommend the number of clusters with the largest score, if there is structure."""
    table = pd.DataFrame(list(rows)).sort_values("n_clusters", ignore_index=True)
    factors = table[["modularity", "excess", "stability"]].clip(lower=0)
    table["score"] = factors["modularity"] ** 2 * factors["excess"] * factors["stability"] ** 0.5
    best = table.iloc[int(table["score"].argmax())]
    k = int(best["n_clusters"])
    strength = float(max(best["excess"], 0) * max(best["stability"], 0))
    figures = (
        f"on {n_samples} samples, their modularity is {max(best['excess'], 0):.0%} of the way from "
        "that of one blob to that of unconnected clusters, and their stability between halves of "
        f"the samples is {best['stability']:.2f} (maximum: 1)"
    )
    if strength < STRUCTURE:
        confidence = 1 - strength / STRUCTURE
        sentence = (
            f"There is no clear structure, {_word(confidence)} confidence ({confidence:.2f}): the "
            f"best partition has {k} clusters, but {figures}."
        )
        return Choice(1, False, confidence, sentence, table)
    is_far = (table["n_clusters"] - k).abs() > 1
    rival = float((table.loc[is_far, "score"] / best["score"]).max()) if is_far.any() else 0.0
    confidence = strength * (1 - rival**8 / 2)  # a rival at 0.9 of the score reduces it by a fifth
    near = table.loc[table["score"] >= NEARLY * best["score"], "n_clusters"]
    others = ", ".join(str(other) for other in near if other != k)
    also = f" Nearly as good: {others}." if others else ""
    sentence = f"{k} clusters, {_word(confidence)} confidence ({confidence:.2f}): {figures}.{also}"
    return Choice(k, True, confidence, sentence, table)


def _word(confidence: float) -> str:
    return next(word for least, word in WORDS.items() if confidence >= least)
