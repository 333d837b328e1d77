"""Loom files: a matrix of features by cells in HDF5, with attributes of both.

Described at https://linnarssonlab.org/loompy/format. Files are read without loompy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from manyview.exceptions import ViewError
from manyview.io._formats.annotated import names_of, plain_values
from manyview.io._keys import in_one_line
from manyview.io._table import Table, from_array

CELLS = ("CellID", "obs_names", "cell_id", "CellName", "barcode")  # as several programs write them
GENES = ("Gene", "var_names", "gene_name", "Accession", "gene_id")
BLOCK = 1 << 25  # bytes of the matrix that are read at a time
MOST_STORED = 1 / 3  # share of values other than zero that makes a matrix sparse


def tables_of_loom(file: Any, view: str, path: str) -> Iterator[Table]:
    """The matrix with the names and the attributes of the cells."""
    if "matrix" not in file or getattr(file["matrix"], "ndim", 0) != 2:
        msg = f"{path} has no matrix; expected the layout of loom, features by cells."
        raise ViewError(msg)
    n_genes, n_cells = file["matrix"].shape
    cells = _attributes(file, "col_attrs", n_cells)
    genes = _attributes(file, "row_attrs", n_genes)
    table = from_array(_turned(file["matrix"]), view, path, "loom", is_turnable=False)
    chosen = next((name for name in CELLS if name in cells), None)
    yield replace(
        table,
        rows=None if chosen is None else names_of(cells.pop(chosen)),
        columns=_names(genes),
        obs=pd.DataFrame({name: plain_values(item[:]) for name, item in cells.items()}),
    )


def _attributes(file: Any, side: str, length: int) -> dict[str, Any]:
    """The attributes of one side that have one value a row or column."""
    group = file.get(side, {})
    return {
        in_one_line(name): item
        for name, item in sorted(group.items())
        if getattr(item, "shape", None) == (length,)
    }


def _names(genes: dict[str, Any]) -> pd.Index | None:
    """The first attribute whose values differ."""
    for name in GENES:
        if name in genes and (found := names_of(genes[name])).is_unique:
            return found
    return None


def _turned(matrix: Any) -> Any:
    """Cells by features; sparse if most values are zero. A piece of the features at a time."""
    n_genes, n_cells = matrix.shape
    step = max(1, BLOCK // max(1, n_cells * matrix.dtype.itemsize))
    parts = [sparse.csc_array(matrix[j : j + step].T) for j in range(0, n_genes, step)]
    if not parts:
        return np.empty((n_cells, 0))
    joined: Any = sparse.csr_array(sparse.hstack(parts))
    return joined if joined.nnz <= MOST_STORED * n_genes * n_cells else joined.toarray()
