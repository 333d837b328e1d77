"""Engines compared: streaming relative to raw reads and to computing, and resuming a killed fit.

A file of N × 512 float32 values is written in blocks. In one run, with the file kept out of the
page cache (it is dropped before, and every second while streaming):

1. the rate of a raw read: the file once, in order, without computing;
2. each engine on a part that fits in memory: seconds per iteration, F, peak of anonymous memory;
   1. and the memory engine are measured again after 3., and the fastest counts;
3. streaming of the whole file. An iteration reads it once; it takes at least the time of a raw
   read, and at least that of the memory engine for the same number of rows. The larger of both,
   divided by the measured time, is the share of the possible rate;
4. the same fit killed with SIGKILL after half of its passes and called again: are the labels the
   same?

Anonymous memory (RssAnon) is that of the whole process, sampled every 20 ms.

    python -m benchmarks.speed.bench_engines [--quick] [--folder FOLDER] [--engines memory stream]
        [--out FILE]

The full run writes a file of 8 GB into the folder, and reuses it the next time.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import Child, iteration_times, machine, peak_of
from benchmarks.page import keep_rows, parser_for, results_file
from manyview import OMVCDR, open_rows
from manyview.persistence.atomic import atomic_path

WIDTH, K, N_ITER = 512, 10, 5
BLOCK_ROWS = 8192
DROP_EVERY, SAMPLE_EVERY = 1.0, 0.02  # seconds
CACHES = Path("/proc/sys/vm/drop_caches")
ANON_LIMIT, RATE_LIMIT = 1.5e9, 0.7  # targets


@dataclass(frozen=True)
class Plan:
    """Sizes of a run."""

    n_rows: int
    n_part: int  # rows that fit in memory
    memory_limit: float  # of streaming, in bytes


FULL = Plan(4_000_000, 400_000, 1e9)
QUICK = Plan(200_000, 50_000, 1.5e8)


@dataclass(frozen=True)
class Job:
    """One fit."""

    engine: str
    path: Path
    n_rows: int
    memory_limit: float | None = None
    checkpoint: Path | None = None
    labels: Path | None = None  # file that they are written to
    n_passes: int | str = "auto"


def make_file(path: Path, n_rows: int) -> None:
    """Blobs, written block by block; a file of the right size is left as it is."""
    if path.exists() and np.load(path, mmap_mode="r").shape == (n_rows, WIDTH):
        return
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((K, WIDTH), dtype=np.float32) / 8
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, WIDTH)}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, BLOCK_ROWS):
            labels = rng.integers(K, size=min(BLOCK_ROWS, n_rows - start))
            rows = rng.standard_normal((len(labels), WIDTH), dtype=np.float32)
            rows += centers[labels]
            file.write(rows.data)


def drop_cache(path: Path, *, everything: bool = False) -> None:
    """Drop a file from the page cache: all caches if permitted, else the file's pages."""
    if everything and os.access(CACHES, os.W_OK):
        CACHES.write_text("3")
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def reading_rate(path: Path) -> float:
    """Bytes per second of a sequential read, without the page cache."""
    drop_cache(path, everything=True)
    buffer = bytearray(1 << 24)
    start = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return path.stat().st_size / (time.perf_counter() - start)


def fit_once(job: Job) -> dict[str, Any]:
    """Time, F and storage traffic of one fit; called in a separate process."""
    mapped = np.load(job.path, mmap_mode="r")
    few = np.array(mapped[:500])
    OMVCDR(2, scale=None, n_init=1, engine="memory").fit(few)  # compile
    is_whole = job.n_rows == len(mapped)
    on_disk = open_rows(job.path) if is_whole else mapped[: job.n_rows]
    X = np.array(mapped[: job.n_rows]) if job.engine == "memory" else on_disk
    model = OMVCDR(
        K,
        scale=None,
        n_init=1,
        max_iter=N_ITER,
        tol=0,
        random_state=0,
        engine=job.engine,
        memory_limit=job.memory_limit,
        n_passes=job.n_passes,
    )
    before = _storage_bytes()
    times, cost = peak_of(lambda: iteration_times(model, X, checkpoint=job.checkpoint))
    if job.labels is not None:
        np.save(job.labels, model.labels_)
    return {
        "rows": job.n_rows,
        "fit_s": cost["seconds"],
        "iteration_s": float(np.median(times)) if times else np.nan,
        "objective": model.objective_,
        "storage_bytes": _storage_bytes() - before,
    }


