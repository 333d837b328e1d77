"""Commands in processes of their own that cost little: forked from one that has everything loaded.

A child runs the command line as a user would, on real files, until it ends or a signal ends it. A
hook of the interpreter sees every file that it opens for writing, renames or removes, so a signal
can be sent at exactly the n-th of these operations.
"""

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from manyview.__main__ import main

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
SECONDS = 120  # after which a child has hung


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int  # exit code, or the negative number of a signal
    out: str
    err: str
    operations: int = 0  # file operations that it made

    @property
    def is_sentence(self) -> bool:
        """Whether it ended with one sentence for the user."""
        lines = self.err.strip().splitlines()
        return len(lines) == 1 and lines[0].startswith("manyview: ")


def run(folder: Path, *arguments: object, before: Callable[[], None] | None = None) -> Ended:
    """Run `manyview` in a forked process inside a folder."""
    return run_program(folder, lambda: _command(arguments), before)


def run_program(
    folder: Path,
    program: Callable[[], None],
    before: Callable[[], None] | None = None,
    meanwhile: Callable[[int], None] | None = None,
) -> Ended:
    """Run a function in a forked process inside a folder; `meanwhile` is given its number."""
    said = [folder.parent / f"{folder.name}.{name}" for name in ("out", "err", "count")]
    child = os.fork()
    if child == 0:
        _become(folder, said, program, before)
    if meanwhile is not None:
        meanwhile(child)
    code = _wait(child)
    out, err, count = (path.read_text(errors="replace") if path.exists() else "" for path in said)
    for path in said:
        path.unlink(missing_ok=True)
    return Ended(code, out, err, int(count or 0))


def _become(folder, said, program, before):
    """In the child: run, and end with the exit code."""
    code = 70
    try:
        os.setsid()
        os.chdir(folder)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler if number == 2 else signal.SIG_DFL)
        for path, stream in zip(said, (1, 2), strict=False):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, stream)
        _count_operations(said[2])
        if before is not None:
            before()
        program()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt:  # a command handles its own, with a sentence
        code = 128 + signal.SIGINT
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _command(arguments):
    sys.argv = ["manyview", *map(str, arguments)]
    main()


def _wait(child: int) -> int:
    """Exit code of a child; a child that hangs is killed, which is then its exit code."""
    limit = time.monotonic() + SECONDS
    while time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -99


_watchers: list[Callable[[int, str, tuple[object, ...]], None]] = []
_n_operations = 0


def _count_operations(path: Path) -> None:
    """Call the watchers before each operation that changes files below the current folder."""
    folder = str(Path.cwd()) + os.sep
    lock = threading.Lock()
    inside = threading.local()

    def hook(event, arguments):
        global _n_operations
        if event not in CHANGES and not (event == "open" and _is_write(arguments)):
            return
        where = arguments[0]
        if isinstance(where, int) or getattr(inside, "hook", False):
            return
        name = str(Path(os.fsdecode(where)).absolute())
        if not name.startswith(folder) or "__pycache__" in name:
            return
        inside.hook = True
        with lock:
            _n_operations += 1
            number = _n_operations
        try:
            for watcher in _watchers:
                watcher(number, event, arguments)
            path.write_text(str(number))
        finally:
            inside.hook = False

    sys.addaudithook(hook)


def _is_write(arguments) -> bool:
    """Whether a file is opened for writing; os.open has flags instead of a mode."""
    _, mode, flags = arguments
    if isinstance(mode, str):
        return mode[0] in "wax+" or "+" in mode
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def at_operation(number: int, action: Callable[[], None]) -> Callable[[], None]:
    """For `before`: do something right before the n-th operation."""

    def install():
        _watchers.append(lambda n, event, arguments: action() if n == number else None)

    return install


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler of a signal."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def send(number: int) -> Callable[[], None]:
    """A signal to the own process."""
    return lambda: os.kill(os.getpid(), number)
