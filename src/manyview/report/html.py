"""The dict of a summary to one page that needs nothing else: no network, hardly any script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manyview.pages import page_environment
from manyview.report.drawing import N_COLORS, place_curve, place_map
from manyview.report.summary import MEASURES

__all__ = ["SECTIONS", "render"]

# In the order of the page; each has a template section-<name>.html and a part of the summary.
SECTIONS = ("data", "methods", "objective", "weights", "map", "clusters", "run")


def render(summary: Mapping[str, Any]) -> str:
    """Write a summary as one self-contained HTML page.

    Parameters
    ----------
    summary : mapping
        As `summarize` returns it. A section whose part is missing is left out.

    Returns
    -------
    str
        The page. Text and drawings need no JavaScript; the notes on the map are better with it.
    """
    environment = page_environment("manyview.report")
    environment.filters["percent"] = lambda share: f"{share:.0%}"
    return environment.get_template("base.html").render(
        summary,
        sections=[name for name in SECTIONS if name in summary],
        measures=MEASURES,
        n_colors=N_COLORS,
        drawn=_drawn(summary),
    )


def _drawn(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Positions for the sections that draw."""
    drawn = {}
    if "objective" in summary:
        drawn["objective"] = place_curve(summary["objective"]["history"])
    if "map" in summary:
        drawn["map"] = place_map(summary["map"], summary["clusters"])
    return drawn
