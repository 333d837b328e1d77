"""`manyview reproduce`: the paper's study on the data folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from manyview.study.reproduction import ReproduceRequest, reproduce


def command(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduce"),
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="Small sets, within minutes.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 2,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds of a run; default 600, quick 15.")
    ] = None,
) -> None:
    """Run the paper's study on the data folder; go on where an earlier run was stopped."""
    reproduce(ReproduceRequest(quick=quick, n_jobs=jobs, time_limit=time_limit), out, Console())
