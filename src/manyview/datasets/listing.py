"""The benchmark sets that are here, as a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from manyview.datasets.benchmarks import SOURCES, benchmark_files, benchmark_folder, load_benchmark

__all__ = ["list_sets", "show_sets"]


def list_sets() -> pd.DataFrame:
    """Name, samples, features of the views, classes and source of each set that is here.

    Returns
    -------
    DataFrame
        One row a set; a file that cannot be read says so in place of its source.
    """
    rows = []
    for name in benchmark_files():
        try:
            bunch = load_benchmark(name)
        except ValueError as error:
            rows.append((name, 0, "", 0, f"unreadable: {error}"))
            continue
        n_classes = 0 if bunch.target is None else len(np.unique(bunch.target))
        widths = ", ".join(map(str, bunch.data.n_features))
        rows.append((name, bunch.data.n_samples, widths, n_classes, SOURCES.get(name, "")))
    return pd.DataFrame(rows, columns=["name", "samples", "features", "classes", "source"])


def show_sets(console: Console) -> None:
    """Print the table of `list_sets`."""
    sets = list_sets()
    if sets.empty:
        console.print(
            f"There are no sets in {benchmark_folder()}. Set MANYVIEW_DATA to the folder with your "
            ".npz or .mat files.",
            markup=False,
        )
        return
    table = Table("name", "samples", "features of the views", "classes", "source")
    for row in sets.itertuples(index=False):
        table.add_row(*(str(cell) for cell in row))
    console.print(table)
