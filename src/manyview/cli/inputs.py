"""Input of `manyview fit`: what was asked for, and the files that were named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import typer
from sklearn import config_context

from manyview._version import __version__
from manyview.base import check_parameters
from manyview.cluster.sample import with_sample
from manyview.data.batches import center_batches
from manyview.engines import is_too_large
from manyview.engines.cluster import is_cluster
from manyview.exceptions import ViewError
from manyview.inspection.survival_columns import read_events, read_times
from manyview.io import LoadedViews, Meta, open_views, read_meta, read_views
from manyview.io._formats import has_obs
from manyview.io.classes import column_of, find_classes
from manyview.io.on_disk import is_pattern
from manyview.omvcdr import OMVCDR
from manyview.persistence.settings_file import read_settings, write_settings
from manyview.report.shown import KINDS, paths_beside
from manyview.report.truth import as_classes
from manyview.utils.near import did_you_mean
from manyview.utils.types import FloatArray

SILENT = ("config", "quiet", "json", "estimate", "context", "help")  # not about the result


@dataclass(frozen=True)
class FitRequest:
    """What the user asked for.

    Attributes
    ----------
    paths : sequence of paths
        Files and folders with the views; a pattern matches the shards of one view.
    clusters : str
        Number of clusters, or "auto".
    id, samples, missing, nan, categorical, views, by_position, names
        Parameters of `read_views`.
    meta : path, optional
        Table of metadata, tested for association with the clusters.
    time, event : str, optional
        Columns of `meta` with survival: the time, and whether the event was seen.
    batch : str, optional
        Column of `meta` with the batch of each sample.
    center_batches : bool
        Whether the means of the batches are taken off each view.
    truth : str, optional
        Known classes: a column of `meta` or of a view, FILE::COLUMN, or a file.
    show : sequence of str
        What is shown of typical samples: text=FILE::COLUMN, image=FILE::COLUMN.
    seed, lam, starts, max_iter, jobs
        `random_state`, `lam`, `n_init`, `max_iter` and `n_jobs` of OMVCDR.
    scale : str
        `scale` of OMVCDR; "none" for None; several are separated by commas.
    engine : str
        `engine` of OMVCDR. With "stream", or if a path is a pattern, rows stay on disk.
    device : str
        `device` of OMVCDR.
    memory : str, optional
        `memory_limit` of OMVCDR, such as "8GB".
    command : str, optional
        The command line, for the report.
    settings : mapping, optional
        Options of the command line, for the file that repeats the run.
    scheduler : str, optional
        Address of a Dask scheduler, on whose workers the fit runs.
    write_back : bool
        Whether the results are written into copies of the .h5ad and .h5mu files.
    """

    paths: Sequence[Path]
    clusters: str
    id: str | None = None
    samples: Literal["auto", "rows", "columns"] = "auto"
    missing: Literal["keep", "drop"] = "keep"
    nan: Literal["fail", "feature-mean", "drop-features", "estimate"] = "fail"
    categorical: Literal["drop", "keep"] = "drop"
    views: Sequence[str] | None = None
    by_position: bool = False
    names: Sequence[str] | None = None
    meta: Path | None = None
    time: str | None = None
    event: str | None = None
    batch: str | None = None
    center_batches: bool = False
    truth: str | None = None
    show: Sequence[str] = ()
    seed: int = 0
    scale: str = "auto"
    lam: float = OMVCDR.lam
    starts: int = 5
    max_iter: int = 100
    jobs: int | None = None
    engine: str = "auto"
    device: str = "auto"
    memory: str | None = None
    command: str | None = None
    settings: Mapping[str, Any] | None = None
    scheduler: str | None = None
    write_back: bool = False

    @property
    def where(self) -> str:
        """`engine` of OMVCDR: the scheduler, if there is one."""
        return self.engine if self.scheduler is None else self.scheduler

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
            engine=self.where,
            device=self.device,
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
    show : mapping
        Texts, and paths of pictures, of all samples.
    notes : tuple of str
        Remarks on `meta` and `truth`, for the report.
    """

    views: LoadedViews
    meta: Meta | None = None
    truth: pd.Series | None = None
    images: FloatArray | None = None
    show: Mapping[str, pd.Series] = field(default_factory=dict)
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
    _check_survival(request)
    if request.center_batches and request.batch is None:
        msg = "--center-batches needs --batch, the column with the batches. Add it."
        raise ViewError(msg)
    views = read_files(request)
    names = names_of(views)
    meta = _read_about(request, views, names)
    if request.time is not None and request.event is not None:
        if meta is None:
            msg = "Survival needs columns about the samples, and the files have none; add --meta."
            raise ViewError(msg)
        read_times(meta.table, request.time)  # refused before the fit, which may take long
        read_events(meta.table, request.event)
    show, seen = _read_shown(request, names)
    notes = (*(() if meta is None else meta.notes), *seen)
    if request.batch is not None:
        views, said = _by_batch(views, meta, request)
        notes = (*notes, *said)
    if request.truth is None:
        return Inputs(views, meta, show=show, notes=notes)
    features = [str(name) for of in views.data.feature_names if of is not None for name in of]
    tables = [*([] if meta is None else [meta.table]), views.set_aside]
    found = find_classes(request.truth, names, tables=tables, others=features, id=request.id)
    column = found.table.columns[0]
    if column in features:  # a separate file named a column that is a feature
        return read_inputs(replace(request, truth=f"{request.truth}::{column}"))
    truth = as_classes(found.table[column], len(names))
    return Inputs(views, meta, truth, show=show, notes=(*notes, *found.notes))


