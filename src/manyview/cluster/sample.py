"""The sample that stands for the rows of a fit on a cluster, wherever rows are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.engines.cluster import is_client
from manyview.utils.types import FloatArray, IntArray

Model = TypeVar("Model")


@dataclass(frozen=True)
class Sample:
    """Rows of a fit that are here: for reports, and for what its labels are worth."""

    rows: IntArray  # which of all
    data: MultiViewData
    labels: NDArray[np.int32]
    margins: FloatArray
    outlier_scores: FloatArray


def with_sample(model: Model) -> Model:
    """A fitted model, with the sample in place of rows on a cluster."""
    if "_sample" not in vars(model):
        return model
    sample: Sample = vars(model)["_sample"]
    own: Any = _copied(model)
    own.engine = "dask" if is_client(own.engine) else own.engine
    own.labels_, own._margins = sample.labels, sample.margins
    own.outlier_score_, own._data = sample.outlier_scores, sample.data
    own.view_counts_ = sample.data.view_rows
    found: Model = own
    return found


def _copied(model: Any) -> Any:
    """A shallow copy, past what pickles do."""
    own = type(model)()
    own.__dict__.update(
        {
            name: value
            for name, value in vars(model).items()
            if name not in ("_sample", "confidence_")
        }
    )
    return own


def clone_with_client(model: Model, clone: Callable[[], Any]) -> Model:
    """An unfitted copy with the same client, which cannot be copied."""
    engine = vars(model)["engine"]
    vars(model)["engine"] = "dask" if is_client(engine) else engine
    try:
        found = clone()
    finally:
        vars(model)["engine"] = engine
    if is_client(engine):
        found.engine = engine
    copied: Model = found
    return copied
