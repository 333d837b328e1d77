"""The commands. Each parses, calls one library function, and leaves the rest to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from manyview import __version__

__all__ = ["app", "demo", "main", "options"]

# What the library raises when the request, not the program, is at fault.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)

app = typer.Typer(
    name="manyview",
    help="Cluster samples that several views describe.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; a mistake of the user ends in one sentence and exit code 2."""
    # Taken out here, so that it may stand before or after the command.
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    is_debugging = len(arguments) < len(sys.argv) - 1
    try:
        app(arguments, prog_name="manyview")
    except USER_ERRORS as error:
        if is_debugging:
            raise
        typer.echo(f"manyview: {_sentence(error)}", err=True)
        sys.exit(2)


def _sentence(error: Exception) -> str:
    """Tell an error in one line; those of the system name a file and a reason."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"manyview {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")] = False,
) -> None:
    """Cluster samples that several views describe."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("manyview-demo"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all methods.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write the files only.")] = False,
) -> None:
    """Cluster the bundled digits, compare with k-means, and write a report."""
    from manyview.demo import run_demo

    run_demo(out, seed, Console(quiet=quiet))


if __name__ == "__main__":
    main()
