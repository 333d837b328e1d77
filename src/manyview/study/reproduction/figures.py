"""Figures of the study as SVG, one panel per data set."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manyview.datasets.registry import PAPER_SETS
from manyview.inspection.plots import COLORS, axes_for
from manyview.study.paper import paper_results
from manyview.study.reproduction.scope import PAPER_ITERATIONS, PUBLISHED
from manyview.study.reproduction.tables import ABLATION_TITLES, METHOD_TITLES

INK = {"ink": "#1c2430", "soft": "#5b6675", "line": "#dfe3e8", "card": "#ffffff"}  # style.css
STYLE = Path(__file__).with_name("figures.mplstyle")
WIDTH, COLUMNS = 10.6, 2  # inches of a figure; panels per row
RELATIVE = "Time of a fit relative to the published OMVCDR"
TO_COME = "Objective by iteration, from its first value to its last"
OVER_LAMBDA = "Published OMVCDR by λ"
LINES = 8  # height of a panel of lines, in bars
OTHER = COLORS[3]  # color of all other methods

Paint = Callable[[Any, pd.DataFrame], None]  # plots the rows of a data set


def draw(tables: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> dict[str, str]:
    """Figures by name: oracle, label_free, order, ablation, time, objective, sensitivity.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By name, as for `findings.find`.
    titles : mapping of str to str
        Names of the data sets by file.

    Returns
    -------
    dict of str to str
        SVG files. A figure without data is left out.
    """
    axes_for(None, 1, 1)  # raises an informative error without matplotlib
    from matplotlib import rc_context

    acc = {name: one[one["metric"] == "acc"] for name, one in tables.items() if "metric" in one}
    time = tables["time"]
    relative = time["relative"].dropna()
    scores = _score_bars(METHOD_TITLES)
    drawn: dict[str, tuple[str, pd.DataFrame, Paint, int | None]] = {
        "oracle": ("ACC, oracle protocol", acc["oracle"], scores, None),
        "label_free": ("ACC, label-free protocol", acc["label_free"], scores, None),
        "order": ("ACC of the published OMVCDR", acc["order"], _order_bars, 2),
        "ablation": ("ACC, oracle protocol", acc["ablation"], _score_bars(ABLATION_TITLES), None),
        "time": (RELATIVE, time if len(relative) else time[:0], _time_bars(relative), None),
        "objective": (TO_COME, tables["objective"], _objective_lines, LINES),
        "sensitivity": (OVER_LAMBDA, tables["sensitivity"], _sensitivity_lines, LINES),
    }
    with rc_context(fname=STYLE):
        return {name: _figure(*one, titles) for name, one in drawn.items() if len(one[1])}


def _figure(
    caption: str, table: pd.DataFrame, paint: Paint, n_bars: int | None, titles: Mapping[str, str]
) -> str:
    """Panels in columns, each as high as `n_bars` bars, or as the number of rows."""
    groups = [(titles[str(data)], group) for data, group in table.groupby("data", sort=False)]
    columns = min(COLUMNS, len(groups))
    starts = range(0, len(groups), columns)
    heights = [n_bars or max(len(one) for _, one in groups[i : i + columns]) for i in starts]
    size = (WIDTH / COLUMNS * columns, 0.5 + sum(0.55 + 0.26 * n for n in heights))
    figure = axes_for(None, *size).figure
    figure.clear()
    figure.set_layout_engine("constrained", hspace=0.05, wspace=0.05)
    ratios = [n + 2 for n in heights]
    axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=ratios).ravel()
    for ax, (title, group) in zip(axes, groups, strict=False):
        ax.set_title(title)
        paint(ax, group)
    for ax in axes[len(groups) :]:
        ax.remove()
    figure.suptitle(caption, x=0.01, ha="left", size=10)
    handles, names = axes[0].get_legend_handles_labels()
    if names:
        figure.legend(handles, names, loc="outside upper right", ncols=len(names))
    file = io.StringIO()
    without = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", metadata={**without, "Title": caption})
    return file.getvalue()


def _bars(ax: Any, names: Any, values: Any, texts: Any, colors: Any) -> None:
    """Horizontal bars from top to bottom, each with its text; no bar for NaN."""
    values, places = np.asarray(values, dtype=float), np.arange(len(values))
    shown = ~np.isnan(values)
    low = ax.get_xlim()[0]
    ax.barh(places[shown], values[shown] - low, 0.7, left=low, color=np.asarray(colors)[shown])
    ax.set_yticks(places, names, color=INK["ink"])
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    for y, text in zip(places, texts, strict=True):
        ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), va="center")


def _color(method: str) -> str:
    """Color of a method; the published algorithm and ours are highlighted."""
    return {PUBLISHED: COLORS[1], "full": COLORS[1], "omvcdr": COLORS[0]}.get(method, OTHER)


def _score_bars(names: Mapping[str, str]) -> Paint:
    """ACC of each method, with a mark at the value of the paper."""

    def paint(ax: Any, group: pd.DataFrame) -> None:
        ax.set(xlim=(0, 1), xticks=np.arange(5) / 4)
        is_done = group["status"] == "done"
        texts = group["status"].where(~is_done, group["mean"].map("{:.4f}".format))
        methods = group["method"]
        titles, colors = [names.get(one, one) for one in methods], methods.map(_color)
        _bars(ax, titles, group["mean"].where(is_done), texts, colors)
        if "paper_mean" in group:
            style = {"ls": "", "marker": "|", "ms": 15, "mew": 2, "color": INK["ink"]}
            marks = group["paper_mean"].astype(float)
            ax.plot(marks, np.arange(len(group)), **style, label="the paper's value")

    return paint


def _order_bars(ax: Any, group: pd.DataFrame) -> None:
    """ACC of one method with rows in file order and shuffled."""
    ax.set(xlim=(0, 1), xticks=np.arange(5) / 4)
    values = group[["file", "shuffled"]].iloc[0].astype(float)
    texts = values.map(lambda one: "no result" if np.isnan(one) else f"{one:.4f}")
    _bars(ax, ["rows in file order", "rows shuffled"], values, texts, [COLORS[1], OTHER])


def _time_bars(relative: pd.Series[float]) -> Paint:
    """Time relative to the published OMVCDR, on a logarithmic scale shared by all panels."""
    ends = np.log10([relative.min(), relative.max()]) if len(relative) else np.zeros(2)
    low, high = 10.0 ** min(np.floor(ends[0]), -1), 10.0 ** max(np.ceil(ends[1]), 1)

    def paint(ax: Any, group: pd.DataFrame) -> None:
        ax.set(xscale="log", xlim=(low, high))
        ends = group["seconds"].to_numpy(float) / group["relative"].to_numpy(float)
        ranges = (group[name].to_numpy(float) / ends for name in ("low", "high"))
        ax.hlines(np.arange(len(group)), *ranges, color=INK["ink"], lw=1.2)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.minorticks_off()
        texts = (
            group["relative"]
            .map("{:.3g}×".format)
            .where(group["relative"].notna(), group["status"])
        )
        titles = [METHOD_TITLES.get(one, one) for one in group["method"]]
        _bars(ax, titles, group["relative"], texts, group["method"].map(_color))

    return paint


def _objective_lines(ax: Any, group: pd.DataFrame) -> None:
    """The objective, scaled to its range, and the iterations that the paper needs."""
    for method, own in group.groupby("method", sort=False):
        values = own["objective"].to_numpy()
        share = (values - values[-1]) / ((values[0] - values[-1]) or 1.0)
        name = METHOD_TITLES.get(str(method), str(method))
        ax.plot(own["iteration"], share, color=_color(str(method)), lw=2, label=name)
    ax.axvline(PAPER_ITERATIONS, color=INK["soft"], ls="--", lw=1)
    ax.set(ylim=(-0.03, 1.03), xlim=(1, None), yticks=np.arange(5) / 4)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    ax.xaxis.get_major_locator().set_params(integer=True)


def _sensitivity_lines(ax: Any, group: pd.DataFrame) -> None:
    """ACC and NMI at each λ."""
    name = next((one.name for one in PAPER_SETS if one.file == group["data"].iloc[0]), None)
    results = paper_results()
    own = results[(results["method"] == "omvcdr") & (results["data"] == name)]
    paper = dict(zip(own["metric"], own["mean"], strict=True))
    for metric, color in (("acc", COLORS[0]), ("nmi", COLORS[1])):
        ax.plot(group["lam"], group[metric], "o-", color=color, lw=2, ms=5, label=metric.upper())
        if metric in paper:
            ax.axhline(paper[metric], color=color, ls=":", lw=1.5)
    ax.set_xscale("log", base=2)
    ax.set(ylim=(0, 1.02), yticks=np.arange(5) / 4)
    ax.set_xticks(group["lam"], [f"$2^{{{np.log2(lam):g}}}$" for lam in group["lam"]])
    ax.xaxis.minorticks_off()
