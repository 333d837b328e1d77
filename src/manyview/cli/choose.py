"""`manyview choose`: recommends the number of clusters, scaling and λ, without labels."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer
from joblib import hash as digest
from rich import box
from rich.console import Console
from rich.table import Table

from manyview._version import __version__
from manyview.cli.options import (
    AsJson,
    ByPosition,
    Missing,
    NameFiles,
    Nan,
    Paths,
    Quiet,
    SampleColumn,
    Seed,
    Side,
    Text,
    out_folder,
    print_json,
    split_names,
)
from manyview.data.scaling import scale_name
from manyview.data.views import MultiViewData
from manyview.exceptions import EngineUnavailableError
from manyview.inspection.plots import choice_curve, settings_bars
from manyview.io import read_views
from manyview.model_selection import Choice, choose
from manyview.persistence.atomic import RowLog, atomic_path, write_text
from manyview.study.progress import run_bar

EXAMPLES = """
[bold]Number of clusters[/], scaling and λ:

  manyview choose rna.csv protein.parquet --id sample --out choice

[bold]Number of clusters only[/], from 5 to 15:

  manyview choose data.mat --min 5 --max 15 --no-tune

[bold]Number of clusters, or none[/]: one cluster if there is no clear structure:

  manyview choose data.mat --min 1

[bold]Scaling and λ[/] for a known number of clusters:

  manyview choose data.mat --min 8 --max 8

Written to the folder --out: choice.json, choice.svg, table.csv, settings.csv and rows.jsonl.
"""


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChooseRequest:
    """What the user asked for."""

    paths: Iterable[Path]
    options: dict[str, Any]  # of `read_views`
    fewest: int = 2
    most: int = 40
    tune: bool = True
    seed: int = 0
    n_jobs: int = 1


def choose_session(request: ChooseRequest, out: Path, console: Console) -> Choice:
    """Recommend the number of clusters, scaling and λ; resumes if it was stopped before.

    Parameters
    ----------
    request : ChooseRequest
        Files, options of `read_views`, candidates and seed.
    out : path
        Folder for `rows.jsonl`, `table.csv`, `settings.csv`, `choice.json` and `choice.svg`.
    console : rich.console.Console
        Shows progress and the recommendation.

    Returns
    -------
    Choice
    """
    candidates = range(request.fewest, request.most + 1)
    if not candidates:
        msg = f"--min {request.fewest} is above --max {request.most}; expected --min at most --max."
        raise ValueError(msg)
    loaded = read_views(list(request.paths), **request.options)
    for note in (loaded.matching, *loaded.notes):
        console.print(note, markup=False)
    out.mkdir(parents=True, exist_ok=True)
    choice = _choose(loaded.data, candidates, request, out, console)
    is_drawn = _write(choice, out)
    _show(choice, console)
    parts = "rows, tables, choice and plot" if is_drawn else "rows, tables and choice"
    console.print(f"Written: {parts} in {out}.", markup=False)
    return choice


def _choose(
    data: MultiViewData, candidates: range, request: ChooseRequest, out: Path, console: Console
) -> Choice:
    """Evaluate the candidates that have no row yet; each row is logged at once."""
    log = RowLog(out / "rows.jsonl")
    # a row depends on the range of candidates: all share one spectrum and the same reference blobs
    key = digest((data.views, data.present, request.seed, candidates, __version__))
    before = [row for row in log.read() if row.pop("key", None) == key]
    with run_bar(console) as bar:

        def log_row(row: dict[str, Any], n_done: int, n_all: int) -> None:
            log.append({"key": key, **row})
            text = f"{row['n_clusters']} clusters"
            if "lam" in row:
                text += f", scale {row['scale']}, lam {row['lam']:g}"
            bar.bar.update(bar.task, completed=n_done, total=n_all, description=text)

        bar.say("preparing")
        return choose(
            data,
            candidates,
            tune=request.tune,
            random_state=request.seed,
            n_jobs=request.n_jobs,
            on_progress=log_row,
            rows=before,
        )


def _show(choice: Choice, console: Console) -> None:
    """Print the recommendation, the settings that were tried, and options for `fit`."""
    console.print(choice.sentence, markup=False)
    if choice.advice:
        console.print(choice.advice, markup=False)
    if len(choice.settings):
        table = Table("scale", box=box.SIMPLE_HEAD, pad_edge=False)
        for title in ("lam", "view modularity", "gain"):
            table.add_column(title, justify="right")
        for row in choice.settings.to_dict("records"):
            figures = f"{row['lam']:g}", f"{row['view_modularity']:.3f}", f"{row['gain']:+.1%}"
            table.add_row(row["scale"], *figures)
        console.print(table)
    options = f"--clusters {choice.n_clusters}"
    if choice.advice:
        options += f" --scale {scale_name(choice.scale)} --lam {choice.lam:g}"
    console.print(f"Options for manyview fit: {options}", markup=False)


def summarize(choice: Choice) -> dict[str, Any]:
    """A recommendation as plain values."""
    return {
        "n_clusters": choice.n_clusters,
        "has_structure": choice.has_structure,
        "confidence": choice.confidence,
        "p_value": choice.p_value,
        "sentence": choice.sentence,
        "scale": choice.scale,
        "lam": choice.lam,
        "advice": choice.advice,
        "settings": choice.settings.to_dict("records"),
        "manyview": __version__,
    }


def _write(choice: Choice, out: Path) -> bool:
    """Write the tables, the recommendation and its plot; returns whether there is a plot."""
    write_text(out / "table.csv", choice.table.to_csv(index=False))
    write_text(out / "settings.csv", choice.settings.to_csv(index=False))
    write_text(out / "choice.json", dumps(summarize(choice), indent=2) + "\n")
    try:
        figure = choice_curve(choice).figure
    except EngineUnavailableError as error:
        logger.warning("No plot was drawn. %s", error)  # the table has the same content
        return False
    if len(choice.settings):
        figure.set_size_inches(6.4, 9)
        figure.axes[0].set_position((0.15, 0.58, 0.8, 0.38))
        settings_bars(choice, ax=figure.add_axes((0.15, 0.07, 0.8, 0.33)))
    with atomic_path(out / "choice.svg") as path:
        figure.savefig(path, bbox_inches="tight")
    return True


def command(
    paths: Paths,
    out: Annotated[Path, out_folder()] = Path("choose"),
    fewest: Annotated[
        int,
        typer.Option(
            "--min",
            min=1,
            metavar="N",
            help="Smallest number of clusters; with 1, no split is recommended without structure.",
        ),
    ] = 2,
    most: Annotated[
        int, typer.Option("--max", min=2, metavar="N", help="Largest number of clusters.")
    ] = 40,
    tune: Annotated[bool, typer.Option(help="Also choose scaling and λ.")] = True,
    id: SampleColumn = None,
    samples: Side = "auto",
    missing: Missing = "keep",
    nan: Nan = "fail",
    categorical: Text = "drop",
    by_position: ByPosition = False,
    names: NameFiles = None,
    seed: Seed = 0,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Number of threads.")
    ] = 1,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Recommend the number of clusters, scaling and λ, without labels; resumes a stopped run."""
    options = {
        "id": id,
        "samples": samples,
        "missing": missing,
        "nan": nan,
        "categorical": categorical,
        "by_position": by_position,
        "names": split_names(names),
    }
    request = ChooseRequest(paths, options, fewest, most, tune, seed, jobs)
    choice = choose_session(request, out, Console(quiet=quiet, stderr=json))
    print_json({"out": str(out), **summarize(choice)}, json)
