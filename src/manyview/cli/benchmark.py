"""`manyview benchmark`: methods × data sets × seeds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from manyview.cli.options import AsJson, Runs, out_folder, print_json
from manyview.study.benchmark import BenchmarkRequest, benchmark_session, summarize


def command(
    sets: Annotated[
        list[str] | None,
        typer.Argument(help="Names of data sets, or .npz and .mat files; default: all."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Name of a method, or module:Class; may be repeated."),
    ] = None,
    out: Annotated[Path, out_folder()] = Path("benchmark"),
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 5,
    protocol: Annotated[
        str,
        typer.Option(
            help="label-free: default parameters; oracle: best point of the published grid."
        ),
    ] = "label-free",
    rows: Annotated[str, typer.Option(help="Order of the rows: shuffled or file.")] = "shuffled",
    missing_rate: Annotated[
        list[float] | None,
        typer.Option(help="Share of the rows of a view to remove; may be repeated."),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=0.1, help="Limit for one run, in seconds.")
    ] = 120.0,
    memory_limit: Annotated[float | None, typer.Option(help="Limit for one run, in GB.")] = None,
    max_samples: Annotated[
        int, typer.Option(help="Skip larger data sets, unless they are named.")
    ] = 12_000,
    jobs: Runs = 1,
    variants: Annotated[
        bool,
        typer.Option(
            "--variants",
            metavar="",
            help="Also run ablations of OMVCDR, and k-means with every scaling.",
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Compare methods on data sets; the same command resumes a stopped run."""
    request = BenchmarkRequest(
        sets=sets or (),
        methods=method or (),
        n_seeds=seeds,
        protocol=protocol,
        rows=rows,
        missing_rates=missing_rate or (0.0,),
        time_limit=time_limit,
        memory_limit=None if memory_limit is None else memory_limit * 1e9,
        max_samples=max_samples,
        n_jobs=jobs,
        has_variants=variants,
    )
    sys.path.append(str(Path.cwd()))  # for module:Class
    done = benchmark_session(request, out, Console(stderr=json))
    print_json({"out": str(out), **summarize(done)}, json)
