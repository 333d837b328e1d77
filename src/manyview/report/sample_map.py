"""The map of the samples, packed as base64, so that a page can hold 100 000 points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.inspection import Explanation
from manyview.report.colorings import describe_colorings
from manyview.report.packing import as_base64, shorten
from manyview.utils.types import FloatArray

SPAN = 65_534  # coordinates are integers from 0 to this
NOWHERE = 65_535  # the coordinate of a sample without the view
MOST_VIEWS = 8  # with a map of their own: those with the largest weights
STRAY = 0.002  # share of the samples at each end that may be clipped to the border of the map


def describe_map(
    explanation: Explanation,
    data: MultiViewData,
    view_weights: FloatArray,
    classes: pd.Series | None = None,
    meta: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Pack the map of an explanation.

    Parameters
    ----------
    explanation : Explanation
        Explanation of the fit, with the map.
    data : MultiViewData
        The samples of the fit.
    view_weights : array of shape (n_views,)
        Weights of the views; those with the largest weights get a map of their own.
    classes : pandas.Series, optional
        Known classes, as `as_classes` returns them.
    meta : DataFrame of shape (n_samples, n_columns), optional
        Metadata to color the map by.

    Returns
    -------
    dict
        `n_drawn`; in base64 `cluster` (uint32), `confidence` (uint8, 255 is 1) and `position`
        (uint32); `layouts`, each with a name and `xy` (uint16: x, y, x, y and so on; 65535 if
        the sample lacks the view); `present`, for each view that some samples lack, as uint8;
        `names` or None; `colorings`, as `describe_colorings` returns them; and `classes` or None:
        the name of the column, the names of the classes and the code of each sample (uint32),
        which is the number of classes if the class is unknown.
    """
    places, rows = explanation.map, explanation.map["position"].to_numpy()
    heaviest = sorted(np.argsort(-view_weights, kind="stable")[:MOST_VIEWS])
    shown = [data.view_names[v] for v in heaviest]
    layouts = [
        ("all views", places),
        ("all views, principal axes", explanation.axes_map),
        *((name, explanation.view_maps[name]) for name in shown),
    ]
    return {
        "n_drawn": len(places),
        "cluster": as_base64(places["cluster"].to_numpy(), np.uint32),
        "confidence": as_base64(np.rint(255 * places["confidence"].to_numpy()), np.uint8),
        "position": as_base64(rows, np.uint32),
        "layouts": [
            {"name": name, "xy": as_base64(_quantized(table[["x", "y"]].to_numpy()), np.uint16)}
            for name, table in layouts
        ],
        "present": _presence(data, rows),
        "names": None if data.sample_names is None else shorten(places.index),
        "colorings": describe_colorings(explanation, data, meta),
        "classes": None if classes is None else _classes(classes.iloc[rows]),
    }


def _classes(classes: pd.Series) -> dict[str, Any]:
    names, codes = classes.cat.categories, classes.cat.codes.to_numpy()
    codes = np.where(codes < 0, len(names), codes)
    return {"name": classes.name, "names": shorten(names), "codes": as_base64(codes, np.uint32)}


def _presence(data: MultiViewData, rows: NDArray[np.intp]) -> list[dict[str, str]]:
    if data.present is None:
        return []
    return [
        {"view": name, "flags": as_base64(data.present[rows, v], np.uint8)}
        for v, name in enumerate(data.view_names)
        if not data.present[:, v].all()
    ]


def _quantized(points: FloatArray) -> FloatArray:
    """Integer coordinates, centered, with equal scales on both axes; outliers are clipped."""
    known = points[~np.isnan(points[:, 0])]
    if len(known) == 0:
        return np.full(points.shape, float(NOWHERE))
    low, high = np.quantile(known, [STRAY, 1 - STRAY], axis=0)
    low = np.maximum(low - 0.25 * (high - low), known.min(axis=0))
    high = np.minimum(high + 0.25 * (high - low), known.max(axis=0))
    reach = float((high - low).max()) or 1.0
    placed: FloatArray = (points - (low + high) / 2) / reach + 0.5
    placed[:, 1] = 1 - placed[:, 1]  # on a page, y points downwards
    return np.asarray(np.nan_to_num(np.rint(np.clip(placed, 0, 1) * SPAN), nan=NOWHERE))
