"""Figures: tidy results in, matplotlib Axes out. Nothing is shown, and no global style is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from manyview.errors import EngineUnavailableError
from manyview.metrics import selective_accuracy

if TYPE_CHECKING:
    from manyview.benchmark.statistics import Comparison
    from manyview.model_selection import Choice

__all__ = ["choice_curve", "confidence_curve", "critical_difference"]


def _axes(ax: Any, width: float, height: float) -> Any:
    """The given Axes, or new ones on a figure of their own."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        msg = "Figures need matplotlib: pip install 'manyview[plots]'."
        raise EngineUnavailableError(msg) from None
    return Figure(figsize=(width, height)).subplots()


def choice_curve(choice: Choice, *, ax: Any = None) -> Any:
    """What speaks for each number of clusters, and which is recommended.

    Parameters
    ----------
    choice : Choice
        Of `manyview.model_selection.choose`.
    ax : matplotlib Axes, optional
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax, 6.4, 4.2)
    k = choice.table["n_clusters"]
    for column, style in (("excess", "C0"), ("stability", "C1"), ("score", "black")):
        lw = 2 if column == "score" else 1
        ax.plot(k, choice.table[column], color=style, marker="o", ms=3, lw=lw, label=column)
    if choice.has_structure:
        ax.axvline(choice.n_clusters, color="0.5", lw=1, ls="--")
        title = f"{choice.n_clusters} clusters, sureness {choice.sureness:.2f}"
    else:
        title = f"no clear structure, sureness {choice.sureness:.2f}"
    ax.set(xlabel="number of clusters", ylabel="1 is best", title=title)
    ax.set_ylim(-0.1, 1.04)  # an excess far below zero is as little as zero
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)
    return ax


def confidence_curve(
    y_true: ArrayLike, labels: ArrayLike, confidence: ArrayLike, *, ax: Any = None
) -> Any:
    """Accuracy of the most confident samples, against the share of samples that is kept.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample.
    confidence : array-like of shape (n_samples,)
        How sure each label is, such as `confidence_` of a fitted OMVCDR.
    ax : matplotlib Axes, optional
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib Axes
    """
    percent = np.arange(5, 101, 5)
    accuracy = selective_accuracy(y_true, labels, confidence, percent / 100)
    ax = _axes(ax, 5, 3.5)
    ax.plot(percent, accuracy, marker="o", ms=3, label="most confident")
    ax.axhline(accuracy[-1], color="0.5", lw=1, ls="--", label="all samples")
    ax.set(xlabel="samples kept (%)", ylabel="accuracy", xlim=(0, 102), ylim=(0, 1.02))
    ax.legend(loc="lower left", frameon=False)
    return ax


def critical_difference(comparison: Comparison, *, ax: Any = None) -> Any:
    """Mean ranks on a line; a bar joins methods that chance could separate as far.

    Parameters
    ----------
    comparison : Comparison
        Of `manyview.benchmark.compare_methods`.
    ax : matplotlib Axes, optional
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib Axes
    """
    ranks = comparison.ranks
    n = len(ranks)
    n_left = (n + 1) // 2
    ax = _axes(ax, 7, 1.6 + 0.26 * n_left)
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
    if not np.isfinite(gap):  # one method has nobody to be compared with
        return found
    for i, first in enumerate(ranks):
        last = ranks[i:][ranks[i:] - first <= gap][-1]
        if last > first and (not found or last > found[-1][1]):
            found.append((float(first), float(last)))
    return found
