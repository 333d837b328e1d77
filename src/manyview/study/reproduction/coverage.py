"""Which runs of the whole study are there: no claim is judged by a part of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from manyview.study.reproduction.runs import Part
from manyview.study.reproduction.scope import PUBLISHED

TRACE = "trace"  # stage of the single fits that are no benchmark
COLUMNS = ["stage", "data", "method", "n_done", "n_needed"]


@dataclass(frozen=True)
class Needs:
    """The runs that a claim is judged by."""

    runs: Mapping[str, Sequence[str]]  # methods by stage
    only: Sequence[str] = ()  # data sets, if not all of the paper's

    def count(self, coverage: pd.DataFrame, sets: Sequence[str]) -> tuple[int, int]:
        """Runs that have ended, and all that are needed, on the given sets of the paper."""
        own = coverage[coverage["data"].isin(self.only or sets)]
        n_done = n_needed = 0
        for stage, methods in self.runs.items():
            cells = own[(own["stage"] == stage) & own["method"].isin(methods)]
            n_done += int(cells["n_done"].sum())
            n_needed += int(cells["n_needed"].sum())
        return n_done, n_needed


def coverage_table(
    whole: Sequence[Part],
    rows: Mapping[str, pd.DataFrame],
    traces: Mapping[str, pd.DataFrame],
    *,
    is_quick: bool,
    is_cut: bool = False,
) -> pd.DataFrame:
    """Runs that have ended, of those that the whole study has.

    Parameters
    ----------
    whole : sequence of Part
        The parts of the whole study on the same data sets.
    rows : mapping of str to DataFrame
        Rows by stage. Done, declined and failed runs have ended.
    traces : mapping of str to DataFrame
        As `run_traces` returns them.
    is_quick : bool
        Whether the rows are those of a quick study, whose limits are smaller: a run that was
        declined there may be done in the whole study.
    is_cut : bool, default=False
        Whether the clock of the study may have been over before all traces were made.

    Returns
    -------
    DataFrame
        stage, data, method, n_done, n_needed.
    """
    ended = {}
    for stage, table in rows.items():
        for (data, method), group in table.groupby(["data", "method"]):
            status = group["status"]
            n_ended = int((status == "done").sum() if is_quick else (status != "not run").sum())
            # with other seeds, a method that declined is not asked again
            has_declined = not is_quick and bool((status == "declined").all())
            ended[stage, data, method] = n_ended, has_declined
    cells: dict[tuple[str, str, str], int] = {}
    for part in whole:
        for one in part.sets:
            for method in part.methods:
                n_points = len(part.conditions.grids.get(method.name, [{}]))
                key = part.stage, one.file, method.name
                cells[key] = cells.get(key, 0) + n_points * len(part.conditions.seeds)
    found = []
    for key, n_needed in cells.items():
        n_ended, has_declined = ended.get(key, (0, False))
        needed = n_ended if has_declined else n_needed
        found.append((*key, min(n_ended, needed), needed))
    return pd.DataFrame([*found, *_traced(whole, traces, is_quick or is_cut)], columns=COLUMNS)


def _traced(
    whole: Sequence[Part], traces: Mapping[str, pd.DataFrame], is_cut: bool
) -> list[tuple[str, str, str, int, int]]:
    """One run for each trace on each data set of the paper."""
    sets = {one.file: None for part in whole if part.stage == "ablation" for one in part.sets}
    objective, two_step = traces["objective"], traces["two_step"]
    there = {
        PUBLISHED: set(objective.loc[objective["method"] == PUBLISHED, "data"]),
        "two_step": set(two_step["data"]),
    }
    return [
        # where no time was short, a trace that is not there has declined
        (TRACE, data, method, int(data in found or not is_cut), 1)
        for data in sets
        for method, found in there.items()
    ]
