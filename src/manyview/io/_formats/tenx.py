"""Counts of cells as 10x Genomics' programs write them, in HDF5 or as a folder of text files.

A matrix has its features in rows and its cells in columns; each kind of feature is a view. Beside
`matrix.mtx` lie the names, `barcodes.tsv` and `features.tsv` (`genes.tsv` before version 3), all of
them perhaps compressed, and perhaps behind a prefix of their own, as archives have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from manyview.exceptions import ViewError
from manyview.io._formats.annotated import compressed_matrix, names_of
from manyview.io._formats.compressed import open_text, split_ending
from manyview.io._formats.matrix_market import read_mtx
from manyview.io._keys import in_one_line
from manyview.io._table import Table, from_array

VIEWS = {"Gene Expression": "rna", "Antibody Capture": "prot", "Peaks": "atac"}
MATRIX = "matrix"
BARCODES = ("barcodes.tsv",)
FEATURES = ("features.tsv", "genes.tsv")
FEWEST_COUNTS = 10  # of a cell that is no empty droplet
PACKED = ("", ".gz", ".bz2", ".zst")


def is_tenx(file: Any) -> bool:
    """Whether an HDF5 file has the layout of 10x, of version 3 or 2."""
    return any("barcodes" in item for item in file.values() if not hasattr(item, "dtype"))


def tables_of_tenx(file: Any, path: str) -> Iterator[Table]:
    """The views of an HDF5 file."""
    for key, group in sorted(file.items()):
        if hasattr(group, "dtype") or "barcodes" not in group:
            continue
        about = group.get("features", group)
        ids = names_of(about["id" if "id" in about else "genes"])
        symbols = names_of(about["name" if "name" in about else "gene_names"])
        kinds = names_of(about["feature_type"]) if "feature_type" in about else None
        where = path if key == MATRIX else f"{path}:{key}"
        barcodes = names_of(group["barcodes"])
        shape = tuple(np.asarray(group["shape"][:]).tolist())
        _check_names(shape, ids, barcodes, where)
        matrix = compressed_matrix("csc_matrix", group, shape)
        features = pd.DataFrame({"id": ids, "name": symbols})
        yield from _by_kind(matrix, features, kinds, barcodes, where, "10x")


def companions(path: Path) -> list[Path]:
    """The files of names that lie beside a matrix."""
    found = (_beside(path, names) for names in (BARCODES, FEATURES))
    return [other for other in found if other is not None]


def _beside(path: Path, names: tuple[str, ...]) -> Path | None:
    stem = split_ending(path)[0]
    prefix = stem.removesuffix(MATRIX) if stem.endswith(MATRIX) else f"{stem}_"
    tried = (path.with_name(f"{prefix}{name}{ending}") for name in names for ending in PACKED)
    return next((other for other in tried if other.is_file()), None)


def tables_of_mtx(path: Path) -> Iterator[Table]:
    """The views of a matrix with files of names beside it, or the matrix as it stands."""
    beside = [_beside(path, names) for names in (BARCODES, FEATURES)]
    if beside[0] is None or beside[1] is None:
        table = from_array(read_mtx(path), split_ending(path)[0], str(path), "mtx")
        note = f"{path}: no barcodes.tsv and features.tsv lie beside it, so its rows are samples."
        yield replace(table, notes=(note,))
        return
    barcodes, features = _read_names(beside[0]), _read_names(beside[1])
    matrix = read_mtx(path)
    _check_names(matrix.shape, features.index, barcodes.index, str(path))
    kinds = pd.Index(features[2]) if 2 in features else None
    named = pd.DataFrame({"id": features[0], "name": features[1 if 1 in features else 0]})
    names = pd.Index(barcodes[0], dtype=object)
    yield from _by_kind(matrix, named, kinds, names, str(path), "mtx")


def _read_names(path: Path) -> pd.DataFrame:
    """The columns of a file of names, which has no header."""
    with open_text(path) as file:
        rows = [line.rstrip("\r\n").split("\t") for line in file if line.strip()]
    n = min(map(len, rows), default=0)
    return pd.DataFrame(
        [[in_one_line(cell) for cell in row[:n]] for row in rows], columns=range(n), dtype=object
    )


def _check_names(shape: Any, features: pd.Index, barcodes: pd.Index, file: str) -> None:
    if tuple(shape) != (len(features), len(barcodes)):
        msg = (
            f"{file} has a matrix of shape {tuple(shape)}, but {len(features)} features and "
            f"{len(barcodes)} barcodes; it may be damaged."
        )
        raise ViewError(msg)


def _by_kind(
    matrix: Any,
    features: pd.DataFrame,
    kinds: pd.Index | None,
    barcodes: pd.Index,
    file: str,
    format: str,
) -> Iterator[Table]:
    """One table for each kind of feature; cells are rows."""
    counts = sparse.csr_array(matrix.T)
    names = _distinct(features)
    of = np.full(len(names), "Gene Expression", object) if kinds is None else np.asarray(kinds)
    notes = _on_droplets(counts, file)
    for kind in dict.fromkeys(of):
        at = np.flatnonzero(of == kind)
        view = VIEWS.get(kind, "_".join(str(kind).lower().split()))
        values = counts if len(at) == len(of) else counts[:, at]
        where = file if len(at) == len(of) else f"{file}:{view}"
        table = from_array(values, view, where, format, is_turnable=False)
        yield replace(table, rows=barcodes, columns=names[at], notes=notes)
        notes = ()


def _distinct(features: pd.DataFrame) -> pd.Index:
    """Names of features, with the identifier where a name is there twice."""
    names = pd.Series(features["name"], dtype=object)
    is_twice = names.duplicated(keep=False)
    with_id = [f"{name} ({id})" for name, id in zip(names, features["id"], strict=True)]
    return pd.Index(np.where(is_twice, with_id, names), dtype=object)


def _on_droplets(counts: Any, file: str) -> tuple[str, ...]:
    """A note on a file with droplets that hold no cell."""
    n_empty = int((counts.sum(axis=1) < FEWEST_COUNTS).sum())
    if n_empty <= counts.shape[0] / 2:
        return ()
    return (
        f"{file}: {n_empty} of {counts.shape[0]} barcodes have fewer than {FEWEST_COUNTS} counts, "
        "so these are no cells; use the filtered matrix, as filtered_feature_bc_matrix.",
    )
