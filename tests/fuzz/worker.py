"""Runs commands in one process, for as long as it lives: one JSON line in, one out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import time
import traceback

import psutil

from manyview.cli import main
from manyview.utils.memory import peak_memory, start_peak

MOST_ADDRESSES = 4 << 30  # beyond what the process has when it is ready
FORBIDDEN = {
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "pickle.find_class"),
}
_seen: list[str] = []


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """Note what no file may bring about: another process, the network, objects out of a pickle."""
    is_uname = event == "subprocess.Popen" and arguments[0] == "uname"  # asked by h5py at import
    if event in FORBIDDEN and not is_uname and not _is_of_numba(event):
        _seen.append(f"{event} {arguments!r}"[:200])


def _is_of_numba(event: str) -> bool:
    """Whether compiled code is loaded or first run, whose constants numba keeps as pickles."""
    frame = sys._getframe() if event == "pickle.find_class" else None
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("numba.core."):
            return True
        frame = frame.f_back
    return False


def run_command(arguments: list[str]) -> dict[str, object]:
    """Exit code and what was said, or the traceback; seconds, and bytes at the peak."""
    sys.argv = ["manyview", *arguments]
    said, error, code = io.StringIO(), "", None
    _seen.clear()
    before, start = start_peak(), time.perf_counter()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as done:
            code = done.code
        except BaseException:
            error = traceback.format_exc()
    error = error or "\n".join(_seen)
    return {
        "code": code,
        "said": said.getvalue()[-2000:],
        "error": error[-4000:],
        "seconds": time.perf_counter() - start,
        "peak": peak_memory() - before,
    }


def serve() -> None:
    """Answer until the input ends."""
    sys.addaudithook(watch)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print themselves
    for line in sys.stdin:
        request = json.loads(line)
        if request.get("limit"):
            in_use = psutil.Process().memory_info().vms
            resource.setrlimit(resource.RLIMIT_AS, (in_use + MOST_ADDRESSES,) * 2)
            reply: dict[str, object] = {}
        else:
            reply = run_command(request["arguments"])
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    serve()
