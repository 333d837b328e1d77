"""How many clusters there are, told without labels."""

from manyview.model_selection.choice import Choice
from manyview.model_selection.search import choose

__all__ = ["Choice", "choose"]
