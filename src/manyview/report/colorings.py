"""What the map can be colored by: columns of the metadata, and the features that differ most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.inspection import Explanation
from manyview.inspection.association import is_numeric
from manyview.inspection.features import feature_values
from manyview.report.packing import as_base64, shorten
from manyview.utils.types import FloatArray

UNKNOWN = 255  # the code of an unknown value; numbers have 0 to 254
N_CODES = 200_000  # of all features together, so that the page stays small
LEAST_FEATURES = 12
MOST_FEATURES = 1000
MOST_COLUMNS = 100
MOST_CATEGORIES = 200
TAIL = 0.01  # share of the values at each end that have the color of the end
GROUP = "metadata"


def describe_colorings(
    explanation: Explanation, data: MultiViewData, meta: pd.DataFrame | None
) -> dict[str, Any]:
    """Pack colors of the samples of the map.

    Parameters
    ----------
    explanation : Explanation
        Explanation of the fit, with the map.
    data : MultiViewData
        The samples of the fit.
    meta : DataFrame, optional
        Metadata of all samples.

    Returns
    -------
    dict
        `n_features` of the data, and `items`: each has name, group (the view, or "metadata") and
        codes (uint8 in base64; 255 is unknown), and either names of the categories or low and
        high, the values of the codes 0 and 254.
    """
    rows = explanation.map["position"].to_numpy()
    columns = [] if meta is None else list(_columns(meta.iloc[rows]))
    return {
        "n_features": sum(data.n_features),
        "items": [*columns, *_features(explanation, data, rows)],
    }


def _columns(meta: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Columns of numbers, and of few categories."""
    n_found = 0
    for j, name in enumerate(map(str, meta.columns)):
        column = meta.iloc[:, j].replace([np.inf, -np.inf], np.nan)
        n_values = column.nunique()
        if n_values < 2 or n_found == MOST_COLUMNS:
            continue
        if is_numeric(column.dropna()):
            n_found += 1
            yield {
                "name": name,
                "group": GROUP,
                **_numbers(column.to_numpy(float, na_value=np.nan)),
            }
        elif n_values <= MOST_CATEGORIES:
            n_found += 1
            yield {"name": name, "group": GROUP, **_categories(column)}


def _categories(column: pd.Series) -> dict[str, Any]:
    known = column.dropna()
    if pd.api.types.is_float_dtype(known.dtype):  # all integers: shown without a decimal point
        known = known.astype(int)
    codes = pd.Categorical(known)
    everyone = np.full(len(column), UNKNOWN)
    everyone[column.notna().to_numpy()] = codes.codes
    return {"names": shorten(pd.Index(codes.categories)), "codes": as_base64(everyone, np.uint8)}


def _numbers(values: FloatArray) -> dict[str, Any]:
    """Numbers in 255 steps between the ends, beyond which there are few."""
    known = values[np.isfinite(values)]
    low, high = np.quantile(known, [TAIL, 1 - TAIL]) if len(known) else (0.0, 0.0)
    if low == high and len(known):
        low, high = known.min(), known.max()
    steps = np.clip((values - low) / ((high - low) or 1.0), 0, 1) * (UNKNOWN - 1)
    codes = np.nan_to_num(np.rint(steps), nan=UNKNOWN)
    return {"low": float(low), "high": float(high), "codes": as_base64(codes, np.uint8)}


def _features(
    explanation: Explanation, data: MultiViewData, rows: NDArray[np.intp]
) -> Iterator[dict[str, Any]]:
    """The features that differ most between clusters, by view."""
    strength = [profile.strength.max(axis=0) for profile in explanation.profiles.values()]
    n_most = int(np.clip(N_CODES // len(rows), LEAST_FEATURES, MOST_FEATURES))
    ordered = np.argsort(-np.concatenate(strength), kind="stable")[:n_most]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in strength])])
    for v, (view, profile) in enumerate(explanation.profiles.items()):
        columns = np.sort(ordered[(ordered >= starts[v]) & (ordered < starts[v + 1])]) - starts[v]
        names = shorten(pd.Index(profile.names[columns]))
        values = feature_values(data, v, rows, columns)
        for j, name in enumerate(names):
            yield {"name": name, "group": view, **_numbers(values[:, j])}
