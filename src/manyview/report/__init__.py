"""The report of a fit: converts a fit to a dict of plain values, and the dict to an HTML page.

The page shows nothing that is not in the dict, so its JSON file is complete. The tables and the map
are computed in `inspection`.
"""

from manyview.report.fit import describe_fit
from manyview.report.html import render_fit

__all__ = ["describe_fit", "render_fit"]
