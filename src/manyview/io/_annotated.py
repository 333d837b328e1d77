"""The layout of AnnData and MuData, in HDF5 or Zarr: X, the names in obs and var, modalities.

Described at https://anndata.readthedocs.io/en/latest/fileformat-prose.html. Files are read without
the anndata library; groups of h5py and zarr have the same interface.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from manyview.exceptions import ViewError
from manyview.io._keys import in_one_line
from manyview.io._table import Table, from_array

COMPRESSED = {"csr_matrix": sparse.csr_array, "csc_matrix": sparse.csc_array}


def tables_of(group: Any, view: str, file: str, format: str) -> Iterator[Table]:
    """Read the modalities of MuData, or X of AnnData."""
    if "mod" not in group:
        yield _table(group, view, file, format)
        return
    modalities = group["mod"]
    order = modalities.attrs.get("mod-order")
    for name in sorted(modalities) if order is None else map(_text, order):
        yield _table(modalities[name], name, f"{file}:{name}", format)


def _table(group: Any, view: str, file: str, format: str) -> Table:
    if "X" not in group or "obs" not in group or "var" not in group:
        msg = f"{file} lacks X, obs or var; expected the layout of AnnData with a matrix X."
        raise ViewError(msg)
    table = from_array(_matrix(group["X"], file), view, file, format, is_turnable=False)
    sides = (_index(group["obs"], file), _index(group["var"], file))
    if table.values.shape != tuple(map(len, sides)):
        msg = (
            f"{file} has X of shape {table.values.shape} but {len(sides[0])} names in obs and "
            f"{len(sides[1])} in var; it may be damaged."
        )
        raise ViewError(msg)
    return replace(table, rows=sides[0], columns=sides[1])


def _matrix(item: Any, file: str) -> Any:
    """X, dense or sparse."""
    if hasattr(item, "dtype"):
        if item.ndim != 2:
            msg = f"{file} has no matrix X; expected samples by features. Write X before saving."
            raise ViewError(msg)
        return item[()]
    kind = _text(item.attrs.get("encoding-type", ""))
    if kind not in COMPRESSED:
        msg = f"{file} has X of kind {kind!r}; expected a dense, CSR or CSC matrix."
        raise ViewError(msg)
    parts = tuple(np.asarray(item[part][:]) for part in ("data", "indices", "indptr"))
    matrix = COMPRESSED[kind](parts, shape=tuple(map(int, item.attrs["shape"])))
    matrix.check_format(full_check=True)  # scipy would follow a wrong index out of bounds
    return matrix


def _index(group: Any, file: str) -> pd.Index:
    """Names of the rows or columns."""
    if hasattr(group, "dtype"):
        msg = f"{file} has the layout of anndata before 0.7; read and write it with a newer one."
        raise ViewError(msg)
    column = group[_text(group.attrs["_index"])]
    if not hasattr(column, "dtype"):  # nullable strings are a group of values and a mask
        column = column["values"]
    return pd.Index([in_one_line(_text(name)) for name in np.asarray(column[:])], dtype=object)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
