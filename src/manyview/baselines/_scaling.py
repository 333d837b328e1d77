"""Views as dense arrays, read as `scale` says: what OMVCDR applies on the fly, materialized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.base import check_parameter, is_count
from manyview.baselines._base import Budget
from manyview.baselines._finish import dense, unit_rows
from manyview.blocks import ViewRows
from manyview.readings import SCALINGS, Reading, fit_readings, is_scale, scalings
from manyview.views import MultiViewData, View

__all__ = [
    "Rows",
    "Scale",
    "check_scale",
    "check_view",
    "joined_views",
    "scaled_views",
]

Rows: TypeAlias = NDArray[np.floating[Any]]
Scale: TypeAlias = str | Sequence[str] | None


def check_scale(scale: Scale, *others: str) -> None:
    """Refuse a `scale` that no reading stands for; `others` are names that a method adds."""
    added = "".join(f", {other!r}" for other in others)
    expected = f"None, 'auto'{added}, one of {SCALINGS} or a list of those"
    check_parameter("scale", scale, is_scale(scale, *others), expected)


def check_view(view: int | None) -> None:
    """Refuse a `view` that is no index."""
    is_index = view is None or (view is not False and (view == 0 or is_count(view)))
    check_parameter("view", view, is_index, "None or the index of a view")


def scaled_views(data: MultiViewData, scale: Scale, budget: Budget) -> list[Rows]:
    """One dense array a reading; views that are dense and taken as given are not copied."""
    names: tuple[str | None, ...] = (None,) if scale is None else scalings(scale)
    copied = [X for X in data.arrays if scale is not None or sparse.issparse(X)]
    n_entries = len(names) * sum(X.shape[0] * X.shape[1] for X in copied)
    budget.need(n_entries * data.dtype.itemsize, "the scaled views")
    if scale is None:
        return [dense(X) for X in data.arrays]
    from manyview.kernels.cpu import columns  # numba is slow to import

    weights = np.ones(data.n_samples)
    readings = fit_readings(scale, [columns(ViewRows(X), weights) for X in data.arrays])
    return [_read(data.arrays[reading.view], reading) for reading in readings]


def joined_views(data: MultiViewData, scale: Scale, view: int | None, budget: Budget) -> Rows:
    """One view, or all side by side, as one array."""
    if view is not None:
        check_parameter("view", view, view < data.n_views, f"at most {data.n_views - 1}")
        names, columns = (data.view_names[view],), (data.feature_names[view],)
        data = MultiViewData((data.arrays[view],), names, data.sample_names, columns, None)
    views = scaled_views(data, scale, budget)
    if len(views) == 1:
        return views[0]
    n_entries = data.n_samples * sum(X.shape[1] for X in views)
    budget.need(2 * n_entries * data.dtype.itemsize, "the views side by side")
    return np.hstack(views)


def _read(X: View, reading: Reading) -> Rows:
    """x' = f · (map(x) ∘ scale − offset)."""
    rows: Rows = X.toarray() if isinstance(X, sparse.csr_array) else np.array(X)
    if reading.takes_root:
        np.sqrt(rows, out=rows)
    if reading.scale is not None:
        rows *= reading.scale.astype(rows.dtype)
    if reading.offset is not None:
        rows -= reading.offset.astype(rows.dtype)
    return unit_rows(rows) if reading.has_unit_rows else rows
