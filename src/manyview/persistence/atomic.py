"""Crash-safe writes: a file is the old or the new one, a row is complete or absent."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

__all__ = ["RowLog", "atomic_path", "write_bytes", "write_text"]

TAIL_BYTES = 1 << 16  # an incomplete line is searched for in pieces of this size, from the end


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file under a temporary name and move it into place at the end.

    Parameters
    ----------
    path : str or path
        File to create or replace. Its folder must exist; a link is followed, not replaced.

    Yields
    ------
    pathlib.Path
        A new name in the same folder, with the same suffix. After an error nothing is left of it,
        and `path` is as it was.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_path(target) as path:
    ...     _ = path.write_text("whole or not at all")
    >>> target.read_text()
    'whole or not at all'
    """
    target = Path(path).resolve()
    # The temporary name ends with the name, since writers such as numpy.savez check the suffix.
    temporary = target.with_name(f".{secrets.token_hex(4)}-{target.name}")
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        if error.filename is None:  # the error of a full disk does not name the file
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Create or replace a UTF-8 file atomically.

    Parameters
    ----------
    path : str or path
        File to create or replace.
    text : str
        New content.
    """
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Create or replace a binary file atomically.

    Parameters
    ----------
    path : str or path
        File to create or replace.
    content : bytes
        New content.
    """
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


class RowLog:
    """Append-only file of result rows: one JSON object per line.

    A row is on disk when `append` returns. A process killed while appending leaves at most one
    incomplete line, which `read` ignores and the next `append` removes. Several processes may
    append to one file (on Windows, which lacks `fcntl`, only one).

    Parameters
    ----------
    path : str or path
        The file; the first `append` creates it. Its folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> log = RowLog(Path(tempfile.mkdtemp()) / "rows.jsonl")
    >>> log.append({"method": "lmvsc", "acc": 0.5})
    >>> log.read()
    [{'method': 'lmvsc', 'acc': 0.5}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def append(self, row: Mapping[str, object]) -> None:
        """Append one row; it is on disk on return.

        Parameters
        ----------
        row : mapping of str to JSON values
            Scalars and arrays of numpy are written as numbers and lists.
        """
        line = json.dumps(dict(row), default=_as_plain).encode() + b"\n"
        is_new = not self.path.exists()
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            if sys.platform != "win32":
                fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
            size = _cut_torn_line(file)
            if os.write(file, line) < len(line):
                os.ftruncate(file, size)
                msg = (
                    f"No room for a row of {len(line)} bytes in {self.path}; free some disk space."
                )
                raise OSError(msg)
            os.fsync(file)
        finally:
            os.close(file)
        if is_new:
            _sync_folder(self.path.parent)

    def read(self) -> list[dict[str, Any]]:
        """Read all complete rows.

        Returns
        -------
        list of dict
            In the order of the file; empty where there is no file yet.
        """
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else [b""]
        try:
            return [json.loads(line) for line in lines[:-1]]  # the last line is incomplete
        except ValueError:
            msg = f"{self.path} has lines that are not JSON; expected a log of rows. Move it away."
            raise ValueError(msg) from None


def _as_plain(value: object) -> object:
    """Convert a numpy scalar or array to a number or a list."""
    if hasattr(value, "tolist"):
        return value.tolist()
    msg = f"A row holds a {type(value).__name__}; expected numbers, text, lists and dicts."
    raise TypeError(msg)


def _cut_torn_line(file: int) -> int:
    """Truncate a file to its last newline, and return its size."""
    size = end = os.lseek(file, 0, os.SEEK_END)
    while end > 0:
        start = max(0, end - TAIL_BYTES)
        os.lseek(file, start, os.SEEK_SET)
        end = start + os.read(file, end - start).rfind(b"\n") + 1
        if end > start:
            break
    if end < size:
        os.ftruncate(file, end)
    return end


def _sync(path: Path) -> None:
    """Flush a file or folder to disk."""
    file = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _sync(folder)
