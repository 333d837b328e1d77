"""Explain a fit: tables and plots from a fitted estimator and its data.

Nothing here changes a fit or writes files.
"""

from manyview.inspection.association import Associations, associate
from manyview.inspection.explain import Explanation, FittedModel
from manyview.inspection.survival import KaplanMeier, LogRank, compare_survival, log_rank

__all__ = [
    "Associations",
    "Explanation",
    "FittedModel",
    "KaplanMeier",
    "LogRank",
    "associate",
    "compare_survival",
    "log_rank",
]
