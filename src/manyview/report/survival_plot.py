"""Kaplan-Meier curves as one SVG, with the numbers at risk below: for the page and as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from manyview.inspection.plots import COLORS
from manyview.report.svg import INK, svg_element, svg_grid, svg_text

WIDTH, LEFT, RIGHT, TOP, HEIGHT = 720.0, 76.0, 16.0, 14.0, 280.0  # of the curves
ROW = 19.0  # height of a line of the table
MOST_CURVES = 12  # the largest clusters
MOST_BANDS = 4  # curves that have room for confidence intervals
STEP = 0.25  # pixels: smaller steps of a curve are left out


def draw_survival(survival: Mapping[str, Any]) -> Markup:
    """Draw the curves of a comparison.

    Parameters
    ----------
    survival : mapping
        As `compare_survival` returns it.

    Returns
    -------
    Markup
        An SVG element.
    """
    largest = sorted(survival["clusters"], key=lambda part: -part["n"])[:MOST_CURVES]
    shown = sorted(largest, key=lambda part: part["cluster"])
    scale = _Scale(max(*(part["last"] for part in shown), survival["ticks"][-1], 1e-300))
    height = TOP + HEIGHT + 62 + ROW * (len(shown) + 1)
    parts = [
        *_axes(survival, scale),
        *(_band(part, scale) for part in shown if len(shown) <= MOST_BANDS),
        *(_curve(part, scale) for part in shown),
        *_table(shown, survival["ticks"], scale),
    ]
    title = f"Kaplan-Meier curves of {len(shown)} clusters by {survival['time']}"
    return svg_element("survival", title, WIDTH, height, parts)


class _Scale:
    """From times and shares to places."""

    def __init__(self, longest: float) -> None:
        self.longest = longest

    def x(self, time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * time / self.longest

    def y(self, share: float) -> float:
        return TOP + HEIGHT * (1 - share)


def _axes(survival: Mapping[str, Any], scale: _Scale) -> list[Markup]:
    """Lines and numbers of both axes."""
    bottom, right = scale.y(0), WIDTH - RIGHT
    parts = [svg_grid(LEFT, scale.y(q), right, scale.y(q)) for q in (0, 0.25, 0.5, 0.75, 1)]
    parts += [
        svg_text(LEFT - 8, scale.y(q) + 4, f"{q:.0%}", "end") for q in (0, 0.25, 0.5, 0.75, 1)
    ]
    parts += [svg_grid(scale.x(t), bottom, scale.x(t), bottom + 5) for t in survival["ticks"]]
    parts += [svg_text(scale.x(t), bottom + 20, f"{t:g}") for t in survival["ticks"]]
    aside = Markup('<g transform="rotate(-90 22 {0:g}) translate(22 {0:g})">{1}</g>').format(
        (TOP + bottom) / 2, svg_text(0, 0, "survival")
    )
    return [*parts, aside, svg_text((LEFT + right) / 2, bottom + 40, survival["time"])]


def _table(shown: Sequence[Any], ticks: Iterable[float], scale: _Scale) -> list[Markup]:
    """Numbers at risk, in the columns of the ticks; the first column is the legend."""
    top = scale.y(0) + 62
    parts = [svg_text(LEFT - 60, top, "At risk, by cluster", "start")]
    for row, part in enumerate(shown, start=1):
        y = top + row * ROW
        parts.append(_swatch(part, LEFT - 60, y - 4))
        parts.append(svg_text(LEFT - 38, y, str(part["cluster"]), "start", INK))
        parts += [
            svg_text(scale.x(tick), y, f"{n:,}", fill=INK)
            for tick, n in zip(ticks, part["at_risk"], strict=True)
        ]
    return parts


def _curve(part: Mapping[str, Any], scale: _Scale) -> Markup:
    """The steps of one cluster, and a mark where a time is censored."""
    curve = part["curve"]
    steps = _steps(curve["time"], curve["survival"], part["last"], scale)
    marks, last = [], -1.0
    for time, share in zip(*part["censored"].values(), strict=True):
        if scale.x(time) - last >= 2:
            last = scale.x(time)
            marks.append(f"M{last:.1f} {scale.y(share) - 4:.1f}v8")
    return Markup(
        '<path class="line {}" d="{}" fill="none" stroke="{}" stroke-width="2"{}>'
        "<title>cluster {}</title></path>"
    ).format(
        _color(part),
        _path(steps) + "".join(marks),
        _hex(part),
        _dashes(part),
        part["cluster"],
    )


def _band(part: Mapping[str, Any], scale: _Scale) -> Markup:
    """The confidence interval of one cluster."""
    curve = part["curve"]
    end = curve["time"][-1] if curve["time"] else 0.0
    low, high = (_steps(curve["time"], _known(curve[name]), end, scale) for name in ("low", "high"))
    outline = _path(high) + "L" + _path(low[::-1])[1:] + "Z"
    return Markup('<path class="band {}" d="{}" fill="{}" fill-opacity="0.13"/>').format(
        _color(part), outline, _hex(part)
    )


def _known(values: Iterable[float | None]) -> list[float]:
    """Values of which unknown ones are as the last that is known."""
    found, last = [], 1.0
    for value in values:
        last = last if value is None else value
        found.append(last)
    return found


def _steps(
    times: Sequence[float], shares: Sequence[float], end: float, scale: _Scale
) -> list[tuple[float, float]]:
    """Corners of a curve that falls at times; steps that nobody can see are left out."""
    seen = [(scale.x(0), scale.y(1))]
    for time, share in zip(times, shares, strict=True):
        if abs(scale.y(share) - seen[-1][1]) >= STEP:
            seen.append((scale.x(time), scale.y(share)))
    corners = seen[:1]
    for (_, before), (x, y) in pairwise(seen):
        corners += [(x, before), (x, y)]
    return [*corners, (scale.x(end), corners[-1][1])]


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _color(part: Mapping[str, Any]) -> str:
    return f"color-{part['cluster'] % len(COLORS)}"


def _hex(part: Mapping[str, Any]) -> str:
    return COLORS[part["cluster"] % len(COLORS)]


def _swatch(part: Mapping[str, Any], x: float, y: float) -> Markup:
    return Markup(
        '<path class="line {}" d="M{:.1f} {:.1f}h16" stroke="{}" stroke-width="3"{}/>'
    ).format(_color(part), x, y, _hex(part), _dashes(part))


def _dashes(part: Mapping[str, Any]) -> Markup:
    """The clusters after the tenth have the colors of the first ones, and dashes."""
    return Markup(' stroke-dasharray="6 3"' if part["cluster"] >= len(COLORS) else "")
