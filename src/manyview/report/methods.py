"""A paragraph for the methods section of a paper, made from a described fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REFERENCE = (
    "X. Wan, J. Liu, X. Liu, S. Wang, Y. Wen, T. Wan, L. Shen and E. Zhu, One-step Multi-view "
    "Clustering with Diverse Representation, IEEE Transactions on Neural Networks and Learning "
    "Systems, 2024."
)


def write_methods(result: Mapping[str, Any]) -> str:
    """Describe in sentences what was done, with versions, parameters and the citation.

    Parameters
    ----------
    result : mapping
        A described fit.

    Returns
    -------
    str
    """
    sentences = [
        _fit(result),
        _scaling(result),
        _structure(result),
        _survival(result),
        _metadata(result),
        f"Reference: {REFERENCE}",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _fit(result: Mapping[str, Any]) -> str:
    data, run = result["data"], result["run"]
    views = ", ".join(f"{view['name']} ({view['n_features']:,} features)" for view in data["views"])
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    given = run["model"].partition("(")[2].rpartition(")")[0]
    lacking = data["n_samples"] - data["n_complete"]
    partly = f"; {lacking:,} samples lacked at least one view" if lacking else ""
    many = "views" if len(data["views"]) > 1 else "view"
    return (
        f"{data['n_samples']:,} samples with the {many} {views} were clustered into "
        f"{data['n_clusters']:,} clusters by OMVCDR (Wan et al., 2024) as implemented in manyview"
        f"{partly}. Parameters were {given or 'the defaults'}, all others the defaults; versions: "
        f"{versions}."
    )


def _scaling(result: Mapping[str, Any]) -> str:
    parts = [
        f"{view['name']} by {' and '.join(scaling or 'none' for scaling in view['scalings'])}"
        for view in result["data"]["views"]
    ]
    return f"Views were scaled: {'; '.join(parts)}."


def _structure(result: Mapping[str, Any]) -> str:
    structure = result.get("structure")
    if not structure or structure["verdict"] == "unknown":
        return ""
    excess, p = max(structure["excess"], 0.0), structure.get("p_value")
    chance = "" if p is None else f", p = {p:.2g}"
    return (
        "Whether there are clusters at all was judged by comparison with random samples of one "
        f"Gaussian of the same mean and covariance (verdict: {structure['verdict']}; excess "
        f"{excess:.0%}{chance}); confidence is relative to the same, and the stability of a "
        "cluster is the mean Jaccard index over refits of resampled samples."
    )


def _survival(result: Mapping[str, Any]) -> str:
    survival = result.get("survival")
    if not survival:
        return ""
    test = survival["test"]
    permuted = "permuted " if test and test["name"] != "log-rank" else ""
    name = "" if test is None else f" and compared by the {permuted}log-rank test"
    pairs = "; pairs of clusters were adjusted by Benjamini-Hochberg" if survival["pairs"] else ""
    return f"Survival was estimated by Kaplan-Meier{name}{pairs}."


def _metadata(result: Mapping[str, Any]) -> str:
    tests = sorted({row["test"] for row in result.get("meta") or ()})
    if not tests:
        return ""
    return (
        f"Metadata were tested for association with the clusters by {', '.join(tests)}, adjusted "
        "over the columns by Benjamini-Hochberg."
    )
