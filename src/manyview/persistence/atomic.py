"""Writes that survive a crash: a file is the old one or the new one, a row is whole or absent."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

TAIL_BYTES = 1 << 16  # a torn line is looked for in pieces of this size, from the end
BINARY = getattr(os, "O_BINARY", 0)  # without it Windows writes "\r\n" for "\n"
# Windows locks bytes, and nobody can read a locked one: so one far behind the last, but within the
# 31 bits that its C library takes.
LOCKED_BYTE = 2**31 - 2
LOCK_WAIT = 0.01  # seconds from one try to the next
NO_ROOM = 1 << 16  # bytes: with less, a write that failed without a reason met a full disk


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file under a temporary name and put it in place at the end.

    Parameters
    ----------
    path : str or path
        The file to make or to replace. Its folder must exist; a link is followed, not replaced.

    Yields
    ------
    pathlib.Path
        A new name in the same folder, with the same suffix. After an error nothing is left of it,
        and `path` is as it was. What a killed process left of it is removed by the next write.

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
    # The whole name comes last, since writers such as numpy.savez look at the suffix.
    temporary = target.with_name(f".{secrets.token_hex(4)}-{target.name}")
    try:
        _remove_abandoned(target)
        with _claimed(temporary):
            yield temporary
            _sync(temporary)
            if os.name == "posix":  # elsewhere a file that is open cannot be renamed
                temporary.replace(target)
        if os.name != "posix":
            temporary.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        named = _named(error, temporary, path)
        if named is error:
            raise
        raise named from error
    finally:
        temporary.unlink(missing_ok=True)


def temporary_names(name: str) -> str:
    """Pattern (a regular expression) of the temporary names of a file, whose name is a pattern.

    Parameters
    ----------
    name : str
        Regular expression of the final name.

    Returns
    -------
    str
    """
    return rf"\.[0-9a-f]{{8}}-(?:{name})"


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files of a target whose writer was killed: those that nobody has locked."""
    pattern = re.compile(temporary_names(re.escape(target.name)))
    for entry in target.parent.iterdir():
        if pattern.fullmatch(entry.name):
            with suppress(OSError):  # it has just become the target, or has been removed
                file = os.open(entry, os.O_RDWR | BINARY)
                is_abandoned = try_lock(file)
                os.close(file)
                if is_abandoned:
                    entry.unlink()


@contextmanager
def _claimed(path: Path) -> Iterator[None]:
    """Make a file, and keep it locked inside the block: its writer lives."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
    try:
        try_lock(file)
        yield
    finally:
        os.close(file)


def _named(error: OSError, temporary: Path, path: str | os.PathLike[str]) -> OSError:
    """The error with the name of the file that could not be written, and a reason."""
    if error.errno is None:  # numpy and others do not say why they could write only some bytes
        is_full = shutil.disk_usage(temporary.parent).free < NO_ROOM
        code = errno.ENOSPC if is_full else errno.EIO
        return OSError(code, os.strerror(code) if is_full else str(error), os.fspath(path))
    # a full disk does not say for which file it has no room; others name the temporary one
    if error.filename in (None, str(temporary)):
        error.filename = os.fspath(path)
    return error


@contextmanager
def only_process(path: str | os.PathLike[str], otherwise: str) -> Iterator[None]:
    """Hold a lock file inside the block; it is given back if the process dies.

    Parameters
    ----------
    path : str or path
        The lock file. Its folder must exist; it is removed at the end.
    otherwise : str
        Message of the FileExistsError if another process, or thread, holds it.
    """
    file = _lock_file(Path(path))
    if file is None:
        raise FileExistsError(otherwise)
    try:
        yield
    finally:
        if os.name == "posix":
            Path(path).unlink(missing_ok=True)  # before another can lock it
        os.close(file)
        if os.name != "posix":
            with suppress(OSError):  # another has opened it
                Path(path).unlink(missing_ok=True)


def _lock_file(path: Path) -> int | None:
    """Open and lock a file; None if another holds it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | BINARY, 0o666)
        if not try_lock(file):
            os.close(file)
            return None
        with suppress(FileNotFoundError):
            if os.name != "posix" or path.stat().st_ino == os.fstat(file).st_ino:
                return file
        os.close(file)  # its holder has just removed it


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Make or replace a UTF-8 file, all of it or nothing.

    Parameters
    ----------
    path : str or path
        The file to make or to replace.
    text : str
        What it shall hold.
    """
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Make or replace a binary file, all of it or nothing.

    Parameters
    ----------
    path : str or path
        The file to make or to replace.
    content : bytes
        What it shall hold.
    """
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


class RowLog:
    """Rows of results in a file that only grows: one JSON object a line.

    A row is on disk when `append` returns. A process killed while appending leaves at most one torn
    last line, which `read` ignores and the next `append` cuts off. Several processes may append to
    one file: each waits until the one before is done.

    Parameters
    ----------
    path : str or path
        The file; the first `append` makes it. Its folder must exist.

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
        """Add one row, and return when it is on disk.

        Parameters
        ----------
        row : mapping of str to JSON values
            Scalars and arrays of numpy are written as numbers and lists.
        """
        line = json.dumps(dict(row), default=_as_plain).encode() + b"\n"
        is_new = not self.path.exists()
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | BINARY, 0o666)
        try:
            with _locked(file):
                self._write(file, line)
        finally:
            os.close(file)
        if is_new:
            sync_folder(self.path.parent)

    def _write(self, file: int, line: bytes) -> None:
        """Add a line to an open file, all of it or nothing."""
        size = _cut_torn_line(file)
        if os.write(file, line) < len(line):
            os.ftruncate(file, size)
            msg = f"No room for a row of {len(line)} bytes in {self.path}; free some disk space."
            raise OSError(msg)
        os.fsync(file)

    def read(self) -> list[dict[str, Any]]:
        """Read all complete rows.

        Returns
        -------
        list of dict
            In the order of the file; empty where there is no file yet.
        """
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else [b""]
        try:
            return [json.loads(line) for line in lines[:-1]]  # after the last newline: a torn line
        except ValueError:
            msg = f"{self.path} has lines that are not JSON; expected a log of rows. Move it away."
            raise ValueError(msg) from None


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """Keep other processes that ask for it, too, from an open file."""
    while not try_lock(file):
        time.sleep(LOCK_WAIT)
    try:
        yield
    finally:
        _unlock(file)


def try_lock(file: int) -> bool:
    """Lock an open file until it is closed, if no other has; True where files have no locks.

    Parameters
    ----------
    file : int
        Descriptor of a file that is open for writing.

    Returns
    -------
    bool
        Whether no other holds it.
    """
    try:
        fcntl: Any = import_module("fcntl")
    except ImportError:  # on Windows
        return _lock_byte(file, is_wanted=True)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _unlock(file: int) -> None:
    try:
        fcntl: Any = import_module("fcntl")
    except ImportError:
        _lock_byte(file, is_wanted=False)
    else:
        fcntl.flock(file, fcntl.LOCK_UN)


def _lock_byte(file: int, *, is_wanted: bool) -> bool:
    """Take or give back the byte of a file that stands for all of it; False if another has it."""
    msvcrt: Any = import_module("msvcrt")
    os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK if is_wanted else msvcrt.LK_UNLCK, 1)
    except PermissionError:
        if not is_wanted:
            raise
        return False
    return True


def _as_plain(value: object) -> object:
    """Turn a numpy scalar or array into a number or a list."""
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
    """Wait until a file or a folder is on disk."""
    file = os.open(path, (os.O_RDWR | BINARY) if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk.

    Parameters
    ----------
    folder : path
        The folder.
    """
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _sync(folder)
