"""From files to views: tables of any common format, read, oriented, matched by name and checked.

Results also go into AnnData and MuData from here. Arrays in memory and rows on disk belong to
`data`.
"""

from manyview.io._formats.text import write_csv, write_labels
from manyview.io.metadata import Meta, read_meta
from manyview.io.new_samples import FittedView, read_new_samples
from manyview.io.on_disk import open_views
from manyview.io.tables import LoadedViews, read_views

__all__ = [
    "FittedView",
    "LoadedViews",
    "Meta",
    "open_views",
    "read_meta",
    "read_new_samples",
    "read_views",
    "write_csv",
    "write_labels",
]
