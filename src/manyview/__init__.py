"""manyview: clustering of samples that several views describe.

>>> from manyview import OMVCDR
>>> labels = OMVCDR(n_clusters=3).fit_predict([rna, protein])  # doctest: +SKIP
"""

from manyview._version import __version__
from manyview.cost import estimate_cost
from manyview.data.opening import open_rows
from manyview.data.views import MultiViewData
from manyview.omvcdr import OMVCDR
from manyview.persistence.checkpoint import remove_checkpoint

__all__ = [
    "OMVCDR",
    "MultiViewData",
    "__version__",
    "estimate_cost",
    "open_rows",
    "remove_checkpoint",
]
