"""Plots as matplotlib Axes. Nothing is displayed, and no global style is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from manyview.data.scaling import scale_name
from manyview.metrics import selective_accuracy
from manyview.utils.optional import needed

if TYPE_CHECKING:
    from manyview.inspection import Explanation, FittedModel
    from manyview.model_selection import Choice

__all__ = [
    "axes_for",
    "choice_curve",
    "cluster_confidence",
    "cluster_sizes",
    "cluster_view_weights",
    "confidence_curve",
    "feature_heatmap",
    "objective_curve",
    "sample_map",
    "settings_bars",
    "view_weights",
]

# Ten colors that color-blind readers can distinguish: M. Petroff, arXiv 2107.02270.
# fmt: off
COLORS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)
# fmt: on


def axes_for(ax: Any, width: float, height: float) -> Any:
    """The given Axes, or new ones on a new figure."""
    if ax is not None:
        return ax
    return needed("matplotlib.figure", "A figure").Figure(figsize=(width, height)).subplots()


def objective_curve(model: FittedModel, *, ax: Any = None) -> Any:
    """Objective of the best start after each iteration.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_for(ax, 5, 3.5)
    ax.plot(model.objective_history_, marker="o", ms=3, color=COLORS[0])
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="iteration", ylabel="objective")
    return ax


def cluster_sizes(model: FittedModel, *, ax: Any = None) -> Any:
    """Number of samples in each cluster.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    sizes = np.bincount(model.labels_, minlength=len(model.cluster_centers_[0]))
    ax = axes_for(ax, 5, 3.5)
    ax.bar(_named(sizes), sizes, color=_colors(len(sizes)))
    ax.set(xlabel="cluster", ylabel="samples")
    return ax


def view_weights(model: FittedModel, *, ax: Any = None) -> Any:
    """Share of each view in the separation of the clusters.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_for(ax, 5, 0.8 + 0.4 * len(model.view_names_))
    ax.barh(model.view_names_, model.view_weights_, color=COLORS[0])
    ax.invert_yaxis()
    ax.set(xlabel="weight")
    return ax


def cluster_view_weights(model: FittedModel, *, ax: Any = None) -> Any:
    """Heatmap of the share of each view in the separation of each cluster.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    weights = model.cluster_view_weights_  # (k, V)
    ax = axes_for(ax, 1.5 + 0.9 * weights.shape[1], 1 + 0.3 * len(weights))
    image = ax.imshow(weights, cmap="Blues", vmin=0, vmax=max(weights.max(), 0.01), aspect="auto")
    ax.set_xticks(range(weights.shape[1]), model.view_names_, rotation=30, ha="right")
    ax.set_yticks(range(len(weights)), _named(weights))
    ax.set(ylabel="cluster")
    ax.figure.colorbar(image, ax=ax, label="share of the view")
    return ax


def cluster_confidence(model: FittedModel, *, ax: Any = None) -> Any:
    """Confidence of the samples in each cluster: median, quartiles and range.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    k = len(model.cluster_centers_[0])
    ax = axes_for(ax, 5, 3.5)
    parts = [model.confidence_[model.labels_ == c] for c in range(k)]
    ax.boxplot(parts, whis=(0, 100), medianprops={"color": COLORS[0], "lw": 2})
    ax.set_xticks(range(1, k + 1), _named(parts))
    ax.set(xlabel="cluster", ylabel="confidence", ylim=(0, 1.02))
    return ax


def feature_heatmap(explanation: Explanation, view: str | None = None, *, ax: Any = None) -> Any:
    """Heatmap of cluster means for the most distinctive features, in standard deviations.

    Parameters
    ----------
    explanation : Explanation
        Result of `OMVCDR.explain`.
    view : str, optional
        View whose features are shown; None shows those of all views.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    table = explanation.heatmap
    names = [f"{part}: {feature}" for part, feature in table.index]
    if view is not None:
        _check_view(view, table.index.unique("view"))
        table = table.loc[[view]]
        names = [str(feature) for _, feature in table.index]
    ax = axes_for(ax, 2.5 + 0.4 * table.shape[1], 1 + 0.2 * len(table))
    image = ax.imshow(table, cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
    ax.set_xticks(range(table.shape[1]), [str(c) for c in table.columns])
    ax.set_yticks(range(len(table)), names, fontsize=7)
    ax.set(xlabel="cluster")
    ax.figure.colorbar(image, ax=ax, label="standard deviations from the mean", extend="both")
    return ax


def sample_map(
    explanation: Explanation, view: str | None = None, *, color: str = "cluster", ax: Any = None
) -> Any:
    """2-D map of the samples.

    Parameters
    ----------
    explanation : Explanation
        Result of `OMVCDR.explain`.
    view : str, optional
        Map by the features of this view alone.
    color : {"cluster", "confidence"}, default="cluster"
        What the color of a point shows.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if color not in ("cluster", "confidence"):
        msg = f"color={color!r} is unknown; expected 'cluster' or 'confidence'."
        raise ValueError(msg)
    samples = places = explanation.map
    if view is not None:
        _check_view(view, explanation.view_maps)
        places = explanation.view_maps[view]
    ax = axes_for(ax, 6, 6)
    size = float(np.clip(2e4 / len(samples), 0.5, 12))
    if color == "cluster":
        shades = np.array(_colors(int(samples["cluster"].max()) + 1))[samples["cluster"]]
        ax.scatter(places["x"], places["y"], s=size, c=shades, linewidths=0)
        halo = {"boxstyle": "round,pad=0.1", "facecolor": "white", "alpha": 0.7, "linewidth": 0}
        middles = places[["x", "y"]].groupby(samples["cluster"].to_numpy()).median()
        for c, x, y in middles.dropna().itertuples():
            ax.text(x, y, str(c), weight="bold", ha="center", va="center", bbox=halo)
    else:
        dots = ax.scatter(
            places["x"], places["y"], s=size, c=samples["confidence"], linewidths=0, vmin=0, vmax=1
        )
        ax.figure.colorbar(dots, ax=ax, label="confidence")
    ax.set(aspect="equal", xticks=[], yticks=[])
    return ax


