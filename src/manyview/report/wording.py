"""Findings in words, so that a page can be read without knowing the measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# least mean agreement of the starts (adjusted Rand index), and what it means
STABILITY = (
    (0.95, "led to nearly the same clusters"),
    (0.8, "led to much the same clusters"),
    (0.5, "agree in part only: some borders between clusters depend on the seed"),
    (-1.0, "disagree: another seed would give other clusters, so do not lean on these"),
)


def as_percent(share: float) -> str:
    """Write a share in whole percent; what is not nothing or all does not look so.

    Parameters
    ----------
    share : float
        From 0 to 1; weights may lie below 0.

    Returns
    -------
    str
    """
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1 - 1e-9:  # a sum of shares is 1 but for rounding
        return ">99%"
    return f"{share:.0%}".replace("-0%", "0%")


def count_clusters(n_clusters: int) -> str:
    """Write how many clusters there are.

    Parameters
    ----------
    n_clusters : int
        At least 1.

    Returns
    -------
    str
    """
    return "1 cluster" if n_clusters == 1 else f"{n_clusters:,} clusters"


def tell_findings(result: Mapping[str, Any]) -> dict[str, str]:
    """Say what a fit found, a sentence or two each on stability, confidence and views.

    Parameters
    ----------
    result : mapping
        A described fit.

    Returns
    -------
    dict of str
    """
    n_samples, confidence = result["data"]["n_samples"], result["confidence"]
    if result["data"]["n_clusters"] == 1:
        alone = "All samples are in one cluster: there is no other to be compared with."
        return {"stability": "", "confidence": alone, "views": "No view sets anything apart."}
    return {
        "stability": tell_stability(confidence),
        "confidence": tell_confidence(confidence, n_samples),
        "views": tell_views(result["weights"]["views"]),
    }


def tell_confidence(confidence: Mapping[str, Any], n_samples: int) -> str:
    """Say how sure the samples are of their clusters.

    Parameters
    ----------
    confidence : mapping
        The part of that name of a described fit.
    n_samples : int
        Number of samples.

    Returns
    -------
    str
    """
    n_doubtful = confidence["n_doubtful"]
    share = n_doubtful / n_samples
    if n_doubtful == 0:
        return (
            "No sample is doubtful: for each, the next cluster would cost at least twice as much."
        )
    meaning = "the next cluster would cost them less than twice as much as their own"
    start = f"{n_doubtful:,} samples ({as_percent(share)}) are doubtful: {meaning}."
    if share <= 0.2:
        return f"{start} The others are clear."
    if share <= 0.5:
        return f"{start} The clusters overlap."
    return (
        f"{start} That is most of them: the clusters overlap much, or the data have no clear ones."
    )


def tell_stability(confidence: Mapping[str, Any]) -> str:
    """Say how well the starts agree.

    Parameters
    ----------
    confidence : mapping
        The part of that name of a described fit.

    Returns
    -------
    str
    """
    stability, n_starts = confidence["stability"], confidence["n_starts"]
    if stability is None:
        return "Stability is unknown, since there was one start; more (n_init) would tell."
    meaning = next(text for least, text in STABILITY if stability >= least)
    return (
        f"The {n_starts} starts {meaning} (mean adjusted Rand index {stability:.2f}; 1 is equal)."
    )


def tell_views(views: Sequence[Mapping[str, Any]]) -> str:
    """Say which views drove the clusters.

    Parameters
    ----------
    views : sequence of {name, weight}
        The weights of the views.

    Returns
    -------
    str
    """
    ranked = sorted(views, key=lambda view: -view["weight"])
    first, last = ranked[0], ranked[-1]
    if len(ranked) == 1:
        return f"There is one view, {first['name']}."
    if first["weight"] < 1.5 * last["weight"]:
        return "All views did about equally much."
    return (
        f"The view {first['name']} did most ({as_percent(first['weight'])}), "
        f"{last['name']} least ({as_percent(last['weight'])})."
    )
