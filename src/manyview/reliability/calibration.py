"""Confidence: the margin of a label relative to the margins that labels in one blob have.

A label has the confidence

    1 − (share of labels in one blob with at least its margin) / (the same share in the fit),

so 0 where one blob has as many labels of such a margin, 1 where it has none. Margins of the fit
and of a blob are compared on a subset, where both are measured in the same way; there, a sample has
the rank that its margin has among all samples.
"""

from __future__ import annotations

import numpy as np

from manyview.solver.evidence import Calibration
from manyview.utils.types import FloatArray, IntArray

N_KNOTS = 101
TINY = float(np.finfo(np.float64).tiny)


def calibrate(margins: FloatArray, subset: FloatArray, null: FloatArray) -> Calibration:
    """Calibration of the margins of all samples, by those of a subset and of blobs."""
    levels = np.linspace(0, 1, N_KNOTS)
    share = np.maximum(1 - levels, 1 / len(subset))  # of the labels of the fit
    at = np.quantile(subset, levels)
    null_share = 1 - np.searchsorted(np.sort(null), at, side="left") / len(null)
    confidence = np.maximum.accumulate(1 - np.minimum(null_share / share, 1))
    return Calibration(np.quantile(margins, levels), confidence)


def memberships(costs: FloatArray, labels: IntArray, confidence: FloatArray) -> FloatArray:
    """The label with its confidence, the rest shared by inverse costs: (n, k)."""
    least: FloatArray = costs.min(axis=1, keepdims=True) + TINY
    shares: FloatArray = least / (costs + TINY)  # (n, k), at most one
    shares *= ((1 - confidence) / shares.sum(axis=1))[:, None]
    shares[np.arange(len(labels)), labels] += confidence
    return shares
