"""`manyview fit`: from files to a folder with labels, model, result and report."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer
from rich.console import Console

from manyview.base import check_parameters
from manyview.cli.folder import (
    FILES,
    MODEL,
    PASSES,
    data_unchanged,
    run_folder,
    write_table,
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
    Side,
    ViewNames,
    clustering,
    print_json,
    split_names,
)
from manyview.cli.progress import fit_bar
from manyview.cli.terminal import show_found, show_matching, show_notes, show_result
from manyview.cost import estimate_cost
from manyview.data.rows import Rows
from manyview.exceptions import NotEnoughSamplesError, ViewError
from manyview.inspection.association import associate
from manyview.io import LoadedViews, Meta, open_views, read_meta, read_views
from manyview.io.classes import column_of, find_classes
from manyview.io.on_disk import is_pattern
from manyview.omvcdr import OMVCDR
from manyview.persistence.atomic import write_text
from manyview.persistence.checkpoint import is_checkpoint
from manyview.report import describe_fit, render_fit
from manyview.report.truth import as_classes
from manyview.utils.types import FloatArray

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

[bold]One file[/] with all views, or a folder of files:

  manyview fit data.mat --clusters 10

  manyview fit tables/ --clusters 5 --samples columns --nan feature-mean

Written to the folder --out: labels.csv, labels.parquet, model.mv, result.json and report.html.

New samples: manyview predict --model run new_rna.csv
"""


@dataclass(frozen=True)
class FitRequest:
    """What the user asked for.

    Attributes
    ----------
    paths : sequence of paths
        Files and folders with the views; a pattern matches the shards of one view.
    clusters : str
        Number of clusters, or "auto".
    id, samples, missing, nan, views, by_position, names
        Parameters of `read_views`.
    meta : path, optional
        Table of metadata, tested for association with the clusters.
    truth : str, optional
        Known classes: a column of `meta` or of a view, FILE::COLUMN, or a file.
    seed, lam, starts, max_iter, jobs
        `random_state`, `lam`, `n_init`, `max_iter` and `n_jobs` of OMVCDR.
    scale : str
        `scale` of OMVCDR; "none" for None; several are separated by commas.
    engine : str
        `engine` of OMVCDR. With "stream", or if a path is a pattern, rows stay on disk.
    memory : str, optional
        `memory_limit` of OMVCDR, such as "8GB".
    command : str, optional
        The command line, for the report.
    """

    paths: Sequence[Path]
    clusters: str
    id: str | None = None
    samples: Literal["auto", "rows", "columns"] = "auto"
    missing: Literal["keep", "drop"] = "keep"
    nan: Literal["fail", "feature-mean", "drop-features"] = "fail"
    views: Sequence[str] | None = None
    by_position: bool = False
    names: Sequence[str] | None = None
    meta: Path | None = None
    truth: str | None = None
    seed: int = 0
    scale: str = "auto"
    lam: float = OMVCDR.lam
    starts: int = 5
    max_iter: int = 100
    jobs: int | None = None
    engine: str = "auto"
    memory: str | None = None
    command: str | None = None

    def estimator(self) -> OMVCDR:
        """Make the estimator, and check its parameters.

        Returns
        -------
        OMVCDR
        """
        scales = self.scale.split(",")
        model = OMVCDR(
            n_clusters=_n_clusters(self.clusters),
            lam=self.lam,
            scale=None if self.scale == "none" else scales if len(scales) > 1 else self.scale,
            n_init=self.starts,
            max_iter=self.max_iter,
            n_jobs=self.jobs,
            engine=self.engine,
            memory_limit=None if self.memory is None else _n_bytes(self.memory),
            random_state=self.seed,
        )
        check_parameters(model)  # before files are read, which may take a long time
        return model


@dataclass(frozen=True, eq=False)
class Inputs:
    """Input of a run.

    Attributes
    ----------
    views : LoadedViews
        The samples to cluster.
    meta : Meta, optional
        Table of metadata, tested for association with the clusters.
    truth : pandas.Series, optional
        Known classes, compared with the clusters.
    images : array of shape (n_samples, height, width), optional
        Small picture of each sample.
    notes : tuple of str
        Remarks on `meta` and `truth`, for the report.
    """

    views: LoadedViews
    meta: Meta | None = None
    truth: pd.Series | None = None
    images: FloatArray | None = None
    notes: tuple[str, ...] = ()


