"""`manyview fit`: from files to a folder with labels, model, result and report."""

from __future__ import annotations

import json
import shlex
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from manyview.cli.folder import (
    ANNOTATED,
    PASSES,
    SETTINGS,
    data_unchanged,
    run_folder,
    write_parts,
    write_results,
    write_tables,
)
from manyview.cli.inputs import (
    FitRequest,
    Inputs,
    looked_at,
    names_of,
    read_files,
    read_inputs,
    settings_of,
    use_config,
    write_run,
)
from manyview.cli.options import (
    AsJson,
    ByPosition,
    Jobs,
    Missing,
    NameFiles,
    Nan,
    Paths,
    Quiet,
    SampleColumn,
    Seed,
    Shown,
    Side,
    Text,
    ViewNames,
    clustering,
    out_folder,
    print_json,
    split_names,
)
from manyview.cli.progress import fit_bar
from manyview.cli.terminal import (
    show_found,
    show_matching,
    show_notes,
    show_result,
    summarize_fit,
    workers_of,
)
from manyview.cost import estimate_cost
from manyview.data.rows import Rows
from manyview.engines.cluster import is_cluster, open_client
from manyview.exceptions import NotEnoughSamplesError
from manyview.io import LoadedViews, writing_back
from manyview.omvcdr import OMVCDR
from manyview.persistence.checkpoint import is_checkpoint
from manyview.report import describe_fit

EXAMPLES = """
[bold]Three omics tables[/], matched by the names of their samples:

  manyview fit rna.csv protein.parquet meth.h5ad --clusters 8 --out run

[bold]Clinical data[/], tested for association; --id is the column of sample names:

  manyview fit rna.csv meth.csv --clusters 4 --id patient --meta clinical.csv

[bold]Survival[/]: Kaplan-Meier curves by cluster, and the log-rank test:

  manyview fit rna.csv --clusters 4 --meta clinical.csv --time OS_days --event OS_status

[bold]Known classes[/], compared with the clusters, and not used in the fit:

  manyview fit rna.csv meth.csv --clusters 4 --truth subtype

[bold]Embeddings[/], one array per view, rows in the same order, or with files of names:

  manyview fit image.npy text.npy --clusters 100 --seed 1 --json

  manyview fit image.npy text.npy --clusters 100 --names image_ids.csv,text_ids.csv

[bold]Captions and pictures[/] of typical samples in the report, and the words of each cluster:

  manyview fit image.npy text.npy --clusters 100 --show text=captions.parquet::caption

[bold]Shards on disk[/], one quoted pattern per view, or an array or column of a file:

  manyview fit 'img_*.npy' txt.h5::vectors --clusters 100 --memory 8GB

  manyview fit img.parquet::vector txt.parquet::vector --clusters 100 --id product_id

[bold]A cluster[/], whose workers read the files; without --scheduler, processes of this machine:

  manyview fit 'img/*.parquet::vector' txt.zarr --clusters 100 --scheduler tcp://host:8786

[bold]Cells[/]: some modalities, with the results in a copy of the file; or counts of 10x:

  manyview fit cells.h5mu --clusters 8 --views rna,prot --write-back

  manyview fit filtered_feature_bc_matrix.h5 --clusters 8

[bold]One file[/] with all views, or a folder of files:

  manyview fit data.mat --clusters 10

  manyview fit tables/ --clusters 5 --samples columns --nan feature-mean

[bold]The same again[/], or with another option:

  manyview fit --config run/run.toml --seed 1 --out again

Written to the folder --out: labels.csv, labels.parquet, clusters.csv, features.csv, model.mv,
result.json, report.html and run.toml; with survival, survival.svg; with
--write-back, annotated/.

New samples: manyview predict --model run new_rna.csv
"""


