"""Renders tables, figures and findings as one self-contained page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from manyview.study.paper import paper_ablation, paper_results
from manyview.study.reproduction.claims import VERDICTS, tell_undecided
from manyview.study.reproduction.comparison import side_by_side
from manyview.study.reproduction.figures import INK
from manyview.study.reproduction.scope import PUBLISHED, RIVALS
from manyview.study.reproduction.tables import ABLATION_TITLES, METHOD_TITLES, METRICS, records
from manyview.utils.pages import page_environment

COMPARED = {  # methods of the paper's tables, by the name of the table here
    "oracle": {one: METHOD_TITLES[one] for one in (*RIVALS, PUBLISHED)},
    "ablation": {one: name for one, name in ABLATION_TITLES.items() if one != "two_step"},
}


def summarize(
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, str],
    findings: Mapping[str, list[str]],
    titles: Mapping[str, str],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Collect the content of the page in a dict.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By name: sets, oracle, label_free, order, ablation, time, objective, sensitivity, claims,
        coverage.
    figures : mapping of str to str
        As `figures.draw` returns them.
    findings : mapping of str to list of str
        As `findings.find` returns them.
    titles : mapping of str to str
        Names of the data sets by file.
    facts : mapping
        How the study was run: is_quick, n_seeds, time_limit, powers, …

    Returns
    -------
    dict
    """
    verdicts = tables["claims"]["verdict"]
    papers = {
        "oracle": paper_results().replace({"method": {"omvcdr": PUBLISHED}}),
        "ablation": paper_ablation().replace({"method": {"omvcdr": "full"}}),
    }
    return {
        "beside": {
            name: side_by_side(tables[name], papers[name], list(methods), titles)
            for name, methods in COMPARED.items()
        },
        "compared": {name: list(methods.values()) for name, methods in COMPARED.items()},
        "sets": records(tables["sets"]),
        "oracle": _score_tables(tables["oracle"], titles, METHOD_TITLES),
        "label_free": _score_tables(tables["label_free"], titles, METHOD_TITLES),
        "ablation": _score_tables(tables["ablation"], titles, ABLATION_TITLES),
        "order": records(tables["order"]),
        "times": _by_set(tables["time"], titles),
        "claims": {
            "rows": records(tables["claims"]),
            "counts": {one: int((verdicts == one).sum()) for one in VERDICTS},
            "undecided": tell_undecided(tables["claims"], tables["coverage"]),
        },
        "figures": figures,
        "findings": findings,
        "titles": titles,
        "facts": facts,
        "metrics": METRICS,
    }


def _score_tables(
    table: pd.DataFrame, titles: Mapping[str, str], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Scores by data set, one row per method and one cell per metric."""
    shown = []
    for data, group in table.groupby("data", sort=False):
        rows = []
        for method, own in group.groupby("method", sort=False):
            cells = {row.metric: row for row in records(own)}
            first = next(iter(cells.values()))
            name = names.get(str(method), str(method))
            rows.append({"name": name, "first": first, "cells": cells})
        has_paper = "paper_mean" in group and bool(group["paper_mean"].notna().any())
        shown.append({"title": titles[str(data)], "has_paper": has_paper, "rows": rows})
    return shown


def _by_set(table: pd.DataFrame, titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows of a table by data set, with the names of the methods."""
    return [
        {"title": titles[str(data)],
         "rows": [(METHOD_TITLES[row.method], row) for row in records(group)]}
        for data, group in table.groupby("data", sort=False)
        if data in titles
    ]  # fmt: skip


def render_page(summary: Mapping[str, Any]) -> str:
    """Render a summary as one self-contained HTML page.

    Parameters
    ----------
    summary : mapping
        As `summarize` returns it.

    Returns
    -------
    str
    """
    environment = page_environment("manyview.study.reproduction", "manyview.report")
    filters: dict[str, Callable[..., str]] = {
        "four": lambda value: "–" if pd.isna(value) else f"{value:.4f}",
        # no -0.0000
        "signed": lambda value: "" if pd.isna(value) else f"{round(value, 4) + 0.0:+.4f}",
        "two": lambda value: "–" if pd.isna(value) else f"{value:.2f}",
        "code": _code,
        "slug": lambda text: str(text).replace(" ", "-"),
        "whole": lambda value: "–" if pd.isna(value) else f"{value:,}",
        "inline": _inline,
    }
    environment.filters |= filters
    return environment.get_template("reproduce.html").render(summary)


def _code(text: str) -> Markup:
    """Text with `code` as such."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def _inline(svg: str) -> Markup:
    """An SVG file as an inline element, in the colors of the light or dark page."""
    outside = r'<metadata>.*?</metadata>|<style.*?</style>| xmlns(:\w+)?="[^"]*"| id="[\w.]+_\d+"'
    element = re.sub(outside, "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for name, color in INK.items():
        element = element.replace(color, f"var(--{name})")
    return Markup(element)
