"""Explain a fit: tables and plots from a fitted estimator and its data.

Nothing here changes a fit or writes files.
"""

from manyview.inspection.association import Associations, associate
from manyview.inspection.explain import Explanation, FittedModel

__all__ = ["Associations", "Explanation", "FittedModel", "associate"]
