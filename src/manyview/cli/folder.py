"""The output folder of a run: its files, written all or none.

The files are made in a hidden folder. When they are complete it is renamed, in one step; then the
files of an earlier run are removed and the new ones moved to their names. A run that is killed
before the renaming leaves the folder as it was; after it, the next run finishes the moves. So the
files of two runs are never mixed. A file that this run has not, and an earlier one may have, is
empty in the hidden folder.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pandas as pd

from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.inspection import Explanation
from manyview.inspection.ranking import rank_features
from manyview.io import write_csv, write_labels
from manyview.omvcdr import OMVCDR
from manyview.persistence.atomic import atomic_path, only_process, sync_folder, write_text
from manyview.persistence.checkpoint import remove_checkpoint
from manyview.reliability.stability import RETURNS
from manyview.report import render_fit
from manyview.report.survival_plot import draw_survival
from manyview.report.svg import svg_file

MODEL = "model.mv"
TABLES = ("labels.csv", "labels.parquet", "clusters.csv", "features.csv")
SETTINGS = "run.toml"
FILES = (*TABLES, MODEL, SETTINGS, "result.json", "report.html")
PLOT = "survival.svg"
ANNOTATED = "annotated"  # a folder of copies with results
ALL_FILES = (*FILES, PLOT, ANNOTATED)  # the last two only where there is something in them
PASSES = ".passes"  # journal of a fit, until its results have their names
NEW, COMPLETE, LOCK = ".manyview-new", ".manyview-complete", ".manyview-lock"


@contextmanager
def run_folder(out: Path) -> Iterator[Path]:
    """Check a folder before a run, and move the results into it at the end.

    Parameters
    ----------
    out : path
        The folder; it may be missing, empty, or that of an earlier run. One run at a time may
        write to it.

    Yields
    ------
    pathlib.Path
        A temporary folder inside it, for the files of `ALL_FILES`. They are moved to `out` when the
        block ends; after an error or Ctrl-C, `out` is unchanged.
    """
    _check(out)
    absent = [folder for folder in (out, *out.parents) if not folder.exists()]
    taken = f"Another run writes to {out} now. Wait for it, or set another --out."
    try:
        _make(out)
        with only_process(out / LOCK, taken):
            _finish_moves(out)
            _check(out)
            with _new_folder(out) as new:
                yield new
                for name in ALL_FILES:
                    (new / name).touch()
                sync_folder(new)
                new.replace(out / COMPLETE)
            _finish_moves(out)
            remove_checkpoint(out / PASSES)
    except BaseException as error:
        for folder in absent:
            with suppress(OSError):  # not made, or not empty
                folder.rmdir()
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise OSError(_no_room(out, error)) from error
        raise


@contextmanager
def data_unchanged(data: MultiViewData, out: Path) -> Iterator[None]:
    """Refuse data that have changed when the block ends; their passes are of no use either.

    Parameters
    ----------
    data : MultiViewData
        Views, perhaps on disk.
    out : path
        The folder of the run.
    """
    try:
        yield
        data.check_unchanged()
    except ViewError:
        if not data.is_unchanged():
            remove_checkpoint(out / PASSES)
        raise


def _make(out: Path) -> None:
    """Make a folder; refuse one that is not writable before the run."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=out).close()
    except OSError as error:
        msg = f"The folder {out} cannot be written to ({error.strerror}). Set another --out."
        raise OSError(msg) from error


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """An empty folder for new files; what a killed run left in it is removed."""
    new = out / NEW
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _finish_moves(out: Path) -> None:
    """Give complete results their names; a run that was killed meanwhile may have begun."""
    complete = out / COMPLETE
    if not complete.is_dir():
        return
    left = [name for name in ALL_FILES if (complete / name).exists()]
    for name in left:
        if (out / name).is_dir():  # parts of a fit on a cluster
            shutil.rmtree(out / name)
        (out / name).unlink(missing_ok=True)
    for name in left:
        if (complete / name).stat().st_size:
            (complete / name).replace(out / name)
    shutil.rmtree(complete)
    sync_folder(out)


