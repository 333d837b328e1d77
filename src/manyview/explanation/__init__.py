"""Why the clusters of a fit are what they are: a fitted estimator and its data to tables."""

from manyview.explanation.explained import Explained
from manyview.explanation.tables import Explanation, FittedModel

__all__ = ["Explained", "Explanation", "FittedModel"]
