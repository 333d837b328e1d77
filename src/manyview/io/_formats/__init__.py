"""Files to tables, one module a family of formats; `by_ending` finds the reader by the ending.

Nothing here matches samples or decides which tables are views.
"""

from manyview.io._formats.by_ending import (
    LabeledValues,
    has_obs,
    is_sheet,
    read_path,
    read_sheets,
)

__all__ = ["LabeledValues", "has_obs", "is_sheet", "read_path", "read_sheets"]