def _no_room(out: Path, error: OSError) -> str:
    """What to do about a full disk."""
    where = error.filename or out
    return (
        f"The disk is full: there is no room for {where}. Free some space and run the same command "
        f"again; what was in {out} is unchanged, and a fit with rows on disk goes on where it was."
    )


def _check(out: Path) -> None:
    """Refuse a file, and a folder with other files in it."""
    if out.exists() and not out.is_dir():
        msg = f"{out} is a file; expected a folder to write to. Move it, or set another --out."
        raise NotADirectoryError(msg)
    found = {path.name for path in out.iterdir()} if out.exists() else set()
    inside = sorted(name for name in found if not name.startswith("."))
    is_run = MODEL in inside or COMPLETE in found
    others = [name for name in inside if name not in ALL_FILES] if is_run else inside
    if others:
        msg = (
            f"The folder {out} holds {', '.join(others[:3])}{' …' if len(others) > 3 else ''}; "
            "expected a new or empty one, or that of an earlier run. Set another --out."
        )
        raise FileExistsError(msg)


def write_tables(
    folder: Path, model: OMVCDR, explanation: Explanation, data: MultiViewData
) -> list[str]:
    """Write labels.csv, labels.parquet, clusters.csv and features.csv.

    Parameters
    ----------
    folder : path
        Where to.
    model : OMVCDR
        A fitted estimator.
    explanation : Explanation
        That of the fit.
    data : MultiViewData
        The samples of the fit.

    Returns
    -------
    list of str
        Notes on what stands there differently or is left out.
    """
    labels = explanation.confidence.rename_axis("sample").reset_index()
    labels["outlier_score"] = model.outlier_score_
    notes = [*write_table(folder / "labels.csv", labels)]
    write_table(folder / "labels.parquet", labels)
    weights = explanation.view_weights.add_prefix("weight_")
    clusters = explanation.clusters.join(weights).reset_index()
    clusters.insert(6, "comes_back", ~(clusters["stability"] < RETURNS))
    with atomic_path(folder / "clusters.csv") as temporary:
        write_csv(temporary, clusters, ())
    features, left_out = rank_features(explanation.profiles, data, model.labels_)
    with atomic_path(folder / "features.csv") as temporary:
        write_csv(temporary, features, ["view", "feature"])
    return [*notes, *left_out]


def write_results(folder: Path, model: OMVCDR, result: Mapping[str, Any]) -> None:
    """Write the model, the result, the page and the plot of survival.

    Parameters
    ----------
    folder : path
        Where to.
    model : OMVCDR
        A fitted estimator.
    result : mapping
        The described fit.
    """
    model.save(folder / MODEL)
    write_text(folder / "report.html", render_fit(result))
    write_text(folder / "result.json", json.dumps(result, indent=1, allow_nan=False) + "\n")
    if result["survival"]:
        write_text(folder / PLOT, svg_file(draw_survival(result["survival"])))


def write_table(path: Path, table: pd.DataFrame) -> tuple[str, ...]:
    """Write a table of labels atomically, as Parquet or CSV by its extension.

    Parameters
    ----------
    path : path
        The file to create or to replace.
    table : DataFrame
        The table.

    Returns
    -------
    tuple of str
        A note, if sample names had to be written differently.
    """
    with atomic_path(path) as temporary:
        if path.suffix.lower() != ".parquet":
            return write_labels(temporary, table)
        table.to_parquet(temporary, index=False)
    return ()


def write_parts(path: Path, labels: Any, names: pd.Index) -> None:
    """Write labels that are on a cluster as parts of a Parquet folder, one after the other."""
    if isinstance(labels, np.ndarray):
        return
    path.unlink()  # that of the sample
    path.mkdir()
    start = 0
    for number, block in enumerate(labels.blocks):
        own = np.asarray(block.compute())
        sample = names[start : start + len(own)]
        start += len(own)
        table = pd.DataFrame({"sample": sample, "cluster": own})
        table.to_parquet(path / f"part-{number:05d}.parquet", index=False)
