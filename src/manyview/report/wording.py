"""Findings in words, so that a page can be read without knowing the measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# smallest mean agreement of the starts (adjusted Rand index), and what it means
STABILITY = (
    (0.95, "led to nearly the same clusters"),
    (0.8, "led to much the same clusters"),
    (0.5, "agree only in part: some borders between clusters depend on the seed"),
    (-1.0, "disagree: another seed would give other clusters, so do not rely on these"),
)


def as_percent(share: float) -> str:
    """Format a share as a whole percentage; only exact 0 and 1 are shown as 0% and 100%.

    Parameters
    ----------
    share : float
        From 0 to 1; weights may be negative.

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
    """Format a number of clusters, such as "3 clusters".

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
    """State what a fit found: a sentence or two on stability, on confidence and on views.

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
        alone = "All samples are in one cluster: there is no other cluster to compare with."
        return {"stability": "", "confidence": alone, "views": "No view separates any clusters."}
    return {
        "stability": tell_stability(confidence),
        "confidence": tell_confidence(confidence, n_samples),
        "views": tell_views(result["weights"]["views"]),
    }


def tell_confidence(confidence: Mapping[str, Any], n_samples: int) -> str:
    """State how many samples have a low confidence.

    Parameters
    ----------
    confidence : mapping
        The entry "confidence" of a described fit.
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
            "No sample is doubtful: for each, the second-best cluster costs at least twice as much."
        )
    meaning = "their second-best cluster costs less than twice as much as their own"
    start = f"{n_doubtful:,} samples ({as_percent(share)}) are doubtful: {meaning}."
    if share <= 0.2:
        return f"{start} The others are clear."
    if share <= 0.5:
        return f"{start} The clusters overlap."
    return (
        f"{start} That is most of them: the clusters overlap strongly, or the data have no clear "
        "clusters."
    )


def tell_stability(confidence: Mapping[str, Any]) -> str:
    """State how well the starts agree.

    Parameters
    ----------
    confidence : mapping
        The entry "confidence" of a described fit.

    Returns
    -------
    str
    """
    stability, n_starts = confidence["stability"], confidence["n_starts"]
    if stability is None:
        return "Stability is unknown, since there was only one start; set n_init to 2 or more."
    meaning = next(text for least, text in STABILITY if stability >= least)
    return (
        f"The {n_starts} starts {meaning} (mean adjusted Rand index {stability:.2f}; 1 is equal)."
    )


def tell_views(views: Sequence[Mapping[str, Any]]) -> str:
    """State which views contributed most to the clusters.

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
        return "All views contributed about equally."
    return (
        f"The view {first['name']} contributed most ({as_percent(first['weight'])}), "
        f"{last['name']} least ({as_percent(last['weight'])})."
    )
