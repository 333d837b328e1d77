"""Time and memory of a fit, before it is run."""

from manyview.estimation.estimating import Estimate, estimate

__all__ = ["Estimate", "estimate"]
