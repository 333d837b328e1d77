"""`manyview reproduce`: reproduces the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from manyview.study.reproduction import ReproduceRequest, reproduce


def command(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduce"),
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="Only small data sets; takes minutes.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of runs in parallel.")] = 2,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.1, help="Limit for one run, in seconds; default: 600, with --quick 15."),
    ] = None,
) -> None:
    """Reproduce the paper on the data sets in MANYVIEW_DATA; resumes a stopped run."""
    reproduce(ReproduceRequest(quick=quick, n_jobs=jobs, time_limit=time_limit), out, Console())
