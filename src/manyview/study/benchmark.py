"""A benchmark from the command line: runs methods, writes tables and diagrams."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from manyview.datasets.benchmark_sets import benchmark_files, load_benchmark
from manyview.exceptions import EngineUnavailableError, ViewError
from manyview.persistence.atomic import atomic_path, write_text
from manyview.study.ablation import VARIANTS
from manyview.study.grids import best_of_grid, published_grids
from manyview.study.methods import find_method, known_methods
from manyview.study.plots import critical_difference
from manyview.study.progress import run_bar
from manyview.study.runner import Conditions, run_benchmark
from manyview.study.scoreboard import write_scoreboard
from manyview.study.statistics import Comparison, compare_methods
from manyview.study.tables import to_latex, to_markdown

logger = logging.getLogger(__name__)

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
        One row per run.
    """
    if request.protocol not in ("label-free", "oracle"):
        msg = f"protocol={request.protocol!r} is unknown; expected 'label-free' or 'oracle'."
        raise ViewError(msg)
    sets = request.sets or _all_sets(request.max_samples)
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
    shown = best_of_grid(table, METRICS) if grids else table
    _write(shown, out)
    _show(shown, console, out)
    return table


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


def _write(rows: pd.DataFrame, out: Path) -> None:
    """Tables of all metrics, pairwise tests, and the critical-difference diagram."""
    parts = [f"## {metric}\n\n{to_markdown(rows, metric)}" for metric in METRICS]
    write_text(out / "tables.md", "\n".join(parts))
    write_scoreboard(rows, out)
    write_text(out / "tables.tex", "\n".join(to_latex(rows, metric) for metric in METRICS))
    for metric in ("acc", "nmi"):
        comparison = compare_methods(rows, metric)
        with atomic_path(out / f"wilcoxon_{metric}.csv") as path:
            comparison.pairs.to_csv(path, index=False)
        _draw(comparison, out)


def _draw(comparison: Comparison, out: Path) -> None:
    """Critical-difference diagram as SVG, if matplotlib is installed."""
    try:
        axes = critical_difference(comparison)
    except EngineUnavailableError as error:
        logger.warning("No diagram was drawn. %s", error)  # the tables have the same content
        return
    with atomic_path(out / f"critical_difference_{comparison.metric}.svg") as path:
        axes.figure.savefig(path, bbox_inches="tight")


def _show(rows: pd.DataFrame, console: Console, out: Path) -> None:
    """Print means over all data sets, ranks, and how many runs were done."""
    ranks = compare_methods(rows, "nmi").ranks
    titles = ("ACC", "NMI", "ARI", "rank (NMI)", "seconds", "done", "declined", "failed")
    table = Table("method", *titles)
    for method, rank in ranks.items():
        own = rows[rows["method"] == method]
        means = own.loc[own["status"] == "done", ["acc", "nmi", "ari", "seconds"]].mean()
        scores = [f"{means[metric]:.3f}" for metric in ("acc", "nmi", "ari")]
        counts = [str((own["status"] == status).sum()) for status in titles[-3:]]
        table.add_row(str(method), *scores, f"{rank:.2f}", f"{means['seconds']:.2f}", *counts)
    console.print(table)
    console.print("Means are over the runs that were done; no result ranks last.")
    console.print(f"Written: rows, labels, tables, tests and diagrams in {out}.", markup=False)
