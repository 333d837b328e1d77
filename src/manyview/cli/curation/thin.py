"""`manyview thin`: drops near-duplicates by all views, and takes a balanced subset."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console

from manyview.cli.inputs import names_of
from manyview.cli.options import (
    AsJson,
    ByPosition,
    NameFiles,
    Paths,
    Quiet,
    SampleColumn,
    Seed,
    ViewNames,
    out_folder,
    print_json,
    split_names,
)
from manyview.cli.terminal import escape, show_found, show_matching, show_notes
from manyview.curation import Thinned, thin
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io import open_views, read_meta

ROWS = "rows.parquet"
BLOCK_ROWS = 8192
UNSAFE = re.compile(r"[^\w.-]")  # letters of a view's name that a file should not have
EXAMPLES = """
[bold]Near-duplicates[/] of embeddings in Parquet files, matched by the column id:

  manyview thin img.parquet::vector txt.parquet::vector --views img,txt --id id --out thinned

[bold]A balanced subset[/] of the clusters of a run, without the tenth of samples most alike:

  manyview thin img.npy txt.npy --labels run/labels.parquet --quantile 0.1 --count 50000

Written to the folder --out: rows.parquet with a reason for each row that is dropped, and for each
view a Parquet file with the rows that are kept.
"""


@dataclass(frozen=True)
class ThinRequest:
    """What the user asked for.

    Attributes
    ----------
    paths : sequence of paths
        One per view, as for `open_views`.
    labels : path, optional
        Table with a column "cluster", such as labels.parquet of a run.
    threshold, quantile, count, seed
        Parameters of `thin`.
    by_cluster : bool
        Whether rows.parquet is a folder with a part for each cluster.
    views, id, names, by_position
        Parameters of `open_views`.
    """

    paths: list[Path]
    labels: Path | None = None
    threshold: float = 0.99
    quantile: float | None = None
    count: int | None = None
    by_cluster: bool = False
    seed: int = 0
    views: list[str] | None = None
    id: str | None = None
    names: list[str] | None = None
    by_position: bool = False


def thin_run(request: ThinRequest, out: Path, console: Console) -> dict[str, Any]:
    """Read views, thin them, and write what is kept, with a reason for what is not.

    Parameters
    ----------
    request : ThinRequest
        Files and settings.
    out : path
        Folder for the files; a new or an empty one.
    console : rich.console.Console
        Shows tables and notes.

    Returns
    -------
    dict
        Summary of plain values.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        msg = f"--out is {out}, which is there already; expected a new or empty folder."
        raise ViewError(msg)
    if request.by_cluster and request.labels is None:
        msg = "--by-cluster needs --labels, a table with the clusters. Add it."
        raise ViewError(msg)
    with console.status("reading"):
        matched: dict[str, Any] = {"names": request.names, "by_position": request.by_position}
        views = open_views(request.paths, view_names=request.views, id=request.id, **matched)
    show_found(views.found, console)
    show_matching(views.matching, console)
    names, notes = names_of(views), [*views.notes]
    labels = None if request.labels is None else _labels(request.labels, names, notes)
    show_notes(notes, console)
    asked: dict[str, Any] = {"threshold": request.threshold, "quantile": request.quantile}
    asked |= {"n_samples": request.count, "random_state": request.seed}
    with console.status("comparing"):
        found = thin(views.data, labels, **asked, scratch=_parent(out))
    rows = _named(found.table, names)
    _write(out, rows, views.data, names, found, by_cluster=request.by_cluster)
    counts = rows["reason"].value_counts()
    kept = len(found.kept)
    console.print(f"\n[bold]{kept:,} of {len(rows):,} samples are kept[/]")
    for reason, n in counts[counts.index != ""].items():
        console.print(f"{n:,} dropped: {reason}", highlight=False)
    console.print(f"Written to {escape(str(out))}.")
    return {
        "out": str(out),
        "n_samples": len(rows),
        "n_kept": kept,
        "threshold": found.threshold,
        "dropped": {str(reason): int(n) for reason, n in counts.items() if reason},
        "notes": notes,
    }


