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


def run_command(arguments: list[str]) -> dict[str, object]:
    """Exit code and what was said, or the traceback; seconds, and bytes at the peak."""
    sys.argv = ["manyview", *arguments]
    said, error, code = io.StringIO(), "", None
    before, start = start_peak(), time.perf_counter()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as done:
            code = done.code
        except BaseException:
            error = traceback.format_exc()
    return {
        "code": code,
        "said": said.getvalue()[-2000:],
        "error": error[-4000:],
        "seconds": time.perf_counter() - start,
        "peak": peak_memory() - before,
    }


def serve() -> None:
    """Answer until the input ends."""
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