def read_inputs(request: FitRequest) -> Inputs:
    """Read the views, the metadata and the known classes.

    Parameters
    ----------
    request : FitRequest
        Files and settings.

    Returns
    -------
    Inputs
    """
    views = read_files(request)
    names = _names(views)
    meta = None if request.meta is None else read_meta(request.meta, names, id=request.id)
    notes = () if meta is None else meta.notes
    if request.truth is None:
        return Inputs(views, meta, notes=notes)
    features = [str(name) for of in views.data.feature_names if of is not None for name in of]
    tables = [*([] if meta is None else [meta.table]), views.set_aside]
    found = find_classes(request.truth, names, tables=tables, others=features, id=request.id)
    column = found.table.columns[0]
    if column in features:  # a separate file named a column that is a feature
        return read_inputs(replace(request, truth=f"{request.truth}::{column}"))
    truth = as_classes(found.table[column], len(names))
    return Inputs(views, meta, truth, notes=(*notes, *found.notes))


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
    with run_folder(out) as folder:
        with console.status("reading"):
            inputs = read(request)
        views = inputs.views
        show_found(views.found, console)
        show_matching(views.matching, console)
        show_notes(views.notes, console)
        seconds, warned = _fit(model, views, out / PASSES, console)
        with data_unchanged(views.data, out):
            tested, aside = _associations(inputs.meta, model, request.seed)
            notes = list(dict.fromkeys([*views.notes, *warned, *inputs.notes, *aside]))
            with console.status("describing"):
                result = describe_fit(
                    model,
                    views.data,
                    command=request.command,
                    sources=_sources(views),
                    matching=views.matching,
                    meta=tested,
                    seconds=seconds,
                    notes=notes,
                    truth=inputs.truth,
                    images=inputs.images,
                )
        notes = _write(folder, model, _names(views), result)
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
        cost = estimate_cost(loaded.data, **model.get_params(deep=False))
    console.print(str(cost), highlight=False)
    return {**asdict(cost), "sentence": str(cost)}


def read_files(request: FitRequest) -> LoadedViews:
    """Read tables, or open arrays that stay on disk, which are not transposed or imputed."""
    if request.engine != "stream" and not any(map(is_pattern, request.paths)):
        return read_views(
            request.paths,
            id=request.id,
            samples=request.samples,
            missing=request.missing,
            nan=request.nan,
            view_names=request.views,
            set_aside=() if request.truth is None else (column_of(request.truth),),
            by_position=request.by_position,
            names=request.names,
        )
    tabular = ("samples", "nan")
    asked = [f"--{name}" for name in tabular if getattr(request, name) != getattr(FitRequest, name)]
    if asked:
        msg = (
            f"{' and '.join(asked)}: only for tables; with --engine stream or a pattern, rows "
            "stay on disk as they are. Remove these options."
        )
        raise ViewError(msg)
    return open_views(
        request.paths,
        view_names=request.views,
        id=request.id,
        names=request.names,
        missing=request.missing,
        by_position=request.by_position,
    )


def _n_bytes(text: str) -> float:
    """Bytes of a size such as 8GB, 500 MiB or 2000000000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if found is None or float(found[1]) == 0:
        msg = f"--memory is {text!r}; expected a size such as 8GB or 500MB."
        raise ViewError(msg)
    step = 1024.0 if found[3] else 1000.0
    return float(found[1]) * step ** ("kmgt".index(found[2]) + 1 if found[2] else 0)


def _n_clusters(text: str) -> Any:
    """The value of --clusters as a number, or "auto"."""
    if text == "auto":
        return text
    if not text.isdecimal() or int(text) == 0:
        msg = f"--clusters is {text!r}; expected a number of at least 1, or auto."
        raise ViewError(msg)
    return int(text)


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
    is_long = any(isinstance(view, Rows) for view in loaded.data.views)
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


def _names(loaded: LoadedViews) -> pd.Index:
    names = loaded.data.sample_names
    assert names is not None  # views that were read have names, or numbers as names
    return names


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
        Literal["auto", "memory", "stream"],
        clustering(help="Where rows are kept: in memory, or on disk."),
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
        memory=memory,
        command=shlex.join(["manyview", *sys.argv[1:]]),
    )
    console = Console(quiet=quiet, stderr=json)
    print_json(estimate_run(request, console) if estimate else fit_run(request, out, console), json)
