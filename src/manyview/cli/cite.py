"""`manyview cite`: how to cite a method."""

from __future__ import annotations

from typing import Annotated

import typer

from manyview.cli.options import AsJson, print_json
from manyview.study.paper import cite


def command(
    method: Annotated[
        str,
        typer.Argument(help="Name of a method, such as omvcdr or lmvsc, or manyview itself."),
    ] = "manyview",
    json: AsJson = False,
) -> None:
    """Print the BibTeX entry of a method, or of manyview."""
    entry = cite(method)
    if not json:
        typer.echo(entry)
    print_json({"method": method, "bibtex": entry}, json)
