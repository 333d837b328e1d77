"""OMVCDR, the flagship estimator: parameters and fits, and what a fitted model does."""

from manyview.omvcdr.estimator import OMVCDR

__all__ = ["OMVCDR"]
