"""From files to views: tables of any common format, read, turned, matched by name and checked."""

from manyview.tables.reading import Intake, read_views

__all__ = ["Intake", "read_views"]
