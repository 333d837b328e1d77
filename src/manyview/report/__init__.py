"""What a clustering found: fits to a dict of plain values, the dict to a page or to a terminal."""

from manyview.report.fit import describe_fit
from manyview.report.html import render, render_fit
from manyview.report.summary import Outcome, summarize

__all__ = ["Outcome", "describe_fit", "render", "render_fit", "summarize"]
