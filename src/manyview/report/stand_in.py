"""A page and its twin until the report of a fit is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from manyview.estimator import OMVCDR
from manyview.views import MultiViewData

__all__ = ["describe_fit", "render_fit"]


def describe_fit(
    model: OMVCDR,
    data: MultiViewData,
    *,
    command: str | None = None,
    sources: Sequence[Mapping[str, Any]] | None = None,
    meta: Sequence[Mapping[str, Any]] | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """Gather what the page shows."""
    labels, confidence = model.labels_, model.confidence_
    weights = zip(model.view_names_, model.view_weights_.tolist(), strict=True)
    return {
        "format": 1,
        "data": {"n_samples": data.n_samples, "n_clusters": len(model.cluster_centers_[0])},
        "clusters": [
            {
                "cluster": int(c),
                "size": int((labels == c).sum()),
                "share": float((labels == c).mean()),
                "confidence": float(np.median(confidence[labels == c])),
            }
            for c in np.unique(labels)
        ],
        "confidence": {
            "n_doubtful": int((confidence < 0.5).sum()),
            "stability": None if np.isnan(model.stability_) else model.stability_,
            "n_starts": model.n_init,
        },
        "weights": {"views": [{"name": name, "weight": weight} for name, weight in weights]},
        "meta": None if meta is None else list(meta),
        "sources": None if sources is None else list(sources),
        "run": {"repeat": [command], "seconds": seconds},
    }


def render_fit(result: Mapping[str, Any]) -> str:
    """Write it as a page."""
    rows = "".join(f"<p>{escape(key)}: {escape(str(value))}</p>\n" for key, value in result.items())
    return f'<!doctype html>\n<html lang="en"><title>A fit</title>\n{rows}</html>\n'
