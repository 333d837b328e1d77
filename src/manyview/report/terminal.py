"""The dict of a summary to tables on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table

from manyview.report.summary import MEASURES

__all__ = ["show"]

BAR_WIDTH = 10


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print the methods and the weights of a summary.

    Parameters
    ----------
    summary : mapping
        As `summarize` returns it.
    console : rich.console.Console
        Where to.
    """
    weights = Table.grid(padding=(0, 4))
    spaces, views = summary["weights"]["spaces"], summary["weights"]["views"]
    weights.add_row(_weights("latent space", spaces), _weights("view", views))
    console.print(_methods(summary["methods"]))
    console.print(weights)


def _methods(methods: Sequence[Mapping[str, Any]]) -> Table:
    """One row a method; the best of each column is bold."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method")
    for title in (*MEASURES.values(), "seconds"):
        table.add_column(title, justify="right")
    best = {key: max(method["metrics"][key] for method in methods) for key in MEASURES}
    for method in methods:
        values = {key: method["metrics"][key] for key in MEASURES}
        cells = [
            f"[bold green]{value:.3f}[/]" if value == best[key] else f"{value:.3f}"
            for key, value in values.items()
        ]
        table.add_row(method["name"], *cells, f"{method['seconds']:.2f}")
    return table


def _weights(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Weights as numbers and bars, the largest one full."""
    largest = max(row["weight"] for row in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(title, no_wrap=True)
    table.add_column("weight", justify="right")
    table.add_column("", width=BAR_WIDTH)
    for row in rows:
        # rich's own bar falls back to ASCII where the terminal has nothing else
        bar = ProgressBar(largest, row["weight"], width=BAR_WIDTH, finished_style="bar.complete")
        table.add_row(row["name"], f"{row['weight']:.2f}", bar)
    return table
