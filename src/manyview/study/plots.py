"""Plots of a benchmark, as matplotlib Axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from manyview.inspection.plots import axes_for
from manyview.study.statistics import Comparison

__all__ = ["critical_difference"]


def critical_difference(comparison: Comparison, *, ax: Any = None) -> Any:
    """Plot mean ranks; a bar joins methods that do not differ significantly.

    Parameters
    ----------
    comparison : Comparison
        As returned by `manyview.study.compare_methods`.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes
    """
    ranks = comparison.ranks
    n = len(ranks)
    n_left = (n + 1) // 2
    ax = axes_for(ax, 7, 1.6 + 0.26 * n_left)
    low, high = 1, max(n, 2)
    depth = n_left + 2
    ax.plot([low, high], [0, 0], color="black", lw=1)
    for tick in range(low, high + 1):
        ax.plot([tick, tick], [0, 0.25], color="black", lw=1)
        ax.text(tick, 0.35, str(tick), ha="center", va="bottom", fontsize=9)
    for place, (method, rank) in enumerate(ranks.items()):
        is_left = place < n_left
        level = -1.5 - (place if is_left else n - 1 - place)
        side = low - 0.3 if is_left else high + 0.3
        ax.plot([rank, rank, side], [0, level, level], color="0.4", lw=0.8)
        ax.text(
            side, level, f" {method} ({rank:.2f}) ", ha="right" if is_left else "left", va="center"
        )
    for step, (first, last) in enumerate(_groups(ranks.to_numpy(), comparison.critical_difference)):
        y = -0.35 - 0.28 * step
        ax.plot([first - 0.04, last + 0.04], [y, y], color="black", lw=3, solid_capstyle="butt")
    gap = comparison.critical_difference
    ax.set_title(
        f"Mean rank by {comparison.metric.upper()}; critical difference {gap:.2f}", fontsize=10
    )
    ax.set(xlim=(low - 3, high + 3), ylim=(-depth - 0.5, 1.4))
    ax.axis("off")
    return ax


def _groups(ranks: np.ndarray[Any, Any], gap: float) -> list[tuple[float, float]]:
    """Maximal runs of sorted ranks that lie within the critical difference."""
    found: list[tuple[float, float]] = []
    if not np.isfinite(gap):  # there is only one method
        return found
    for i, first in enumerate(ranks):
        last = ranks[i:][ranks[i:] - first <= gap][-1]
        if last > first and (not found or last > found[-1][1]):
            found.append((float(first), float(last)))
    return found