def _read_shown(
    request: FitRequest, names: pd.Index
) -> tuple[dict[str, pd.Series], tuple[str, ...]]:
    """Texts and paths of pictures of the samples, and notes."""
    show: dict[str, pd.Series] = {}
    notes: list[str] = []
    for asked in request.show:
        kind, _, where = asked.partition("=")
        file, _, column = where.rpartition("::")
        if kind not in KINDS or not file:
            msg = f"--show is {asked!r}; expected text=FILE::COLUMN or image=FILE::COLUMN."
            raise ViewError(msg)
        found = read_meta(file, names, id=request.id)
        if column not in found.table:
            near = did_you_mean(column, map(str, found.table.columns))
            msg = f"{file} has no column {column!r} for --show.{near} Name one that it has."
            raise ViewError(msg)
        values = found.table[column]
        show[kind] = values if kind == "text" else paths_beside(values, Path(file).parent)
        notes += found.notes
    return show, tuple(notes)


def _read_about(request: FitRequest, views: LoadedViews, names: pd.Index) -> Meta | None:
    """What is known about the samples: the metadata, and the columns that the views bring along."""
    given = None if request.meta is None else read_meta(request.meta, names, id=request.id)
    if views.obs.columns.empty:
        return given
    own = views.obs.set_axis(names)
    note = (
        f"Taken as metadata: the {len(own.columns)} columns about the samples (obs) in the files."
    )
    if given is None:
        return Meta(own, (note,))
    more = own[[column for column in own if column not in given.table]]
    return Meta(pd.concat([given.table, more], axis=1), (*given.notes, note))


def _check_survival(request: FitRequest) -> None:
    """Refuse half of what survival needs."""
    has_meta = request.meta is not None or any(map(has_obs, map(Path, request.paths)))
    given = {"--meta": has_meta or None, "--time": request.time, "--event": request.event}
    absent = [name for name, value in given.items() if value is None]
    if (request.time or request.event) and absent:
        msg = (
            f"Survival needs --meta, --time and --event; {' and '.join(absent)} "
            f"{'are' if len(absent) > 1 else 'is'} not given. Add "
            f"{'them' if len(absent) > 1 else 'it'}."
        )
        raise ViewError(msg)


def _by_batch(
    views: LoadedViews, meta: Meta | None, request: FitRequest
) -> tuple[LoadedViews, tuple[str, ...]]:
    """Views without the means of the batches, if that was asked for; and a note."""
    columns = [] if meta is None else list(map(str, meta.table.columns))
    if meta is None or request.batch not in columns:
        msg = f"--batch is {request.batch!r}; expected a column of --meta" + (
            f", one of {', '.join(columns)}.{did_you_mean(str(request.batch), columns)}"
            if meta
            else ", which is not given. Add it."
        )
        raise ViewError(msg)
    if not request.center_batches:
        return views, ()
    batch = meta.table.iloc[:, columns.index(request.batch)]
    note = (
        f"The means of the batches ({request.batch}) were taken off each view. New samples are "
        "predicted as they are: take the means of their batches off before."
    )
    return replace(views, data=center_batches(views.data, batch)), (note,)


def read_files(request: FitRequest) -> LoadedViews:
    """Read tables, or open arrays that stay on disk, which are not transposed or imputed."""
    if is_cluster(request.where):
        with config_context(assume_finite=True):  # workers check the rows that they read
            return _open_on_disk(request)
    is_on_disk = request.engine == "stream" or any(map(is_pattern, request.paths))
    if not is_on_disk and not _are_large_arrays(request):
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
            categorical=request.categorical,
        )
    return _open_on_disk(request)


