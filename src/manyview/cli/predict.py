"""`manyview predict`: labels new samples with a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer
from rich.console import Console

from manyview.cli.folder import MODEL, write_table
from manyview.cli.options import (
    AsJson,
    ByPosition,
    Paths,
    Quiet,
    SampleColumn,
    Side,
    ViewNames,
    print_json,
    reading,
    split_names,
)
from manyview.cli.terminal import escape, show_clusters, show_found, show_matching, show_notes
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io import FittedView, read_new_samples
from manyview.io.new_samples import NanOfNew
from manyview.omvcdr import OMVCDR

EXAMPLES = """
[bold]All views[/] of new samples, matched by the names of files or features:

  manyview predict --model run new_rna.csv new_meth.csv --out new.csv

[bold]One view[/] only, with missing values replaced by the means of the fit:

  manyview predict --model run/model.mv new_rna.csv --nan feature-mean

[bold]Files without matching names[/]: give the views in the order of the files:

  manyview predict --model run a.npy b.npy --views image,text
"""


ENDINGS = (".csv", ".parquet")


@dataclass(frozen=True)
class PredictRequest:
    """What the user asked for.

    Attributes
    ----------
    model : path
        A model file, or the folder of a run.
    paths : sequence of paths
        Files and folders with views of the new samples.
    id, samples, nan, views, by_position
        Parameters of `read_new_samples`.
    """

    model: Path
    paths: Sequence[Path]
    id: str | None = None
    samples: Literal["auto", "rows", "columns"] = "auto"
    nan: NanOfNew = "fail"
    views: Sequence[str] | None = None
    by_position: bool = False


def predict_run(request: PredictRequest, out: Path, console: Console) -> dict[str, Any]:
    """Read new samples, predict their clusters, and write them to a table.

    Parameters
    ----------
    request : PredictRequest
        Model and files.
    out : path
        The table to create or to replace, .csv or .parquet: sample, cluster, confidence,
        outlier_score, is_outlier.
    console : rich.console.Console
        Shows tables and notes.

    Returns
    -------
    dict
        Summary of plain values.
    """
    _check_out(out, request.paths)
    model = OMVCDR.load(_model_file(request.model))
    with console.status("reading"):
        loaded = read_new_samples(
            request.paths,
            _known(model),
            id=request.id,
            samples=request.samples,
            nan=request.nan,
            view_names=request.views,
            by_position=request.by_position,
        )
    show_found(loaded.found, console)
    show_matching(loaded.matching, console)
    show_notes(loaded.notes, console)
    table = _predicted(model, loaded.data)
    renamed = write_table(out, table)
    strange = _tell_strange(model, loaded.data, table)
    clusters = _described(table)
    console.print(f"\n[bold]{len(table):,} samples in {len(clusters)} clusters[/]")
    show_clusters(clusters, console)
    show_notes([*strange["warnings"], *renamed], console)
    console.print(f"Written: {escape(str(out))}.")
    files = set(loaded.found["view"])
    return {
        "out": str(out),
        "n_samples": len(table),
        "sizes": np.bincount(table["cluster"], minlength=len(model.cluster_centers_[0])).tolist(),
        "median_confidence": float(table["confidence"].median()),
        "missing_views": [name for name in model.view_names_ if name not in files],
        "matching": loaded.matching,
        "notes": [*loaded.notes, *renamed],
        **strange,
    }


def _predicted(model: OMVCDR, data: MultiViewData) -> pd.DataFrame:
    """Cluster, confidence and outlier score of each sample."""
    found, scores = model.assign(data), -model.score_samples(data)
    return pd.DataFrame(
        {
            "sample": data.sample_names,
            "cluster": found.labels,
            "confidence": found.confidence,
            "outlier_score": scores,
            "is_outlier": scores > model.outlier_threshold_,
        }
    )


def _tell_strange(model: OMVCDR, data: MultiViewData, table: pd.DataFrame) -> dict[str, Any]:
    """Samples and views that are unlike those of the fit, with a sentence for each finding."""
    n_outliers, shifts = int(table["is_outlier"].sum()), model.find_shifts(data)
    warned = [shift.sentence for shift in shifts]
    if n_outliers:
        are = "sample is" if n_outliers == 1 else "samples are"
        warned.append(
            f"{n_outliers:,} of {len(table):,} {are} unlike all clusters of the fit "
            f"(outlier_score above {model.outlier_threshold_:.3g}); a cluster and its confidence "
            "mean little there."
        )
    return {
        "n_outliers": n_outliers,
        "outlier_threshold": model.outlier_threshold_,
        "shifts": [asdict(shift) for shift in shifts],
        "warnings": warned,
    }


def _check_out(out: Path, paths: Sequence[Path]) -> None:
    """Refuse, before anything is read, an output file that cannot or must not be written."""
    if out.suffix.lower() not in ENDINGS:
        msg = f"--out is {out}; expected a name that ends in {' or '.join(ENDINGS)}."
        raise ViewError(msg)
    if out.is_dir() or not out.resolve().parent.is_dir():
        msg = f"--out is {out}; expected a file in a folder that exists. Create the folder first."
        raise ViewError(msg)
    if out.resolve() in [path.resolve() for path in paths]:
        msg = (
            f"--out is {out}, which is one of the input files; expected another. Set another --out."
        )
        raise ViewError(msg)


def _model_file(path: Path) -> Path:
    """The model file of a folder, or a file given with or without its extension."""
    if path.is_dir():
        return path / MODEL
    with_ending = path.with_name(f"{path.name}.mv")
    return with_ending if with_ending.is_file() and not path.exists() else path


def _known(model: OMVCDR) -> list[FittedView]:
    """The views of a fit; a feature's mean is that of the clusters, weighted by their sizes."""
    sizes = np.bincount(model.labels_, minlength=len(model.cluster_centers_[0]))
    known = []
    columns = model._outliers.columns.views
    parts = zip(
        model.view_names_, model.cluster_centers_, model.view_features_, columns, strict=True
    )
    for name, centers, features, moments in parts:
        has_view = ~np.isnan(centers).any(axis=1)  # (k,)
        means = np.average(centers[has_view], axis=0, weights=sizes[has_view])
        known.append(FittedView(name, means, features, centers, moments.deviation))
    return known


def _described(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Size and confidence of each cluster that has samples."""
    by_cluster = table.groupby("cluster")["confidence"].agg(["size", "median"])
    return [
        {"cluster": c, "size": int(size), "share": size / len(table), "confidence": median}
        for c, size, median in by_cluster.itertuples()
    ]


def command(
    paths: Paths,
    model: Annotated[
        Path, typer.Option("--model", "-m", help="A model file, or the folder of a run.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Output table: .csv or .parquet.")
    ] = Path("new_labels.csv"),
    id: SampleColumn = None,
    samples: Side = "auto",
    nan: Annotated[
        NanOfNew,
        reading(
            metavar="HOW",
            help="Missing values and features: fail, feature-mean (of the fit), or estimate them.",
        ),
    ] = "fail",
    views: ViewNames = None,
    by_position: ByPosition = False,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Predict the clusters of new samples, from all or some of the views of the fit."""
    request = PredictRequest(
        model=model,
        paths=paths,
        id=id,
        samples=samples,
        nan=nan,
        views=split_names(views),
        by_position=by_position,
    )
    print_json(predict_run(request, out, Console(quiet=quiet, stderr=json)), json)
