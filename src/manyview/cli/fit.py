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

import numpy as np
import pandas as pd
import typer
from rich.console import Console

from manyview.cli.folder import (
    FILES,
    MODEL,
    PASSES,
    data_unchanged,
    run_folder,
    write_table,
)
from manyview.cli.inputs import FitRequest, Inputs, names_of, read_files, read_inputs
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
    Side,
    ViewNames,
    clustering,
    print_json,
    split_names,
)
from manyview.cli.progress import fit_bar
from manyview.cli.terminal import show_found, show_matching, show_notes, show_result
from manyview.cli.workers import looked_at, workers_of, write_parts
from manyview.cost import estimate_cost
from manyview.data.rows import Rows
from manyview.engines.cluster import is_cluster, open_client
from manyview.exceptions import NotEnoughSamplesError
from manyview.inspection.association import associate
from manyview.io import LoadedViews, Meta
from manyview.omvcdr import OMVCDR
from manyview.persistence.atomic import write_text
from manyview.persistence.checkpoint import is_checkpoint
from manyview.report import describe_fit, render_fit

EXAMPLES = """
[bold]Three omics tables[/], matched by the names of their samples:

  manyview fit rna.csv protein.parquet meth.h5ad --clusters 8 --out run

[bold]Clinical data[/], tested for association; --id is the column of sample names:

  manyview fit rna.csv meth.csv --clusters 4 --id patient --meta clinical.csv

[bold]Known classes[/], compared with the clusters, and not used in the fit:

  manyview fit rna.csv meth.csv --clusters 4 --truth subtype

[bold]Embeddings[/], one array per view, rows in the same order, or with files of names:

  manyview fit image.npy text.npy --clusters 100 --seed 1 --json

  manyview fit image.npy text.npy --clusters 100 --names image_ids.csv,text_ids.csv

[bold]Shards on disk[/], one quoted pattern per view, or an array or column of a file:

  manyview fit 'img_*.npy' txt.h5::vectors --clusters 100 --memory 8GB

  manyview fit img.parquet::vector txt.parquet::vector --clusters 100 --id product_id

[bold]A cluster[/], whose workers read the files; without --scheduler, processes of this machine:

  manyview fit 'img/*.parquet::vector' txt.zarr --clusters 100 --scheduler tcp://host:8786

[bold]One file[/] with all views, or a folder of files:

  manyview fit data.mat --clusters 10

  manyview fit tables/ --clusters 5 --samples columns --nan feature-mean

Written to the folder --out: labels.csv, labels.parquet, model.mv, result.json and report.html.

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
        Folder for the five files; created if it does not exist.
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
            tested, aside = _associations(inputs.meta, model, request.seed)
            notes = list(dict.fromkeys([*views.notes, *warned, *inputs.notes, *aside]))
            with console.status("describing"):
                result = describe_fit(
                    model,
                    inputs.views.data,
                    command=request.command,
                    sources=_sources(views),
                    matching=views.matching,
                    meta=tested,
                    seconds=seconds,
                    notes=notes,
                    truth=inputs.truth,
                    images=inputs.images,
                )
        notes = _write(folder, model, names_of(inputs.views), result)
        write_parts(folder / "labels.parquet", all_labels, names_of(views))
    show_notes(notes[len(views.notes) :], console)
    show_result(result, out, console)
    return _summary(model, result, out)


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


def _associations(
    meta: Meta | None, model: OMVCDR, seed: int
) -> tuple[list[dict[str, Any]] | None, list[str]]:
    """Tested columns, and one sentence per reason why columns were not tested."""
    if meta is None:
        return None, []
    associations = associate(meta.table, model.labels_, seed=seed)
    by_reason: dict[str, list[str]] = {}
    for column in associations.set_aside:
        by_reason.setdefault(column["reason"], []).append(repr(column["column"]))
    return associations.tested, [
        f"Not tested for association: {', '.join(names)} ({reason})."
        for reason, names in by_reason.items()
    ]


def _sources(loaded: LoadedViews) -> list[dict[str, Any]]:
    """What was found in the files: one dict of plain values per view."""
    rows: list[dict[str, Any]] = json.loads(loaded.found.to_json(orient="records"))
    return rows


def _write(folder: Path, model: OMVCDR, names: pd.Index, result: dict[str, Any]) -> list[str]:
    """Write the five files; returns the notes, with one on names that stand there differently."""
    labels = pd.DataFrame(
        {
            "sample": names,
            "cluster": model.labels_,
            "confidence": model.confidence_,
            "outlier_score": model.outlier_score_,
        }
    )
    result["notes"] = [*result["notes"], *write_table(folder / "labels.csv", labels)]
    write_table(folder / "labels.parquet", labels)
    model.save(folder / MODEL)
    write_text(folder / "report.html", render_fit(result))
    write_text(folder / "result.json", json.dumps(result, indent=1, allow_nan=False) + "\n")
    return list(result["notes"])


def _summary(model: OMVCDR, result: dict[str, Any], out: Path) -> dict[str, Any]:
    """What `--json` prints."""
    sizes = np.bincount(model.labels_, minlength=result["data"]["n_clusters"])
    return {
        "out": str(out),
        "files": list(FILES),
        "n_samples": result["data"]["n_samples"],
        "n_clusters": result["data"]["n_clusters"],
        "structure": result["structure"],
        "advice_on_sizes": result["sizes"],
        "sizes": sizes.tolist(),
        "cluster_stability": [row["stability"] for row in result["clusters"]],
        "median_confidence": float(np.median(model.confidence_)),
        "stability": result["confidence"]["stability"],
        "view_weights": {row["name"]: row["weight"] for row in result["weights"]["views"]},
        "objective": float(model.objective_),
        "converged": bool(model.converged_),
        "seconds": result["run"]["seconds"],
        "sources": result["sources"],
        "matching": result["matching"],
        "meta": result["meta"],
        "truth": result["truth"],
        "notes": result["notes"],
    }


def command(
    paths: Paths,
    clusters: Annotated[str, typer.Option(metavar="N|auto", help="Number of clusters.")],
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("manyview-run"),
    meta: Annotated[
        Path | None, typer.Option(help="Metadata to test for association, such as clinical data.")
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Known classes to compare with the clusters: a column of a view or of --meta, "
            "FILE::COLUMN, or a file. Not used in the fit.",
        ),
    ] = None,
    id: SampleColumn = None,
    samples: Side = "auto",
    missing: Missing = "keep",
    nan: Nan = "fail",
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
        views=split_names(views),
        by_position=by_position,
        names=split_names(names),
        meta=meta,
        truth=truth,
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
        command=shlex.join(["manyview", *sys.argv[1:]]),
    )
    console = Console(quiet=quiet, stderr=json)
    print_json(estimate_run(request, console) if estimate else fit_run(request, out, console), json)
