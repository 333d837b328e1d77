"""Where things go in a drawing: numbers in, positions out. The SVG itself is in the templates."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.blocks import FloatArray

__all__ = ["place_curve", "place_map", "sprite"]

N_COLORS = 10  # of the palette in style.css
N_LEVELS = 16  # shades of a picture: four bits a pixel
WIDTH = 640  # of a drawing, in its own units; the page scales it


def place_curve(values: Sequence[float], height: int = 270) -> dict[str, Any]:
    """Place values over their position, with marks at a few round numbers.

    Parameters
    ----------
    values : sequence of float
        At least one; the first stands at position 0.
    height : int, default=270
        Height of the drawing.

    Returns
    -------
    dict
        `width`, `height`, `box` (left, right, top, bottom), `points` (x, y), and the marks `rows`
        (y, text) and `columns` (x, text).
    """
    left, right, top, bottom = box = (108, WIDTH - 16, 14, height - 56)
    low, high = min(values), max(values)
    last = max(len(values) - 1, 1)

    def x(position: float) -> float:
        return round(left + (right - left) * position / last, 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - top) * (value - low) / ((high - low) or 1.0), 1)

    return {
        "width": WIDTH,
        "height": height,
        "box": box,
        "points": [(x(i), y(value)) for i, value in enumerate(values)],
        "rows": [(y(mark), f"{mark:,.10g}") for mark in _round_marks(low, high, 5)],
        "columns": [(x(mark), f"{mark:g}") for mark in _round_marks(0, last, 8) if mark % 1 == 0],
    }


def place_map(
    part: Mapping[str, Any], clusters: Sequence[Mapping[str, Any]], height: int = 520
) -> dict[str, Any]:
    """Place the samples of a map with equal scales on both axes.

    Parameters
    ----------
    part : mapping
        The part `map` of a summary.
    clusters : sequence of mappings
        The part `clusters` of a summary.
    height : int, default=520
        Height of the drawing.

    Returns
    -------
    dict
        `width`, `height`, `dots` (one a sample: x, y, color, is_odd) and `pins` (by cluster, the
        x and y of its middle in percent). A sample is odd where its class is not the main one of
        its cluster.
    """
    points = np.column_stack([part["x"], part["y"]])  # (n, 2)
    labels = np.asarray(part["cluster"])  # (n,)
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    reach = np.maximum(np.ptp(points, axis=0), np.finfo(float).tiny)
    paper = np.array([WIDTH - 40.0, height - 56.0])  # room for the names of the axes
    scale = (paper / reach).min() * np.array([1, -1])  # SVG counts down the page
    placed = ((points - middle) * scale + [WIDTH / 2 + 8, height / 2 - 14]).round(1)  # (n, 2)
    main = {cluster["cluster"]: cluster["main_class"] for cluster in clusters}
    return {
        "width": WIDTH,
        "height": height,
        "dots": [
            {"x": x, "y": y, "color": c % N_COLORS, "is_odd": main[c] != true_class}
            for (x, y), c, true_class in zip(
                placed.tolist(), labels.tolist(), part["truth"], strict=True
            )
        ],
        "pins": {
            c: (np.median(placed[labels == c], axis=0) / [WIDTH, height] * 100).round(1).tolist()
            for c in main
        },
    }


def sprite(images: FloatArray) -> dict[str, Any]:
    """Put small pictures side by side into one PNG: ink is black, paper is transparent.

    Parameters
    ----------
    images : array of shape (n_samples, size, size)
        Values from 0 (paper) to the largest (ink); size is even.

    Returns
    -------
    dict
        `uri` (the PNG as a data URI) and `n_columns` (pictures a row).
    """
    n, size, _ = images.shape
    n_columns = int(np.ceil(np.sqrt(n)))
    n_rows = -(-n // n_columns)
    sheet = np.zeros((n_rows * n_columns, size, size), dtype=np.uint8)
    sheet[:n] = np.rint(images / (images.max() or 1.0) * (N_LEVELS - 1))
    by_rows = sheet.reshape(n_rows, n_columns, size, size).swapaxes(1, 2)
    png = _png(by_rows.reshape(n_rows * size, n_columns * size))
    return {
        "uri": f"data:image/png;base64,{base64.b64encode(png).decode()}",
        "n_columns": n_columns,
    }


def _png(levels: NDArray[np.uint8]) -> bytes:
    """Encode levels 0 to 15 of opacity as a PNG with a palette, four bits a pixel."""
    height, width = levels.shape
    packed = levels[:, ::2] << 4 | levels[:, 1::2]
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), packed])  # a row starts with a filter
    opacity = bytes(255 * level // (N_LEVELS - 1) for level in range(N_LEVELS))
    header = struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)
    chunks = {
        b"IHDR": header,
        b"PLTE": bytes(3 * N_LEVELS),
        b"tRNS": opacity,
        b"IDAT": zlib.compress(lines.tobytes(), 9),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks.items()
    )


def _round_marks(low: float, high: float, n_most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten in [low, high], `n_most` at most."""
    if high <= low:
        return [low]
    power = 10.0 ** np.floor(np.log10((high - low) / n_most))
    step = next(s * power for s in (1, 2, 5, 10, 20) if (high - low) / (s * power) < n_most)
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [float(i * step) for i in range(first, last + 1)]
