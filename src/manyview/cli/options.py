"""Options that several commands share, and how their results are printed."""

from __future__ import annotations

from functools import partial
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

__all__ = [
    "AsJson",
    "Jobs",
    "Missing",
    "Nan",
    "Paths",
    "Quiet",
    "SampleColumn",
    "Seed",
    "Side",
    "ViewNames",
    "clustering",
    "print_json",
    "reading",
    "split_names",
]

reading = partial(typer.Option, rich_help_panel="Reading")  # panels of options in the help
clustering = partial(typer.Option, rich_help_panel="Clustering")

Paths = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Files with the views, or a folder of them.")
]
SampleColumn = Annotated[str | None, reading(metavar="NAME", help="Column with the sample names.")]
Side = Annotated[
    Literal["auto", "rows", "columns"], reading(help="Where the samples are; auto: found by names.")
]
Missing = Annotated[Literal["keep", "drop"], reading(help="Samples that some views lack.")]
Nan = Annotated[
    Literal["fail", "feature-mean", "drop-features"],
    reading(metavar="HOW", help="Single missing values: fail, feature-mean, drop-features."),
]
ViewNames = Annotated[
    str | None, reading(metavar="A,B", help="Names of the views, with commas between.")
]
Seed = Annotated[
    int, clustering(min=0, max=2**32 - 1, metavar="N", help="Seed of everything that is random.")
]
Jobs = Annotated[
    int | None, clustering(min=1, metavar="N", help="Threads; chosen by the size of the data.")
]
Quiet = Annotated[bool, typer.Option("--quiet", metavar="", help="Write the files only.")]
AsJson = Annotated[
    bool,
    typer.Option("--json", metavar="", help="A summary as JSON on stdout, all else on stderr."),
]


def split_names(text: str | None) -> list[str] | None:
    """Names with commas between them."""
    return None if text is None else [name.strip() for name in text.split(",")]


def print_json(summary: dict[str, Any], is_asked: bool) -> None:
    """Print a summary for programs, where `--json` was given."""
    if is_asked:
        typer.echo(dumps(summary, indent=2))
