"""A benchmark from the command line: runs methods, writes tables and diagrams."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from manyview.datasets.benchmark_sets import benchmark_files, find_benchmark, load_benchmark
from manyview.exceptions import EngineUnavailableError, ViewError
from manyview.persistence.atomic import atomic_path, write_text
from manyview.study.ablation import VARIANTS
from manyview.study.grids import best_of_grid, published_grids
from manyview.study.methods import find_method, known_methods
from manyview.study.plots import critical_difference
from manyview.study.progress import run_bar
from manyview.study.runner import Conditions, run_benchmark
from manyview.study.scoreboard import write_scoreboard
from manyview.study.statistics import Comparison, compare_methods, needed
from manyview.study.tables import to_latex, to_markdown

logger = logging.getLogger(__name__)

STATUSES = ("done", "declined", "failed")
SIGNIFICANT = 0.05
METRICS = ("acc", "nmi", "purity", "fscore", "ari")


@dataclass(frozen=True)
class BenchmarkRequest:
    """What the user asked for; empty means all."""

    sets: Sequence[str] = ()
    methods: Sequence[str] = ()
    n_seeds: int = 5
    protocol: str = "label-free"
    rows: str = "shuffled"
    missing_rates: Sequence[float] = (0.0,)
    time_limit: float | None = 120.0
    memory_limit: float | None = None
    max_samples: int | None = 12_000
    n_jobs: int = 1
    has_variants: bool = False


def benchmark_session(request: BenchmarkRequest, out: Path, console: Console) -> pd.DataFrame:
    """Run a benchmark, resume it if it was stopped before, and write the results.

    Parameters
    ----------
    request : BenchmarkRequest
        Sets, methods, seeds, protocol and limits.
    out : path
        Folder for rows, labels, tables and diagrams.
    console : rich.console.Console
        Shows progress and the summary.

    Returns
    -------
    DataFrame
        One row per run; of a grid, those of its best point.
    """
    if request.protocol not in ("label-free", "oracle"):
        msg = f"protocol={request.protocol!r} is unknown; expected 'label-free' or 'oracle'."
        raise ViewError(msg)
    sets = request.sets or _all_sets(request.max_samples)
    for name in sets:
        find_benchmark(name)  # refused before any run
    wanted = [*(request.methods or known_methods()), *(VARIANTS if request.has_variants else ())]
    methods = [find_method(name) for name in wanted]
    grids = published_grids() if request.protocol == "oracle" else {}
    conditions = Conditions(
        seeds=range(request.n_seeds),
        rows=request.rows,
        missing_rates=request.missing_rates,
        time_limit=request.time_limit,
        memory_limit=request.memory_limit,
        grids=grids,
    )
    with run_bar(console) as bar:
        table = run_benchmark(
            sets, methods, out, conditions=conditions, n_jobs=request.n_jobs, on_row=bar.on_row
        )
    _check_any_done(table)
    shown = best_of_grid(table, METRICS) if grids else table
    is_drawn = _write(shown, out)
    _show(shown, console, out, is_drawn)
    return shown


def _all_sets(max_samples: int | None) -> list[str]:
    """All data sets with labels and at most `max_samples` samples."""
    most = float("inf") if max_samples is None else max_samples
    found = []
    for name in benchmark_files():
        bunch = load_benchmark(name)
        if bunch.target is not None and bunch.data.n_samples <= most:
            found.append(name)
    if not found:
        msg = (
            "There are no benchmark data sets; expected .npz or .mat files. Set MANYVIEW_DATA to "
            "their folder."
        )
        raise ViewError(msg)
    return found


def _check_any_done(rows: pd.DataFrame) -> None:
    """Refuse to compare where nothing was done; the reasons are those of the runs."""
    if (rows["status"] == "done").any():
        return
    reasons = dict.fromkeys(
        f"{row.method} on {row.data}: {row.reason}" for row in rows.itertuples()
    )
    msg = f"No run was done, so there is nothing to compare. {' '.join([*reasons][:3])}"
    raise ViewError(msg)


def _write(rows: pd.DataFrame, out: Path) -> bool:
    """Tables of all metrics, pairwise tests, and diagrams; returns whether these were drawn."""
    parts = [f"## {metric}\n\n{to_markdown(rows, metric)}" for metric in METRICS]
    write_text(out / "tables.md", "\n".join(parts))
    write_scoreboard(rows, out)
    write_text(out / "tables.tex", "\n".join(to_latex(rows, metric) for metric in METRICS))
    is_drawn = True
    for metric in ("acc", "nmi"):
        comparison = compare_methods(rows, metric)
        with atomic_path(out / f"wilcoxon_{metric}.csv") as path:
            comparison.pairs.assign(over=comparison.over).to_csv(path, index=False)
        is_drawn = _draw(comparison, out) and is_drawn
    return is_drawn


def _draw(comparison: Comparison, out: Path) -> bool:
    """Critical-difference diagram as SVG, if matplotlib is installed."""
    try:
        axes = critical_difference(comparison)
    except EngineUnavailableError as error:
        logger.warning("No diagram was drawn. %s", error)  # the tables have the same content
        return False
    with atomic_path(out / f"critical_difference_{comparison.metric}.svg") as path:
        axes.figure.savefig(path, bbox_inches="tight")
    return True


def summarize(rows: pd.DataFrame) -> dict[str, Any]:
    """What a benchmark found, as plain values.

    Parameters
    ----------
    rows : DataFrame
        Rows of `run_benchmark`.

    Returns
    -------
    dict
        `over` (data sets or seeds), `n`, `methods` in the order of their ranks by NMI, and the
        pairwise tests.
    """
    comparison = compare_methods(rows, "nmi")
    methods = [
        {"method": str(name), "rank": float(rank), **_figures(rows[rows["method"] == name])}
        for name, rank in comparison.ranks.items()
    ]
    tests = comparison.pairs.astype(object).where(comparison.pairs.notna(), None)
    n = len(comparison.scores)
    return {"over": comparison.over, "n": n, "methods": methods, "tests": tests.to_dict("records")}


def _figures(own: pd.DataFrame) -> dict[str, Any]:
    """Means and spread over seeds of one method, averaged over data sets; counts of runs."""
    done = own[own["status"] == "done"]
    figures: dict[str, Any] = {}
    for metric in ("acc", "nmi", "ari"):
        by_set = done.groupby("data")[metric]
        figures[metric] = _number(by_set.mean().mean())
        figures[f"{metric}_spread"] = _number(by_set.std(ddof=1).mean())
    scalings = done["scaling"].dropna().unique().tolist() if "scaling" in done else []
    return {
        **figures,
        "seconds": _number(done["seconds"].mean()),
        "scaling": " | ".join(map(str, scalings)) or None,
        **{status: int((own["status"] == status).sum()) for status in STATUSES},
    }


def _number(value: float) -> float | None:
    return None if pd.isna(value) else float(value)


def _show(rows: pd.DataFrame, console: Console, out: Path, is_drawn: bool) -> None:
    """Print means and spread, ranks, scalings and tests."""
    summary = summarize(rows)
    has_tests = len(summary["methods"]) > 1
    titles = ("ACC", "NMI", "ARI", "rank", "s")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", overflow="fold", min_width=12)
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for row in summary["methods"]:
        scores = [_score(row[metric], row[f"{metric}_spread"]) for metric in ("acc", "nmi", "ari")]
        seconds = "–" if row["seconds"] is None else f"{row['seconds']:.2f}"
        table.add_row(escape(row["method"]), *scores, f"{row['rank']:.2f}", seconds)
    console.print(table)
    said = [
        "Means over the runs that were done; ± is the standard deviation over seeds. Ranks are by "
        f"NMI over {summary['over']}; no result ranks last."
    ]
    said += [
        f"{row['method']}: {row['declined']} declined, {row['failed']} failed."
        for row in summary["methods"]
        if row["declined"] or row["failed"]
    ]
    scalings = [
        f"{row['method']}: {row['scaling']}" for row in summary["methods"] if row["scaling"]
    ]
    said += [f"Scaling of the views: {'; '.join(scalings)}."] if scalings else []
    said += [_tell_tests(summary)] if has_tests else []
    parts = "rows, labels, tables, tests" + (" and diagrams" if is_drawn else "")
    said.append(f"Written: {parts} in {out}.")
    for text in said:
        console.print(text, markup=False, highlight=False)


def _score(mean: float | None, spread: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.3f}" if spread is None else f"{mean:.3f} ± {spread:.3f}"


def _tell_tests(summary: Mapping[str, Any]) -> str:
    """What the tests by NMI say of the best method, and what they could say at best."""
    best, n, over = summary["methods"][0]["method"], summary["n"], summary["over"]
    enough = needed(len(summary["tests"]), SIGNIFICANT)
    if n < enough:
        remedy = f"use {enough} or more" if over == "data sets" else f"set --seeds {enough} or more"
        return (
            f"Over {n} {over} no difference of {len(summary['methods'])} methods can be "
            f"significant, whatever they score; {remedy}."
        )
    own = [test for test in summary["tests"] if best in (test["first"], test["second"])]
    clear = [test for test in own if test["p_holm"] < SIGNIFICANT]
    text = (
        f"{best} differs from {len(clear)} of {len(own)} others in NMI (Wilcoxon over {n} {over}, "
        f"Holm, p < {SIGNIFICANT})."
    )
    return text if over == "data sets" else f"{text} This holds for this data set only."
