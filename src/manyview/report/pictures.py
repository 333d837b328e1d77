"""Pictures of samples in a page, as PNG: black on a transparent background."""

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
