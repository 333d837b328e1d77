"""`manyview datasets`: the benchmark data sets, available and downloadable."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.table import Table

from manyview.cli.options import AsJson, print_json
from manyview.datasets.benchmark_sets import (
    LICENSES,
    SOURCES,
    benchmark_files,
    benchmark_folder,
    load_benchmark,
)
from manyview.datasets.fetching import PUBLIC_SETS, fetch_benchmark
from manyview.datasets.registry import find_paper_set

COLUMNS = ("name", "samples", "features", "classes", "license", "source", "warning")


def list_sets() -> pd.DataFrame:
    """Name, sizes, license and source of each available data set.

    Returns
    -------
    DataFrame
        One row per data set, with a warning if the file cannot be read or differs from the
        paper's set of that name.
    """
    rows = [_row(name) for name in benchmark_files()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(name: str) -> tuple[str, int, str, int, str, str, str]:
    license_, source = LICENSES.get(name, ""), SOURCES.get(name, "")
    try:
        bunch = load_benchmark(name)
    except (ValueError, ImportError) as error:
        return name, 0, "", 0, license_, source, f"unreadable: {error}"
    data = bunch.data
    n_classes = 0 if bunch.target is None else len(np.unique(bunch.target))
    paper = find_paper_set(name)
    difference = paper.difference(data.n_samples, data.n_views, n_classes) if paper else ""
    warning = f"differs from Table I: {difference}" if difference else ""
    widths = ", ".join(map(str, data.n_features))
    return name, data.n_samples, widths, n_classes, license_, source, warning


def show_sets(console: Console) -> None:
    """Print the table of `list_sets`, its warnings, and what can be downloaded."""
    sets = list_sets()
    if sets.empty:
        console.print(
            f"There are no data sets in {benchmark_folder()}. Set MANYVIEW_DATA to the folder with "
            "your .npz or .mat files.",
            markup=False,
        )
    else:
        table = Table("name", "samples", "features of the views", "classes", "license", "source")
        for *cells, _ in sets.itertuples(index=False):
            table.add_row(*map(str, cells))
        console.print(table)
    for row in sets[sets["warning"] != ""].itertuples():
        console.print(f"{row.name}: {row.warning}", markup=False)
    names = ", ".join(PUBLIC_SETS)
    console.print(f"`manyview datasets fetch NAME` downloads: {names}.", markup=False)


app = typer.Typer(invoke_without_command=True)


@app.callback()
def choose_subcommand(context: typer.Context, json: AsJson = False) -> None:
    """List the benchmark data sets, or download one."""
    if context.invoked_subcommand is None:
        list_datasets(json)


@app.command("list")
def list_datasets(json: AsJson = False) -> None:
    """List the available benchmark data sets, and those that can be downloaded."""
    if not json:
        show_sets(Console())
        return
    sets = list_sets().to_dict("records")
    print_json({"folder": str(benchmark_folder()), "sets": sets, "public": [*PUBLIC_SETS]}, json)


@app.command("fetch")
def fetch_dataset(
    name: Annotated[str, typer.Argument(help="Name of a data set with a public source.")],
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Download it even if it exists.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Download a benchmark data set to the folder MANYVIEW_DATA."""
    console = Console(stderr=json)
    is_new = force or name not in benchmark_files()
    with console.status("Downloading …"):
        path = fetch_benchmark(name, force=force)
    text = "Written:" if is_new else "Already present; --force downloads it again:"
    about = f"{SOURCES[name]} License: {LICENSES[name]}."
    console.print(f"{text} {path}\n{about}", markup=False, soft_wrap=True)
    print_json({"name": name, "path": str(path), "is_new": is_new}, json)
