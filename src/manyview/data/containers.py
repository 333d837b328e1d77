"""Containers of one view: its values, and the names of its samples and features.

DataFrames, Arrow tables (anything with the Arrow PyCapsule or the dataframe interchange protocol,
such as Polars), AnnData and plain arrays are unwrapped here. They are recognized by their
attributes: neither polars nor anndata is imported.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.opening import open_rows
from manyview.data.sample_names import first_repeated, is_id_title, is_whole
from manyview.exceptions import DataWarning, ViewError

# what pandas calls columns of objects that are numbers after all
NUMBERS_AS_OBJECTS = ("boolean", "decimal", "empty", "floating", "integer", "mixed-integer-float")


@dataclass(frozen=True)
class LabeledValues:
    """One view before its values are checked."""

    values: Any  # array, sparse matrix, nested lists or rows on disk
    rows: pd.Index | None = None  # sample names
    columns: NDArray[np.object_] | None = None  # feature names
    present: NDArray[np.bool_] | None = None  # which samples have the view; None: all

    def cut(self, start: int, end: int) -> LabeledValues:
        """Some of the features."""
        names = None if self.columns is None else self.columns[start:end]
        return replace(self, values=self.values[:, start:end], columns=names)

    def placed(self, names: pd.Index) -> LabeledValues:
        """Rows in the order of `names`, with rows of zeros for missing samples."""
        assert self.rows is not None
        at = self.rows.get_indexer(names)  # (n,)
        if np.array_equal(at, np.arange(len(self.rows))):
            return replace(self, rows=names)
        present = at >= 0  # (n,)
        n_columns = self.values.shape[1]
        if sparse.issparse(self.values):
            given = sparse.csr_array(cast("Any", self.values))
            nothing = sparse.csr_array((1, n_columns), dtype=given.dtype)
            values: Any = sparse.vstack([given, nothing]).tocsr()[at]  # row -1 is the empty one
        else:
            values = np.zeros((len(names), n_columns), dtype=self.values.dtype)
            values[present] = self.values[at[present]]
        return replace(self, values=values, rows=names, present=present)


def align_samples(
    labeled_views: Mapping[str, LabeledValues], names: pd.Index
) -> dict[str, LabeledValues]:
    """Order the rows of all views by sample name."""
    for name, labeled in labeled_views.items():
        if labeled.rows is not None and not labeled.rows.is_unique:
            twice = labeled.rows[labeled.rows.duplicated()][0]
            msg = f"View '{name}' has sample {twice!r} twice; make the sample names unique."
            raise ViewError(msg)
    return {name: labeled.placed(names) for name, labeled in labeled_views.items()}


def open_modalities(mdata: Any) -> dict[str, LabeledValues]:
    """X of each modality of a MuData, in the order of its samples."""
    check_axis(mdata)
    labeled_views = {name: unwrap_container(part, name) for name, part in mdata.mod.items()}
    return align_samples(labeled_views, mdata.obs_names)


def check_axis(mdata: Any) -> None:
    """Refuse a MuData whose modalities share features instead of samples."""
    if mdata.axis != 0:
        msg = (
            f"The MuData has axis={mdata.axis}; expected 0, modalities of the same samples. Build "
            "it from AnnData that share their obs_names."
        )
        raise ViewError(msg)


def unwrap_container(view: Any, name: str) -> LabeledValues:
    """Values and names of one view of any supported type."""
    if isinstance(view, LabeledValues):
        return view
    if isinstance(view, str | os.PathLike):
        return LabeledValues(open_rows(view))
    if isinstance(view, pd.DataFrame):
        _check_numeric_columns(view, name)
        return LabeledValues(view.to_numpy(), view.index, view.columns.to_numpy(dtype=object))
    if is_annotated(view):
        return LabeledValues(
            _matrix(view, name), view.obs_names, np.asarray(view.var_names, dtype=object)
        )
    if is_frame(view) and len(getattr(view, "shape", (0, 0))) == 2:  # a Series is no table
        return _open_arrow(view, name)
    return LabeledValues(view)


def is_frame(view: object) -> bool:
    """Whether a view supports a dataframe exchange protocol."""
    return hasattr(view, "__arrow_c_stream__") or hasattr(view, "__dataframe__")


def is_annotated(view: object) -> bool:
    """Whether a view is an AnnData: a matrix X with names of rows and columns."""
    has_parts = all(hasattr(view, part) for part in ("X", "obs_names", "var_names"))
    return has_parts and not is_multimodal(view)


def is_multimodal(views: object) -> bool:
    """Whether views are a MuData: one AnnData per modality."""
    return all(hasattr(views, part) for part in ("mod", "obs_names", "obsm"))


def rows_of(view: Any) -> pd.Index | None:
    """Sample names of a view, without access to its values."""
    if isinstance(view, pd.DataFrame):
        return view.index
    return cast("pd.Index | None", getattr(view, "obs_names", None))


def common_index(labeled_views: Mapping[str, LabeledValues]) -> pd.Index | None:
    """Sample names of the views that have them, which must agree."""
    named = {
        name: labeled.rows for name, labeled in labeled_views.items() if labeled.rows is not None
    }
    if not named:
        return None
    (first, rows), *others = named.items()
    for name, other in others:
        if not other.equals(rows):
            raise ViewError(_no_agreement((first, rows), (name, other)))
    if (twice := first_repeated(rows)) is not None:
        if others:
            msg = (
                f"Views '{first}' and '{others[0][0]}' have sample {twice!r} twice in their index; "
                "make the sample names unique, or pass arrays (to_numpy()) if row i is the same "
                "sample in each view."
            )
            raise ViewError(msg)
        msg = f"View '{first}' has sample {twice!r} twice in its index; check the sample names."
        warnings.warn(msg, DataWarning, stacklevel=2)
    return rows


def _no_agreement(one: tuple[str, pd.Index], other: tuple[str, pd.Index]) -> str:
    """Why two views cannot be matched by position."""
    counting = [name for name, rows in (one, other) if is_default_index(rows)]
    if len(counting) == 1:
        named = other[0] if counting[0] == one[0] else one[0]
        return (
            f"View '{named}' has sample names and view '{counting[0]}' merely numbers its rows, so "
            "the rows may be in another order. Set the index of both to the sample names and join "
            "them with MultiViewData.align, or pass arrays (to_numpy()) if row i is the same "
            "sample in each view."
        )
    return (
        f"Views '{one[0]}' and '{other[0]}' have different sample names or another order. "
        "Join them with MultiViewData.align."
    )


def is_default_index(rows: pd.Index) -> bool:
    """Whether an index numbers the rows, as pandas does without names."""
    return isinstance(rows, pd.RangeIndex) and rows.start == 0 and rows.step == 1


def check_columns(labeled_views: Mapping[str, LabeledValues]) -> None:
    """Refuse tables without sample names that have them in a column, in another order."""
    titled: dict[str, tuple[str, NDArray[Any]]] = {}
    for name, labeled in labeled_views.items():
        has_names = labeled.rows is not None and not is_default_index(labeled.rows)
        if has_names or labeled.columns is None or not isinstance(labeled.values, np.ndarray):
            continue
        for j, title in enumerate(map(str, labeled.columns)):
            if not is_id_title(title):
                continue
            values = pd.to_numeric(pd.Series(labeled.values[:, j]), errors="coerce")
            if not is_whole(values) or values.nunique() < len(values):
                continue
            first, before = titled.setdefault(title, (name, values.to_numpy()))
            if first != name and _are_shuffled(before, values.to_numpy()):
                msg = (
                    f"Views '{first}' and '{name}' have the column {title!r} in another order, "
                    f"which seems to name the samples. Use set_index({title!r}) and join them with "
                    "MultiViewData.align, or drop the column if row i is the same sample in each "
                    "view."
                )
                raise ViewError(msg)


def _are_shuffled(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether most values of one are in the other, and not in the same rows."""
    n_shared = int(np.isin(a, b).sum())
    return n_shared > min(len(a), len(b)) / 2 and not np.array_equal(a, b)


