"""Writes survive errors and kills: old or new, whole or absent."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from manyview.persistence.atomic import RowLog, atomic_path, write_bytes, write_text

APPENDER = """
import sys
from manyview.persistence.atomic import RowLog
log, writer = RowLog(sys.argv[1]), sys.argv[2]
for i in range(int(sys.argv[3])):
    log.append({"writer": writer, "i": i, "text": "x" * 3000})
"""
WRITER = """
import sys
from manyview.persistence.atomic import write_bytes
for i in range(10**9):
    write_bytes(sys.argv[1], bytes([i % 256]) * 300_000)
"""
# byte locks of Windows, made of those of POSIX; a second of two takers is refused, as there
WINDOWS_LOCKS = """
import fcntl, os, sys, types
import manyview  # before, as much in the standard library takes msvcrt for Windows
posix, sys.modules["fcntl"] = fcntl, None
def locking(file, mode, n_bytes):
    how = posix.LOCK_EX | posix.LOCK_NB if mode == 2 else posix.LOCK_UN
    try:
        posix.lockf(file, how, n_bytes, 0, os.SEEK_CUR)
    except OSError as error:
        raise PermissionError(13, "Permission denied") from error
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, LK_UNLCK=0, locking=locking)
"""
needs_fcntl = pytest.mark.skipif(find_spec("fcntl") is None, reason="no fcntl here")
needs_sigkill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")


def start(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)])


def kill_when(child: subprocess.Popen[bytes], is_time) -> None:
    """Kill the child in the middle of its work; fail if it ended before."""
    deadline = time.monotonic() + 600  # only so that a fault ends the test
    while not is_time():
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL


def write_half(target: Path, error: type[BaseException]) -> None:
    with atomic_path(target) as path:
        path.write_text("half of the n")
        raise error


def hidden(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_written_file_holds_what_was_given_and_nothing_else_is_left(tmp_path):
    write_text(tmp_path / "a.txt", "é")
    write_bytes(tmp_path / "b.bin", b"\x00\r\n")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "é"
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\r\n"
    assert hidden(tmp_path) == []


def test_the_temporary_name_is_beside_the_target_and_keeps_the_suffix(tmp_path):
    with atomic_path(tmp_path / "views.npz") as path:
        assert path.parent == tmp_path.resolve()
        np.savez(path, view_0=np.eye(2))
        assert not (tmp_path / "views.npz").exists()
    assert np.load(tmp_path / "views.npz")["view_0"].shape == (2, 2)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_no_temporary(tmp_path, error):
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(error):
        write_half(target, error)
    assert target.read_text() == "old"
    assert hidden(tmp_path) == []


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    target = tmp_path / "a.csv"
    with pytest.raises(OSError, match="No space") as caught, atomic_path(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(target)


def test_a_target_that_cannot_be_replaced_is_told_by_its_own_name(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(OSError, match=r"a\.csv") as caught:
        write_text(tmp_path / "a.csv", "new")
    assert caught.value.filename == str(tmp_path / "a.csv")


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege elsewhere")
def test_a_link_is_followed_and_stays_a_link(tmp_path):
    write_text(tmp_path / "target.txt", "old")
    (tmp_path / "link.txt").symlink_to("target.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text() == "new"


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
def test_a_new_file_has_the_mode_that_other_new_files_have(tmp_path):
    write_text(tmp_path / "ours", "")
    (tmp_path / "theirs").write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


@pytest.mark.slow
@needs_sigkill
def test_a_killed_writer_leaves_a_whole_file(tmp_path):
    target = tmp_path / "a.bin"
    for _ in range(3):
        write_bytes(target, b"o" * 300_000)
        child = start(WRITER, target)
        kill_when(child, lambda: target.read_bytes()[:1] != b"o")
        content = target.read_bytes()
        assert len(content) == 300_000
        assert content == content[:1] * 300_000


@needs_sigkill
def test_a_writer_killed_before_the_end_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "old")
    program = (
        "import sys, time; from manyview.persistence.atomic import atomic_path\n"
        "with atomic_path(sys.argv[1]) as path: path.write_text('half'); time.sleep(60)"
    )
    kill_when(start(program, target), lambda: hidden(tmp_path))
    assert target.read_text() == "old"
    write_text(target, "new")
    assert target.read_text() == "new"


def test_rows_come_back_in_order_and_numpy_values_become_plain(tmp_path):
    log = RowLog(tmp_path / "rows.jsonl")
    assert log.read() == []
    log.append({"acc": np.float32(0.5), "seed": np.int64(3), "counts": np.arange(2)})
    log.append({"text": "a\nb é", "nothing": None})
    assert log.read() == [
        {"acc": 0.5, "seed": 3, "counts": [0, 1]},
        {"text": "a\nb é", "nothing": None},
    ]


def test_a_row_that_is_no_json_leaves_the_file_as_it_was(tmp_path):
    log = RowLog(tmp_path / "rows.jsonl")
    log.append({"i": 0})
    with pytest.raises(TypeError, match="expected numbers"):
        log.append({"i": object()})
    assert log.read() == [{"i": 0}]


@pytest.mark.parametrize("torn", ['{"i": 2, "te', '{"i": 2}', "\0" * 5, "x" * 200_000])
@pytest.mark.parametrize("n_rows", [0, 2])
def test_a_torn_line_is_ignored_and_cut_off_by_the_next_append(tmp_path, torn, n_rows):
    log = RowLog(tmp_path / "rows.jsonl")
    rows = [{"i": i} for i in range(n_rows)]
    for row in rows:
        log.append(row)
    with log.path.open("a") as file:
        file.write(torn)
    assert log.read() == rows
    log.append({"i": "next"})
    assert log.read() == [*rows, {"i": "next"}]
    assert log.path.read_text().count("\n") == n_rows + 1


def test_a_file_of_another_kind_is_named(tmp_path):
    (tmp_path / "notes.txt").write_text("not\nrows\n")
    with pytest.raises(ValueError, match=r"notes\.txt has lines that are not JSON"):
        RowLog(tmp_path / "notes.txt").read()


@pytest.mark.slow
@needs_sigkill
def test_rows_of_a_killed_process_survive_and_the_next_append_goes_on(tmp_path):
    log = RowLog(tmp_path / "rows.jsonl")
    for run in range(3):
        before = len(log.read())
        child = start(APPENDER, log.path, run, 10**9)
        kill_when(child, lambda before=before: len(log.read()) > before + 5)
        rows = log.read()
        assert [row["i"] for row in rows if row["writer"] == str(run)] == list(
            range(len(rows) - before)
        )
        # A kill rarely tears so short a line: tear the last one by hand.
        os.truncate(log.path, log.path.stat().st_size - 1000)
        assert log.read() == rows[:-1]
        log.append({"writer": "parent", "i": run})
        assert log.read() == [*rows[:-1], {"writer": "parent", "i": run}]


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(APPENDER, id="here"),
        pytest.param(WINDOWS_LOCKS + APPENDER, id="as on Windows", marks=needs_fcntl),
    ],
)
def test_several_processes_may_append_to_one_file(tmp_path, program):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"torn')
    children = [start(program, path, writer, 30) for writer in range(3)]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0]
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for writer in range(3):
        assert [row["i"] for row in rows if row["writer"] == str(writer)] == list(range(30))


def test_a_byte_lock_is_waited_for_and_given_back_after_an_error(tmp_path, monkeypatch):
    calls = []

    def locking(file, mode, n_bytes):
        calls.append((mode, os.lseek(file, 0, os.SEEK_CUR), n_bytes))
        if len(calls) == 1:
            raise PermissionError(errno.EACCES, "Permission denied")

    windows = SimpleNamespace(LK_NBLCK="lock", LK_UNLCK="unlock", locking=locking)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    monkeypatch.setattr(os, "write", lambda file, line: 0)
    with pytest.raises(OSError, match="No room"):
        RowLog(tmp_path / "rows.jsonl").append({"i": 0})
    assert [mode for mode, _, _ in calls] == ["lock", "lock", "unlock"]
    assert {position for _, position, _ in calls} == {2**31 - 2}


def test_a_full_disk_is_reported_and_leaves_no_half_row(tmp_path, monkeypatch):
    log = RowLog(tmp_path / "rows.jsonl")
    log.append({"i": 0})
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:4]))
    with pytest.raises(OSError, match="free some disk space"):
        log.append({"i": 1})
    assert log.path.read_bytes() == b'{"i": 0}\n'