def _storage_bytes() -> int:
    """Bytes that this process read from disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


@dataclass
class Watched:
    """What was observed of a process from outside."""

    peak_anon: int = 0
    n_passes: int = 0
    was_killed: bool = False


def watch(child: Child, job: Job, kill_at: float = np.inf) -> Watched:
    """Sample a process until it ends; kill it after a number of passes."""
    seen, dropped = Watched(), 0.0
    status = Path(f"/proc/{child.process.pid}/status")
    while child.process.is_alive() and not child.has_result():
        seen.peak_anon = max(seen.peak_anon, _anon_bytes(status))
        if job.checkpoint is not None:
            seen.n_passes = max(seen.n_passes, len(list(job.checkpoint.glob("pass-*"))))
        if seen.n_passes >= kill_at:
            child.process.kill()
            seen.was_killed = True
        if time.monotonic() > dropped + DROP_EVERY and job.engine != "memory":
            drop_cache(job.path)
            dropped = time.monotonic()
        time.sleep(SAMPLE_EVERY)
    return seen


def _anon_bytes(status: Path) -> int:
    """RssAnon; 0 if the process has just ended."""
    try:
        lines = status.read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


def run_job(job: Job, kill_at: float = np.inf) -> tuple[dict[str, Any], Watched]:
    """Row of a fit, and what was observed of its process."""
    drop_cache(job.path, everything=True)
    child = Child(fit_once, job)
    seen = watch(child, job, kill_at)
    row = {"engine": job.engine, "rows": job.n_rows, "memory_limit": job.memory_limit}
    return {**row, **child.result(), "peak_anon": seen.peak_anon}, seen


def run(path: Path, plan: Plan, engines: list[str]) -> Iterator[dict[str, Any]]:
    """Rows of all measurements; the bounds of streaming are measured before and after it."""
    streams = [engine for engine in engines if engine != "memory"]
    bounds = [*measure_bounds(path, plan)]
    yield from bounds
    for engine in streams:
        yield {"what": "part", **run_job(Job(engine, path, plan.n_part))[0]}
    for engine in streams:
        files = {name: path.parent / f"{name}-{os.getpid()}.npy" for name in ("whole", "resumed")}
        notes = path.parent / f"passes-{os.getpid()}"
        job = Job(engine, path, plan.n_rows, plan.memory_limit, notes, files["whole"])
        row, seen = run_job(job)
        after = [*measure_bounds(path, plan)]
        yield from after
        if row["status"] == "done":
            size = path.stat().st_size
            possible = possible_seconds(pd.DataFrame([*bounds, *after]), plan.n_rows, size)
            row["share_of_possible"] = possible / row["iteration_s"]
            row["reads"] = row["storage_bytes"] / size
        yield {"what": "whole", "n_passes": seen.n_passes, **row}
        if row["status"] == "done":
            yield {"what": "killed and resumed", **kill_and_resume(job, seen.n_passes, files)}
        for file in files.values():
            file.unlink(missing_ok=True)


def measure_bounds(path: Path, plan: Plan) -> Iterator[dict[str, Any]]:
    """A raw read, and the memory engine on a part."""
    rate = reading_rate(path)
    yield {"what": "raw read", "rows": plan.n_rows, "bytes_per_s": rate, "status": "done"}
    yield {"what": "part", **run_job(Job("memory", path, plan.n_part))[0]}


def possible_seconds(bounds: pd.DataFrame, n_rows: int, n_bytes: float) -> float:
    """Least seconds of an iteration on all rows, from the fastest of each bound."""
    reading = n_bytes / bounds["bytes_per_s"].max()
    computing = n_rows * (bounds["iteration_s"] / bounds["rows"]).min()
    return max(reading, computing)


def kill_and_resume(job: Job, n_passes: int, files: dict[str, Path]) -> dict[str, Any]:
    """Kill a fit after half of its passes, call it again, and compare the labels."""
    again = Job(**{**vars(job), "labels": files["resumed"]})
    _, seen = run_job(again, kill_at=n_passes // 2)
    row, _ = run_job(again)
    if row["status"] != "done":
        return row
    row["iteration_s"] = np.nan  # replayed iterations took no time
    same = np.array_equal(np.load(files["whole"]), np.load(files["resumed"]))
    killed = {"was_killed": seen.was_killed, "killed_after": seen.n_passes}
    return {**row, **killed, "labels_are_identical": same}


def findings(rows: pd.DataFrame) -> list[str]:
    """One line per measurement, and what follows."""
    lines = []
    for row in rows.to_dict("records"):
        name = f"{row['what']}, {row['rows']} rows"
        if row["what"] == "raw read":
            lines.append(f"{name}: {row['bytes_per_s'] / 1e9:.2f} GB/s")
        elif row["status"] == "done" and np.isfinite(row["iteration_s"]):
            took = f"{row['iteration_s']:.3g} s per iteration"
            anon = f"{row['peak_anon'] / 1e9:.2f} GB of anonymous memory"
            lines.append(f"{name}, {row['engine']}: {took}, {anon}, F = {row['objective']:.8g}")
    return lines + verdicts(rows)


def verdicts(rows: pd.DataFrame) -> list[str]:
    """Share of the possible rate, memory, whether a killed fit resumed, and what failed."""
    lines = []
    for row in rows.to_dict("records"):
        name = f"{row['engine']}, {row['rows']} rows"
        if row["status"] != "done":
            lines.append(f"{name}: {row['status']}: {row['reason']}")
        elif row["what"] == "whole":
            lines.append(
                f"{name}: {row['share_of_possible']:.2f} of the possible rate (target: at least "
                f"{RATE_LIMIT:g}); at most {row['peak_anon'] / 1e9:.2f} GB of anonymous memory "
                f"(limit: {ANON_LIMIT / 1e9:g}); the file was read from disk {row['reads']:.1f} "
                "times"
            )
        elif row["what"] == "killed and resumed":
            killed = "killed" if row["was_killed"] else "not killed"
            same = "identical" if row["labels_are_identical"] else "different"
            passes = f"after {row['killed_after']:.0f} passes and resumed"
            lines.append(f"{name}, {killed} {passes}: the labels are {same}")
    return lines


def main() -> None:
    """Run, print the findings, and keep the rows."""
    parser = parser_for(__doc__, "a file of 0.4 GB")
    parser.add_argument("--folder", type=Path, help="on the disk to measure; default: temporary")
    parser.add_argument("--engines", nargs="+", default=["memory", "stream"])
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else FULL
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rows-{plan.n_rows}.npy"
        make_file(path, plan.n_rows)
        rows = [{**row, **machine()} for row in run(path, plan, arguments.engines)]
    table = pd.DataFrame(rows)
    print("\n".join(findings(table)))
    keep_rows(results_file("bench_engines", arguments), table)


if __name__ == "__main__":
    main()
