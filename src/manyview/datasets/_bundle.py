"""The return value of loaders."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from manyview.data.views import MultiViewData


def bundle(
    views: Mapping[str, object],
    target: NDArray[np.int64] | None,
    description: str,
    *,
    as_pair: bool,
) -> Bunch:
    """Views, labels and a description with sizes as a Bunch, or as (data, target)."""
    data = MultiViewData.of(views)
    if as_pair:
        return data, target
    sizes = zip(data.view_names, data.n_features, strict=True)
    listed = ", ".join(f"{name} ({width})" for name, width in sizes)
    classes = "no labels" if target is None else f"{np.unique(target).size} classes"
    return Bunch(
        data=data,
        target=target,
        view_names=data.view_names,
        DESCR=f"{description}\n\n{data.n_samples} samples, {classes}. Views (features): {listed}.",
    )
