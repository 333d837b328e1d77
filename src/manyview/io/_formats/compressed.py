"""Files that may be compressed as a whole: their endings, and their bytes."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from manyview.exceptions import ViewError
from manyview.utils.memory import installed_memory


def _open_zst(path: Path) -> Any:
    import pyarrow

    return pyarrow.input_stream(str(path), compression="zstd")


OPENERS: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".zst": _open_zst}
INSIDE = (".csv", ".tsv", ".txt", ".mtx")  # what may be compressed


def split_ending(path: Path) -> tuple[str, str]:
    """The name without its ending, and the ending in lower case, without that of compression."""
    inner = Path(path.stem)
    if path.suffix.lower() in OPENERS and inner.suffix.lower() in INSIDE:
        return inner.stem, inner.suffix.lower()
    return path.stem, path.suffix.lower()


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked."""
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.open("rb")
    return io.BufferedReader(_Unpacked(opener(path), path), 1 << 20)


def open_text(path: Path, encoding: str = "utf-8") -> io.TextIOWrapper:
    """The text of a file, unpacked; bytes that are not text become question marks."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="", errors="replace")


class _Unpacked(io.RawIOBase):
    """A compressed file, refused once it turns out to be larger than the memory could hold."""

    def __init__(self, stream: Any, path: Path) -> None:
        super().__init__()
        self._stream, self._path = stream, path
        self._left = installed_memory() // 4

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; 0 at the end."""
        view = memoryview(buffer)
        piece = cast("bytes", self._stream.read(len(view)))
        self._left -= len(piece)
        if self._left < 0:
            msg = (
                f"{self._path} takes more than a quarter of the memory when unpacked; unpack it, "
                "and save it as .parquet or .npy."
            )
            raise ViewError(msg)
        view[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Close the file, too."""
        self._stream.close()
        super().close()
