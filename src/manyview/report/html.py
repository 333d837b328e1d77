"""A dict to one page that needs nothing else: no network, and a script for the map alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment

from manyview.report.drawing import N_COLORS, place_bars, place_curve
from manyview.report.summary import MEASURES
from manyview.report.wording import as_percent, count_clusters, tell_findings
from manyview.utils.pages import page_environment

__all__ = ["FIT_SECTIONS", "SECTIONS", "render", "render_fit"]

# Sections by name, each with its template, in the order of the page. A section whose part of the
# dict is missing or None is left out; one that is of no part is always there.
SECTIONS = {
    name: f"section-{name}.html"
    for name in ("data", "methods", "objective", "weights", "map", "clusters", "run")
}
FIT_SECTIONS = {
    "clusters": "fit-clusters.html",
    "confidence": "fit-confidence.html",
    "map": "section-map.html",
    "weights": "fit-weights.html",
    "heatmap": "fit-features.html",
    "samples": "fit-samples.html",
    "meta": "fit-meta.html",
    "objective": "section-objective.html",
    "data": "fit-data.html",
    "run": "fit-run.html",
}


def render(summary: Mapping[str, Any]) -> str:
    """Write a summary as one self-contained HTML page.

    Parameters
    ----------
    summary : mapping
        As `summarize` returns it. A section whose part is missing is left out.

    Returns
    -------
    str
        The page. All but the map can be read without JavaScript.
    """
    data = summary["data"]
    drawn = {}
    if "objective" in summary:
        drawn["objective"] = place_curve(summary["objective"]["history"])
    return (
        _environment()
        .get_template("base.html")
        .render(
            summary,
            title=f"{data['n_samples']} {data['topic']} in {data['n_clusters']} clusters",
            sections={name: path for name, path in SECTIONS.items() if name in summary},
            measures=MEASURES,
            n_colors=N_COLORS,
            drawn=drawn,
        )
    )


def render_fit(result: Mapping[str, Any]) -> str:
    """Write a described fit as one self-contained HTML page.

    Parameters
    ----------
    result : mapping
        As `describe_fit` returns it; JSON in between changes nothing.

    Returns
    -------
    str
        The page. All but the map can be read without JavaScript.
    """
    data, confidence = result["data"], result["confidence"]
    is_given = {name: result.get(name, ()) is not None for name in FIT_SECTIONS}
    is_given["meta"] = bool(result.get("meta"))  # columns that could not be tested are in the notes
    return (
        _environment()
        .get_template("base.html")
        .render(
            result,
            title=f"{data['n_samples']:,} samples in {count_clusters(data['n_clusters'])}",
            sections={name: path for name, path in FIT_SECTIONS.items() if is_given[name]},
            n_colors=N_COLORS,
            pictures=None,
            words=tell_findings(result),
            drawn={
                "objective": place_curve(result["objective"]["history"]),
                "confidence": place_bars(confidence["histogram"]),
            },
        )
    )


def _environment() -> Environment:
    environment = page_environment("manyview.report")
    environment.filters["percent"] = as_percent
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["short"] = _short
    environment.filters["tenths"] = lambda number: f"{round(number, 1) + 0.0:.1f}".replace("-", "−")
    environment.filters["chance"] = _chance
    environment.filters["size"] = _size
    environment.filters["cell"] = _cell
    return environment


def _short(number: float | None) -> str:
    """Three digits that count or all whole ones, a true minus; what has no number is a dash."""
    if number is None:
        return "–"
    is_long = 1000 <= abs(number) < 1e7
    return (f"{number:,.0f}" if is_long else f"{number:.3g}").replace("-", "−")


def _chance(p: float | None) -> str:
    """A p-value; below what a computer can tell from nothing, only that."""
    return "<1e−15" if p is not None and p < 1e-15 else _short(p)


def _cell(value: Any) -> str:
    """Anything plain, as the text of a cell; nothing is a dash."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_count else "–" if value in (None, "") else str(value)


def _size(n_bytes: float) -> str:
    """Bytes as MB or GB."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
