"""Reader of MATLAB v5 files (saved by MATLAB with -v6 or -v7), safe against damaged files.

A file is a header of 128 bytes and then elements: a tag (type, number of bytes) and data, padded
to 8 bytes. A matrix is an element whose data are elements: flags with its class, shape, name, and
its values. A compressed element is the zlib stream of a matrix.

scipy.io.loadmat uses types and sizes without a check, so that one wrong byte can crash the process
(scipy pull request 25349). Here every read is bounded, and numbers keep their stored type.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Element = tuple[int, memoryview]

UINT8, MATRIX, COMPRESSED = 2, 14, 15
NUMBER_TYPES = {
    **{1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"},
    **{16: "u1", 17: "u2", 18: "u4"},  # text as UTF-8, -16, -32
}
CELL_CLASS, CHAR_CLASS, SPARSE_CLASS, NUMBER_CLASSES = 1, 4, 5, range(6, 16)
IS_LOGICAL, IS_COMPLEX = 0x200, 0x800


def read_mat5(content: bytes) -> dict[str, Any]:
    """Read the variables: arrays, CSC arrays, lists for cells, and None for other types."""
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        msg = "not of MATLAB version 5 or 7.3"
        raise ValueError(msg)
    variables = {}
    for kind, data in _elements(memoryview(content)[128:], order):
        if kind == COMPRESSED:
            ((kind, data),) = _elements(memoryview(zlib.decompress(data)), order)
        name, value = _read_matrix((kind, data), order)
        variables[name] = value
    return variables


def _elements(buffer: memoryview, order: str) -> Iterator[Element]:
    """Split a buffer into its elements."""
    at = 0
    while at < len(buffer):
        if at + 8 > len(buffer):
            msg = "cut short in a tag"
            raise ValueError(msg)
        kind, size = struct.unpack_from(f"{order}II", buffer, at)
        start, filled = at + 8, 0 if kind == COMPRESSED else -size % 8
        if kind >> 16:  # a small element has its data in the tag
            kind, size, start, filled = kind & 0xFFFF, kind >> 16, at + 4, 4 - (kind >> 16)
        if filled < 0 or start + size > len(buffer):
            msg = f"an element of {size} bytes does not fit"
            raise ValueError(msg)
        yield kind, buffer[start : start + size]
        at = start + size + filled


def _read_matrix(element: Element, order: str) -> tuple[str, Any]:
    """Read name and value of a matrix."""
    kind, data = element
    if kind != MATRIX:
        msg = f"found type {kind} in place of a matrix"
        raise ValueError(msg)
    if not data:  # an entry of a cell that was never set
        return "", None
    flags, sizes, name, *parts = _elements(data, order)
    flag = int(_numbers(flags, order)[0])
    shape = [int(size) for size in _numbers(sizes, order)]
    return bytes(name[1]).decode("latin1"), _read_value(flag, shape, parts, order)


def _read_value(flag: int, shape: list[int], parts: list[Element], order: str) -> Any:
    """Read the values of a matrix, by its class."""
    array_class = flag & 0xFF
    if array_class == CELL_CLASS:
        return [_read_matrix(part, order)[1] for part in parts]
    if flag & IS_COMPLEX or array_class not in (CHAR_CLASS, SPARSE_CLASS, *NUMBER_CLASSES):
        return None
    if array_class == SPARSE_CLASS and flag & IS_LOGICAL:
        parts[2] = (UINT8, parts[2][1])  # MATLAB calls these bytes float64
    arrays = [_numbers(part, order) for part in parts]
    if array_class == SPARSE_CLASS:
        (n_rows, n_columns), (rows, ends, values) = shape, arrays
        filled = slice(ends[-1])  # MATLAB may keep room for more
        matrix = sparse.csc_array((values[filled], rows[filled], ends), shape=(n_rows, n_columns))
        matrix.check_format(full_check=True)  # scipy would follow a wrong index out of bounds
        return matrix
    (numbers,) = arrays
    numbers = numbers.reshape(shape, order="F")
    if array_class == CHAR_CLASS:
        return np.array(["".join(map(chr, row)) for row in numbers])
    return numbers


def _numbers(element: Element, order: str) -> NDArray[Any]:
    kind, data = element
    if kind not in NUMBER_TYPES:
        msg = f"found type {kind} in place of numbers"
        raise ValueError(msg)
    return np.frombuffer(data, dtype=order + NUMBER_TYPES[kind])
