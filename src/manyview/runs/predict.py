"""From a model and files with new samples to a table of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape

from manyview.errors import ViewError
from manyview.estimator import OMVCDR
from manyview.runs.folder import MODEL, write_table
from manyview.runs.terminal import show_clusters, show_found, show_notes
from manyview.tables import KnownView, read_known

__all__ = ["PredictRequest", "predict_run"]

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
    id, samples, nan, views
        As `read_known` takes them.
    """

    model: Path
    paths: Sequence[Path]
    id: str | None = None
    samples: Literal["auto", "rows", "columns"] = "auto"
    nan: Literal["fail", "feature-mean"] = "fail"
    views: Sequence[str] | None = None


def predict_run(request: PredictRequest, out: Path, console: Console) -> dict[str, Any]:
    """Read new samples, find their clusters, and write a table of them.

    Parameters
    ----------
    request : PredictRequest
        Model and files.
    out : path
        The table to make or to replace, .csv or .parquet: sample, cluster, confidence.
    console : rich.console.Console
        Where tables and sentences are shown.

    Returns
    -------
    dict
        A short summary of plain values.
    """
    _check_out(out, request.paths)
    model = OMVCDR.load(_model_file(request.model))
    with console.status("reading"):
        intake = read_known(
            request.paths,
            _known(model),
            id=request.id,
            samples=request.samples,
            nan=request.nan,
            view_names=request.views,
        )
    show_found(intake.found, console)
    show_notes(intake.notes, console)
    engine, fitted = model._label(intake.data)
    labels = engine.gather("labels")
    table = pd.DataFrame(
        {
            "sample": intake.data.sample_names,
            "cluster": labels,
            "confidence": fitted.margins(engine)[:, 0],
        }
    )
    write_table(out, table)
    clusters = _described(table)
    console.print(f"\n[bold]{len(table):,} samples in {len(clusters)} clusters[/]")
    show_clusters(clusters, console)
    console.print(f"Written: {escape(str(out))}.")
    found = set(intake.found["view"])
    return {
        "out": str(out),
        "n_samples": len(table),
        "sizes": np.bincount(labels, minlength=len(model.cluster_centers_[0])).tolist(),
        "median_confidence": float(table["confidence"].median()),
        "missing_views": [name for name in model.view_names_ if name not in found],
        "notes": list(intake.notes),
    }


def _check_out(out: Path, paths: Sequence[Path]) -> None:
    """Refuse, before anything is read, what cannot be written or must not be replaced."""
    if out.suffix.lower() not in ENDINGS:
        msg = f"--out is {out}; expected a name that ends in {' or '.join(ENDINGS)}."
        raise ViewError(msg)
    if out.is_dir() or not out.resolve().parent.is_dir():
        msg = f"--out is {out}; expected a file in a folder that exists. Make the folder first."
        raise ViewError(msg)
    if out.resolve() in [path.resolve() for path in paths]:
        msg = f"--out is {out}, which is one of the files to read; name another."
        raise ViewError(msg)


def _model_file(path: Path) -> Path:
    """The model file that a folder, a file, or a file without its ending stands for."""
    if path.is_dir():
        return path / MODEL
    with_ending = path.with_name(f"{path.name}.mv")
    return with_ending if with_ending.is_file() and not path.exists() else path


def _known(model: OMVCDR) -> list[KnownView]:
    """The views of a fit; a feature's mean is that of the clusters, each as often as it is big."""
    sizes = np.bincount(model.labels_, minlength=len(model.cluster_centers_[0]))
    known = []
    parts = zip(model.view_names_, model.cluster_centers_, model._view_features, strict=True)
    for name, centers, features in parts:
        has_view = ~np.isnan(centers).any(axis=1)  # (k,)
        means = np.average(centers[has_view], axis=0, weights=sizes[has_view])
        known.append(KnownView(name, means, features))
    return known


def _described(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Size and confidence of each cluster that has samples."""
    by_cluster = table.groupby("cluster")["confidence"].agg(["size", "median"])
    return [
        {"cluster": c, "size": int(size), "share": size / len(table), "confidence": median}
        for c, size, median in by_cluster.itertuples()
    ]
