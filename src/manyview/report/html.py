"""Renders a dict as one self-contained page; only the map needs JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment

from manyview.report.dendrogram import draw_hierarchy
from manyview.report.methods import write_methods
from manyview.report.survival_plot import draw_survival
from manyview.report.svg import svg_link
from manyview.report.truth import MEASURES
from manyview.report.wording import as_percent, tell_findings, title_of
from manyview.utils.pages import page_environment

# In the order of the page, each with its template. A section whose entry of the dict is missing or
# empty is left out; "samples" shows the entry "clusters".
SECTIONS = (
    *(
        "clusters",
        "truth",
        "survival",
        "confidence",
        "silhouettes",
        "hierarchy",
        "map",
        "weights",
        "heatmap",
    ),
    *("samples", "outliers", "meta", "objective", "data", "run"),
)
CONTENTS = {  # what the table of contents calls them
    "clusters": "Clusters",
    "truth": "Known classes",
    "survival": "Survival",
    "confidence": "Confidence",
    "silhouettes": "Silhouettes",
    "hierarchy": "Hierarchy",
    "map": "Map",
    "weights": "Views",
    "heatmap": "Features",
    "samples": "Typical samples",
    "outliers": "Outliers",
    "meta": "Metadata",
    "objective": "Convergence",
    "data": "Data",
    "run": "Methods",
}
N_COLORS = 10  # of the palette in style.css
MANY = 30  # clusters, beyond which tables scroll in boxes and are searched and sorted


def render_fit(result: Mapping[str, Any]) -> str:
    """Render a described fit as one self-contained HTML page.

    Parameters
    ----------
    result : mapping
        As `describe_fit` returns it, or as decoded from its JSON.

    Returns
    -------
    str
        The page. All but the map works without JavaScript.
    """
    given = {
        "truth": None,
        "structure": None,
        "sizes": None,
        "survival": None,
        "batch": None,
        "shown": None,
        **result,
    }  # older versions lack these entries
    truth = given["truth"] or {"table": {"rows": ()}, "methods": [{"metrics": {}}]}
    rows, scores = truth["table"]["rows"], truth["methods"][0]["metrics"]
    return (
        _environment()
        .get_template("base.html")
        .render(
            given,
            title=title_of(result),
            sections=[name for name in SECTIONS if given.get(name, name == "samples")],
            contents=CONTENTS,
            methods=write_methods(result),
            n_colors=N_COLORS,
            is_many=len(result["clusters"]) > MANY,
            measures={key: title for key, title in MEASURES.items() if key in scores},
            words=tell_findings(result),
            main_classes={row["cluster"]: row["main"] for row in rows},
        )
    )


@cache  # templates are compiled once
def _environment() -> Environment:
    environment = page_environment("manyview.report")
    environment.filters["percent"] = as_percent
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["short"] = _short
    environment.filters["tenths"] = lambda number: f"{round(number, 1) + 0.0:.1f}".replace("-", "−")
    environment.filters["signed"] = lambda number: f"{round(number, 1) + 0.0:+.1f}".replace(
        "-", "−"
    )
    environment.filters["chance"] = _chance
    environment.filters["size"] = _size
    environment.filters["cell"] = _cell
    environment.filters["curves"] = draw_survival
    environment.filters["dendrogram"] = draw_hierarchy
    environment.filters["svg_link"] = svg_link
    return environment


def _short(number: float | None) -> str:
    """Three significant digits, or all digits of an integer part; None is a dash."""
    if number is None:
        return "–"
    is_long = 1000 <= abs(number) < 1e7
    return (f"{number:,.0f}" if is_long else f"{number:.3g}").replace("-", "−")


def _chance(p: float | None) -> str:
    """Format a p-value; below 1e-15, only that bound."""
    return "<1e−15" if p is not None and p < 1e-15 else _short(p)


def _cell(value: Any) -> str:
    """Format a plain value as the text of a cell; an empty one is a dash."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_count else "–" if value in (None, "") else str(value)


def _size(n_bytes: float) -> str:
    """Bytes as MB or GB."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
