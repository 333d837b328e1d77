"""The command line: one file per command, with its options and what it does with them.

To add a command, write a module with a function `command` and name it below. Only this package may
import `study`.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from manyview._version import __version__
from manyview.cli import benchmark, choose, cite, datasets, demo, fit, predict, report, reproduce
from manyview.cli.terminal import CONTROL
from manyview.utils import interruption

__all__ = ["app", "main", "options"]

# Errors that are caused by the request, not by a bug.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)
# some versions of typer vendor click, others depend on it
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
INTERRUPTED = 130

app = typer.Typer(
    name="manyview",
    help="Multi-view clustering: cluster samples described by several views.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; a user error prints one sentence and exits with code 2."""
    _replace_unknown_letters()
    # removed here, so that it may be given before or after the command
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    is_debugging = len(arguments) < len(sys.argv) - 1
    try:
        code = app(arguments, prog_name="manyview", standalone_mode=False)
    except UsageError as error:
        sys.exit(_refuse(error))
    except (KeyboardInterrupt, typer.Abort):
        interruption.leave()
    except USER_ERRORS as error:
        if is_debugging:
            raise
        typer.echo(f"manyview: {_sentence(error)}", err=True)
        code = 2
    if code == INTERRUPTED:  # some versions of typer return this, others raise
        interruption.leave()
    sys.exit(code or 0)


def _replace_unknown_letters() -> None:
    """Write "?" for characters that a stream cannot encode, as on Windows consoles."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _refuse(error: Any) -> int:
    """Print a usage error in one sentence; without a command, print the help."""
    context = error.ctx
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(context.get_help())
        return 2
    command = "manyview" if context is None else context.command_path
    message = " ".join(error.format_message().split()).rstrip(".")
    typer.echo(f"manyview: {message}. See {command} --help.", err=True)
    return 2


def _sentence(error: Exception) -> str:
    """An error in one line; for system errors, the file and the reason."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return CONTROL.sub("?", " ".join(str(error).split())) or type(error).__name__


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"manyview {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", metavar="", help="Show the traceback of errors.")
    ] = False,
) -> None:
    """Multi-view clustering: cluster samples described by several views."""


app.command("fit", epilog=fit.EXAMPLES)(fit.command)
app.command("predict", epilog=predict.EXAMPLES)(predict.command)
app.command("choose", epilog=choose.EXAMPLES)(choose.command)
app.command("demo")(demo.command)
app.command("benchmark")(benchmark.command)
app.command("report")(report.command)
app.command("reproduce")(reproduce.command)
app.command("cite")(cite.command)
app.add_typer(datasets.app, name="datasets")
