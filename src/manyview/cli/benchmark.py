"""`manyview benchmark`: methods × data sets × seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from manyview.study.benchmark import BenchmarkRequest, benchmark_session


def command(
    sets: Annotated[list[str] | None, typer.Argument(help="Names of sets; none: all.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="A method, or module:Class; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("benchmark"),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of each method.")] = 5,
    protocol: Annotated[
        str, typer.Option(help="label-free: defaults; oracle: best of the published grid.")
    ] = "label-free",
    rows: Annotated[str, typer.Option(help="Order of the rows: shuffled or file.")] = "shuffled",
    missing_rate: Annotated[
        list[float] | None, typer.Option(help="Share of view rows to hide; may be repeated.")
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds of a run.")] = 120.0,
    memory_limit: Annotated[float | None, typer.Option(help="Gigabytes of a run.")] = None,
    max_samples: Annotated[int, typer.Option(help="Largest set, where none is named.")] = 12_000,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 1,
    variants: Annotated[
        bool,
        typer.Option(
            "--variants", metavar="", help="Also OMVCDR without its parts, k-means in all scalings."
        ),
    ] = False,
) -> None:
    """Run methods on data sets; go on where an earlier run was stopped."""
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
    benchmark_session(request, out, Console())
