"""Parameter grids of the published protocols; the oracle protocol takes the best point."""

from __future__ import annotations

from typing import Any

__all__ = ["published_grids"]


def published_grids() -> dict[str, list[dict[str, Any]]]:
    """Points of the grid of each method that has one.

    Returns
    -------
    dict of str to list of dict
    """
    return {
        "published_omvcdr": [{"lam": 2.0**power} for power in range(-5, 6)],
    }
