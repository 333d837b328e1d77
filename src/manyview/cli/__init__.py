"""The command line: one file per command, with its options and what it does with them.

To add a command, write a module with a function `command` and name it below. Only this package may
import `study`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from manyview._version import __version__
from manyview.cli import (
    benchmark,
    choose,
    cite,
    completion,
    datasets,
    demo,
    fit,
    predict,
    report,
    reproduce,
)
from manyview.cli.curation import thin
from manyview.cli.terminal import CONTROL
from manyview.utils import interruption
from manyview.utils.logs import start_log

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
    add_completion=False,  # ours answers without starting Python
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; a user error prints one sentence and exits with code 2."""
    _replace_unknown_letters()
    everywhere = Everywhere.taken_from(sys.argv[1:])
    try:
        start_log(is_verbose=everywhere.is_verbose, file=everywhere.log)
        code = app(everywhere.others, prog_name="manyview", standalone_mode=False)
    except UsageError as error:
        sys.exit(_refuse(error))
    except (KeyboardInterrupt, typer.Abort):
        interruption.leave()
    except USER_ERRORS as error:
        if everywhere.is_debugging:
            raise
        typer.echo(f"manyview: {_sentence(error)}", err=True)
        code = 2
    if code == INTERRUPTED:  # some versions of typer return this, others raise
        interruption.leave()
    sys.exit(code or 0)


@dataclass(frozen=True)
class Everywhere:
    """Options that may stand before or after any command, and the other arguments."""

    others: list[str]
    is_debugging: bool
    is_verbose: bool
    log: Path | None

    @classmethod
    def taken_from(cls, arguments: list[str]) -> Everywhere:
        """Take them out of the arguments."""
        flags = {"--debug": False, "--verbose": False, "-v": False}
        others, log = [], None
        left = iter(arguments)
        for argument in left:
            if argument in flags:
                flags[argument] = True
            elif argument.startswith("--log="):
                log = argument.removeprefix("--log=")
            elif argument == "--log":
                log = next(left, "")
            else:
                others.append(argument)
        if log == "":
            sys.exit(_say("--log needs the name of a file to append to"))
        is_verbose = flags["--verbose"] or flags["-v"]
        return cls(others, flags["--debug"], is_verbose, None if log is None else Path(log))


def _say(text: str) -> int:
    """Print one sentence on stderr; returns the exit code."""
    typer.echo(f"manyview: {text}.", err=True)
    return 2


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
            "--version",
            "-V",
            metavar="",
            callback=_show_version,
            is_eager=True,
            help="Show the version.",
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", metavar="", help="Show the traceback of errors.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", metavar="", help="Tell choices and iterations on stderr."),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append choices, iterations and warnings to a file."),
    ] = None,
) -> None:
    """Multi-view clustering: cluster samples described by several views."""


def _add(name: str, module: Any) -> None:
    """Add a command, with a line on the options of every command below its examples."""
    said = f"{getattr(module, 'EXAMPLES', '')}\n{EVERYWHERE}\n"
    app.command(name, epilog=said)(module.command)


EVERYWHERE = "Every command also has -h, --verbose, --log FILE and --debug."
_add("fit", fit)
_add("predict", predict)
_add("choose", choose)
_add("thin", thin)
_add("demo", demo)
_add("benchmark", benchmark)
_add("report", report)
_add("reproduce", reproduce)
_add("cite", cite)
app.add_typer(datasets.app, name="datasets")
_add("completion", completion)
