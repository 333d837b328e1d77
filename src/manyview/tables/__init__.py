"""From files to views: tables of any common format, read, turned, matched by name and checked."""

from manyview.tables.known import KnownView, read_known
from manyview.tables.meta import Meta, read_meta
from manyview.tables.reading import Intake, read_views
from manyview.tables.stored import open_views

__all__ = ["Intake", "KnownView", "Meta", "open_views", "read_known", "read_meta", "read_views"]
