"""The runs of the study: stages of benchmarks, and traces; all are kept, and none is done twice."""

from __future__ import annotations

import hashlib
import inspect
import json
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
from manyview.study.methods import VERSIONS, Method, find_method
from manyview.study.reproduction import twostep
from manyview.study.reproduction.scope import PUBLISHED, FoundSet, Scope
from manyview.study.runner import Conditions, plan, run_benchmark, write_rows
from manyview.utils.threads import limit_threads

__all__ = [
    "ABLATION",
    "Clock",
    "Part",
    "run_stages",
    "stages",
    "trace_objectives",
    "trace_weights",
    "two_steps",
]

TARGET = f"{PublishedOMVCDR.__module__}:{PublishedOMVCDR.__qualname__}"
ABLATION = {
    "omvc": Method("omvc", TARGET, {"n_spaces": 1}),
    "omvcdr_2": Method("omvcdr_2", TARGET, {"n_spaces": 2}),
    "omvcdr_alpha": Method("omvcdr_alpha", TARGET, {"learn_weights": False}),
}
NOT_RUN = "not run: the time for this study was over; start it again to go on."


class _OutOfTimeError(Exception):
    """Leaves a benchmark in the middle; what was done is in its log."""


class Clock:
    """Seconds in which runs may be started; None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.end = float("inf") if seconds is None else time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether no further run may start."""
        return time.monotonic() > self.end


@dataclass(frozen=True)
class Part:
    """Runs under the same conditions, with a folder of their own."""

    stage: str  # "oracle", "label-free", "order", "ablation" or "ablation-shuffled"
    folder: str
    sets: Sequence[FoundSet]
    methods: Sequence[Method]
    conditions: Conditions


OnPart = Callable[[Part, dict[str, Any], int, int], None]


def stages(scope: Scope) -> list[Part]:
    """All runs of the study, those first without which the others say little."""
    base = Conditions(
        seeds=(0,),
        rows="file",
        grids=scope.grids,
        time_limit=scope.time_limit,
        memory_limit=scope.memory_limit,
    )
    fixed = [method for method in scope.methods if not _is_random(method)]
    random = [method for method in scope.methods if _is_random(method)]
    published = [method for method in scope.methods if method.name == PUBLISHED]
    paper = scope.paper_sets
    other = [one for one in scope.sets if one not in paper]
    many, few = range(scope.n_seeds), range(scope.n_seeds_elsewhere)
    seeded = replace(base, seeds=range(scope.n_seeds_oracle))
    lams = [{"lam": 2.0**power} for power in scope.powers]
    ablation = replace(base, grids=dict.fromkeys(ABLATION, lams))
    free = replace(base, rows="shuffled", seeds=many, grids={})
    shuffled = replace(base, rows="shuffled", seeds=range(scope.n_shuffles))
    mixed = replace(shuffled, grids=ablation.grids)
    variants = list(ABLATION.values()) if published else []
    slow = [] if scope.is_quick else variants
    parts = [
        Part("oracle", "oracle/not-random", scope.sets, fixed, base),
        Part("label-free", "label-free/paper-sets", paper, scope.methods, free),
        Part("ablation", "ablation", paper, variants, ablation),
        Part("order", "order", paper, published, shuffled),
        Part("oracle", "oracle/paper-sets", paper, random, seeded),
        Part("oracle", "oracle/other-sets", other, random, replace(base, seeds=few)),
        Part("label-free", "label-free/other-sets", other, scope.methods, replace(free, seeds=few)),
        Part("ablation-shuffled", "ablation-shuffled", paper, slow, mixed),
    ]
    return [part for part in parts if part.sets and part.methods]


def _is_random(method: Method) -> bool:
    """Whether a seed can change what a method does to rows in a given order."""
    return "random_state" in inspect.signature(method.load()).parameters


def run_stages(
    parts: Sequence[Part], out: Path, clock: Clock, *, n_jobs: int = 1, on_row: OnPart | None = None
) -> dict[str, pd.DataFrame]:
    """Run parts in their order; rows by stage, those of runs that had no time left included.

    Parameters
    ----------
    parts : sequence of Part
        See `stages`.
    out : path
        Folder for the folders of the parts.
    clock : Clock
        When it is over, no further run is started.
    n_jobs : int, default=1
        Runs at a time.
    on_row : function of (part, row, number done, number in all), optional
        Called after each run.

    Returns
    -------
    dict of str to DataFrame
    """
    rows: dict[str, list[pd.DataFrame]] = {}
    for part in parts:
        frames: list[pd.DataFrame] = []
        call = partial(_run, out=out, clock=clock, n_jobs=n_jobs, on_row=on_row)
        frames.append(call(_first_seed(part)))
        frames += [call(one) for one in _other_seeds(part, frames[0])]
        write_rows(pd.concat(frames, ignore_index=True), out / part.folder)
        rows.setdefault(part.stage, []).extend(frames)
    return {stage: pd.concat(frames, ignore_index=True) for stage, frames in rows.items()}


def _first_seed(part: Part) -> Part:
    return replace(part, conditions=replace(part.conditions, seeds=part.conditions.seeds[:1]))


