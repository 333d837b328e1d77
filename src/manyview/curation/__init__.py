"""Curation of data sets: near-duplicates by all views, and balanced subsets.

Views are read block by block; nothing here fits a model.
"""

from manyview.curation.thinning import Thinned, thin

__all__ = ["Thinned", "thin"]