def _open_on_disk(request: FitRequest) -> LoadedViews:
    """Open arrays that stay on disk."""
    tabular = ("samples", "nan", "categorical")
    asked = [f"--{name}" for name in tabular if getattr(request, name) != getattr(FitRequest, name)]
    if asked:
        msg = (
            f"{' and '.join(asked)}: only for tables; with --engine stream or dask, or a pattern, "
            "rows stay on disk as they are. Remove these options."
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


def _are_large_arrays(request: FitRequest) -> bool:
    """Whether all views are arrays in files, and together too large for the memory."""
    if request.engine != "auto" or any(Path(path).suffix != ".npy" for path in request.paths):
        return False
    sizes = [path.stat().st_size for path in map(Path, request.paths) if path.is_file()]
    return is_too_large(sum(sizes), None if request.memory is None else _n_bytes(request.memory))


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


def names_of(loaded: LoadedViews) -> pd.Index:
    """Names of the samples."""
    names = loaded.data.sample_names
    assert names is not None  # views that were read have names, or numbers as names
    return names


def write_run(path: Path, request: FitRequest, out: Path) -> None:
    """Write the options of a run, so that `manyview fit --config` repeats it.

    Parameters
    ----------
    path : path
        The file to create or to replace.
    request : FitRequest
        The options.
    out : path
        The folder from which paths are seen.
    """
    versions = f"manyview {__version__}"
    if request.settings is None:
        write_settings(path, {}, f"{versions}; repeat it with: {request.command}")
        return
    comment = f"{versions}; repeat it with: manyview fit --config {path.name}"
    write_settings(path, portable(request.settings, out), comment)


def settings_of(context: typer.Context, paths: list[Path], out: Path) -> dict[str, Any]:
    """Collect the options of a call that decide on its results.

    Parameters
    ----------
    context : typer.Context
        The call.
    paths : list of Path
        Files with the views.
    out : path
        Folder for the results.

    Returns
    -------
    dict
    """
    files = [str(path) for path in paths]
    options = {
        name: value for name, value in context.params.items() if name not in (*SILENT, "paths")
    }
    return {"files": files, **options, "out": str(out)}


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options of a file where the command line has none.

    Parameters
    ----------
    context : typer.Context
        The call.
    path : path, optional
        The file.

    Returns
    -------
    Path or None
        The file.
    """
    if path is not None:
        known = [param.name or "" for param in context.command.params]
        names = ["files" if name == "paths" else name for name in known if name not in SILENT]
        found = read_config(path, names)
        if "files" in found:
            found["paths"] = found.pop("files")
        context.default_map = found
    return path


def portable(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Settings for a file in a folder: what was given, with paths as seen from there.

    Parameters
    ----------
    settings : mapping
        Options of the command line by name.
    folder : path
        The folder.

    Returns
    -------
    dict
    """
    return {
        name.replace("_", "-"): _with_paths(name, value, lambda path: _seen_from(folder, path))
        for name, value in settings.items()
        if value is not None and value is not False and value != [] and value != ()
    }


def read_config(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Options of a command from a file of settings; paths are seen from its folder.

    Parameters
    ----------
    path : path
        A TOML file, such as run.toml of an earlier run.
    names : sequence of str
        Names of the options.

    Returns
    -------
    dict
    """
    found = {name.replace("-", "_"): value for name, value in read_settings(path).items()}
    for name in found:
        if name not in names:
            near = did_you_mean(name, names) or f" Expected one of {', '.join(sorted(names))}."
            msg = f"{path} sets {name!r}, which is no option of the command.{near}"
            raise ViewError(msg)
    home = path.resolve().parent
    return {
        name: _with_paths(name, value, lambda given: str(home / given))
        for name, value in found.items()
    }


def _with_paths(name: str, value: Any, change: Callable[[str], str]) -> Any:
    """A setting in which files are changed."""
    if name == "files":
        return [change(str(path)) for path in value]
    if name in ("meta", "out"):
        return change(str(value))
    if name == "show":
        parts = [one.partition("=") for one in value]
        return [f"{kind}={change(where)}" for kind, _, where in parts]
    if name == "names":
        return ",".join(change(part.strip()) for part in value.split(","))
    if name == "truth" and (
        "::" in value or Path(change(value)).is_file() or Path(value).is_file()
    ):
        return change(value)
    return value


def _seen_from(folder: Path, path: str) -> str:
    """A path relative to a folder; the path as a whole if they share no drive."""
    whole = os.path.abspath(path)  # noqa: PTH100 - a pattern or FILE::COLUMN is no file
    try:
        return Path(os.path.relpath(whole, folder.resolve())).as_posix()
    except ValueError:
        return whole


def looked_at(model: OMVCDR, inputs: Inputs) -> tuple[OMVCDR, Inputs]:
    """What is described: the fit, or a sample of it where the rows are on a cluster."""
    own = with_sample(model)
    if own is model:
        return model, inputs
    sample = vars(model)["_sample"]
    rows, n_samples = sample.rows, inputs.views.data.n_samples
    data = replace(sample.data, sample_names=names_of(inputs.views)[rows])
    note = f"The report and labels.csv have {len(rows)} of {n_samples} samples, drawn at random."
    views = replace(inputs.views, data=data)
    meta, truth = inputs.meta, inputs.truth
    if meta is not None:
        meta = replace(meta, table=meta.table.iloc[rows])
    if truth is not None:
        truth = truth.iloc[rows]
    notes = (*inputs.notes, *([note] if len(rows) < n_samples else []))
    show = {kind: values.iloc[rows] for kind, values in inputs.show.items()}
    return own, replace(inputs, views=views, meta=meta, truth=truth, show=show, notes=notes)
