"""Figures: numbers in, positions out. A figure is a list of panels; the SVG is in the templates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from manyview.study.reproduction.scope import PUBLISHED
from manyview.study.reproduction.tables import ABLATION_TITLES, METHOD_TITLES, records

__all__ = ["draw", "place_bars", "place_lines"]

WIDTH = 520  # of a panel, in its own units; the page scales it
LEFT, RIGHT = 190, WIDTH - 90  # of the bars: names before, numbers after
STEP = 24  # from bar to bar
TALL = 260  # of a panel with lines
DECADES = 4  # of the share of the fall that is shown

Titles = Mapping[str, str]
Figure = dict[str, Any]


def draw(tables: Mapping[str, pd.DataFrame], titles: Titles) -> dict[str, Figure]:
    """Figures by name: oracle, label_free, ablation, order, time, objective, sensitivity.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By name, as for `findings.find`.
    titles : mapping of str to str
        Names of the data sets by file.

    Returns
    -------
    dict of str to dict
        Each has `panels`, `legend` (name and color) and `axis`. A figure without panels is left
        out.
    """
    figures = {
        "oracle": _scores(tables["oracle"], titles, METHOD_TITLES),
        "label_free": _scores(tables["label_free"], titles, METHOD_TITLES),
        "order": _order(tables["order"], titles),
        "ablation": _scores(tables["ablation"], titles, ABLATION_TITLES),
        "time": _time(tables["time"], titles),
        "objective": _objective(tables["objective"], titles),
        "sensitivity": _sensitivity(tables["sensitivity"], titles),
    }
    return {name: figure for name, figure in figures.items() if figure["panels"]}


def place_bars(
    title: str, rows: Sequence[Mapping[str, Any]], span: tuple[float, float], *, is_log: bool
) -> dict[str, Any]:
    """Place horizontal bars, each with its number and perhaps a mark for the paper's value.

    Parameters
    ----------
    title : str
        What stands above.
    rows : sequence of mappings
        `name`, `value` (NaN draws no bar), `text`, and perhaps `mark` (NaN draws none), `color`.
    span : (float, float)
        Values of the left and right ends.
    is_log : bool
        Whether the scale is logarithmic.

    Returns
    -------
    dict
        A panel.
    """
    scale = math.log10 if is_log else float
    low, high = map(scale, span)

    def x(value: float) -> float:
        share = (scale(value) - low) / ((high - low) or 1.0)
        return round(LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0), 1)

    bars = []
    for i, row in enumerate(rows):
        end = None if math.isnan(row["value"]) else x(row["value"])
        mark = row.get("mark", math.nan)
        bars.append(
            {
                "name": row["name"],
                "text": row["text"],
                "y": 34 + STEP * i,
                "width": None if end is None else round(end - LEFT, 1),
                "mark": None if math.isnan(mark) else x(mark),
                "color": row.get("color", 0),
            }
        )
    height = 34 + STEP * len(rows)
    ticks = [(x(one), f"{one:g}") for one in _ticks(*span, is_log=is_log)]
    return {"kind": "bars", "title": title, "bars": bars, "left": LEFT, "right": RIGHT,
            "width": WIDTH, "height": height + 20, "bottom": height, "ticks": ticks}  # fmt: skip


def _ticks(low: float, high: float, *, is_log: bool) -> list[float]:
    """Decades, or quarters of the way."""
    if not is_log:
        return [low + (high - low) * i / 4 for i in range(5)]
    return [10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]


def place_lines(
    title: str,
    series: Sequence[Sequence[tuple[float, float]]],
    columns: Sequence[tuple[float, str]],
    rows: Sequence[tuple[float, str]],
    colors: Sequence[int],
) -> dict[str, Any]:
    """Place lines over a common axis.

    Parameters
    ----------
    title : str
        What stands above.
    series : sequence of sequences of (x, y)
        One a line.
    columns, rows : sequences of (value, text)
        Marks of the axes; the first and the last are their ends.
    colors : sequence of int
        One a line, of the palette.

    Returns
    -------
    dict
        A panel.
    """
    left, right, top, bottom = box = (62, WIDTH - 14, 34, TALL - 34)
    (x0, _), (x1, _) = columns[0], columns[-1]
    (y0, _), (y1, _) = rows[0], rows[-1]

    def x(value: float) -> float:
        return round(left + (right - left) * (value - x0) / ((x1 - x0) or 1.0), 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - top) * (value - y0) / ((y1 - y0) or 1.0), 1)

    lines = [
        {"color": color, "points": [(x(a), y(b)) for a, b in line]}
        for color, line in zip(colors, series, strict=True)
    ]
    return {"kind": "lines", "title": title, "lines": lines, "box": box, "width": WIDTH,
            "height": TALL, "columns": [(x(value), text) for value, text in columns],
            "rows": [(y(value), text) for value, text in rows]}  # fmt: skip


def _scores(table: pd.DataFrame, titles: Titles, names: Mapping[str, str]) -> Figure:
    """ACC of each method, a panel a set; a mark where the paper has its value."""
    panels, has_paper = [], "paper_mean" in table
    for data, group in table[table["metric"] == "acc"].groupby("data", sort=False):
        rows = [
            {
                "name": names.get(row.method, row.method),
                "value": row.mean if row.status == "done" else math.nan,
                "text": f"{row.mean:.4f}" if row.status == "done" else row.status,
                "mark": row.paper_mean if has_paper else math.nan,
                "color": _color(str(row.method)),
            }
            for row in records(group)
        ]
        panels.append(place_bars(titles[str(data)], rows, (0.0, 1.0), is_log=False))
    legend = [{"name": "the paper's value", "color": "mark"}] if has_paper else []
    return {"panels": panels, "legend": legend, "axis": "ACC"}


def _color(method: str) -> int:
    """The published algorithm and ours stand out."""
    return {PUBLISHED: 1, "full": 1, "omvcdr": 0}.get(method, 3)


def _order(table: pd.DataFrame, titles: Titles) -> Figure:
    panels = []
    for row in records(table[table["metric"] == "acc"]):
        named = {"rows in file order": (row.file, 1), "rows shuffled": (row.shuffled, 3)}
        bars = [
            {
                "name": name,
                "value": value,
                "text": "no result" if math.isnan(value) else f"{value:.4f}",
                "color": color,
            }
            for name, (value, color) in named.items()
        ]
        panels.append(place_bars(titles[str(row.data)], bars, (0.0, 1.0), is_log=False))
    return {"panels": panels, "legend": [], "axis": "ACC of the published OMVCDR"}


def _time(table: pd.DataFrame, titles: Titles) -> Figure:
    """Seconds over those of the published OMVCDR, on a logarithmic scale."""
    panels = []
    shown = table["relative"].dropna()
    if shown.empty:
        return {"panels": [], "legend": [], "axis": ""}
    low = 10.0 ** min(math.floor(math.log10(shown.min())), -1)
    high = 10.0 ** max(math.ceil(math.log10(shown.max())), 1)
    for data, group in table.groupby("data", sort=False):
        rows = [
            {
                "name": METHOD_TITLES.get(row.method, row.method),
                "value": row.relative,
                "text": row.status if math.isnan(row.relative) else f"{row.relative:.3g}×",
                "color": _color(str(row.method)),
            }
            for row in records(group)
        ]
        panels.append(place_bars(titles[str(data)], rows, (low, high), is_log=True))
    axis = "time of a fit over that of the published OMVCDR"
    return {"panels": panels, "legend": [], "axis": axis}


def _objective(table: pd.DataFrame, titles: Titles) -> Figure:
    """Share of the fall of the objective that is still to come, a panel a set."""
    panels = []
    rows = [(-float(power), f"{100 * 10.0**-power:g} %") for power in range(DECADES, -1, -1)]
    for data, group in table.groupby("data", sort=False):
        lines = []
        for _, own in group.groupby("method", sort=False):
            values = own["objective"].to_numpy()
            fall = (values[0] - values[-1]) or 1.0
            share = [max((value - values[-1]) / fall, 10.0**-DECADES) for value in values]
            steps = own["iteration"].tolist()
            lines.append([(i, math.log10(s)) for i, s in zip(steps, share, strict=True)])
        last = int(group["iteration"].max())
        marks = [1, *range(20, last - 4, 20), max(last, 2)]
        columns = [(float(mark), str(mark)) for mark in marks]
        colors = [_color(str(name)) for name in pd.unique(group["method"])]
        panels.append(place_lines(titles[str(data)], lines, columns, rows, colors))
    legend = [{"name": METHOD_TITLES.get(name, name), "color": _color(str(name))}
              for name in pd.unique(table["method"])]  # fmt: skip
    return {"panels": panels, "legend": legend, "axis": "share of the fall still to come, against "
            "iterations"}  # fmt: skip


def _sensitivity(table: pd.DataFrame, titles: Titles) -> Figure:
    """ACC and NMI over log₂ λ, a panel a set."""
    panels = []
    rows = [(i / 4, f"{i / 4:g}") for i in range(5)]
    for data, group in table.groupby("data", sort=False):
        powers = [math.log2(lam) for lam in group["lam"]]
        lines = [list(zip(powers, group[metric], strict=True)) for metric in ("acc", "nmi")]
        columns = [(power, f"2^{power:g}") for power in powers]
        panels.append(place_lines(titles[str(data)], lines, columns, rows, (0, 1)))
    legend = [{"name": "ACC", "color": 0}, {"name": "NMI", "color": 1}]
    return {"panels": panels, "legend": legend, "axis": "published OMVCDR, rows in file order, "
            "against λ"}  # fmt: skip
