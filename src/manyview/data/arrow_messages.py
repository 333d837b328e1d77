"""The messages of an Arrow file or stream: where they are and how many rows they hold.

Both are a sequence of messages; a file also has a mark before it and an index after it. A message
is a mark of four bytes, the length of its metadata, the metadata and a body. Only the metadata are
read here, so that a large file is opened at once. Format:
https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

FILE_MARK = b"ARROW1\0\0"
CONTINUED = 0xFFFFFFFF  # before 2019 a message began with the length
BATCH = 3  # the kind of a message with rows; others hold the schema or dictionaries
MOST_METADATA_BYTES = 1 << 26


@dataclass(frozen=True)
class Message:
    """One message: its kind, its bytes in the file, and the rows of a record batch."""

    kind: int
    start: int
    stop: int
    n_rows: int


def has_file_mark(file: BinaryIO) -> bool:
    """Whether this is a file, which has an index at its end, and no stream."""
    file.seek(0)
    return file.read(len(FILE_MARK)) == FILE_MARK


def messages_of(file: BinaryIO, n_bytes: int) -> Iterator[Message]:
    """Find the messages, from the first one to the end mark or the end of the file."""
    at = len(FILE_MARK) if has_file_mark(file) else 0
    while at < n_bytes:
        file.seek(at)
        (length,) = struct.unpack("<I", file.read(4))
        if length == CONTINUED:
            (length,) = struct.unpack("<I", file.read(4))
        if length == 0:
            return
        _require(length <= MOST_METADATA_BYTES, f"a message states {length} bytes of metadata")
        metadata = file.read(length)
        _require(len(metadata) == length, "the metadata of a message are cut short")
        kind, n_rows, body = _described(metadata)
        stop = file.tell() + body
        _require(body >= 0 and stop <= n_bytes, "the body of a message is cut short")
        yield Message(kind, at, stop, n_rows)
        at = stop


def _described(metadata: bytes) -> tuple[int, int, int]:
    """Kind, rows of a record batch, and length of the body, from the metadata (a flatbuffer)."""
    message = _Fields(metadata, _number("<I", metadata, 0))
    kind, body = message.number(1, "<B"), message.number(3, "<q")
    n_rows = message.table(2).number(0, "<q") if kind == BATCH else 0
    _require(n_rows >= 0, f"a record batch states {n_rows} rows")
    return kind, n_rows, body


class _Fields:
    """The fields of one table of a flatbuffer, by number."""

    def __init__(self, buffer: bytes, at: int) -> None:
        self._buffer, self._at = buffer, at
        self._index = at - _number("<i", buffer, at)
        self._n_index = _number("<H", buffer, self._index)

    def _place(self, field: int) -> int:
        """Position of a field; 0 if it has its default."""
        entry = 4 + 2 * field
        if entry + 2 > self._n_index:
            return 0
        offset = _number("<H", self._buffer, self._index + entry)
        return self._at + offset if offset else 0

    def number(self, field: int, kind: str) -> int:
        place = self._place(field)
        return _number(kind, self._buffer, place) if place else 0

    def table(self, field: int) -> _Fields:
        place = self._place(field)
        _require(place > 0, "a message has no header")
        return _Fields(self._buffer, place + _number("<I", self._buffer, place))


def _number(kind: str, buffer: bytes, at: int) -> int:
    _require(at >= 0, "the metadata of a message are damaged")
    (number,) = struct.unpack_from(kind, buffer, at)
    return int(number)


def _require(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)
