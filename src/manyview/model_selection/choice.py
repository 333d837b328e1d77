"""What was found for each number of clusters, and what to make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

__all__ = ["SETTINGS", "Choice", "decide"]

STRUCTURE = 0.25  # excess × stability; noise, blobs and continua stay below
WORDS = {0.7: "sure", 0.4: "fairly sure", 0.0: "unsure"}  # from which confidence on
NEARLY = 0.95  # of the best score: such numbers of clusters are named beside it
SETTINGS = ("n_clusters", "scale", "lam", "view_modularity", "gain")  # columns


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommended number of clusters, scaling and λ.

    Attributes
    ----------
    n_clusters : int
        The recommendation; 1 where no structure was found.
    has_structure : bool
        Whether the clusters are clearer than those that one blob of the same shape falls into:
        excess × stability of at least 0.25.
    confidence : float
        Between 0 and 1. For clusters their excess × stability, down to half of it where another
        number of clusters, more than one away, scores as well; for no structure, how far below
        0.25 that product is, as a share of it. From 0.7 on sure, from 0.4 on fairly sure.
    sentence : str
        The recommendation in words.
    table : pandas.DataFrame
        One row for each number of clusters: modularity of the partition and of one blob
        (`one_blob`); `excess`, how far of the way from the latter to a perfect cut; `stability`,
        the adjusted Rand index with the partitions of halves of the sample; `silhouette` and
        `davies_bouldin` in the joint coordinates; `eigengap`; and `score` =
        modularity² · excess · √stability, whose largest value is recommended.
    scale : None, str or list of str
        The recommended `scale` of OMVCDR.
    lam : float
        The recommended `lam` of OMVCDR.
    advice : str
        The recommended scale and lam in words; empty where they were not asked for.
    settings : pandas.DataFrame
        One row for each scale and lam that was tried: `view_modularity`, how well the clusters
        of a fit keep the neighbors of single views together, and `gain`, how much more that is
        than at the setting given, as a share. More than 0.02 is asked for to recommend another.
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
    """Recommend the number of clusters with the largest score, if its clusters are any."""
    table = pd.DataFrame(list(rows)).sort_values("n_clusters", ignore_index=True)
    factors = table[["modularity", "excess", "stability"]].clip(lower=0)
    table["score"] = factors["modularity"] ** 2 * factors["excess"] * factors["stability"] ** 0.5
    best = table.iloc[int(table["score"].argmax())]
    k = int(best["n_clusters"])
    strength = float(max(best["excess"], 0) * max(best["stability"], 0))
    figures = (
        f"on {n_samples} samples they stand out {max(best['excess'], 0):.0%} of the way from one "
        "blob to clusters without a link, and halves of the samples agree on them by "
        f"{best['stability']:.2f} (1: fully)"
    )
    if strength < STRUCTURE:
        confidence = 1 - strength / STRUCTURE
        sentence = (
            f"There is no clear structure, {_word(confidence)} (confidence {confidence:.2f}): the "
            f"best cut is into {k} clusters, but {figures}."
        )
        return Choice(1, False, confidence, sentence, table)
    is_far = (table["n_clusters"] - k).abs() > 1
    rival = float((table.loc[is_far, "score"] / best["score"]).max()) if is_far.any() else 0.0
    confidence = strength * (1 - rival**8 / 2)  # a rival at 0.9 of the score takes a fifth off
    near = table.loc[table["score"] >= NEARLY * best["score"], "n_clusters"]
    others = ", ".join(str(other) for other in near if other != k)
    also = f" Nearly as good: {others}." if others else ""
    sentence = f"{k} clusters, {_word(confidence)} (confidence {confidence:.2f}): {figures}.{also}"
    return Choice(k, True, confidence, sentence, table)


def _word(confidence: float) -> str:
    return next(word for least, word in WORDS.items() if confidence >= least)
