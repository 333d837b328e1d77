"""Why the clusters of a fit are what they are: a fitted estimator and its data to tables and plots.

Nothing here changes a fit, and nothing here writes files.
"""

from manyview.inspection.association import Associations, associate
from manyview.inspection.explain import Explanation, FittedModel

__all__ = ["Associations", "Explanation", "FittedModel", "associate"]
