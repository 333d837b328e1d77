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

N_NAMED = 8  # clusters in a sentence
MOST_P = 0.05  # of a test that found something
FEW_EVENTS = 10  # a cluster


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


def title_of(result: Mapping[str, Any]) -> str:
    """State in a headline how many clusters there are, and whether they are more than one blob.

    Parameters
    ----------
    result : mapping
        A described fit.

    Returns
    -------
    str
    """
    n_samples, n_clusters = result["data"]["n_samples"], result["data"]["n_clusters"]
    verdict = (result.get("structure") or {"verdict": "unknown"})["verdict"]
    if verdict == "none":
        return f"No cluster structure in {n_samples:,} samples"
    word = f"{verdict} " if verdict in ("clear", "weak") else ""
    return f"{n_samples:,} samples in {n_clusters:,} {word}cluster{'s' if n_clusters > 1 else ''}"


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
        return {
            **dict.fromkeys(("structure", "stability", "return", "merges"), ""),
            "confidence": alone,
            "outliers": tell_outliers(result.get("outliers")),
            "survival": tell_survival(result.get("survival")),
            "views": "No view separates any clusters.",
        }
    structure = result.get("structure") or {"verdict": None, "sentence": ""}
    return {
        "structure": structure["sentence"],
        "confidence": tell_confidence(confidence, n_samples, structure["verdict"]),
        "stability": tell_stability(confidence),
        "return": tell_return(result["clusters"]),
        "merges": tell_merges(result.get("hierarchy")),
        "outliers": tell_outliers(result.get("outliers")),
        "survival": tell_survival(result.get("survival")),
        "views": tell_views(result["weights"]["views"]),
    }


def tell_confidence(
    confidence: Mapping[str, Any], n_samples: int, verdict: str | None = None
) -> str:
    """State how many samples have a low confidence.

    Parameters
    ----------
    confidence : mapping
        The entry "confidence" of a described fit.
    n_samples : int
        Number of samples.
    verdict : str, optional
        What the comparison with one blob found; None if it was left out.

    Returns
    -------
    str
    """
    if verdict == "none":
        return "No label can be relied on: in one blob, as many labels are as distinct as these."
    n_doubtful = confidence["n_doubtful"]
    if n_doubtful == 0:
        return "No sample is doubtful."
    share = n_doubtful / n_samples
    meaning = (
        "their second-best cluster costs less than twice as much as their own"
        if verdict in (None, "unknown")
        else "in one blob, labels as distinct as theirs would be at least half as common"
    )
    start = f"{n_doubtful:,} samples ({as_percent(share)}) are doubtful: {meaning}."
    if share <= 0.2:
        return f"{start} The others are clear." if verdict == "clear" else start
    if share <= 0.5:
        return f"{start} The clusters overlap."
    return (
        f"{start} That is most of them: the clusters overlap strongly, or the data have no clear "
        "clusters."
    )


def tell_return(clusters: Sequence[Mapping[str, Any]]) -> str:
    """State which clusters do not come back if the samples are drawn again.

    Parameters
    ----------
    clusters : sequence of mappings
        The entry "clusters" of a described fit.

    Returns
    -------
    str
    """
    gone = [str(row["cluster"]) for row in clusters if not row.get("comes_back", True)]
    if not gone:
        return ""
    if len(gone) == len(clusters):
        return "No cluster comes back if the samples are drawn again."
    shown = ", ".join(gone[:N_NAMED]) + (" and others" if len(gone) > N_NAMED else "")
    many = f"{len(gone)} of {len(clusters)} clusters do" if len(gone) > 1 else "One cluster does"
    return f"{many} not come back if the samples are drawn again: {shown}."


def tell_merges(hierarchy: Mapping[str, Any] | None) -> str:
    """State which clusters could be one.

    Parameters
    ----------
    hierarchy : mapping, optional
        The entry "hierarchy" of a described fit.

    Returns
    -------
    str
    """
    pairs = hierarchy["proposed"] if hierarchy else []
    if not pairs:
        return ""
    named = ", ".join(f"{pair['cluster']} and {pair['other']}" for pair in pairs[:N_NAMED])
    more = f", and {len(pairs) - N_NAMED} more pairs" if len(pairs) > N_NAMED else ""
    return (
        f"Clusters that could be one, with little between them: {named}{more}. In Python, "
        "model.merge(n) gives labels for fewer clusters."
    )


def tell_outliers(outliers: Mapping[str, Any] | None) -> str:
    """State how many samples are unlike all clusters.

    Parameters
    ----------
    outliers : mapping, optional
        The entry "outliers" of a described fit.

    Returns
    -------
    str
    """
    if outliers is None:
        return ""
    n = outliers["n_outliers"]
    if n == 0:
        return "No sample is unlike all clusters."
    first = ", ".join(row["sample"] for row in outliers["samples"][:3] if row["is_outlier"])
    start = f"{n:,} samples are" if n > 1 else "1 sample is"
    others = ", most of all" if n > 3 else ":"
    return (
        f"{start} unlike all clusters (outlier score above {outliers['threshold']:.1f}){others} "
        f"{first}."
    )


def tell_survival(survival: Mapping[str, Any] | None) -> str:
    """State whether the clusters differ in survival, and on how much that rests.

    Parameters
    ----------
    survival : mapping, optional
        The entry "survival" of a described fit.

    Returns
    -------
    str
    """
    if survival is None:
        return ""
    n, n_events, without = survival["n"], survival["n_events"], survival["n_missing"]
    rests = f"{n_events:,} of {n:,} samples had the event."
    if without:
        columns = f"{survival['time']} or {survival['event']}"
        rests += f" {without:,} without {columns} {'are' if without > 1 else 'is'} left out."
    test = survival["test"]
    if test is None:
        return f"Survival cannot be compared: fewer than two clusters have events. {rests}"
    differ = test["p"] < MOST_P
    start = "The clusters differ in survival" if differ else "No difference in survival was found"
    p = "p < 0.0001" if test["p"] < 1e-4 else f"p = {test['p']:.2g}"
    found = f"{start} ({test['name']}, χ² = {test['statistic']:.2f}, {p})."
    if not differ and n_events < FEW_EVENTS * len(survival["clusters"]):
        return f"{found} {rests} With so few, only large differences can be found."
    return f"{found} {rests}"


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
