"""From files to a folder with labels, model, result and report."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from rich.console import Console

from manyview.association import associate
from manyview.durable import write_text
from manyview.errors import NotEnoughSamplesError, ViewError
from manyview.estimator import OMVCDR
from manyview.progress import fit_bar
from manyview.report import describe_fit, render_fit
from manyview.runs.folder import FILES, MODEL, PASSES, run_folder, write_table
from manyview.runs.terminal import show_found, show_notes, show_result
from manyview.sources import Rows
from manyview.tables import Intake, open_views, read_meta, read_views
from manyview.tables.stored import is_pattern

__all__ = ["FitRequest", "fit_run", "read_files"]


@dataclass(frozen=True)
class FitRequest:
    """What the user asked for.

    Attributes
    ----------
    paths : sequence of paths
        Files and folders with the views; a pattern stands for the shards of one.
    clusters : str
        Number of clusters, or "auto".
    id, samples, missing, nan, views
        As `read_views` takes them.
    meta : path, optional
        A table that is set against the clusters.
    seed, lam, starts, max_iter, jobs
        `random_state`, `lam`, `n_init`, `max_iter` and `n_jobs` of OMVCDR.
    scale : str
        That of OMVCDR; "none" for None, and several with commas between them.
    engine : str
        That of OMVCDR. With "stream", or where a path is a pattern, rows stay on disk.
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
    meta: Path | None = None
    seed: int = 0
    scale: str = "auto"
    lam: float = 0.5
    starts: int = 5
    max_iter: int = 100
    jobs: int | None = None
    engine: str = "auto"
    memory: str | None = None
    command: str | None = None

    def estimator(self) -> OMVCDR:
        """Make the estimator, after a check of its parameters.

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
        model._check_parameters()  # before files are read, which may take long
        return model


def fit_run(request: FitRequest, out: Path, console: Console) -> dict[str, Any]:
    """Read views, cluster their samples, and write labels, model, result and report.

    Parameters
    ----------
    request : FitRequest
        Files and settings.
    out : path
        Folder for the five files; made where it does not exist.
    console : rich.console.Console
        Where tables and progress are shown.

    Returns
    -------
    dict
        A short summary of plain values.
    """
    model = request.estimator()
    with run_folder(out) as folder:
        with console.status("reading"):
            intake = read_files(request)
        show_found(intake.found, console)
        show_notes(intake.notes, console)
        names = intake.data.sample_names
        assert names is not None  # tables have names, be it numbers
        meta = None if request.meta is None else read_meta(request.meta, names, id=request.id)
        seconds, warned = _fit(model, intake, out / PASSES, console)
        notes = [*intake.notes, *warned]
        tested = None
        if meta is not None:
            associations = associate(meta.table, model.labels_, seed=request.seed)
            tested = associations.tested
            notes += [*meta.notes, *_aside(associations.set_aside)]
        result = describe_fit(
            model,
            intake.data,
            command=request.command,
            sources=_sources(intake),
            meta=tested,
            seconds=seconds,
            notes=notes,
        )
        _write(folder, model, names, result)
    show_notes(notes[len(intake.notes) :], console)
    show_result(result, out, console)
    return _summary(model, result, out)


def read_files(request: FitRequest) -> Intake:
    """Tables, read; or arrays that stay on disk, which have no names and are not turned."""
    tabular = {
        "id": request.id,
        "samples": request.samples,
        "missing": request.missing,
        "nan": request.nan,
    }
    if request.engine != "stream" and not any(map(is_pattern, request.paths)):
        return read_views(request.paths, view_names=request.views, **tabular)  # type: ignore[arg-type]
    asked = [f"--{name}" for name, value in tabular.items() if value != getattr(FitRequest, name)]
    if asked:
        msg = (
            f"{' and '.join(asked)}: for tables only; with --engine stream or a pattern, rows "
            "stay on disk and are matched by position. Leave them out."
        )
        raise ViewError(msg)
    return open_views(request.paths, view_names=request.views)


def _n_bytes(text: str) -> float:
    """Bytes of a size such as 8GB, 500 MiB or 2000000000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if found is None or float(found[1]) == 0:
        msg = f"--memory is {text!r}; expected a size such as 8GB or 500MB."
        raise ViewError(msg)
    step = 1024.0 if found[3] else 1000.0
    return float(found[1]) * step ** ("kmgt".index(found[2]) + 1 if found[2] else 0)


