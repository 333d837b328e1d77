"""Time and memory of a fit before it is run, estimated from a fit of a subset.

The sizes of arrays come from `solver.footprint`; nothing here is used by a fit.
"""

from manyview.cost.estimate import CostEstimate, estimate_cost

__all__ = ["CostEstimate", "estimate_cost"]
