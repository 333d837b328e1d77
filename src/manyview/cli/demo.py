"""The demo: cluster the bundled digits, compare with k-means, and write down what came out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from sklearn.cluster import KMeans
from sklearn.utils import Bunch

from manyview.cli.options import Quiet, Seed
from manyview.cli.progress import fit_bar
from manyview.data.views import MultiViewData
from manyview.datasets import load_digits_views
from manyview.omvcdr import OMVCDR
from manyview.persistence.atomic import write_text
from manyview.report import Outcome, render, summarize
from manyview.report.terminal import show
from manyview.utils.threads import limit_threads

__all__ = ["command", "run_demo"]

N_CLUSTERS = 10
IMAGE_SHAPE = (8, 8)
NOTES = (
    "k-means is that of scikit-learn, the best of 10 starts; all views means side by side.",
    "All methods ran on one thread, after compilation.",
    "The same seed and versions give the same clusters.",
    "Beside this page, labels.csv has the cluster of each sample, and result.json the numbers.",
)
RESULT_PARTS = ("data", "methods", "weights", "objective", "clusters", "run")


def run_demo(out: Path, seed: int = 0, console: Console | None = None) -> dict[str, Any]:
    """Cluster the bundled digits by OMVCDR and by k-means, and write a report.

    Parameters
    ----------
    out : path
        Folder for `labels.csv`, `result.json` and `report.html`; made where it does not exist.
    seed : int, default=0
        Seed of all methods.
    console : rich.console.Console, optional
        Where progress and tables are shown; None shows nothing.

    Returns
    -------
    dict
        The summary that the report is made of.
    """
    console = console or Console(quiet=True)
    _make_folder(out)
    digits = load_digits_views()
    # One thread each: comparable times, and threads of BLAS that wait for a busy core cost more
    # than they bring on so few samples.
    with limit_threads(1):
        compiled = _compile(digits.data, console)
        model = OMVCDR(n_clusters=N_CLUSTERS, random_state=seed)
        outcomes = [_cluster(model, digits.data, console), *_kmeans(digits.data, seed, console)]
        summary = _summarize(model, digits, outcomes, seed)
    summary["run"]["seconds_compiling"] = compiled
    table = pd.DataFrame({"cluster": model.labels_, "truth": digits.target})
    write_text(out / "labels.csv", table.to_csv(index_label="sample", lineterminator="\n"))
    _write(out, summary)
    show(summary, console)
    console.print(f"Written: labels.csv, result.json and report.html in {escape(str(out))}.")
    console.print(f"Open [bold]{escape(str(out / 'report.html'))}[/] in a browser to see more.")
    return summary


def _make_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        msg = f"{out} is a file; expected a folder to write to. Move it, or name another --out."
        raise NotADirectoryError(msg)
    out.mkdir(parents=True, exist_ok=True)


def _compile(data: MultiViewData, console: Console) -> float:
    """Compile the kernels on a few rows, and return the seconds; numba keeps them for next time."""
    start = time.perf_counter()
    with console.status("compiling, once"):
        OMVCDR(n_clusters=2, n_init=1, tol=1.0, random_state=0).fit(data[:64])
    seconds = time.perf_counter() - start
    console.print(
        f"Kernels ready in {seconds:.1f} s (compiled once, then kept; not in the times below)."
    )
    return seconds


def _cluster(model: OMVCDR, data: MultiViewData, console: Console) -> Outcome:
    with fit_bar(console) as on_step:
        start = time.perf_counter()
        model.fit(data, callback=on_step)
        seconds = time.perf_counter() - start
    return Outcome("OMVCDR, all views", model.labels_, seconds)


def _kmeans(data: MultiViewData, seed: int, console: Console) -> Iterator[Outcome]:
    """k-means on all views side by side and on each alone."""
    views = [np.asarray(view) for view in data.views]
    named = dict(zip(data.view_names, views, strict=True))
    for name, view in {"all views": np.hstack(views), **named}.items():
        with console.status(f"k-means, {name}"):
            start = time.perf_counter()
            labels = KMeans(N_CLUSTERS, n_init=10, random_state=seed).fit_predict(view)
            seconds = time.perf_counter() - start
        yield Outcome(f"k-means, {name}", labels, seconds)


def _summarize(
    model: OMVCDR, digits: Bunch, outcomes: Sequence[Outcome], seed: int
) -> dict[str, Any]:
    code = f"""manyview demo --seed {seed}

from manyview import OMVCDR
from manyview.datasets import load_digits_views

data, digits = load_digits_views(return_X_y=True)
labels = OMVCDR(n_clusters={N_CLUSTERS}, random_state={seed}).fit_predict(data)"""
    return summarize(
        model,
        digits.data,
        outcomes,
        truth=digits.target,
        topic="handwritten digits",
        class_name="digit",
        images=digits.data.views[0].reshape(-1, *IMAGE_SHAPE),
        repeat=code.splitlines(),
        notes=NOTES,
    )


def _write(out: Path, summary: Mapping[str, Any]) -> None:
    result = {part: summary[part] for part in RESULT_PARTS}
    write_text(out / "result.json", json.dumps(result, indent=2) + "\n")
    write_text(out / "report.html", render(summary))


def command(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("manyview-demo"),
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Cluster the bundled digits, compare with k-means, and write a report."""
    run_demo(out, seed, Console(quiet=quiet))
