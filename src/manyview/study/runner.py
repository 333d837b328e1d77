"""Many runs: in parallel within a core budget, each in a process that can be stopped, none twice.

Rows are appended to `rows.jsonl` as they come, so that a killed benchmark goes on where it was.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.persistence.atomic import RowLog, atomic_path
from manyview.study.execution import Run, execute
from manyview.study.methods import Method

__all__ = ["Conditions", "plan", "run_benchmark", "write_rows"]

GRACE = 1.25  # a method has this share more of its time limit before its process is stopped
LOADING_SECONDS = 60.0  # for imports, data and compilation, which are outside the limit

OnRow = Callable[[dict[str, Any], int, int], None]


@dataclass(frozen=True)
class Conditions:
    """Under which conditions every method is run."""

    seeds: Sequence[int] = (0,)
    rows: str = "shuffled"
    missing_rates: Sequence[float] = (0.0,)
    time_limit: float | None = None
    memory_limit: float | None = None
    grids: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def plan(data: Sequence[str], methods: Sequence[Method], conditions: Conditions) -> list[Run]:
    """All runs, data set by data set."""
    runs = []
    for name, seed, rate, method in product(
        data, conditions.seeds, conditions.missing_rates, methods
    ):
        for point in conditions.grids.get(method.name, [{}]):
            run = Run(
                data=name,
                method=method,
                seed=seed,
                version=method.version,
                rows=conditions.rows,
                missing_rate=rate,
                time_limit=conditions.time_limit,
                memory_limit=conditions.memory_limit,
                parameters=point,
            )
            runs.append(run)
    return runs


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
    """Run methods on data sets, skip what was done before, and return all rows.

    Parameters
    ----------
    data : sequence of str
        Names of benchmark sets.
    methods : sequence of Method
        See `find_method`.
    out : path
        Folder for `rows.jsonl` (appended to), `rows.parquet`, `rows.csv` and `labels/`.
    conditions : Conditions, optional
        Seeds, limits, order of the rows, missing rates and grids.
    n_jobs : int, default=1
        Runs at a time, each on one thread.
    data_home : path, optional
        Folder of the sets; None takes MANYVIEW_DATA.
    on_row : function of (row, number done, number in all), optional
        Called after each run, and once for all that was done before.

    Returns
    -------
    DataFrame
        One row a run of this plan.
    """
    runs = plan(data, methods, conditions or Conditions())
    (out / "labels").mkdir(parents=True, exist_ok=True)
    log = RowLog(out / "rows.jsonl")
    known = {row["key"]: row for row in log.read()}
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


def _holds(row: Mapping[str, Any] | None, run: Run) -> bool:
    """Whether a row from before answers a run; what a tighter limit stopped is tried again."""
    if row is None or row["status"] == "failed":
        return False
    if row["status"] == "done":
        return True
    return all(
        row[limit] is None
        or (getattr(run, limit) is not None and row[limit] >= getattr(run, limit))
        for limit in ("time_limit", "memory_limit")
    )


def write_rows(table: pd.DataFrame, out: Path) -> None:
    """All rows as Parquet and CSV; nested values as text.

    Parameters
    ----------
    table : DataFrame
        Rows of runs.
    out : path
        Folder for `rows.parquet` and `rows.csv`; made where it does not exist.
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
    """A process that runs one run after the other, and can be stopped."""

    def __init__(self, data_home: Path | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_work, args=(theirs, data_home), daemon=True
        )
        self.process.start()
        theirs.close()
        self.run: Run | None = None
        self.deadline = np.inf

    def give(self, run: Run) -> None:
        self.run = run
        limit = np.inf if run.time_limit is None else GRACE * run.time_limit + LOADING_SECONDS
        self.deadline = time.monotonic() + limit
        self.connection.send(run)

    def take(self) -> Outcome:
        """Result that is waiting; a process that died leaves a row that says so."""
        assert self.run is not None
        try:
            outcome: Outcome = self.connection.recv()
        except EOFError:
            self.process.join()
            reason = f"the process ended with code {self.process.exitcode} (out of memory?)"
            outcome = _stopped(self.run, "failed", reason)
        self.run = None
        return outcome

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _work(connection: Connection, data_home: Path | None) -> None:
    """Loop of a worker process."""
    while True:
        try:
            run = connection.recv()
        except EOFError:
            return
        connection.send(execute(run, data_home))


def _stopped(run: Run, status: str, reason: str) -> Outcome:
    return {**run.header, "versions": {}, "status": status, "reason": reason}, None


def _in_processes(runs: Sequence[Run], n_jobs: int, data_home: Path | None) -> Iterator[Outcome]:
    """Outcomes as they come; a run past its deadline is stopped with its process."""
    waiting = list(reversed(runs))
    workers: list[_Worker] = []
    try:
        while waiting or any(worker.run is not None for worker in workers):
            while waiting and len(workers) < n_jobs:
                workers.append(_Worker(data_home))
            for worker in workers:
                if worker.run is None and waiting:
                    worker.give(waiting.pop())
            busy = {worker.connection: worker for worker in workers if worker.run is not None}
            for connection in wait(list(busy), timeout=0.5):
                worker = busy[connection]  # type: ignore[index]
                yield worker.take()
                if not worker.process.is_alive():
                    worker.stop()
                    workers.remove(worker)
            for worker in [one for one in workers if time.monotonic() > one.deadline and one.run]:
                run = worker.run
                assert run is not None
                worker.stop()
                workers.remove(worker)
                reason = f"stopped: not finished within time_limit={run.time_limit:g} s."
                yield _stopped(run, "declined", reason)
    finally:
        for worker in workers:
            worker.stop()
