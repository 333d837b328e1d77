"""How many clusters there are, told without labels."""

from manyview.model_selection.choice import Choice
from manyview.model_selection.choosing import choose

__all__ = ["Choice", "choose"]
