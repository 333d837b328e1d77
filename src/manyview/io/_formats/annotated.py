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
OBS_ENDINGS = (".h5ad", ".h5mu", ".h5", ".loom", ".zarr", ".zarr.zip")


def is_annotated(group: Any) -> bool:
    """Whether a group has the layout of AnnData or MuData."""
    return "mod" in group or "obs" in group


def tables_of(group: Any, view: str, file: str, format: str) -> Iterator[Table]:
    """Read the modalities of MuData, or X of AnnData, with the columns about samples."""
    if "mod" not in group:
        table = _table(group, view, file, format)
        yield replace(table, obs=_columns(group["obs"]))
        return
    modalities = group["mod"]
    shared = _columns(group["obs"], file) if "obs" in group else pd.DataFrame()
    order = modalities.attrs.get("mod-order")
    for name in sorted(modalities) if order is None else map(text_of, order):
        part = modalities[name]
        table = _table(part, name, f"{file}:{name}", format)
        own = _columns(part["obs"]).add_prefix(f"{name}:")
        obs = shared[~shared.index.duplicated()].reindex(table.samples).reset_index(drop=True)
        more = own[[column for column in own if column not in obs]]
        yield replace(table, obs=pd.concat([obs, more], axis=1))


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
    kind = text_of(item.attrs.get("encoding-type", ""))
    if kind not in COMPRESSED:
        msg = f"{file} has X of kind {kind!r}; expected a dense, CSR or CSC matrix."
        raise ViewError(msg)
    return compressed_matrix(kind, item, item.attrs["shape"])


def compressed_matrix(kind: str, group: Any, shape: Any) -> Any:
    """A sparse matrix of its three arrays, checked."""
    parts = tuple(np.asarray(group[part][:]) for part in ("data", "indices", "indptr"))
    matrix = COMPRESSED[kind](parts, shape=tuple(map(int, shape)))
    matrix.check_format(full_check=True)  # scipy would follow a wrong index out of bounds
    return matrix


def _index(group: Any, file: str) -> pd.Index:
    """Names of the rows or columns."""
    if hasattr(group, "dtype"):
        msg = f"{file} has the layout of anndata before 0.7; read and write it with a newer one."
        raise ViewError(msg)
    return names_of(group[text_of(group.attrs["_index"])])


def names_of(column: Any) -> pd.Index:
    """An array of text as names, each in one line."""
    if not hasattr(column, "dtype"):  # nullable strings are a group of values and a mask
        column = column["values"]
    return pd.Index([in_one_line(text_of(name)) for name in np.asarray(column[:])], dtype=object)


def _columns(group: Any, file: str | None = None) -> pd.DataFrame:
    """The columns of obs that hold one value a sample; named by the samples if asked for a file."""
    index = text_of(group.attrs["_index"])
    order = [text_of(name) for name in group.attrs.get("column-order", sorted(group))]
    length = len(names_of(group[index]))
    found = {}
    for name in order:
        values = _values(group[name], group) if name in group and name != index else None
        if values is not None and len(values) == length:
            found[in_one_line(name)] = values
    names = pd.RangeIndex(length) if file is None else _index(group, file)
    return pd.DataFrame(found).set_axis(names) if found else pd.DataFrame(index=names)


def _values(item: Any, group: Any) -> Any:
    """Values of a column: numbers, text, or categories; None if it is of another kind."""
    if hasattr(item, "dtype"):
        values = np.asarray(item[:]) if item.ndim == 1 else None
        if values is None or values.dtype.kind not in "biufOSU":
            return None
        if "categories" in item.attrs and "__categories" in group:  # before anndata 0.8
            name = item.name.rpartition("/")[2]
            return _decoded(values, np.asarray(group["__categories"][name][:]))
        return plain_values(values)
    if "codes" in item and "categories" in item:
        categories = item["categories"]
        if not hasattr(categories, "dtype"):
            categories = categories["values"]
        return _decoded(np.asarray(item["codes"][:]), np.asarray(categories[:]))
    if "values" in item and "mask" in item:  # nullable
        return pd.Series(plain_values(np.asarray(item["values"][:])), dtype=object).mask(
            np.asarray(item["mask"][:], dtype=bool)
        )
    return None


def _decoded(codes: Any, categories: Any) -> Any:
    """Categories of codes; a gap where there is none."""
    named = pd.Index(plain_values(categories))
    return pd.Categorical.from_codes(np.asarray(codes, dtype=np.int64), named)


def plain_values(values: Any) -> Any:
    """Numbers as they are, all else as text."""
    if values.dtype.kind in "biuf":
        return values
    return np.array([text_of(value) for value in values], dtype=object)


def text_of(value: Any) -> str:
    """Text, whether it was stored as text or as bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
