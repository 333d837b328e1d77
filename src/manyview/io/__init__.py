"""From files to views: read tables of any common format, match samples by name, check them."""

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
]
