"""`manyview reproduce`: reproduces the experiments of the paper."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

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
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets, by their usual names; default: MANYVIEW_DATA."),
    ] = None,
    times: Annotated[
        bool,
        typer.Option("--times", metavar="", help="Only measure running time, one fit at a time."),
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", metavar="", help="Only write the page, from runs so far.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Reproduce the paper on the data sets in MANYVIEW_DATA; resumes a stopped run."""
    only: Literal["", "times", "report"] = "times" if times else "report" if report else ""
    if data is not None:
        os.environ["MANYVIEW_DATA"] = str(data)  # for the processes of the runs, too
    request = ReproduceRequest(quick=quick, n_jobs=jobs, time_limit=time_limit, only=only)
    summary = reproduce(request, out, Console(stderr=json))
    parts = {name: summary[name] for name in ("facts", "findings", "claims")}
    print_json({"out": str(out), **parts}, json)
