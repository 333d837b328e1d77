"""`manyview reproduce`: reproduces the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from manyview.cli.options import AsJson, Runs, out_folder, print_json
from manyview.study.reproduction import ReproduceRequest, reproduce


def command(
    out: Annotated[Path, out_folder()] = Path("reproduce"),
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="Only small data sets; takes minutes.")
    ] = False,
    jobs: Runs = 2,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.1, help="Limit for one run, in seconds; default: 600, with --quick 15."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Reproduce the paper on the data sets in MANYVIEW_DATA; resumes a stopped run."""
    request = ReproduceRequest(quick=quick, n_jobs=jobs, time_limit=time_limit)
    summary = reproduce(request, out, Console(stderr=json))
    parts = {name: summary[name] for name in ("facts", "findings", "claims")}
    print_json({"out": str(out), **parts}, json)
