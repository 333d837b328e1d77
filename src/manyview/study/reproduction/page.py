"""Tables, figures and findings to one page that needs nothing else, and figures to files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from jinja2 import Environment

from manyview.study.reproduction.claims import RULES, VERDICTS
from manyview.study.reproduction.tables import ABLATION_TITLES, METHOD_TITLES, METRICS, records
from manyview.utils.pages import page_environment

__all__ = ["render_figure", "render_page", "score_tables", "summarize"]

COLUMNS = 2  # of panels in a file


def summarize(
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Any],
    findings: Mapping[str, list[str]],
    titles: Mapping[str, str],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything on the page as a dict of plain values.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By name: sets, oracle, label_free, order, ablation, time, objective, sensitivity, claims.
    figures : mapping of str to dict
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
    return {
        "sets": records(tables["sets"]),
        "oracle": score_tables(tables["oracle"], titles, METHOD_TITLES),
        "label_free": score_tables(tables["label_free"], titles, METHOD_TITLES),
        "ablation": score_tables(tables["ablation"], titles, ABLATION_TITLES),
        "order": records(tables["order"]),
        "claims": _claims(tables["claims"]),
        "figures": figures,
        "findings": findings,
        "titles": titles,
        "facts": facts,
        "metrics": METRICS,
    }


def _claims(table: pd.DataFrame) -> dict[str, Any]:
    """The judged claims, how many have each verdict, and how they are judged."""
    counts = {verdict: int((table["verdict"] == verdict).sum()) for verdict in VERDICTS}
    return {"rows": records(table), "counts": counts, "rules": RULES}


def score_tables(
    table: pd.DataFrame, titles: Mapping[str, str], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A table of scores as the page shows it: by data set, a row a method, a cell a metric.

    Parameters
    ----------
    table : DataFrame
        Of `oracle_table`, `label_free_table` or `ablation_table`.
    titles, names : mappings of str to str
        Of data sets and methods.

    Returns
    -------
    list of dict
        `title`, `has_paper` and `rows`, each of them with `name`, `status`, `reason`, and `cells`
        by metric.
    """
    shown = []
    has_columns = "paper_mean" in table
    for data, group in table.groupby("data", sort=False):
        rows = []
        for method, own in group.groupby("method", sort=False):
            cells = {row.metric: row for row in records(own)}
            first = next(iter(cells.values()))
            name = names.get(str(method), str(method))
            rows.append({"name": name, "status": first.status, "reason": first.reason,
                         "cells": cells})  # fmt: skip
        has_paper = has_columns and bool(group["paper_mean"].notna().any())
        shown.append({"title": titles[str(data)], "has_paper": has_paper, "rows": rows})
    return shown


def render_page(summary: Mapping[str, Any]) -> str:
    """Write a summary as one self-contained HTML page.

    Parameters
    ----------
    summary : mapping
        As `summarize` returns it.

    Returns
    -------
    str
    """
    return _environment().get_template("reproduce.html").render(summary)


def render_figure(figure: Mapping[str, Any]) -> str:
    """Write one figure as an SVG file that needs nothing else.

    Parameters
    ----------
    figure : mapping
        One of `figures.draw`.

    Returns
    -------
    str
    """
    panels = figure["panels"]
    n_columns = min(COLUMNS, len(panels))
    places, top, width = [], 30, panels[0]["width"] + 20
    for start in range(0, len(panels), n_columns):
        row = panels[start : start + n_columns]
        places += [(i * width, top, panel) for i, panel in enumerate(row)]
        top += max(panel["height"] for panel in row) + 16
    size = (n_columns * width, top + 6)
    return _environment().get_template("figure.svg").render(figure=figure, places=places, size=size)


def _environment() -> Environment:
    """Our templates, and those of the report for its style."""
    environment = page_environment("manyview.study.reproduction", "manyview.report")
    environment.filters["four"] = lambda value: "–" if pd.isna(value) else f"{value:.4f}"
    environment.filters["signed"] = _signed
    environment.filters["whole"] = lambda value: "–" if pd.isna(value) else f"{value:,}"
    return environment


def _signed(value: float) -> str:
    """Four digits with a sign; what rounds to zero has that of zero."""
    return "" if pd.isna(value) else f"{round(value, 4) + 0.0:+.4f}"
