"""Drawings: parts that several share, and an SVG element of a page as a file.

Colors are attributes, which every program can read; the page overrides them by its own.
"""

from __future__ import annotations

import base64

from markupsafe import Markup

INK, SOFT, LINE = "#1c2430", "#5b6675", "#dfe3e8"


def svg_element(kind: str, title: str, width: float, height: float, parts: list[Markup]) -> Markup:
    """Put the parts of a drawing together."""
    return Markup(
        '<svg class="drawn {}" role="img" aria-label="{}" '
        'viewBox="0 0 {:g} {:g}" font-family="system-ui, sans-serif" font-size="13" '
        'font-variant-numeric="tabular-nums"><title>{}</title>\n{}\n</svg>'
    ).format(kind, title, width, height, title, Markup("\n").join(parts))


def svg_text(x: float, y: float, text: str, anchor: str = "middle", fill: str = SOFT) -> Markup:
    """Write a text."""
    return Markup(
        '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}">{}</text>'
    ).format("ink" if fill == INK else "soft", x, y, anchor, fill, text)


def svg_grid(x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Draw a line of the grid or of an axis."""
    return Markup(
        '<path class="grid" d="M{:.1f} {:.1f}L{:.1f} {:.1f}" stroke="{}" stroke-width="1"/>'
    ).format(x1, y1, x2, y2, LINE)


def svg_file(drawing: str) -> str:
    """Make an SVG element of a page a file of its own.

    Parameters
    ----------
    drawing : str
        The element.

    Returns
    -------
    str
    """
    return str(drawing).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def svg_link(drawing: str) -> str:
    """Make an SVG element a link, so that it can be saved without JavaScript.

    Parameters
    ----------
    drawing : str
        The element.

    Returns
    -------
    str
        A data URI.
    """
    return f"data:image/svg+xml;base64,{base64.b64encode(svg_file(drawing).encode()).decode()}"
