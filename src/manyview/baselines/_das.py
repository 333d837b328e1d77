"""Directly alternate sampling: rows that spread over the range of a score."""

import numpy as np

from manyview.utils.types import FloatArray, IntArray

_DIGITS = 12
_SPENT = 1e-300  # of the highest score: below, s(1 − s) no longer distinguishes rows


def alternate_rows(score: FloatArray, n_rows: int) -> IntArray:
    """Indices of rows in ascending order, by directly alternate sampling (DAS).

    Take the highest score, scale it to 1, then s ← s(1 − s): this excludes the row and all
    rows with the same score, and favors rows with half that score. Once no score is left, the
    remaining rows are evenly spaced among those that were not picked.

    Parameters
    ----------
    score : array of shape (n_samples,)
        Scores, all ≥ 0.
    n_rows : int
        Number of rows to pick, at most n_samples.

    Returns
    -------
    array of int of shape (n_rows,)
    """
    # s(1 − s) doubles small differences at every pick: rounding errors would soon pick the rows
    score = np.round(score / max(float(score.max()), _SPENT), _DIGITS)
    is_taken = np.zeros(len(score), dtype=bool)
    for _ in range(n_rows):
        top = int(score.argmax())
        if score[top] <= _SPENT:
            break
        is_taken[top] = True
        score /= score[top]
        score *= 1 - score
    n_left = n_rows - int(is_taken.sum())
    free = np.flatnonzero(~is_taken)
    is_taken[free[np.arange(n_left) * len(free) // max(n_left, 1)]] = True
    rows: IntArray = np.flatnonzero(is_taken)
    return rows
