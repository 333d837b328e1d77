"""Significance of a statistic by its values on a few references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

LEAST_SPREAD = 1e-3  # of the references: a statistic is not more precise than this


def p_value(found: float, references: Sequence[float]) -> float:
    """Chance that another reference is as large, one-sided, from a fitted tail.

    The references are taken to be normal, with mean and variance estimated from them: the p-value
    is the tail of Student's t for one more observation. Few references give large p-values, but
    there is no smallest one, as there would be if ranks were counted.

    Parameters
    ----------
    found : float
        The statistic.
    references : sequence of at least two floats
        Its values under the null hypothesis.

    Returns
    -------
    float
    """
    values = np.asarray(references, dtype=np.float64)
    spread = max(float(values.std(ddof=1)), LEAST_SPREAD)
    t = (found - values.mean()) / (spread * np.sqrt(1 + 1 / len(values)))
    return float(stats.t.sf(t, len(values) - 1))
