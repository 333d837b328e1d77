"""Options that several commands share, and how their results are printed."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

__all__ = [
    "CLUSTERING",
    "READING",
    "AsJson",
    "Missing",
    "Nan",
    "Paths",
    "Quiet",
    "SampleColumn",
    "Side",
    "ViewNames",
    "print_json",
    "split_names",
]

READING, CLUSTERING = "Reading", "Clustering"  # panels of options in the help
Paths = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Files with the views, or a folder of them.")
]
SampleColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column with the sample names.",
        rich_help_panel=READING,
    ),
]
Side = Annotated[
    Literal["auto", "rows", "columns"],
    typer.Option(
        help="Where the samples are; auto: found by names.",
        rich_help_panel=READING,
    ),
]
Missing = Annotated[
    Literal["keep", "drop"],
    typer.Option(
        help="Samples that some views lack.",
        rich_help_panel=READING,
    ),
]
Nan = Annotated[
    Literal["fail", "feature-mean", "drop-features"],
    typer.Option(
        metavar="HOW",
        help="Single missing values: fail, feature-mean, drop-features.",
        rich_help_panel=READING,
    ),
]
ViewNames = Annotated[
    str | None,
    typer.Option(
        metavar="A,B", help="Names of the views, with commas between.", rich_help_panel=READING
    ),
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
