"""The commands that work on a user's files: `fit`, `predict` and `choose`."""

from __future__ import annotations

import shlex
import sys
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

__all__ = ["CHOOSE_EXAMPLES", "FIT_EXAMPLES", "PREDICT_EXAMPLES", "choose", "fit", "predict"]

READING, CLUSTERING = "Reading", "Clustering"  # panels of options in the help
FIT_EXAMPLES = """
[bold]Three omics tables[/], matched by the names of their samples:

  manyview fit rna.csv protein.parquet meth.h5ad --clusters 8 --out run

[bold]Clinical data[/] set against the clusters; --id names the column of names:

  manyview fit rna.csv meth.csv --clusters 4 --id patient --meta clinical.csv

[bold]Embeddings[/], one array a view, rows in the same order:

  manyview fit image.npy text.npy --clusters 100 --seed 1 --json

[bold]Shards on disk[/], a quoted pattern a view, or an array or column of a file:

  manyview fit 'img_*.npy' txt.h5::vectors --clusters 100 --memory 8GB

[bold]One file[/] with all views, or a folder of files:

  manyview fit data.mat --clusters 10

  manyview fit tables/ --clusters 5 --samples columns --nan feature-mean

The folder --out gets labels.csv, labels.parquet, model.mv, result.json and report.html.

New samples: manyview predict --model run new_rna.csv
"""
PREDICT_EXAMPLES = """
[bold]All views[/] of new samples, found by the names of files or features:

  manyview predict --model run new_rna.csv new_meth.csv --out new.csv

[bold]One view[/] alone, and gaps filled with the means of the fit:

  manyview predict --model run/model.mv new_rna.csv --nan feature-mean

[bold]Files whose names and columns say nothing[/]: name the views in their order:

  manyview predict --model run a.npy b.npy --views image,text
"""
CHOOSE_EXAMPLES = """
[bold]How many clusters[/], which scaling and which λ:

  manyview choose rna.csv protein.parquet --id sample --out choice

[bold]The number alone[/], of 5 to 15:

  manyview choose data.mat --min 5 --max 15 --no-tune

[bold]Scaling and λ[/] for a number that is known:

  manyview choose data.mat --min 8 --max 8

The folder --out gets choice.json, choice.svg, table.csv, settings.csv and rows.jsonl.
"""

