"""Number of clusters, scaling and λ, recommended without labels.

The candidates are judged in `search` and `settings`; the rule that decides is in `choice`.
"""

from manyview.model_selection.choice import Choice
from manyview.model_selection.search import choose

__all__ = ["Choice", "choose"]
