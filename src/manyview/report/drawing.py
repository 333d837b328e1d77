"""Where things go in a drawing: numbers in, positions out. The SVG itself is in the templates."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.utils.types import FloatArray

__all__ = ["place_bars", "place_curve", "sprite"]

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


def place_bars(counts: Sequence[int], height: int = 190) -> dict[str, Any]:
    """Place the bars of a histogram over [0, 1].

    Parameters
    ----------
    counts : sequence of int
        Samples in bins of equal width.
    height : int, default=190
        Height of the drawing.

    Returns
    -------
    dict
        `width`, `height`, `box` (left, right, top, bottom), `bars` (x, y, width, height, from, to,
        count), and the marks `rows` (y, text) and `columns` (x, text).
    """
    left, right, top, bottom = box = (108, WIDTH - 16, 10, height - 52)
    most, n_bins = max(max(counts), 1), len(counts)
    wide, scale = (right - left) / n_bins, (bottom - top) / most
    return {
        "width": WIDTH,
        "height": height,
        "box": box,
        "bars": [
            (
                round(left + i * wide + 1, 1),
                round(bottom - count * scale, 1),
                round(wide - 2, 1),
                round(count * scale, 1),
                i / n_bins,
                (i + 1) / n_bins,
                count,
            )
            for i, count in enumerate(counts)
        ],
        "rows": [
            (round(bottom - mark * scale, 1), f"{mark:,.0f}")
            for mark in _round_marks(0, most, 4)
            if mark % 1 == 0
        ],
        "columns": [(round(left + i / 4 * (right - left), 1), f"{i / 4:g}") for i in range(5)],
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
