"""Running time of the eight methods, one fit at a time, and the claims about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from manyview.study.grids import PROGRAMS
from manyview.study.reproduction.evidence import measured
from manyview.study.reproduction.judges import Judge, Judgement, Outcome, Study, judged
from manyview.study.reproduction.runs import Part
from manyview.study.reproduction.scope import PUBLISHED, RIVALS, Scope
from manyview.study.reproduction.tables import METHOD_TITLES, ending, ordered, records
from manyview.study.reproduction.wording import listed, method_title
from manyview.study.runner import Conditions

REPEATS = 5
COMPARABLE = 10.0  # largest multiple of the median time of the compared methods
COLUMNS = ["data", "method", "seconds", "low", "high", "n_runs", "status", "reason"]
MEANING = (
    "Median and range of five fits; less: all five are. These are the implementations of this "
    "library: its FMR avoids the n × n iterations of the authors' program, its SFMC dense graphs."
)
STARTS = {"fmr", "smvsc", "opmc", "fpmvs", "lmvsc", "awmvc"}  # these have n_init


def times_part(scope: Scope) -> Part:
    """Fits with one start on the paper's sets, to be run one at a time on a quiet machine."""
    methods = [one for one in scope.methods if one.name in (*RIVALS, PUBLISHED)]
    once = {name: {"n_init": 1} for name in STARTS}
    grids = {m.name: [PROGRAMS.get(m.name, {}) | once.get(m.name, {})] for m in methods}
    conditions = Conditions(
        seeds=range(REPEATS),
        rows="file",
        grids=grids,
        time_limit=scope.time_limit,
        memory_limit=scope.memory_limit,
    )
    return Part("times", "times", scope.paper_sets, methods, conditions)


def time_table(rows: pd.DataFrame, sets: Collection[str] | None = None) -> pd.DataFrame:
    """Median seconds of a fit with their range, and the median relative to the published OMVCDR.

    Parameters
    ----------
    rows : DataFrame
        Rows of the stage "times"; without any that is done, the times that come with the package.
    sets : collection of str, optional
        Files to keep; None keeps all.

    Returns
    -------
    DataFrame
        data, method, seconds, relative, low, high, n_runs, status, reason; NaN without a result.
    """
    if (rows["status"] == "done").any():
        found = []
        for (data, method), group in rows.groupby(["data", "method"], sort=False):
            own = group.loc[group["status"] == "done", "seconds"].astype(float)
            range_ = own.median(), own.min(), own.max(), len(own)
            found.append((data, method, *range_, *ending(group)))
        table = pd.DataFrame(found, columns=COLUMNS)
    else:
        table = measured("times")
    table = table if sets is None else table[table["data"].isin(sets)].copy()
    published = table[table["method"] == PUBLISHED].set_index("data")["seconds"]
    table.insert(3, "relative", table["seconds"] / table["data"].map(published))
    return ordered(table, METHOD_TITLES)


Rows = Mapping[str, Any]  # record of the table by method


def _times(study: Study) -> list[tuple[str, Rows]]:
    """Title and times of each of the paper's sets, where the published one was timed."""
    own = study.on_sets(study.tables["time"]).dropna(subset="seconds")
    own = own[own["method"].isin([*RIVALS, PUBLISHED])]
    found: list[tuple[str, Rows]] = []
    for data in study.sets:
        rows = {row.method: row for row in records(own[own["data"] == data])}
        found += [(study.titles[data], rows)] if PUBLISHED in rows else []
    return found


def _told(rows: Rows, names: Sequence[str]) -> str:
    """Medians and ranges of some methods."""
    parts = [
        f"{method_title(name)} {rows[name].seconds:.2f} s "
        f"({rows[name].low:.2f} to {rows[name].high:.2f})"
        for name in names
    ]
    return ", ".join(parts)


def _is_less(rows: Rows, one: str, other: str) -> bool:
    """Whether all times of a method are below all of another."""
    return bool(rows[one].high < rows[other].low)


def fmr_is_slowest(study: Study) -> Judgement:
    """Judge whether FMR is the slowest method wherever it runs."""
    found: list[tuple[Outcome, str]] = []
    for title, rows in _times(study):
        others = [name for name in rows if name != "fmr"]
        if "fmr" in rows:
            slowest = max(others, key=lambda name: rows[name].seconds)
            text = f"{title}: {_told(rows, ['fmr', slowest])}"
            found.append((_is_less(rows, slowest, "fmr"), text))
    evidence = f"FMR and the slowest other, {{}}. {MEANING}"
    return judged(found, evidence, "FMR has not been timed on a set of the paper.")


def takes_less_time(rivals: Sequence[str]) -> Judge:
    """Judge whether some methods are faster than OMVCDR on every data set of the paper."""

    def judge(study: Study) -> Judgement:
        found: list[tuple[Outcome, str]] = []
        for title, rows in _times(study):
            if set(rivals) <= set(rows):
                is_less = all(_is_less(rows, one, PUBLISHED) for one in rivals)
                found.append((is_less, f"{title}: {_told(rows, [*rivals, PUBLISHED])}"))
        return judged(found, f"{{}}. {MEANING}", "No set of the paper has all of these times.")

    return judge


def comparable_time(study: Study) -> Judgement:
    """Judge whether OMVCDR takes at most ten times the median of the compared methods."""
    found: list[tuple[Outcome, str]] = []
    for title, rows in _times(study):
        others = [row.seconds for name, row in rows.items() if name != PUBLISHED]
        if others:
            ratio = float(rows[PUBLISHED].seconds / np.median(others))
            found.append((ratio <= COMPARABLE, f"{ratio:.1f} on {title}"))
    evidence = f"Read as at most {COMPARABLE:g} times the median of the rivals; it is {{}}."
    return judged(found, evidence, "No set of the paper has times of rivals.", listed)
