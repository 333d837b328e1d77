"""Many fits: one after the other, in threads, in processes, and in the workers of joblib.

    python -m benchmarks.load             # 5000 fits in one process; a quarter of an hour
    python -m benchmarks.load --quick     # some hundred
    python -m benchmarks.load --case "4 processes, fork"   # one case, in this process, as JSON

Each case runs in a process of its own, which is ended if it hangs. The fits that run at once are
those of a grid of parameters, and have the labels of the same fits one after the other, which the
process has made before: so numba, OpenMP and BLAS have started their threads when it is forked.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from joblib import Parallel, delayed
from sklearn.model_selection import ParameterGrid

from benchmarks.measuring import machine
from benchmarks.page import keep_rows, markdown, parser_for, results_file, write_section
from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.utils.processes import end_with_parent

N_FITS = {True: (50, 300), False: (500, 5000)}  # by whether it is quick; looked at after the first
N_SAMPLES = {True: 300, False: 1500}
PAGE = Path("docs/reliability.md")
LONGEST = 3600.0  # seconds; a case that takes longer hangs
GROWTH = 1.1  # of memory from the first look to the last, at most
GRID = {"lam": [0.5, 1.0, 2.0, 4.0], "random_state": [0, 1], "scale": ["auto", None]}

Row = dict[str, Any]
Labels = list[list[int]]


def fit_point(point: dict[str, Any], n_samples: int) -> list[int]:
    """Labels of one point of the grid; at the top level, for other processes."""
    data = make_multiview_blobs(n_samples, (20, 30), n_clusters=5, random_state=0).data
    return OMVCDR(5, **point).fit(data).labels_.tolist()


def fit_again_and_again(quick: bool) -> Row:
    """What a process holds after some fits, and after many."""
    first, last = N_FITS[quick]
    views = make_multiview_blobs(60, (5, 8), n_clusters=3, random_state=0).data.views
    process, held = psutil.Process(), {}
    start = time.perf_counter()
    for i in range(1, last + 1):
        OMVCDR(3, random_state=i).fit(views)
        if i in (first, last):
            held[i] = (process.memory_info().rss, threading.active_count(), _open_files(process))
    seconds = time.perf_counter() - start
    before, after = (dict(zip(("rss", "threads", "files"), held[i], strict=True)) for i in held)
    return {
        "fits": last,
        "seconds": seconds,
        "is_right": after["rss"] <= GROWTH * before["rss"]
        and (after["threads"], after["files"]) == (before["threads"], before["files"]),
        "finding": f"from fit {first} to fit {last}: memory {before['rss'] / 1e6:.0f} → "
        f"{after['rss'] / 1e6:.0f} MB, threads {before['threads']} → {after['threads']}, "
        f"open files {before['files']} → {after['files']}",
    }


def _open_files(process: psutil.Process) -> int:
    return process.num_handles() if sys.platform == "win32" else process.num_fds()


def in_executor(make: Callable[[], Executor]) -> Callable[[Sequence[Any], int], Labels]:
    """Fits in an executor."""

    def fit_all(points: Sequence[Any], n_samples: int) -> Labels:
        with make() as pool:
            return list(pool.map(fit_point, points, [n_samples] * len(points)))

    return fit_all


def in_joblib(backend: str) -> Callable[[Sequence[Any], int], Labels]:
    """Fits in the workers of joblib."""

    def fit_all(points: Sequence[Any], n_samples: int) -> Labels:
        work = (delayed(fit_point)(point, n_samples) for point in points)
        return Parallel(n_jobs=4, backend=backend)(work)

    return fit_all


def in_processes(method: str) -> Callable[[Sequence[Any], int], Labels]:
    """Fits in four processes."""
    return in_executor(
        lambda: ProcessPoolExecutor(4, mp_context=get_context(method), initializer=end_with_parent)
    )


AT_ONCE = {
    "8 threads": in_executor(lambda: ThreadPoolExecutor(8)),
    **{f"4 processes, {method}": in_processes(method) for method in get_all_start_methods()},
    "joblib, loky": in_joblib("loky"),
    "joblib, threading": in_joblib("threading"),
}
ONE_AFTER_THE_OTHER = "one process"
ANSWERS = {True: "yes", False: "**no**"}


def fit_at_once(case: str, quick: bool) -> Row:
    """Whether fits at once have the labels of fits one after the other."""
    points, n_samples = list(ParameterGrid(GRID)), N_SAMPLES[quick]
    start = time.perf_counter()
    expected = [fit_point(point, n_samples) for point in points]
    alone = time.perf_counter() - start
    found = AT_ONCE[case](points, n_samples)
    n_equal = sum(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    return {
        "fits": len(points),
        "seconds": time.perf_counter() - start - alone,
        "is_right": n_equal == len(points),
        "finding": f"{n_equal} of {len(points)} fits have the labels of fits one after the other, "
        f"which take {alone:.1f} s",
    }


def run_case(case: str, quick: bool) -> Row:
    """Row of a case, made in this process."""
    made = fit_again_and_again(quick) if case == ONE_AFTER_THE_OTHER else fit_at_once(case, quick)
    return {"case": case, **made}


def run_apart(case: str, quick: bool) -> Row:
    """Row of a case, made in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.load", "--case", case, *["--quick"] * quick]
    wrong = {"case": case, "fits": 0, "seconds": np.nan, "is_right": False}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return {**wrong, "finding": f"not finished within {LONGEST:g} s"}
    if done.returncode:
        return {**wrong, "finding": (done.stderr.splitlines() or ["no message"])[-1]}
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def table(rows: pd.DataFrame) -> str:
    """The findings, as on the page."""
    lines = [
        [row.case, str(row.fits), f"{row.seconds:.1f}", row.finding, ANSWERS[row.is_right]]
        for row in rows.itertuples()
    ]
    return markdown(["fits in", "fits", "seconds", "finding", "as promised"], lines)


def main() -> None:
    """Run all cases, print the table and keep the rows."""
    assert __doc__ is not None
    parser = parser_for(__doc__, "fewer and smaller fits")
    parser.add_argument("--case", choices=[ONE_AFTER_THE_OTHER, *AT_ONCE])
    arguments = parser.parse_args()
    if arguments.case is not None:
        print(json.dumps(run_case(arguments.case, arguments.quick)))
        return
    rows = []
    for case in [ONE_AFTER_THE_OTHER, *AT_ONCE]:
        rows.append(run_apart(case, arguments.quick))
        print(f"{case}: {rows[-1]['finding']} ({rows[-1]['seconds']:.1f} s)", flush=True)
    frame = pd.DataFrame(rows)
    keep_rows(results_file("load", arguments), frame)
    text = f"{table(frame)}\n\n`make load`; {machine()['machine']}; {machine()['versions']}."
    print(f"\n{text}")
    if not arguments.quick:
        write_section(PAGE, "load", text)
    sys.exit(0 if frame["is_right"].all() else 1)


if __name__ == "__main__":
    main()