def _n_clusters(text: str) -> Any:
    """The number that --clusters names; what "auto" means is the estimator's affair."""
    if text == "auto":
        return text
    if not text.isdecimal() or int(text) == 0:
        msg = f"--clusters is {text!r}; expected a number of at least 1, or auto."
        raise ViewError(msg)
    return int(text)


def _fit(model: OMVCDR, intake: Intake, passes: Path, console: Console) -> tuple[float, list[str]]:
    """Fit, and return the seconds and what the library warned of.

    A fit of rows on disk may take long: its passes are noted, and the same command goes on.
    """
    n_samples, k = intake.data.n_samples, model.n_clusters
    if isinstance(k, int) and k > n_samples:
        msg = f"--clusters is {k}, and there are {n_samples} samples; ask for fewer clusters."
        raise NotEnoughSamplesError(msg)
    if passes.exists():
        console.print("Going on where an earlier run was stopped.")
    with warnings.catch_warnings(record=True) as caught, fit_bar(console) as on_step:
        warnings.simplefilter("always")
        start = time.perf_counter()
        is_long = any(isinstance(view, Rows) for view in intake.data.views)
        model.fit(intake.data, callback=on_step, checkpoint=passes if is_long else None)
        seconds = time.perf_counter() - start
    said = [str(warning.message) for warning in caught]
    if hasattr(model, "choice_") and model.choice_.sentence not in said:
        said.append(model.choice_.sentence)
    return seconds, said


def _aside(columns: Sequence[dict[str, str]]) -> list[str]:
    """Say which columns were not tested, a sentence a reason."""
    by_reason: dict[str, list[str]] = {}
    for column in columns:
        by_reason.setdefault(column["reason"], []).append(repr(column["column"]))
    return [
        f"Not set against the clusters: {', '.join(names)} ({reason})."
        for reason, names in by_reason.items()
    ]


def _sources(intake: Intake) -> list[dict[str, Any]]:
    """What was found, a dict of plain values a view."""
    rows: list[dict[str, Any]] = json.loads(intake.found.to_json(orient="records"))
    return rows


def _write(folder: Path, model: OMVCDR, names: pd.Index, result: dict[str, Any]) -> None:
    labels = pd.DataFrame(
        {"sample": names, "cluster": model.labels_, "confidence": model.confidence_}
    )
    write_table(folder / "labels.csv", labels)
    write_table(folder / "labels.parquet", labels)
    model.save(folder / MODEL)
    write_text(folder / "report.html", render_fit(result))
    write_text(folder / "result.json", json.dumps(result, indent=1, allow_nan=False) + "\n")


def _summary(model: OMVCDR, result: dict[str, Any], out: Path) -> dict[str, Any]:
    """What `--json` prints."""
    sizes = np.bincount(model.labels_, minlength=result["data"]["n_clusters"])
    return {
        "out": str(out),
        "files": list(FILES),
        "n_samples": result["data"]["n_samples"],
        "n_clusters": result["data"]["n_clusters"],
        "sizes": sizes.tolist(),
        "median_confidence": float(np.median(model.confidence_)),
        "stability": result["confidence"]["stability"],
        "view_weights": {row["name"]: row["weight"] for row in result["weights"]["views"]},
        "objective": float(model.objective_),
        "converged": bool(model.converged_),
        "seconds": result["run"]["seconds"],
        "sources": result["sources"],
        "meta": result["meta"],
        "notes": result["notes"],
    }
