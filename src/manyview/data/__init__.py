"""The data model: `MultiViewData`, its input formats, rows on disk, and scaling.

Input is validated here and in `base`, nowhere below. To add a format of rows on disk, write its
class in `array_files` or `column_files` and register it in `opening`; for a scaling see `scaling`.
"""

from manyview.data.batches import center_batches
from manyview.data.opening import open_rows
from manyview.data.rows import Rows

__all__ = ["Rows", "center_batches", "open_rows"]
