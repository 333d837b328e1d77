"""Parameter grids of the published protocols; the oracle protocol takes the best point."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

__all__ = ["published_grids", "resolved"]


def published_grids() -> dict[str, list[dict[str, Any]]]:
    """Points of the grid of each method that has one; "2k" is twice the number of clusters.

    Returns
    -------
    dict of str to list of dict
    """
    return {
        "published_omvcdr": [{"lam": 2.0**power} for power in range(-5, 6)],
        "lmvsc": [
            {"n_anchors": n_anchors, "alpha": alpha}
            for n_anchors, alpha in product(("1k", 50, 100), (0.01, 1.0, 100.0))
        ],
        "smvsc": [{"n_anchors": n_anchors} for n_anchors in ("1k", "2k", "3k")],
    }


def resolved(point: Mapping[str, Any], n_clusters: int) -> dict[str, Any]:
    """A point with its multiples of k as numbers."""
    return {
        name: int(value[:-1]) * n_clusters
        if isinstance(value, str) and value[:-1].isdigit() and value.endswith("k")
        else value
        for name, value in point.items()
    }
