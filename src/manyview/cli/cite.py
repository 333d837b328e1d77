"""`manyview cite`: how to cite a method."""

from __future__ import annotations

from typing import Annotated

import typer

from manyview.study.paper import cite


def command(
    method: Annotated[str, typer.Argument(help="A method, such as omvcdr or lmvsc.")],
) -> None:
    """Show how to cite a method, as BibTeX."""
    typer.echo(cite(method))
