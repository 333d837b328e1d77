"""The runs of the study: benchmarks in stages, and traces of single fits; all are cached."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from manyview.baselines import PublishedOMVCDR
from manyview.datasets import load_benchmark
from manyview.exceptions import DeclinedError, ViewError
from manyview.persistence.atomic import RowLog
from manyview.study import twostep
from manyview.study.contents import KeyedRows, content_digest
from manyview.study.execution import key_of
from manyview.study.methods import VERSIONS, Method, find_method
from manyview.study.reproduction.scope import (
    ENDS_IN_KMEANS,
    PUBLISHED,
    RIVALS,
    FoundSet,
    Scope,
)
from manyview.study.runner import Conditions, known_rows, plan, run_benchmark, write_rows
from manyview.utils.threads import limit_threads

TARGET = f"{PublishedOMVCDR.__module__}:{PublishedOMVCDR.__qualname__}"
ABLATION = {
    "omvc": Method("omvc", TARGET, {"n_spaces": 1}),
    "omvcdr_2": Method("omvcdr_2", TARGET, {"n_spaces": 2}),
    "omvcdr_alpha": Method("omvcdr_alpha", TARGET, {"learn_weights": False}),
}
NOT_RUN = "not run: the time limit of the study was reached; run the same command to resume it."


class _OutOfTimeError(Exception):
    """Interrupts a benchmark; finished runs are in its log."""


class Clock:
    """Time limit after which no run starts; None: no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.end = float("inf") if seconds is None else time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time limit has been reached."""
        return time.monotonic() > self.end


@dataclass(frozen=True)
class Part:
    """Runs under the same conditions, in one folder."""

    stage: str  # "oracle", "label-free", "order", "ablation", "ablation-shuffled" or "times"
    folder: str
    sets: Sequence[FoundSet]
    methods: Sequence[Method]
    conditions: Conditions


OnPart = Callable[[dict[str, Any], int, int, str], None]


def stages(scope: Scope) -> list[Part]:
    """All runs of the study, the most important first."""
    base = Conditions(
        seeds=(0,),
        rows="file",
        grids=scope.grids,
        time_limit=scope.time_limit,
        memory_limit=scope.memory_limit,
    )
    kmeans = replace(base, n_kmeans=scope.n_kmeans)
    published = [method for method in scope.methods if method.name == PUBLISHED]
    two_step = [method for method in scope.methods if method.name in ENDS_IN_KMEANS]
    one_step = [m for m in scope.methods if m not in (*published, *two_step) and m.name in RIVALS]
    others = [m for m in scope.methods if m not in (*published, *two_step, *one_step)]
    lams = [{"lam": 2.0**power} for power in scope.powers]
    ablation = replace(base, grids=dict.fromkeys(ABLATION, lams))
    free = replace(base, rows="shuffled", seeds=range(scope.n_seeds), grids={})
    shuffled = replace(base, rows="shuffled", seeds=range(scope.n_shuffles))
    mixed = replace(shuffled, seeds=range(scope.n_variant_shuffles), grids=ablation.grids)
    variants = list(ABLATION.values()) if published else []
    paper = scope.paper_sets
    elsewhere = [one for one in scope.sets if one not in paper]
    parts = []
    for name, sets in {"": paper, "other-sets/": elsewhere}.items():
        claimed = sets if sets is paper else []  # no claim is about the others
        parts += [
            Part("oracle", f"{name}oracle/not-random", sets, published, base),
            Part("oracle", f"{name}oracle/two-step", sets, two_step, kmeans),
            Part("oracle", f"{name}oracle/one-step", sets, one_step, base),
            Part("order", "order", claimed, published, shuffled),
            Part("ablation", "ablation", claimed, variants, ablation),
            Part("ablation-shuffled", "ablation-shuffled", claimed, variants, mixed),
            Part("oracle", f"{name}oracle/others", sets, others, base),
            Part("label-free", f"{name}label-free", sets, scope.methods, free),
        ]
    return [part for part in parts if part.sets and part.methods and part.conditions.seeds]


def run_stages(
    parts: Sequence[Part], out: Path, clock: Clock, *, n_jobs: int = 1, on_row: OnPart | None = None
) -> dict[str, pd.DataFrame]:
    """Run the parts in order; return rows by stage, including runs that did not start in time.

    Parameters
    ----------
    parts : sequence of Part
        See `stages`.
    out : path
        Parent of the folders of the parts.
    clock : Clock
        Time limit after which no run starts.
    n_jobs : int, default=1
        Number of runs in parallel.
    on_row : function of (row, number done, number in all, folder of the part), optional
        Called after each run.

    Returns
    -------
    dict of str to DataFrame
    """
    rows: dict[str, list[pd.DataFrame]] = {}
    for part in parts:
        call = partial(_run, out=out, clock=clock, n_jobs=n_jobs, on_row=on_row)
        seeds = part.conditions.seeds[:1]
        first = call(replace(part, conditions=replace(part.conditions, seeds=seeds)))
        frames = [first, *map(call, _other_seeds(part, first))]
        write_rows(pd.concat(frames, ignore_index=True), out / part.folder)
        rows.setdefault(part.stage, []).extend(frames)
    return {stage: pd.concat(frames, ignore_index=True) for stage, frames in rows.items()}


def _other_seeds(part: Part, first: pd.DataFrame) -> list[Part]:
    """The seeds after the first, without methods that declined a data set."""
    conditions = replace(part.conditions, seeds=part.conditions.seeds[1:])
    if not conditions.seeds:
        return []
    gone = first.groupby(["data", "method"])["status"].agg(lambda one: set(one) == {"declined"})
    groups: dict[tuple[str, ...], list[FoundSet]] = {}
    for one in part.sets:
        names = tuple(m.name for m in part.methods if not gone[one.file, m.name])
        groups.setdefault(names, []).append(one)
    return [
        replace(part, sets=sets, methods=[m for m in part.methods if m.name in names],
                conditions=conditions)
        for names, sets in groups.items()
        if names
    ]  # fmt: skip


def _run(
    part: Part, *, out: Path, clock: Clock, n_jobs: int, on_row: OnPart | None
) -> pd.DataFrame:
    """Rows of one benchmark; runs that did not start in time have the status "not run"."""
    names = [one.file for one in part.sets]
    folder = out / part.folder

    def guard(row: dict[str, Any], n_done: int, n_all: int) -> None:
        if on_row is not None:
            on_row(row, n_done, n_all, part.folder)
        if clock.is_over and n_done < n_all:
            raise _OutOfTimeError

    if not clock.is_over:
        with suppress(_OutOfTimeError):
            return run_benchmark(
                *(names, part.methods, folder),
                conditions=part.conditions,
                n_jobs=n_jobs,
                on_row=guard,
            )
    planned = plan(names, part.methods, part.conditions)
    done = known_rows(folder, planned)
    missing = {"status": "not run", "reason": NOT_RUN}
    rows = [done.get(run.key) or {**run.identity, "key": run.key, **missing} for run in planned]
    return pd.DataFrame(rows)


def run_traces(scope: Scope, out: Path, clock: Clock) -> dict[str, pd.DataFrame]:
    """Trace fits on the data sets of the paper, with rows in file order.

    Parameters
    ----------
    scope : Scope
        What the study covers.
    out : path
        Folder for `traces.jsonl`.
    clock : Clock
        Time limit after which no fit starts.

    Returns
    -------
    dict of str to DataFrame
        objective: after each iteration of the published algorithm and of ours; weights: final space
        weights of the published algorithm, smallest space first; two_step: scores of all k-means
        runs of the two-step model, one row per run.
    """
    cached = partial(_cached, out / "traces.jsonl", clock)
    objective, weights, scores = [], [], []
    for one in (*scope.paper_sets, *scope.traced):
        is_traced = one in scope.traced
        for name in (PUBLISHED,) if is_traced else (PUBLISHED, "omvcdr"):
            method = find_method(name)
            identity: dict[str, Any] = {"trace": name, "data": one.file, "version": method.version}
            values, shares = cached(identity, partial(_trace, method, one, scope)) or ([], [])
            objective += [(one.file, name, i, value) for i, value in enumerate(values, start=1)]
            if name == PUBLISHED:
                weights += [(one.file, p, share) for p, share in enumerate(shares, start=1)]
        identity = {"trace": "two_step", "data": one.file, "version": str(VERSIONS["two_step"]),
                    "n_runs": scope.n_kmeans}  # fmt: skip
        if is_traced:
            continue
        runs = cached(identity, partial(_two_step, one, scope.n_kmeans)) or []
        scores += [{"data": one.file, "method": "two_step", **run} for run in runs]
    return {
        "objective": pd.DataFrame(objective, columns=["data", "method", "iteration", "objective"]),
        "weights": pd.DataFrame(weights, columns=["data", "space", "weight"]),
        "two_step": pd.DataFrame(scores, columns=None if scores else ["data", "method"]),
    }


def _cached(path: Path, clock: Clock, identity: dict[str, Any], compute: Callable[[], Any]) -> Any:
    """Result of `compute`, from the log if it is there; None without a result."""
    log = RowLog(path)
    content = content_digest(identity["data"])
    key, by_name = key_of({**identity, "content": content}), key_of(identity)
    row = KeyedRows(log).find(key, by_name, content)
    if row is not None:
        return row["result"]
    if clock.is_over:
        return None
    try:
        with limit_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = compute()
    except (DeclinedError, ViewError, MemoryError):
        return None
    log.append({**identity, "content": content, "key": key, "result": result})
    return result


def _trace(method: Method, one: FoundSet, scope: Scope) -> tuple[list[float], list[float]]:
    """Objective after each iteration, and weights of the spaces, of a fit with defaults."""
    data, _ = load_benchmark(one.file, return_X_y=True)
    limits = {"time_limit": scope.time_limit, "memory_limit": scope.memory_limit}
    model = method.make(n_clusters=one.n_classes, random_state=0, **limits).fit(data)
    return [*map(float, model.objective_history_)], [*map(float, model.space_weights_)]


def _two_step(one: FoundSet, n_runs: int) -> list[dict[str, float]]:
    data, target = load_benchmark(one.file, return_X_y=True)
    return twostep.two_step_scores(data, target, n_runs=n_runs)
