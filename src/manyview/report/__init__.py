"""The report of a fit: a fit to a dict of plain values, and the dict to one HTML page.

Everything that a page shows is in the dict, so that JSON holds all of it. Tables and the map come
from `inspection`.
"""

from manyview.report.fit import describe_fit
from manyview.report.html import render_fit

__all__ = ["describe_fit", "render_fit"]
