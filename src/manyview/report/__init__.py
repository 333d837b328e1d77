"""What a clustering found: fits to a dict of plain values, the dict to a page or to a terminal."""

from manyview.report.html import render
from manyview.report.summary import Outcome, summarize

__all__ = ["Outcome", "render", "summarize"]