def _check_view(view: str, names: Any) -> None:
    if view not in names:
        msg = f"view={view!r} is unknown; expected one of {list(names)} or None."
        raise ValueError(msg)


def _named(clusters: Any) -> list[str]:
    return [str(c) for c in range(len(clusters))]


def _colors(k: int) -> list[str]:
    return [COLORS[c % len(COLORS)] for c in range(k)]


def choice_curve(choice: Choice, *, ax: Any = None) -> Any:
    """Scores of each number of clusters, with the recommended one marked.

    Parameters
    ----------
    choice : Choice
        Result of `manyview.model_selection.choose`.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_for(ax, 6.4, 4.2)
    k = choice.table["n_clusters"]
    for column, style in (("excess", "C0"), ("stability", "C1"), ("score", "black")):
        lw = 2 if column == "score" else 1
        ax.plot(k, choice.table[column], color=style, marker="o", ms=3, lw=lw, label=column)
    if choice.has_structure:
        ax.axvline(choice.n_clusters, color="0.5", lw=1, ls="--")
        title = f"{choice.n_clusters} clusters, confidence {choice.confidence:.2f}"
    else:
        title = f"no clear structure, confidence {choice.confidence:.2f}"
    ax.set(xlabel="number of clusters", ylabel="1 is best", title=title)
    ax.set_ylim(-0.1, 1.04)  # an excess far below zero is not informative
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)
    return ax


def settings_bars(choice: Choice, *, ax: Any = None) -> Any:
    """View modularity of each scale and lam that was tried, as bars.

    Parameters
    ----------
    choice : Choice
        Result of `manyview.model_selection.choose`.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_for(ax, 6.4, 4.2)
    tried = choice.settings
    names = [f"{row.scale}, lam {row.lam:g}" for row in tried.itertuples()]
    is_taken = (tried["scale"] == scale_name(choice.scale)) & (tried["lam"] == choice.lam)
    ax.barh(names, tried["view_modularity"], color=np.where(is_taken, COLORS[0], COLORS[3]))
    ax.invert_yaxis()
    ax.axvline(tried["view_modularity"].iloc[0], color="black", lw=1, ls="--")  # the given setting
    title = f"recommended (blue): scale {scale_name(choice.scale)}, lam {choice.lam:g}"
    ax.set(xlabel="modularity of the clusters in single views; dashed: row 1", title=title)
    return ax


def confidence_curve(
    y_true: ArrayLike, labels: ArrayLike, confidence: ArrayLike, *, ax: Any = None
) -> Any:
    """Accuracy of the most confident samples against the share of samples kept.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        True class and cluster of each sample.
    confidence : array-like of shape (n_samples,)
        Confidence of each label, such as `confidence_` of a fitted OMVCDR.
    ax : matplotlib Axes, optional
        Axes to draw on; None creates a new figure.

    Returns
    -------
    matplotlib Axes
    """
    percent = np.arange(5, 101, 5)
    accuracy = selective_accuracy(y_true, labels, confidence, percent / 100)
    ax = axes_for(ax, 5, 3.5)
    ax.plot(percent, accuracy, marker="o", ms=3, label="most confident")
    ax.axhline(accuracy[-1], color="0.5", lw=1, ls="--", label="all samples")
    ax.set(xlabel="samples kept (%)", ylabel="accuracy", xlim=(0, 102), ylim=(0, 1.02))
    ax.legend(loc="lower left", frameon=False)
    return ax
