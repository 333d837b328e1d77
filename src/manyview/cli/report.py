"""`manyview report`: renders the report of a run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from manyview.cli.options import AsJson, print_json
from manyview.report.files import rewrite_report


def command(
    folder: Annotated[Path, typer.Argument(help="Output folder of manyview fit.")],
    json: AsJson = False,
) -> None:
    """Render report.html of a run again, from its result.json."""
    page = rewrite_report(folder)
    typer.echo(f"Written: {page}", err=json)
    print_json({"written": str(page)}, json)
