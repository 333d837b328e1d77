"""`manyview cite`: how to cite a method."""

from __future__ import annotations

from typing import Annotated

import typer

from manyview.study.paper import cite


def command(
    method: Annotated[str, typer.Argument(help="Name of a method, such as omvcdr or lmvsc.")],
) -> None:
    """Print the BibTeX entry of a method."""
    typer.echo(cite(method))
