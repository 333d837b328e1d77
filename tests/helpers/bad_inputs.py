"""Input that every method refuses, and a part of the sentence that it gets."""

import numpy as np
import pandas as pd

BAD_INPUTS = {
    "no views": ([], "Received no views"),
    "a list of one view": ([np.ones((9, 2))], "list of one view"),
    "unequal rows": (
        [np.ones((9, 2)), np.ones((8, 2))],
        "'view_1' has 8 rows; view 'view_0' has 9",
    ),
    "NaN in part of a row": (
        [np.ones((9, 2)), np.eye(9, 2) * [np.nan, 1]],
        "NaN in part of row",
    ),
    "inf": ([np.ones((9, 2)), np.full((9, 2), np.inf)], "inf in row 0"),
    "strings": ([np.ones((9, 2)), np.full((9, 2), "a")], "expected numbers"),
    "words in a table": (
        {"a": pd.DataFrame({"x": [1.0] * 9, "name": ["b"] * 9})},
        "not numbers: name",
    ),
    "objects": ([np.ones((9, 2)), np.full((9, 2), "a", dtype=object)], "not numbers"),
    "empty": ([np.ones((0, 2)), np.ones((0, 2))], "0 sample"),
    "no features": ([np.ones((9, 0)), np.ones((9, 2))], "0 feature"),
    "1-D": (np.ones(9), "2-D data"),
    "3-D views": ([np.ones((9, 2, 2)), np.ones((9, 2, 2))], "View 'view_0' has 3 dimensions"),
    "complex": ([np.ones((9, 2)), np.ones((9, 2), complex)], "Complex data not supported"),
    "too few samples": (
        [np.ones((2, 2)), np.ones((2, 2))],
        "n_samples=2, fewer than n_clusters=3",
    ),
    "a row with no view": (
        [np.where(np.arange(9)[:, None] == 4, np.nan, np.ones((9, 2)))] * 2,
        "no view at all",
    ),
    "float32 squares": ([np.full((9, 2), 1e20, np.float32)] * 2, "squares overflow float32"),
    "float64 squares": ([np.full((9, 2), 1e160)] * 2, "squares overflow float64"),
}
