"""Scaled views as dense arrays; OMVCDR applies the same scaling on the fly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.base import Allowed, check_parameter, is_count
from manyview.baselines._base import Budget
from manyview.baselines._finish import dense
from manyview.data.scaling import n_scalings
from manyview.data.views import MultiViewData
from manyview.engines import choose_engine
from manyview.solver.scaled_rows import apply_scalings, find_scalings

Rows: TypeAlias = NDArray[np.floating[Any]]
Scale: TypeAlias = str | Sequence[str] | None
VIEW = Allowed(
    "None or the index of a view",
    lambda x: x is None or (x is not False and (x == 0 or is_count(x))),
)


def scaled_views(data: MultiViewData, scale: Scale, budget: Budget) -> list[Rows]:
    """One dense array per scaled view; dense views without scaling are not copied."""
    copied = [X for X in data.arrays if scale is not None or sparse.issparse(X)]
    n_entries = n_scalings(scale) * sum(X.shape[0] * X.shape[1] for X in copied)
    budget.need(n_entries * data.dtype.itemsize, "the scaled views")
    if scale is None:
        return [dense(X) for X in data.arrays]
    engine = choose_engine("memory", "cpu", data)
    engine.load(data, None)
    scalings = find_scalings(engine, engine, scale, data.n_views)
    apply_scalings(engine, scalings)
    from manyview.kernels.products import scaled_rows  # numba is slow to import

    blocks = engine.sample(data.n_samples, np.random.default_rng(0))  # all of them
    return [
        np.vstack([scaled_rows(block.views[r]) for block in blocks]) for r in range(len(scalings))
    ]


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
