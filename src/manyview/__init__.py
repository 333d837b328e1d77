"""manyview: clustering of samples that several views describe.

>>> from manyview import OMVCDR
>>> labels = OMVCDR(n_clusters=3).fit_predict([rna, protein])  # doctest: +SKIP
"""

from manyview.estimation import estimate
from manyview.estimator import OMVCDR
from manyview.sources import open_rows
from manyview.views import MultiViewData

__all__ = ["OMVCDR", "MultiViewData", "estimate", "open_rows"]

__version__ = "0.1.0"
