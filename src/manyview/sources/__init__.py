"""Views whose rows stay on disk until they are asked for.

`open_rows` opens files of many kinds as `Rows`, which the data model takes wherever it takes an
array. To add a format, write its class in `formats` or `columns` and name it in `opening`.
"""

from manyview.sources.opening import open_rows
from manyview.sources.rows import Rows

__all__ = ["Rows", "open_rows"]
