"""Shared by the speed benchmarks: machine, clocks, exponents, subprocesses."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from manyview import OMVCDR
from manyview._version import __version__
from manyview.exceptions import ConvergenceWarning
from manyview.utils.memory import peak_memory, start_peak
from manyview.utils.processes import end_with_parent

PACKAGES = ("manyview", "numpy", "scipy", "scikit-learn", "numba")
CPU_INFO = Path("/proc/cpuinfo")


@cache
def machine() -> dict[str, object]:
    """Columns for machine, load, threads and versions of a measurement."""
    versions = [f"{name} {version_of(name)}" for name in PACKAGES]
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),  # of other processes, at the first call
        "threads": max((pool["num_threads"] for pool in threadpool_info()), default=1),
        "versions": ", ".join([f"python {platform.python_version()}", *versions]),
    }


def version_of(package: str) -> str:
    """Version of an installed package; manyview may be a source tree."""
    if package == "manyview":
        return __version__
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """Name of the processor."""
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def timed(action: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def fastest(actions: Sequence[Callable[[], object]], n_repeats: int) -> list[float]:
    """Minimum seconds of each action, measured in turns so that noise affects all alike."""
    for action in actions:
        action()  # compile, and warm the cache
    rounds = [[timed(action) for action in actions] for _ in range(n_repeats)]
    return np.min(rounds, axis=0).tolist()


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Slope of a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


class _EnoughError(Exception):
    """Ends a fit whose result is not needed."""


def iteration_times(
    model: OMVCDR,
    data: Any,
    clock: Callable[[], float] = time.perf_counter,
    *,
    n_samples: int | None = None,
    **options: Any,
) -> list[float]:
    """Seconds of each iteration on all rows: both products and everything between.

    If the number of samples is given, the fit is aborted after the last iteration on that many
    rows, before its labels converge, and the model is not fitted.
    """
    marks: list[float] = []
    is_last_part = False

    def mark(progress: Any) -> None:
        nonlocal is_last_part
        if progress.step == "start":  # of a start on a sample, or then on all rows
            marks.clear()
            is_last_part = n_samples is not None and len(progress.labels()) == n_samples
        if progress.step == "weights":
            marks.append(clock())
            if is_last_part and progress.n_iter == model.max_iter:
                raise _EnoughError

    with warnings.catch_warnings(), suppress(_EnoughError):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the iterations are few on purpose
        model.fit(data, callback=mark, **options)
    return [after - before for before, after in pairwise(marks)]


def peak_of(action: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Result of a call, its seconds, and the peak memory in addition to that before."""
    before = start_peak()
    start = time.perf_counter()
    result = action()
    seconds = time.perf_counter() - start
    return result, {"seconds": seconds, "peak_bytes": max(peak_memory() - before, 0)}


def end_after(seconds: float) -> None:
    """Terminate this process after some seconds; `Child` reports it. 0: never."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


class Child:
    """A process that computes one row by a top-level function; failures are rows, too."""

    def __init__(self, function: Callable[..., dict[str, Any]], *arguments: object) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe(duplex=False)
        given = (theirs, function, *arguments)
        self.process = context.Process(target=_answer, args=given, daemon=True)
        self.process.start()
        theirs.close()

    def has_result(self) -> bool:
        """Whether the row is available, or never will be."""
        return self._ours.poll()

    def result(self) -> dict[str, Any]:
        """Wait for the row; its `status` is "done", "failed" or "stopped"."""
        try:
            return self._ours.recv()
        except EOFError:
            self.process.join()
            if self.process.exitcode == -signal.SIGALRM:
                return {"status": "stopped", "reason": "not finished within the limit of time"}
            reason = f"the process ended with code {self.process.exitcode} (out of memory?)"
            return {"status": "failed", "reason": reason}
        finally:
            self.process.kill()
            self.process.join()
            self._ours.close()


def apart(function: Callable[..., dict[str, Any]], *arguments: object) -> dict[str, Any]:
    """Row of a top-level function, computed in a separate process."""
    return Child(function, *arguments).result()


def _answer(
    connection: Connection, function: Callable[..., dict[str, Any]], *arguments: object
) -> None:
    """Call the function and send its row, or its error."""
    end_with_parent()
    try:
        row = {"status": "done", "reason": "", **function(*arguments)}
    except Exception as error:  # methods of other packages may raise anything
        text = traceback.format_exception_only(error)[-1]
        row = {"status": "failed", "reason": " ".join(text.split())}
    connection.send(row)
