"""Options shared by several commands."""

from __future__ import annotations

from functools import partial
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

reading = partial(typer.Option, rich_help_panel="Reading")  # panels of options in the help
clustering = partial(typer.Option, rich_help_panel="Clustering")

Paths = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Files with the views, or a folder of them.")
]
SampleColumn = Annotated[str | None, reading(metavar="NAME", help="Column with the sample names.")]
ByPosition = Annotated[
    bool,
    reading(
        "--by-position",
        metavar="",
        help="Row i of each view is the same sample.",
    ),
]
NameFiles = Annotated[
    str | None,
    reading(metavar="A,B", help="Files of sample names, one per view, separated by commas."),
]
Side = Annotated[
    Literal["auto", "rows", "columns"],
    reading(help="Orientation of the samples; auto: by matching names."),
]
Missing = Annotated[
    Literal["keep", "drop"], reading(help="Samples with missing views: keep or drop them.")
]
Nan = Annotated[
    Literal["fail", "feature-mean", "drop-features", "estimate"],
    reading(
        metavar="HOW",
        help="Missing values (NaN): fail, feature-mean, drop-features, or estimate them.",
    ),
]
Text = Annotated[
    Literal["drop", "keep"],
    reading(help="Columns of text, and of yes and no: keep makes a view of their categories."),
]
ViewNames = Annotated[
    str | None,
    reading(metavar="A,B", help="Names for the views, or which of the views in a file to take."),
]
Seed = Annotated[
    int, clustering("--seed", "-s", min=0, max=2**32 - 1, metavar="N", help="Random seed.")
]
Jobs = Annotated[
    int | None,
    clustering(
        "--jobs",
        "-j",
        min=1,
        metavar="N",
        help="Number of threads; default: by the size of the data.",
    ),
]
Shown = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="KIND=FILE::COLUMN",
        help="Texts or pictures of typical samples in the report: text=captions.csv::caption, "
        "image=paths.csv::path. Texts also give the words of each cluster.",
    ),
]
Runs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Number of runs in parallel.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="Print nothing but errors.")]
AsJson = Annotated[
    bool,
    typer.Option("--json", metavar="", help="Print a JSON summary on stdout, all else on stderr."),
]


def out_folder(text: str = "Folder for the results.") -> Any:
    """The option --out."""
    return typer.Option("--out", "-o", help=text)


def split_names(text: str | None) -> list[str] | None:
    """Split names at commas."""
    return None if text is None else [name.strip() for name in text.split(",")]


def print_json(summary: Any, is_asked: bool) -> None:
    """Print a summary as JSON if `--json` was given."""
    if is_asked:
        typer.echo(dumps(summary, indent=2))
