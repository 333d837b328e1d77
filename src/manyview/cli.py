"""The commands. Each parses, calls one library function, and leaves the rest to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from manyview import __version__
from manyview.file_commands import (
    CHOOSE_EXAMPLES,
    FIT_EXAMPLES,
    PREDICT_EXAMPLES,
    choose,
    fit,
    predict,
)

__all__ = [
    "app",
    "benchmark",
    "cite",
    "datasets",
    "demo",
    "fetch_dataset",
    "list_datasets",
    "main",
    "options",
    "report",
    "reproduce",
]

# What the library raises when the request, not the program, is at fault.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)
# typer carries click inside in some versions, and needs it beside in others
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
INTERRUPTED = 130

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
        code = app(arguments, prog_name="manyview", standalone_mode=False)
    except UsageError as error:
        sys.exit(_refuse(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except USER_ERRORS as error:
        if is_debugging:
            raise
        typer.echo(f"manyview: {_sentence(error)}", err=True)
        code = 2
    if code == INTERRUPTED:
        typer.echo("manyview: stopped by Ctrl-C; no file is half-written.", err=True)
    sys.exit(code or 0)


def _refuse(error: Any) -> int:
    """Tell a mistake in the command line in one sentence; no command at all shows the help."""
    context = error.ctx
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(context.get_help())
        return 2
    command = "manyview" if context is None else context.command_path
    message = " ".join(error.format_message().split()).rstrip(".")
    typer.echo(f"manyview: {message}. See {command} --help.", err=True)
    return 2


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
        typer.Option(
            "--version", metavar="", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", metavar="", help="Show the traceback of errors.")
    ] = False,
) -> None:
    """Cluster samples that several views describe."""


app.command(epilog=FIT_EXAMPLES)(fit)
app.command(epilog=PREDICT_EXAMPLES)(predict)
app.command(epilog=CHOOSE_EXAMPLES)(choose)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("manyview-demo"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all methods.")] = 0,
    quiet: Annotated[
        bool, typer.Option("--quiet", metavar="", help="Write the files only.")
    ] = False,
) -> None:
    """Cluster the bundled digits, compare with k-means, and write a report."""
    from manyview.demo import run_demo

    run_demo(out, seed, Console(quiet=quiet))


@app.command()
def benchmark(
    sets: Annotated[list[str] | None, typer.Argument(help="Names of sets; none: all.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="A method, or module:Class; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("benchmark"),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of each method.")] = 5,
    protocol: Annotated[
        str, typer.Option(help="label-free: defaults; oracle: best of the published grid.")
    ] = "label-free",
    rows: Annotated[str, typer.Option(help="Order of the rows: shuffled or file.")] = "shuffled",
    missing_rate: Annotated[
        list[float] | None, typer.Option(help="Share of view rows to hide; may be repeated.")
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds of a run.")] = 120.0,
    memory_limit: Annotated[float | None, typer.Option(help="Gigabytes of a run.")] = None,
    max_samples: Annotated[int, typer.Option(help="Largest set, where none is named.")] = 12_000,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 1,
    variants: Annotated[
        bool,
        typer.Option(
            "--variants", metavar="", help="Also OMVCDR without its parts, k-means in all scalings."
        ),
    ] = False,
) -> None:
    """Run methods on data sets; go on where an earlier run was stopped."""
    from manyview.benchmark.session import Request, benchmark_session

    request = Request(
        sets=sets or (),
        methods=method or (),
        n_seeds=seeds,
        protocol=protocol,
        rows=rows,
        missing_rates=missing_rate or (0.0,),
        time_limit=time_limit,
        memory_limit=None if memory_limit is None else memory_limit * 1e9,
        max_samples=max_samples,
        n_jobs=jobs,
        has_variants=variants,
    )
    benchmark_session(request, out, Console())


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A folder that manyview fit wrote.")],
) -> None:
    """Write report.html of a run again, from its result.json."""
    from manyview.report.files import rewrite_report

    typer.echo(f"Written: {rewrite_report(folder)}")


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduce"),
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="Small sets, within minutes.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 2,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds of a run; default 600, quick 15.")
    ] = None,
) -> None:
    """Run the paper's study on the data folder; go on where an earlier run was stopped."""
    from manyview.reproduce import Request
    from manyview.reproduce import reproduce as study

    study(Request(quick=quick, n_jobs=jobs, time_limit=time_limit), out, Console())


@app.command()
def cite(method: Annotated[str, typer.Argument(help="A method, such as omvcdr or lmvsc.")]) -> None:
    """Show how to cite a method, as BibTeX."""
    from manyview.paper import cite as bibtex

    typer.echo(bibtex(method))


datasets_app = typer.Typer(invoke_without_command=True)
app.add_typer(datasets_app, name="datasets")


@datasets_app.callback()
def datasets(context: typer.Context) -> None:
    """List the benchmark sets that are here, or fetch one."""
    if context.invoked_subcommand is None:
        list_datasets()


@datasets_app.command("list")
def list_datasets() -> None:
    """List the benchmark sets that are here, and those that can be fetched."""
    from manyview.datasets.listing import show_sets

    show_sets(Console())


@datasets_app.command("fetch")
def fetch_dataset(
    name: Annotated[str, typer.Argument(help="A set with a public source.")],
    source: Annotated[str | None, typer.Option(help="Who sends it: uci or openml.")] = None,
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Also if it is here already.")
    ] = False,
) -> None:
    """Fetch a benchmark set; go on where an earlier transfer broke off."""
    from manyview.datasets.fetching import fetch_session

    fetch_session(name, source, force, Console())


if __name__ == "__main__":
    main()
