"""Time and memory of a fit, before it is run."""

from manyview.cost.estimate import CostEstimate, estimate_cost

__all__ = ["CostEstimate", "estimate_cost"]
