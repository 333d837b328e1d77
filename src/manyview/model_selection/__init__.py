"""Choice of the number of clusters, the scaling and λ, without labels."""

from manyview.model_selection.choice import Choice
from manyview.model_selection.search import choose

__all__ = ["Choice", "choose"]