def merged_index(indices: Sequence[pd.Index], how: str) -> pd.Index:
    """Sample names in all tables, or in any, in order of first appearance."""
    merged = indices[0]
    for index in indices[1:]:
        if index.equals(merged):
            continue  # pandas 2 would make other integers of a RangeIndex, which means "no names"
        merged = (
            merged[merged.isin(index)]
            if how == "inner"
            else merged.append(index[~index.isin(merged)])
        )
    if merged.empty:
        msg = (
            "The views share no sample name: "
            + "; ".join(f"one has {list(map(str, index[:3]))}" for index in indices)
            + ". Check that the index holds the sample names, or align with how='outer'."
        )
        raise ViewError(msg)
    return merged


def _matrix(view: Any, name: str) -> Any:
    """X of an AnnData, read into memory if it is backed by a file."""
    values = view.X
    if values is None:
        msg = (
            f"View '{name}' is an AnnData without X; expected a matrix. Set X, or name a layer or "
            "an entry of obsm with manyview.io.anndata."
        )
        raise ViewError(msg)
    values = values.to_memory() if hasattr(values, "to_memory") else values
    return values if sparse.issparse(values) else np.asarray(values)


def _open_arrow(view: Any, name: str) -> LabeledValues:
    """A table of Polars, pyarrow or others, converted by Arrow; null becomes NaN."""
    import pyarrow
    from pyarrow import types
    from pyarrow.interchange import from_dataframe

    has_stream = hasattr(view, "__arrow_c_stream__")
    table = pyarrow.table(view) if has_stream else from_dataframe(view)
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    _refuse_columns(
        [field.name for field in table.schema if not any(kind(field.type) for kind in kinds)],
        name,
        "Drop or encode them; such a table has no index for sample names.",
    )
    return LabeledValues(
        table.to_pandas().to_numpy(), None, np.array(table.column_names, dtype=object)
    )


def _check_numeric_columns(table: pd.DataFrame, name: str) -> None:
    """Refuse a table with text or dates, naming the columns."""

    def is_numeric(column: pd.Series[Any]) -> bool:
        if not pd.api.types.is_object_dtype(column.dtype):
            return pd.api.types.is_numeric_dtype(column.dtype)
        return pd.api.types.infer_dtype(column, skipna=True) in NUMBERS_AS_OBJECTS

    others = [str(name) for name, column in table.items() if not is_numeric(column)]
    _refuse_columns(others, name, "Drop or encode them; sample names belong in the index.")


def _refuse_columns(columns: Sequence[str], name: str, remedy: str) -> None:
    if columns:
        msg = (
            f"View '{name}' has columns that are not numbers: {', '.join(columns[:5])}"
            f"{' …' if len(columns) > 5 else ''}. {remedy}"
        )
        raise ViewError(msg)
