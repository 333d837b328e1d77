"""Runs benchmarks in parallel processes; runs that are already done are skipped.

Rows are appended to `rows.jsonl` at once, so that a stopped benchmark can be resumed.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.persistence.atomic import RowLog, atomic_path
from manyview.study.contents import KeyedRows, content_digest
from manyview.study.execution import Run, execute
from manyview.study.methods import Method
from manyview.utils.processes import end_with_parent

GRACE = 1.25  # factor of the time limit after which the process of a method is killed
SLACK_SECONDS = 60.0  # in addition, for a method that looks at the clock rarely

OnRow = Callable[[dict[str, Any], int, int], None]


@dataclass(frozen=True)
class Conditions:
    """Conditions of all runs of a benchmark."""

    seeds: Sequence[int] = (0,)
    rows: str = "shuffled"
    missing_rates: Sequence[float] = (0.0,)
    time_limit: float | None = None
    memory_limit: float | None = None
    grids: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    n_kmeans: int = 0  # see `Run`


def plan(
    data: Sequence[str],
    methods: Sequence[Method],
    conditions: Conditions,
    data_home: Path | None = None,
) -> list[Run]:
    """All runs, data set by data set."""
    c = conditions
    limits = {"time_limit": c.time_limit, "memory_limit": c.memory_limit}
    contents = {name: content_digest(name, data_home) for name in data}
    return [
        Run(name, method, seed, method.version, c.rows, rate, **limits, parameters=point,
            content=contents[name], n_kmeans=c.n_kmeans)
        for name, seed, rate, method in product(data, c.seeds, c.missing_rates, methods)
        for point in c.grids.get(method.name, [{}])
    ]  # fmt: skip


def run_benchmark(
    data: Sequence[str],
    methods: Sequence[Method],
    out: Path,
    *,
    conditions: Conditions | None = None,
    n_jobs: int = 1,
    data_home: Path | None = None,
    on_row: OnRow | None = None,
) -> pd.DataFrame:
    """Run methods on data sets, skip runs that are already done, and return all rows.

    Parameters
    ----------
    data : sequence of str
        Names of benchmark data sets.
    methods : sequence of Method
        See `find_method`.
    out : path
        Folder for `rows.jsonl` (appended to), `rows.parquet`, `rows.csv` and `labels/`.
    conditions : Conditions, optional
        Seeds, limits, order of the rows, missing rates and grids.
    n_jobs : int, default=1
        Number of runs in parallel, each with one thread.
    data_home : path, optional
        Folder of the data sets; None uses MANYVIEW_DATA.
    on_row : function of (row, number done, number in all), optional
        Called after each run, and once for all runs that were already done.

    Returns
    -------
    DataFrame
        One row per run.
    """
    runs = plan(data, methods, conditions or Conditions(), data_home)
    (out / "labels").mkdir(parents=True, exist_ok=True)
    log = RowLog(out / "rows.jsonl")
    known = known_rows(out, runs)
    rows = {run.key: known[run.key] for run in runs if _holds(known.get(run.key), run)}
    waiting = [run for run in runs if run.key not in rows]
    if on_row is not None and rows:
        on_row({}, len(rows), len(runs))
    for row, labels in _in_processes(waiting, n_jobs, data_home):
        if labels is not None:
            with atomic_path(out / "labels" / f"{row['key']}.npy") as path:
                np.save(path, labels)
        log.append(row)
        rows[row["key"]] = row
        if on_row is not None:
            on_row(row, len(rows), len(runs))
    table = pd.DataFrame([rows[run.key] for run in runs])
    write_rows(table, out)
    return table


def known_rows(out: Path, runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Rows of earlier calls, by the key of their run."""
    logged = KeyedRows(RowLog(out / "rows.jsonl"))
    found = ((run.key, logged.find(run.key, run.key_by_name, run.content)) for run in runs)
    return {key: row for key, row in found if row is not None}


def _holds(row: Mapping[str, Any] | None, run: Run) -> bool:
    """Whether a row can be reused; runs that a tighter limit stopped are repeated."""
    if row is None or row["status"] in ("done", "failed"):
        return row is not None and row["status"] == "done"
    pairs = ((row[name], limit) for name, limit in run.limits.items())
    return all(old is None or (new is not None and old >= new) for old, new in pairs)


def write_rows(table: pd.DataFrame, out: Path) -> None:
    """Write all rows as Parquet and CSV; nested values as text.

    Parameters
    ----------
    table : DataFrame
        Rows of runs.
    out : path
        Folder for `rows.parquet` and `rows.csv`; created if it does not exist.
    """
    out.mkdir(parents=True, exist_ok=True)
    nested = {name: table[name].map(str) for name in ("parameters", "versions") if name in table}
    flat = table.assign(**nested)
    with atomic_path(out / "rows.parquet") as path:
        flat.to_parquet(path, index=False)
    with atomic_path(out / "rows.csv") as path:
        flat.to_csv(path, index=False, lineterminator="\n")


Outcome = tuple[dict[str, Any], NDArray[np.int32] | None]


class _Worker:
    """A process that executes runs one after the other; restarted if it dies."""

    def __init__(self, data_home: Path | None) -> None:
        self.data_home = data_home
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, self.data_home), daemon=True)
        self.process.start()
        theirs.close()

    def outcome(self, run: Run) -> Outcome:
        """Row and labels; a run that timed out or whose process died gives a row, too."""
        if not self.process.is_alive():
            self.start()
        limit = None if run.time_limit is None else GRACE * run.time_limit + SLACK_SECONDS
        try:
            self.connection.send(run)
            answer: Outcome | None = self.connection.recv()
            if answer is None and self.connection.poll(limit):  # the fit has begun
                answer = self.connection.recv()
            if answer is not None:
                return answer
            status = "declined"
            reason = f"stopped: not finished within time_limit={run.time_limit:g} s."
            self.stop()
        except (EOFError, OSError):
            self.process.join()
            status = "failed"
            reason = f"the process ended with code {self.process.exitcode} (out of memory?)"
        return {**run.header, "versions": {}, "status": status, "reason": reason}, None

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def _work(connection: Connection, data_home: Path | None) -> None:
    """Loop of a worker process."""
    end_with_parent()
    with suppress(EOFError):
        while True:
            run = connection.recv()
            # imports, data and compilation take as long as they take: the limit is one for fits
            connection.send(execute(run, data_home, on_fit=partial(connection.send, None)))


def _in_processes(runs: Sequence[Run], n_jobs: int, data_home: Path | None) -> Iterator[Outcome]:
    """Outcomes as they complete; a thread waits for each process."""
    workers = [_Worker(data_home) for _ in range(min(n_jobs, len(runs)))]
    free: SimpleQueue[_Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)
    is_over = Event()

    def serve(run: Run) -> Outcome:
        worker = free.get()
        try:
            if is_over.is_set():
                raise CancelledError
            return worker.outcome(run)
        finally:
            free.put(worker)

    pool = ThreadPoolExecutor(n_jobs)
    try:
        for future in as_completed([pool.submit(serve, run) for run in runs]):
            yield future.result()
    finally:
        is_over.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.stop()
