"""A look at the frame of a MATLAB v5 file before scipy reads it.

A file is a header of 128 bytes and then elements: a tag (type, number of bytes) and the data, up to
the next multiple of 8 bytes. A matrix is an element that holds elements, the first of which tells
its class; a compressed element is a zlib stream. scipy looks up types without a check, so that one
damaged byte can end the process (scipy pull request 25349).
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import BinaryIO

__all__ = ["check_frame"]

MATRIX, COMPRESSED = 14, 15
NUMBERS = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18})  # and text
SPARSE_CLASS = 5
NESTING_CLASSES = frozenset({1, 2, 3, 16, 17})  # cell, struct, object, function, opaque
CHUNK_BYTES = 1 << 20


def check_frame(path: Path) -> None:
    """Raise ValueError or zlib.error where the frame of a MATLAB v5 file is damaged."""
    with path.open("rb") as file:
        order = {b"IM": "<", b"MI": ">"}.get(file.read(128)[126:])
        if order is not None:  # else it is of version 4, which has no such frame
            _check_elements(file, path.stat().st_size, order, frozenset({MATRIX, COMPRESSED}))


def _check_elements(file: BinaryIO, end: int, order: str, kinds: frozenset[int]) -> int:
    """Walk over elements of the given kinds up to `end`, and return how many there are."""
    n_elements = 0
    while file.tell() < end:
        kind, size = _read_tag(file, order)
        start = file.tell()
        if kind not in kinds or start + size > end:
            msg = (
                f"an element of type {kind} and {size} bytes at byte {start} does not belong there"
            )
            raise ValueError(msg)
        if kind == COMPRESSED:
            _check_stream(file, size)
            continue  # without filling
        if kind == MATRIX and size:
            _check_matrix(file, start + size, order)
        file.seek(start + size + -size % 8)
        n_elements += 1
    return n_elements


def _check_matrix(file: BinaryIO, end: int, order: str) -> None:
    """Walk through flags, dimensions, name and contents of a matrix."""
    start = file.tell()
    flags = struct.unpack(f"{order}8xI", file.read(12))[0]
    file.seek(start)
    array_class, is_complex = flags & 0xFF, bool(flags & 0x800)
    if array_class in NESTING_CLASSES:
        _check_elements(file, end, order, NUMBERS | {MATRIX})
        return
    n_expected = 4 + is_complex + 2 * (array_class == SPARSE_CLASS)
    if _check_elements(file, end, order, NUMBERS) < n_expected:
        msg = f"a matrix at byte {start} has too few parts"
        raise ValueError(msg)


def _read_tag(file: BinaryIO, order: str) -> tuple[int, int]:
    """Read the type of an element and its bytes to come: none if the tag itself has the data."""
    kind, size = struct.unpack(f"{order}II", file.read(8))
    return (kind & 0xFFFF, 0) if kind >> 16 else (kind, size)


def _check_stream(file: BinaryIO, size: int) -> None:
    """Inflate a compressed element, which compares its checksum."""
    stream = zlib.decompressobj()
    for start in range(0, size, CHUNK_BYTES):
        stream.decompress(file.read(min(CHUNK_BYTES, size - start)))
    if not stream.eof:
        msg = "a compressed element is cut short"
        raise ValueError(msg)
