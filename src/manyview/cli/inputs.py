"""Input of `manyview fit`: what was asked for, and the files that were named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from sklearn import config_context

from manyview.base import check_parameters
from manyview.engines import is_too_large
from manyview.engines.cluster import is_cluster
from manyview.exceptions import ViewError
from manyview.io import LoadedViews, Meta, open_views, read_meta, read_views
from manyview.io.classes import column_of, find_classes
from manyview.io.on_disk import is_pattern
from manyview.omvcdr import OMVCDR
from manyview.report.truth import as_classes
from manyview.utils.types import FloatArray


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
    device : str
        `device` of OMVCDR.
    memory : str, optional
        `memory_limit` of OMVCDR, such as "8GB".
    command : str, optional
        The command line, for the report.
    scheduler : str, optional
        Address of a Dask scheduler, on whose workers the fit runs.
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
    device: str = "auto"
    memory: str | None = None
    command: str | None = None
    scheduler: str | None = None

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
    names = names_of(views)
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
        )
    return _open_on_disk(request)


def _open_on_disk(request: FitRequest) -> LoadedViews:
    """Open arrays that stay on disk."""
    tabular = ("samples", "nan")
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