def fit_run(
    request: FitRequest,
    out: Path,
    console: Console,
    read: Callable[[FitRequest], Inputs] = read_inputs,
) -> dict[str, Any]:
    """Read views, cluster their samples, and write labels, model, result and report.

    Parameters
    ----------
    request : FitRequest
        Files and settings.
    out : path
        Folder for the files; created if it does not exist.
    console : rich.console.Console
        Shows tables and progress.
    read : function of a FitRequest, default=read_inputs
        Returns the input; called after the folder has been checked.

    Returns
    -------
    dict
        Summary of plain values.
    """
    model = request.estimator()
    if request.write_back:
        writing_back.find_files(request.paths)  # refused before the fit, which may take long
    with run_folder(out) as folder, workers_of(model, console):
        with console.status("reading"):
            inputs = read(request)
        views = inputs.views
        show_found(views.found, console)
        show_matching(views.matching, console)
        show_notes(views.notes, console)
        seconds, warned = _fit(model, views, out / PASSES, console)
        with data_unchanged(views.data, out):
            all_labels = model.labels_
            model, inputs = looked_at(model, inputs)
            with console.status("describing"):
                notes = list(dict.fromkeys([*views.notes, *warned, *inputs.notes]))
                result = _described(request, model, inputs, seconds, notes, folder)
        write_results(folder, model, result)
        write_parts(folder / "labels.parquet", all_labels, names_of(views))
        write_run(folder / SETTINGS, request, out)
    notes = result["notes"]
    show_notes(notes[len(views.notes) :], console)
    show_result(result, out, console)
    return summarize_fit(model, result, out)


def _described(
    request: FitRequest,
    model: OMVCDR,
    inputs: Inputs,
    seconds: float,
    notes: list[str],
    folder: Path,
) -> dict[str, Any]:
    """Write the tables and the copies of annotated files; return the content of the report."""
    views = inputs.views
    explanation = model.explain(views.data)
    result = describe_fit(
        model,
        views.data,
        command=request.command,
        sources=_sources(views),
        matching=views.matching,
        meta=None if inputs.meta is None else inputs.meta.table,
        time=request.time,
        event=request.event,
        batch=request.batch,
        seconds=seconds,
        notes=notes,
        truth=inputs.truth,
        images=inputs.images,
        show=inputs.show,
        explanation=explanation,
    )
    result["notes"] += write_tables(folder, model, explanation, views.data)
    if request.write_back:
        files = writing_back.find_files(request.paths)
        copies = folder / ANNOTATED
        result["notes"] += writing_back.write_back(files, copies, model, views.data)
    return result


def estimate_run(request: FitRequest, console: Console) -> dict[str, Any]:
    """Estimate time and memory of a fit, from a fit of some of the samples.

    Parameters
    ----------
    request : FitRequest
        Files and settings of the fit.
    console : rich.console.Console
        Shows the estimate.

    Returns
    -------
    dict
        The estimate as plain values and as a sentence.
    """
    model = request.estimator()
    with console.status("reading"):
        loaded = read_files(request)
    show_found(loaded.found, console)
    show_matching(loaded.matching, console)
    show_notes(loaded.notes, console)
    with console.status("fitting some of the samples"):
        cost = estimate_cost(
            loaded.data, n_workers=_n_workers(model), **model.get_params(deep=False)
        )
    console.print(str(cost), highlight=False)
    return {**asdict(cost), "sentence": str(cost)}


def _n_workers(model: OMVCDR) -> int | None:
    """Workers of the cluster of a fit; None: it has none, or they are not there yet."""
    if not is_cluster(model.engine) or model.engine == "dask":
        return None if model.engine != "dask" else model.n_jobs
    with open_client(model.engine) as (client, _):
        return len(client.scheduler_info()["workers"])


def _fit(
    model: OMVCDR, loaded: LoadedViews, passes: Path, console: Console
) -> tuple[float, list[str]]:
    """Fit; return the seconds and the warnings.

    A fit of rows on disk writes checkpoints, so that the same command resumes it.
    """
    n_samples, k = loaded.data.n_samples, model.n_clusters
    if isinstance(k, int) and k > n_samples:
        msg = f"--clusters is {k}, and there are {n_samples} samples; set a smaller number."
        raise NotEnoughSamplesError(msg)
    is_elsewhere = is_cluster(model.engine)
    is_long = not is_elsewhere and any(isinstance(view, Rows) for view in loaded.data.views)
    if is_checkpoint(passes):
        resuming = "Resuming an earlier run that was stopped."
        replacing = "The folder has an unfinished run with rows on disk; this one replaces it."
        console.print(resuming if is_long else replacing)
    with warnings.catch_warnings(record=True) as caught, fit_bar(console) as on_step:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(
            loaded.data,
            callback=on_step,
            checkpoint=passes if is_long else None,
            keep_checkpoint=True,  # until the results have their names
        )
        seconds = time.perf_counter() - start
    said = [str(warning.message) for warning in caught]
    if hasattr(model, "choice_") and model.choice_.sentence not in said:
        said.append(model.choice_.sentence)
    return seconds, said


