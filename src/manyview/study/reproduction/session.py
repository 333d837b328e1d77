"""The study from the command line: runs it, writes tables, figures and the page."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from manyview.exceptions import EngineUnavailableError
from manyview.persistence.atomic import write_text
from manyview.study.progress import run_bar
from manyview.study.reproduction import claims, figures, findings, page, tables, timing
from manyview.study.reproduction.comparison import to_latex
from manyview.study.reproduction.coverage import coverage_table
from manyview.study.reproduction.runs import Clock, run_stages, run_traces, stages
from manyview.study.reproduction.scope import FoundSet, ReproduceRequest, find_sets, set_scope

logger = logging.getLogger(__name__)

STAGES = ("oracle", "label-free", "order", "ablation", "ablation-shuffled")
FILES = {  # tables by name
    "sets": "table1_sets",
    "oracle": "table2_oracle",
    "label_free": "table2_label_free",
    "order": "row_order",
    "ablation": "ablation",
    "ablation_order": "ablation_row_order",
    "weights": "space_weights",
    "time": "running_time",
    "objective": "objective",
    "sensitivity": "sensitivity",
    "coverage": "runs_done",
    "claims": "claims",
}


def reproduce(
    request: ReproduceRequest, out: Path, console: Console | None = None
) -> dict[str, Any]:
    """Reproduce the experiments of the paper on the available data sets, and write the results.

    Parameters
    ----------
    request : ReproduceRequest
        Full or quick study, limits, and optionally a selection of data sets and methods.
    out : path
        Folder for CSV, SVG, `claims.md`, `index.html` and `runs/`. Runs that are already there are
        not repeated.
    console : rich.console.Console, optional
        Shows progress and findings; None shows nothing.

    Returns
    -------
    dict
        Content of the page.
    """
    console = console or Console(quiet=True)
    found = find_sets(request.sets)
    scope = set_scope(request, found)
    clock = Clock(-1.0 if request.only else scope.seconds)
    runs = out / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    with run_bar(console) as bar:
        bar.say("two-step model and objectives")
        traces = run_traces(scope, runs, clock)
        parts = stages(scope)
        rows = run_stages(parts, runs, clock, n_jobs=request.n_jobs, on_row=bar.on_row)
        timed = [timing.times_part(scope)]
        times = Clock(None if request.only == "times" else -1.0)
        rows |= run_stages(timed, runs, times, on_row=bar.on_row)
    whole = stages(set_scope(ReproduceRequest(sets=request.sets), found))
    is_cut = bool(request.only)
    coverage = coverage_table(whole, rows, traces, is_quick=scope.is_quick, is_cut=is_cut)
    two_step = traces.pop("two_step")
    titles = scope.titles
    time = timing.time_table(rows["times"], titles)
    everything = {**_tables(found, rows, two_step), **traces, "coverage": coverage, "time": time}
    everything["claims"] = claims.judge_claims(everything, titles)
    summary = page.summarize(
        everything,
        _drawn(everything, titles),
        findings.find(everything, titles),
        titles,
        scope.facts(rows, out),
    )
    _write(out, everything, summary)
    _show(summary, console, out)
    return summary


def _tables(
    found: list[FoundSet], rows: Mapping[str, pd.DataFrame], two_step: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Tables of the runs by name; a stage without runs gives empty ones."""
    empty = pd.DataFrame(columns=["data", "method", "status", "reason", "parameters", "seconds"])
    oracle, free, order, ablation, shuffled = (rows.get(stage, empty) for stage in STAGES)
    return {
        "sets": tables.sets_table(found),
        "oracle": tables.oracle_table(oracle),
        "label_free": tables.label_free_table(free),
        "order": tables.order_table(oracle, order),
        "ablation": tables.ablation_table(ablation, oracle, two_step),
        "ablation_order": tables.order_table(ablation, shuffled),
        "sensitivity": tables.sensitivity_table(oracle),
    }


def _drawn(everything: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> dict[str, str]:
    """Figures as SVG by name; empty without matplotlib."""
    try:
        return figures.draw(everything, titles)
    except EngineUnavailableError as error:
        logger.warning("No figure was drawn. %s", error)  # the tables have the same content
        return {}


def _write(out: Path, everything: Mapping[str, pd.DataFrame], summary: Mapping[str, Any]) -> None:
    """Write tables as CSV, figures as SVG, the claims as Markdown, and the page."""
    for name, file in FILES.items():
        table = everything[name]
        write_text(out / f"{file}.csv", table.to_csv(index=False, lineterminator="\n"))
        if name in summary["figures"]:
            write_text(out / f"{file}.svg", summary["figures"][name])
    for name, comparison in summary["beside"].items():
        text = to_latex(comparison, summary["compared"][name])
        write_text(out / f"{FILES[name]}.tex", text)
    undecided = summary["claims"]["undecided"]
    page_of_claims = claims.to_markdown(everything["claims"], summary["facts"], undecided)
    write_text(out / "claims.md", page_of_claims)
    write_text(out / "index.html", page.render_page(summary))


def _show(summary: Mapping[str, Any], console: Console, out: Path) -> None:
    """Print the findings, and the path of the results."""
    for name, texts in summary["findings"].items():
        console.print(name.replace("_", "-"), style="bold")
        for text in texts:
            console.print(f"  {text}", markup=False, highlight=False)
    console.print("claims", style="bold")
    for verdict, n in summary["claims"]["counts"].items():
        console.print(f"  {n} {verdict}", markup=False, highlight=False)
    if summary["claims"]["undecided"]:
        console.print(f"  {summary['claims']['undecided']}", markup=False, highlight=False)
    facts = summary["facts"]
    if facts["n_waiting"]:
        console.print(
            f"{facts['n_waiting']} of {facts['n_runs']} runs did not start in time; the same "
            "command resumes them."
        )
    parts = "tables, figures and index.html" if summary["figures"] else "tables and index.html"
    console.print(f"Written: {parts} in {out}.", markup=False)
