"""How far a result can be believed: structure, stability, confidence, outliers.

Everything that is shown is compared with a null: the same procedure on one blob of the same shape.
"""

from manyview.solver.evidence import Structure

__all__ = ["Structure"]
