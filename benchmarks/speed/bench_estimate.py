"""Estimated time and memory, compared with the fit that follows.

Blobs of two views in float32, for three numbers of samples, two of clusters and each engine; the
stream reads them from `.npy` files. Each estimate, and each fit right after it, has a process of
its own, so that both find the machine in the same state. Memory is the anonymous memory, sampled
every few milliseconds, when streaming, and the peak of all memory otherwise. The target is a factor
of at most 1.5.

    python -m benchmarks.speed.bench_estimate [--quick]
        [--out benchmarks/results/bench_estimate.csv]
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.page import keep_rows
from manyview import OMVCDR, estimate_cost, open_rows
from manyview.datasets import make_multiview_blobs
from manyview.utils.memory import peak_memory, start_peak

ENGINES = ("memory", "stream")
WIDTHS = (256, 384)
SEPARATION = 4.0
GRID = {"n": (30_000, 100_000, 400_000), "k": (10, 40)}
QUICK = {"n": (2000, 16_000), "k": (5,)}
FACTOR = 1.5  # target
SAMPLE_EVERY = 0.005  # seconds


def make_files(folder: Path, n: int, k: int) -> None:
    """Views in files."""
    blobs = make_multiview_blobs(
        n, WIDTHS, n_clusters=k, separation=SEPARATION, dtype=np.float32, random_state=0
    )
    for name, X in zip("ab", blobs.data.views, strict=True):
        np.save(folder / f"{name}.npy", X)


def views_of(folder: Path, engine: str) -> list[Any]:
    """Views in memory, or in their files."""
    files = [folder / "a.npy", folder / "b.npy"]
    return [np.load(file) if engine == "memory" else open_rows(file) for file in files]


def foretell(folder: Path, engine: str, k: int) -> dict[str, float]:
    """Estimated seconds and bytes, and the time of the estimate."""
    start = time.perf_counter()
    told = estimate_cost(views_of(folder, engine), k, engine, random_state=0)
    took = time.perf_counter() - start
    return {"told_s": told.seconds, "told_bytes": told.memory_bytes, "estimate_s": took}


def measure(folder: Path, engine: str, k: int) -> dict[str, float]:
    """Seconds and bytes of the fit; compilation is before."""
    views = views_of(folder, engine)
    OMVCDR(2, n_init=1, engine=engine, random_state=0).fit([X[:200] for X in views])
    model = OMVCDR(k, engine=engine, random_state=0)
    with anonymous_peak() as anonymous:
        before = start_peak()
        start = time.perf_counter()
        model.fit(views)
        seconds = time.perf_counter() - start
        held = peak_memory() - before
    n_bytes = anonymous["peak"] if engine == "stream" else held
    return {"fit_s": seconds, "fit_bytes": n_bytes, "n_iter": model.n_iter_}


@contextmanager
def anonymous_peak() -> Iterator[dict[str, int]]:
    """Peak of anonymous memory inside a `with` block, minus that before."""
    seen, is_over = {"peak": 0}, threading.Event()
    before = anonymous_bytes()

    def watch() -> None:
        while not is_over.wait(SAMPLE_EVERY):
            seen["peak"] = max(seen["peak"], anonymous_bytes() - before)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


def anonymous_bytes() -> int:
    """RssAnon of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024


def apart(task: str, *arguments: object) -> dict[str, Any]:
    """Row of a task, made in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed.bench_estimate",
        "--task",
        task,
        *map(str, arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def run(grid: dict[str, tuple[int, ...]]) -> Iterator[dict[str, Any]]:
    """Rows of all sizes and engines."""
    for n, k in itertools.product(grid["n"], grid["k"]):
        with tempfile.TemporaryDirectory() as folder:
            make_files(Path(folder), n, k)
            for engine in ENGINES:
                row = {"engine": engine, "n": n, "k": k}
                row |= apart("foretell", folder, engine, k) | apart("measure", folder, engine, k)
                row["time_ratio"] = row["told_s"] / row["fit_s"]
                row["memory_ratio"] = row["told_bytes"] / max(row["fit_bytes"], 1.0)
                yield {**row, "machine": platform.machine(), "numpy": np.__version__}


def tell(row: dict[str, Any]) -> str:
    """One line about a row."""
    return (
        f"{row['engine']}, n = {row['n']}, k = {row['k']}: {row['told_s']:.1f} s estimated, "
        f"{row['fit_s']:.1f} s measured, ratio {row['time_ratio']:.2f}; "
        f"{row['told_bytes'] / 1e6:.0f} MB estimated, {row['fit_bytes'] / 1e6:.0f} MB measured, "
        f"ratio {row['memory_ratio']:.2f}; the estimate took {row['estimate_s']:.1f} s"
    )


def findings(rows: pd.DataFrame) -> str:
    """How many estimates are within the factor."""
    lines = []
    for name in ("time", "memory"):
        ratio = rows[f"{name}_ratio"]
        n_right = int(ratio.between(1 / FACTOR, FACTOR).sum())
        lines.append(
            f"{name}: {n_right} of {len(rows)} within a factor of {FACTOR:g}; ratios from "
            f"{ratio.min():.2f} to {ratio.max():.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run, print the ratios, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small sizes")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_estimate.csv"))
    parser.add_argument("--task", nargs=4, help=argparse.SUPPRESS)  # of a process of its own
    arguments = parser.parse_args()
    if arguments.task:
        warnings.simplefilter("ignore")
        task, folder, engine, k = arguments.task
        function = {"foretell": foretell, "measure": measure}[task]
        print(json.dumps(function(Path(folder), engine, int(k))))
        return
    rows = []
    for row in run(QUICK if arguments.quick else GRID):
        print(tell(row), flush=True)
        rows.append(row)
    table = pd.DataFrame(rows)
    print(findings(table))
    keep_rows(arguments.out, table)


if __name__ == "__main__":
    main()