Paths = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Files with the views, or a folder of them.")
]
SampleColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column with the sample names.",
        rich_help_panel=READING,
    ),
]
Side = Annotated[
    Literal["auto", "rows", "columns"],
    typer.Option(
        help="Where the samples are; auto: found by names.",
        rich_help_panel=READING,
    ),
]
Missing = Annotated[
    Literal["keep", "drop"],
    typer.Option(
        help="Samples that some views lack.",
        rich_help_panel=READING,
    ),
]
Nan = Annotated[
    Literal["fail", "feature-mean", "drop-features"],
    typer.Option(
        metavar="HOW",
        help="Single missing values: fail, feature-mean, drop-features.",
        rich_help_panel=READING,
    ),
]
ViewNames = Annotated[
    str | None,
    typer.Option(
        metavar="A,B", help="Names of the views, with commas between.", rich_help_panel=READING
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", metavar="", help="Write the files only.")]
AsJson = Annotated[
    bool,
    typer.Option("--json", metavar="", help="A summary as JSON on stdout, all else on stderr."),
]


def fit(
    paths: Paths,
    clusters: Annotated[str, typer.Option(metavar="N|auto", help="Number of clusters.")],
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("manyview-run"),
    meta: Annotated[
        Path | None, typer.Option(help="Table to set against the clusters, such as clinical data.")
    ] = None,
    id: SampleColumn = None,
    samples: Side = "auto",
    missing: Missing = "keep",
    nan: Nan = "fail",
    views: ViewNames = None,
    scale: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="auto, none, unit, l2, sqrt-l2, z, z-l2, or several with commas.",
            rich_help_panel=CLUSTERING,
        ),
    ] = "auto",
    lam: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="Pull towards the cluster.",
            rich_help_panel=CLUSTERING,
        ),
    ] = 0.5,
    starts: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Starts; the best wins.",
            rich_help_panel=CLUSTERING,
        ),
    ] = 5,
    max_iter: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Passes of a start, at most.", rich_help_panel=CLUSTERING
        ),
    ] = 100,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**32 - 1,
            metavar="N",
            help="Seed of the starts.",
            rich_help_panel=CLUSTERING,
        ),
    ] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Threads; as many as pay if not given.",
            rich_help_panel=CLUSTERING,
        ),
    ] = None,
    engine: Annotated[
        Literal["auto", "memory", "stream"],
        typer.Option(help="Where the rows are: in memory, or on disk.", rich_help_panel=CLUSTERING),
    ] = "auto",
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Memory to use, such as 8GB.", rich_help_panel=CLUSTERING
        ),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Tell time and memory, and end without a fit.")
    ] = False,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Cluster the samples of your files, and write labels, a model and a report."""
    from manyview.runs import FitRequest, estimate_run, fit_run

    request = FitRequest(
        paths=paths,
        clusters=clusters,
        id=id,
        samples=samples,
        missing=missing,
        nan=nan,
        views=_names(views),
        meta=meta,
        seed=seed,
        scale=scale,
        lam=lam,
        starts=starts,
        max_iter=max_iter,
        jobs=jobs,
        engine=engine,
        memory=memory,
        command=shlex.join(["manyview", *sys.argv[1:]]),
    )
    console = Console(quiet=quiet, stderr=json)
    _print_json(
        estimate_run(request, console) if estimate else fit_run(request, out, console), json
    )


def predict(
    paths: Paths,
    model: Annotated[Path, typer.Option(help="A model file, or the folder of a run.")],
    out: Annotated[Path, typer.Option(help="Table to write: .csv or .parquet.")] = Path(
        "new_labels.csv"
    ),
    id: SampleColumn = None,
    samples: Side = "auto",
    nan: Annotated[
        Literal["fail", "feature-mean"],
        typer.Option(
            help="Values and features that are missing; the mean is that of the fit.",
            rich_help_panel=READING,
        ),
    ] = "fail",
    views: ViewNames = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Find the clusters of new samples, from all views of the fit or from some."""
    from manyview.runs import PredictRequest, predict_run

    request = PredictRequest(
        model=model, paths=paths, id=id, samples=samples, nan=nan, views=_names(views)
    )
    _print_json(predict_run(request, out, Console(quiet=quiet, stderr=json)), json)


def choose(
    paths: Paths,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("choose"),
    fewest: Annotated[int, typer.Option("--min", min=2, metavar="N", help="Fewest clusters.")] = 2,
    most: Annotated[int, typer.Option("--max", min=2, metavar="N", help="Most clusters.")] = 40,
    tune: Annotated[bool, typer.Option(help="Choose scaling and λ, too.")] = True,
    id: SampleColumn = None,
    samples: Side = "auto",
    missing: Missing = "keep",
    nan: Nan = "fail",
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Seed of the sample.")
    ] = 0,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Threads.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Recommend clusters, scaling and λ, without labels; a run that was stopped goes on."""
    from manyview.choosing import Request, choose_session

    reading = {"id": id, "samples": samples, "missing": missing, "nan": nan}
    request = Request(paths, reading, fewest, most, tune, seed, jobs)
    choose_session(request, out, Console(quiet=quiet))


def _names(text: str | None) -> list[str] | None:
    """Names with commas between them."""
    return None if text is None else [name.strip() for name in text.split(",")]


def _print_json(summary: dict[str, Any], is_asked: bool) -> None:
    if is_asked:
        typer.echo(dumps(summary, indent=2))
