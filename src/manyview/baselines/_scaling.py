"""Scaled views as dense arrays; OMVCDR applies the same scaling on the fly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.base import Allowed, check_parameter, is_count
from manyview.baselines._base import Budget
from manyview.baselines._finish import dense, unit_rows
from manyview.data.conversion import View
from manyview.data.scaling import MAPS, ViewScaling, fit_scalings, scaling_names
from manyview.data.views import MultiViewData
from manyview.kernels.block import ViewRows

Rows: TypeAlias = NDArray[np.floating[Any]]
Scale: TypeAlias = str | Sequence[str] | None
VIEW = Allowed(
    "None or the index of a view",
    lambda x: x is None or (x is not False and (x == 0 or is_count(x))),
)


def scaled_views(data: MultiViewData, scale: Scale, budget: Budget) -> list[Rows]:
    """One dense array per scaled view; dense views without scaling are not copied."""
    names: tuple[str | None, ...] = (None,) if scale is None else scaling_names(scale)
    copied = [X for X in data.arrays if scale is not None or sparse.issparse(X)]
    n_entries = len(names) * sum(X.shape[0] * X.shape[1] for X in copied)
    budget.need(n_entries * data.dtype.itemsize, "the scaled views")
    if scale is None:
        return [dense(X) for X in data.arrays]
    from manyview.kernels.cpu import columns  # numba is slow to import

    weights = np.ones(data.n_samples)
    scalings = fit_scalings(scale, [columns(ViewRows(X), weights) for X in data.arrays])
    return [_scale_rows(data.arrays[scaling.view], scaling) for scaling in scalings]


def joined_views(data: MultiViewData, scale: Scale, view: int | None, budget: Budget) -> Rows:
    """One view, or all views concatenated, as one array."""
    if view is not None:
        last = data.n_views - 1
        check_parameter("view", view, Allowed(f"at most {last}", lambda v: v <= last))
        names, columns = (data.view_names[view],), (data.feature_names[view],)
        data = MultiViewData((data.arrays[view],), names, data.sample_names, columns, None)
    views = scaled_views(data, scale, budget)
    if len(views) == 1:
        return views[0]
    n_entries = data.n_samples * sum(X.shape[1] for X in views)
    budget.need(2 * n_entries * data.dtype.itemsize, "the concatenated views")
    return np.hstack(views)


def _scale_rows(X: View, scaling: ViewScaling) -> Rows:
    """x' = f · (map(x) ∘ scale − offset)."""
    rows: Rows = X.toarray() if isinstance(X, sparse.csr_array) else np.array(X)
    if scaling.map is not None:
        MAPS[scaling.map](rows, out=rows)
    if scaling.scale is not None:
        rows *= scaling.scale.astype(rows.dtype)
    if scaling.offset is not None:
        rows -= scaling.offset.astype(rows.dtype)
    return unit_rows(rows) if scaling.has_unit_rows else rows
