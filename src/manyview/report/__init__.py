"""What a clustering found: a fit to a dict of plain values, and the dict to a page."""

from manyview.report.fit import describe_fit
from manyview.report.html import render_fit

__all__ = ["describe_fit", "render_fit"]