def _labels(path: Path, names: pd.Index, notes: list[str]) -> Any:
    """The clusters of the samples; all must have one."""
    meta = read_meta(path, names)
    if "cluster" not in meta.table:
        msg = f"{path} has no column 'cluster'; expected labels of a run. Name its labels.parquet."
        raise ViewError(msg)
    column = meta.table["cluster"]
    if column.isna().any():
        first = column.index[column.isna()][0]
        msg = f"{path} has no cluster of {first!r}; expected one of each sample."
        raise ViewError(msg)
    notes += meta.notes
    return pd.to_numeric(column).to_numpy().astype(np.int64)


def _parent(out: Path) -> Path:
    """The folder beside which everything is written."""
    parent = out.resolve().parent
    parent.mkdir(parents=True, exist_ok=True)
    return parent


def _named(table: pd.DataFrame, names: pd.Index) -> pd.DataFrame:
    """The table with names of samples in place of positions."""
    known = table["duplicate_of"].notna().to_numpy()
    of = np.full(len(table), None, dtype=object)
    of[known] = names.to_numpy()[table.loc[known, "duplicate_of"].astype(int)]
    named = table.assign(duplicate_of=of)
    named.insert(0, "sample", names.to_numpy())
    return named


def _write(
    out: Path,
    rows: pd.DataFrame,
    data: MultiViewData,
    names: pd.Index,
    found: Thinned,
    *,
    by_cluster: bool,
) -> None:
    """Write all files to a hidden folder, which then gets its name."""
    new = _parent(out) / f".{out.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        parts = ["cluster"] if by_cluster else None
        rows.to_parquet(new / ROWS, index=False, partition_cols=parts)
        for v, name in enumerate(data.view_names):
            _write_view(new / f"{UNSAFE.sub('_', name)}.parquet", data, v, names, found)
        if out.exists():
            out.rmdir()
        new.replace(out)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _write_view(path: Path, data: MultiViewData, v: int, names: pd.Index, found: Thinned) -> None:
    """Write the rows of a view that are kept, block by block: sample and vector."""
    view, kept = data.views[v], found.table["kept"].to_numpy()
    width = data.n_features[v]
    vector = pa.list_(pa.from_numpy_dtype(view.dtype), width)
    own_names = pa.array(names.to_numpy()[:1]).type
    schema = pa.schema([("sample", own_names), ("vector", vector)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, len(kept), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            values = np.ascontiguousarray(np.asarray(view[part])[kept[part]])
            flat = pa.array(values.reshape(-1), type=vector.value_type)
            some = pa.array(names.to_numpy()[part][kept[part]], type=own_names)
            columns = [some, pa.FixedSizeListArray.from_arrays(flat, width)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def command(
    paths: Paths,
    out: Annotated[Path, out_folder()] = Path("thinned"),
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels", "-l", metavar="FILE", help="Clusters, such as run/labels.parquet."
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(metavar="X", help="Near-duplicates have at least this cosine in each view."),
    ] = 0.99,
    quantile: Annotated[
        float | None,
        typer.Option(metavar="Q", help="In place of a threshold: the share of samples most alike."),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", min=1, metavar="N", help="Samples left at last, equal over clusters."
        ),
    ] = None,
    by_cluster: Annotated[
        bool,
        typer.Option("--by-cluster", metavar="", help="Write rows.parquet partitioned by cluster."),
    ] = False,
    views: ViewNames = None,
    id: SampleColumn = None,
    names: NameFiles = None,
    by_position: ByPosition = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Drop near-duplicates by all views, and take a balanced subset; rows stay on disk."""
    request = ThinRequest(
        paths=paths,
        labels=labels,
        threshold=threshold,
        quantile=quantile,
        count=count,
        by_cluster=by_cluster,
        seed=seed,
        views=split_names(views),
        id=id,
        names=split_names(names),
        by_position=by_position,
    )
    print_json(thin_run(request, out, Console(quiet=quiet, stderr=json)), json)
