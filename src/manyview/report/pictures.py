"""Pictures in a page: samples as PNG, black on a transparent background; drawings as SVG files."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable

import numpy as np

from manyview.utils.types import FloatArray


def as_pictures(images: FloatArray | None, rows: Iterable[int]) -> list[str]:
    """Encode the pictures of some samples.

    Parameters
    ----------
    images : array of shape (n_samples, height, width) or None
        From 0 (background) to the largest value (foreground).
    rows : iterable of int
        Positions of the samples.

    Returns
    -------
    list of str
        One data URI per sample; empty without images.
    """
    if images is None:
        return []
    ink = 255 / (images.max() or 1.0)
    return [_data_uri(np.rint(images[row] * ink)) for row in rows]


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


def _data_uri(opacity: FloatArray) -> str:
    """A PNG with 8 bits of gray and of opacity; all is black, so that a dark page can invert it."""
    height, width = opacity.shape
    pixels = np.zeros((height, 1 + 2 * width), dtype=np.uint8)  # rows start with filter type 0
    pixels[:, 2::2] = opacity
    header = struct.pack(">IIBBBBB", width, height, 8, 4, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels.tobytes(), 9)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