def _other_seeds(part: Part, first: pd.DataFrame) -> list[Part]:
    """The seeds after the first, without methods that declined a set: they would do it again."""
    seeds = part.conditions.seeds[1:]
    if not seeds:
        return []
    gone = first.groupby(["data", "method"])["status"].agg(lambda one: set(one) == {"declined"})
    groups: dict[tuple[str, ...], list[FoundSet]] = {}
    for one in part.sets:
        kept = tuple(m.name for m in part.methods if not gone[one.file, m.name])
        groups.setdefault(kept, []).append(one)
    conditions = replace(part.conditions, seeds=seeds)
    methods = {method.name: method for method in part.methods}
    return [
        replace(part, sets=sets, methods=[methods[name] for name in kept], conditions=conditions)
        for kept, sets in groups.items()
        if kept
    ]


def _run(
    part: Part, *, out: Path, clock: Clock, n_jobs: int, on_row: OnPart | None
) -> pd.DataFrame:
    """Rows of one benchmark: of all its runs, or of those for which there was time."""
    names = [one.file for one in part.sets]
    folder = out / part.folder

    def guard(row: dict[str, Any], n_done: int, n_all: int) -> None:
        if on_row is not None:
            on_row(part, row, n_done, n_all)
        if clock.is_over and n_done < n_all:
            raise _OutOfTimeError

    if not clock.is_over:
        with suppress(_OutOfTimeError):
            return run_benchmark(
                names,
                part.methods,
                folder,
                conditions=part.conditions,
                n_jobs=n_jobs,
                on_row=guard,
            )
    known = {row["key"]: row for row in RowLog(folder / "rows.jsonl").read()}
    missing = {"status": "not run", "reason": NOT_RUN}
    return pd.DataFrame(
        [
            known.get(run.key) or {**run.identity, "key": run.key, **missing}
            for run in plan(names, part.methods, part.conditions)
        ]
    )


def _kept(out: Path, clock: Clock, identity: dict[str, Any], compute: Callable[[], Any]) -> Any:
    """What `compute` gives, from the log of traces where it was computed before."""
    log = RowLog(out / "traces.jsonl")
    text = json.dumps(identity, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    for row in reversed(log.read()):
        if row["key"] == key:
            return row["result"]
    if clock.is_over:
        return None
    out.mkdir(parents=True, exist_ok=True)
    try:
        with limit_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = compute()
    except (DeclinedError, ViewError, MemoryError):
        return None
    log.append({**identity, "key": key, "result": result})
    return result


def trace_objectives(scope: Scope, out: Path, clock: Clock) -> pd.DataFrame:
    """Objective after each iteration: the published algorithm in file order, and ours."""
    rows = []
    for one in scope.paper_sets:
        for name in (PUBLISHED, "omvcdr"):
            method = find_method(name)
            identity = {"trace": name, "data": one.file, "version": method.version}
            history = _kept(out, clock, identity, partial(_history, method, one, scope))
            rows += [(one.file, name, i, value) for i, value in enumerate(history or [], start=1)]
    return pd.DataFrame(rows, columns=["data", "method", "iteration", "objective"])


def _history(method: Method, one: FoundSet, scope: Scope) -> list[float]:
    return [float(value) for value in _fitted(method, one, scope).objective_history_]


def _fitted(method: Method, one: FoundSet, scope: Scope) -> Any:
    """A model with defaults, fitted on rows in file order."""
    data, _ = load_benchmark(one.file, return_X_y=True)
    model = method.make(
        n_clusters=one.n_classes,
        random_state=0,
        time_limit=scope.time_limit,
        memory_limit=scope.memory_limit,
    )
    return model.fit(data)


def trace_weights(scope: Scope, out: Path, clock: Clock) -> pd.DataFrame:
    """Weight of each space at the end of the published algorithm, the smallest space first."""
    method = find_method(PUBLISHED)
    rows = []
    for one in scope.paper_sets:
        identity = {"trace": "space_weights", "data": one.file, "version": method.version}
        weights = _kept(out, clock, identity, partial(_weights, method, one, scope))
        rows += [(one.file, p, weight) for p, weight in enumerate(weights or [], start=1)]
    return pd.DataFrame(rows, columns=["data", "space", "weight"])


def _weights(method: Method, one: FoundSet, scope: Scope) -> list[float]:
    return [float(weight) for weight in _fitted(method, one, scope).space_weights_]


def two_steps(scope: Scope, out: Path, clock: Clock) -> pd.DataFrame:
    """Scores of all k-means runs of the two-step model: one row a run, metrics in columns."""
    frames = []
    for one in scope.paper_sets:
        identity = {
            "trace": "two_step", "data": one.file, "version": VERSIONS["two_step"],
            "n_runs": scope.n_kmeans,
        }  # fmt: skip
        scores = _kept(out, clock, identity, partial(_two_step, one, scope.n_kmeans))
        if scores:
            frames.append(pd.DataFrame(scores).assign(data=one.file, method="two_step"))
    columns = ["data", "method"]
    return pd.concat(frames) if frames else pd.DataFrame(columns=columns)


def _two_step(one: FoundSet, n_runs: int) -> list[dict[str, float]]:
    data, target = load_benchmark(one.file, return_X_y=True)
    return twostep.two_step_scores(data, target, n_runs=n_runs)
