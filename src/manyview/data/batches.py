"""Batch means taken off the views: each batch then has the mean of all samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError

FEWEST = 2  # samples of a batch whose mean is taken off


def center_batches(data: MultiViewData, batch: pd.Series) -> MultiViewData:
    """Move the mean of each batch to the mean of all samples, view by view.

    Parameters
    ----------
    data : MultiViewData
        Dense views in memory.
    batch : Series of shape (n_samples,)
        Batch of each sample, in their order.

    Returns
    -------
    MultiViewData
        New views; missing rows stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from manyview import MultiViewData
    >>> from manyview.data import center_batches
    >>> data = MultiViewData.of([[[1.0, 1.0], [3.0, 1.0], [11.0, 1.0], [13.0, 1.0]]])
    >>> center_batches(data, pd.Series(["a", "a", "b", "b"])).views[0][:, 0].tolist()
    [6.0, 8.0, 6.0, 8.0]
    """
    if batch.isna().any():
        n = int(batch.isna().sum())
        msg = f"{n} samples have no batch ({batch.name!r}); expected one for each. Fill them in."
        raise ViewError(msg)
    sizes = batch.value_counts()
    if sizes.min() < FEWEST:
        msg = (
            f"Batch {sizes.idxmin()!r} has one sample, which would become the mean; expected at "
            "least two. Merge it with another batch, or leave the sample out."
        )
        raise ViewError(msg)
    codes = batch.astype("category").cat.codes.to_numpy()
    views = tuple(
        _centered(view, name, codes, None if data.present is None else data.present[:, v])
        for v, (view, name) in enumerate(zip(data.views, data.view_names, strict=True))
    )
    return replace(data, views=views)


def _centered(
    view: Any, name: str, codes: NDArray[Any], present: NDArray[np.bool_] | None
) -> NDArray[Any]:
    if sparse.issparse(view) or not isinstance(view, np.ndarray):
        msg = (
            f"View {name!r} is {'sparse' if sparse.issparse(view) else 'on disk'}; batch means are "
            "taken off dense views in memory only. Correct it before, or leave the option out."
        )
        raise ViewError(msg)
    has_it = np.ones(len(view), dtype=bool) if present is None else present
    found = view.copy()
    overall = view[has_it].mean(axis=0, dtype=np.float64)
    for code in np.unique(codes):
        rows = has_it & (codes == code)
        if rows.any():
            found[rows] -= (view[rows].mean(axis=0, dtype=np.float64) - overall).astype(view.dtype)
    return found
