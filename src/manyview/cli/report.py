"""`manyview report`: renders the report of a run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from manyview.report.files import rewrite_report


def command(
    folder: Annotated[Path, typer.Argument(help="Output folder of manyview fit.")],
) -> None:
    """Render report.html of a run again, from its result.json."""
    typer.echo(f"Written: {rewrite_report(folder)}")