def _sources(loaded: LoadedViews) -> list[dict[str, Any]]:
    """What was found in the files: one dict of plain values per view."""
    rows: list[dict[str, Any]] = json.loads(loaded.found.to_json(orient="records"))
    return rows


def command(
    context: typer.Context,
    paths: Paths,
    clusters: Annotated[
        str, typer.Option("--clusters", "-k", metavar="N|auto", help="Number of clusters.")
    ],
    out: Annotated[Path, out_folder()] = Path("manyview-run"),
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            is_eager=True,
            callback=use_config,
            help="Options from a file, such as run.toml of an earlier run.",
        ),
    ] = None,
    meta: Annotated[
        Path | None,
        typer.Option(
            "--meta", "-m", help="Metadata to test for association, such as clinical data."
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Survival: column of --meta with the time until the event or the last visit.",
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Survival: column of --meta that is 1, yes or dead where the event was seen.",
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of --meta with the batch of a sample: a warning if clusters follow it.",
        ),
    ] = None,
    center_batches: Annotated[
        bool,
        typer.Option(
            "--center-batches", metavar="", help="Take the means of the batches off each view."
        ),
    ] = False,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Known classes to compare with the clusters: a column of a view or of --meta, "
            "FILE::COLUMN, or a file. Not used in the fit.",
        ),
    ] = None,
    show: Shown = None,
    id: SampleColumn = None,
    samples: Side = "auto",
    missing: Missing = "keep",
    nan: Nan = "fail",
    categorical: Text = "drop",
    views: ViewNames = None,
    by_position: ByPosition = False,
    names: NameFiles = None,
    scale: Annotated[
        str,
        clustering(
            metavar="HOW",
            help="auto, none, unit, l2, sqrt-l2, z, z-l2, pca-l2, log-pca-l2, or several: a,b.",
        ),
    ] = "auto",
    lam: Annotated[
        float, clustering(metavar="X", help="Coupling between embedding and clusters.")
    ] = OMVCDR.lam,
    starts: Annotated[
        int, clustering(min=1, metavar="N", help="Number of starts; the best is kept.")
    ] = 5,
    max_iter: Annotated[
        int, clustering(min=1, metavar="N", help="Maximum number of iterations of a start.")
    ] = 100,
    seed: Seed = 0,
    jobs: Jobs = None,
    engine: Annotated[
        Literal["auto", "memory", "stream", "dask"],
        clustering(help="Where rows are kept: in memory, on disk, or on a Dask cluster."),
    ] = "auto",
    scheduler: Annotated[
        str | None,
        clustering(metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786."),
    ] = None,
    device: Annotated[
        str,
        clustering(metavar="NAME", help="auto, cpu, or cuda for a GPU, which needs torch."),
    ] = "auto",
    memory: Annotated[
        str | None, clustering(metavar="SIZE", help="Memory limit, such as 8GB.")
    ] = None,
    write_back: Annotated[
        bool,
        typer.Option(
            "--write-back",
            metavar="",
            help="Write the results into copies of the .h5ad and .h5mu files, in OUT/annotated.",
        ),
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only estimate time and memory; do not fit.")
    ] = False,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Cluster the samples of your files, and write labels, a model and a report."""
    request = FitRequest(
        paths=paths,
        clusters=clusters,
        id=id,
        samples=samples,
        missing=missing,
        nan=nan,
        categorical=categorical,
        views=split_names(views),
        by_position=by_position,
        names=split_names(names),
        meta=meta,
        time=time,
        event=event,
        batch=batch,
        center_batches=center_batches,
        truth=truth,
        show=show or (),
        seed=seed,
        scale=scale,
        lam=lam,
        starts=starts,
        max_iter=max_iter,
        jobs=jobs,
        engine=engine,
        device=device,
        memory=memory,
        scheduler=scheduler,
        write_back=write_back,
        command=shlex.join(["manyview", *sys.argv[1:]]),
        settings=settings_of(context, paths, out),
    )
    console = Console(quiet=quiet, stderr=json)
    print_json(estimate_run(request, console) if estimate else fit_run(request, out, console), json)
