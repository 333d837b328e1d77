"""The output folder of a run: exactly five files, written all or none."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from manyview.persistence.atomic import atomic_path

MODEL = "model.mv"
PASSES = ".passes"  # journal of an unfinished fit
FILES = ("labels.csv", "labels.parquet", MODEL, "result.json", "report.html")


@contextmanager
def run_folder(out: Path) -> Iterator[Path]:
    """Check a folder before a run, and move the results into it at the end.

    Parameters
    ----------
    out : path
        The folder; it may be missing, empty, or that of an earlier run.

    Yields
    ------
    pathlib.Path
        A temporary folder inside it, for the files of `FILES`. They are moved to `out` one by one
        when the block ends; after an error or Ctrl-C, `out` is unchanged.
    """
    _check(out)
    absent = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        with _temporary_folder(out) as temporary:
            yield Path(temporary)
            for name in FILES:
                (Path(temporary) / name).replace(out / name)
    except BaseException as error:
        for folder in absent:
            with suppress(OSError):  # not made, or not empty
                folder.rmdir()
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            msg = (
                f"The disk of {out} is full, so nothing was written. Free some space, or set "
                "another --out."
            )
            raise OSError(msg) from error
        raise


def _temporary_folder(out: Path) -> TemporaryDirectory[str]:
    """A temporary folder inside `out`; fails before the run if `out` is not writable."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        return TemporaryDirectory(prefix=".", dir=out)
    except OSError as error:
        msg = f"The folder {out} cannot be written to ({error.strerror}). Set another --out."
        raise OSError(msg) from error


def _check(out: Path) -> None:
    """Refuse a file, and a folder with other files in it."""
    if out.exists() and not out.is_dir():
        msg = f"{out} is a file; expected a folder to write to. Move it, or set another --out."
        raise NotADirectoryError(msg)
    found = {path.name for path in out.iterdir()} if out.exists() else set()
    inside = sorted(name for name in found if not name.startswith("."))
    others = [name for name in inside if name not in FILES] if MODEL in inside else inside
    if others:
        msg = (
            f"The folder {out} holds {', '.join(others[:3])}{' …' if len(others) > 3 else ''}; "
            "expected a new or empty one, or that of an earlier run. Set another --out."
        )
        raise FileExistsError(msg)


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table atomically, as Parquet or CSV by its extension.

    Parameters
    ----------
    path : path
        The file to create or to replace.
    table : DataFrame
        The table.
    """
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".parquet":
            table.to_parquet(temporary, index=False)
        else:
            table.to_csv(temporary, index=False, lineterminator="\n", float_format="%.6g")
