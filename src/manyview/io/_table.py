"""One table of a file: its numbers, the names of rows and columns, and ignored columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types
from scipy import sparse

from manyview.data.conversion import View, as_view
from manyview.exceptions import ViewError

# pandas' names for object columns that contain only numbers and gaps
NUMBERS = {"boolean", "integer", "floating", "mixed-integer-float", "decimal"}
EXAMINED = 20  # text columns that are checked for numbers


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers of one view, with the names of rows and columns, if any.

    `is_turnable` is False if the format defines where the samples are; `has_id` is True if the user
    named the column of sample names. `title` is the header of the row names. Columns that are not
    features are listed by name in `set_aside`; `others` holds their values.
    """

    view: str
    file: str
    format: str
    values: View
    rows: pd.Index | None = None
    columns: pd.Index | None = None
    title: str = ""
    is_turnable: bool = True
    has_id: bool = False
    is_turned: bool = False
    set_aside: tuple[str, ...] = ()
    others: pd.DataFrame = field(default_factory=pd.DataFrame)
    notes: tuple[str, ...] = ()

    @property
    def samples(self) -> pd.Index:
        """Names of the rows, which must exist."""
        assert self.rows is not None
        return self.rows

    def turned(self) -> Table:
        """The transposed table."""
        values = self.values.T
        return replace(
            self,
            values=(
                sparse.csr_array(values)
                if isinstance(values, sparse.csc_array)
                else np.ascontiguousarray(values)
            ),
            rows=self.columns,
            columns=self.rows,
            is_turned=not self.is_turned,
            others=pd.DataFrame(),  # they are about features now
        )

    def without(self, features: Collection[str]) -> Table:
        """The table with some of its features set aside."""
        if self.columns is None or not (is_out := self.columns.isin(features)).any():
            return self
        names, is_in = self.columns[is_out], np.flatnonzero(~is_out)
        if is_in.size == 0:
            msg = (
                f"{self.file} has no feature but {', '.join(names)}; expected others to cluster by."
            )
            raise ViewError(msg)
        taken = self.values[:, np.flatnonzero(is_out)]
        dense = taken.toarray() if isinstance(taken, sparse.csr_array) else np.asarray(taken)
        return replace(
            self,
            values=self.values[:, is_in],
            columns=self.columns[is_in],
            set_aside=(*self.set_aside, *names),
            others=self.others.reindex(range(len(dense))).assign(
                **dict(zip(names, dense.T, strict=True))
            ),
        )

    def of_samples(self, rows: Any) -> Table:
        """The table with some of its rows."""
        names = None if self.rows is None else self.rows[rows]
        return replace(self, values=self.values[rows], rows=names)


def from_array(
    values: object, view: str, file: str, format: str, *, is_turnable: bool = True
) -> Table:
    """Wrap an array that has no names."""
    return Table(view, file, format, _checked(values, view, file), is_turnable=is_turnable)


def from_frame(frame: pd.DataFrame, view: str, file: str, format: str, id: str | None) -> Table:
    """Split a DataFrame into sample names, numeric columns and ignored columns."""
    if frame.empty:
        msg = f"{file} has no rows of values below its header; expected one row per sample."
        raise ViewError(msg)
    is_filled = frame.notna().any().to_numpy()
    empty = [_in_one_line(name) for name in frame.columns[~is_filled] if name != ""]
    frame = _with_numbers(frame.iloc[:, is_filled])
    header = [_in_one_line(name) for name in frame.columns]
    is_number = np.array([types.is_numeric_dtype(dtype) for dtype in frame.dtypes], dtype=bool)
    chosen = header.index(id) if id in header else None
    has_id = chosen is not None or (id is not None and frame.index.name == id)
    rows: pd.Index | None = None
    if has_id:
        rows = as_names(frame.index if chosen is None else _column(frame, chosen), file)
    else:
        rows, chosen = _default_names(frame, is_number, file)
    is_name = np.arange(len(header)) == (-1 if chosen is None else chosen)
    numbers, others = np.flatnonzero(is_number & ~is_name), np.flatnonzero(~is_number & ~is_name)
    if numbers.size == 0:
        raise ViewError(_no_numbers(frame, header, file))
    return Table(
        view,
        file,
        format,
        _checked(_matrix(frame.iloc[:, numbers]), view, file),
        rows,
        pd.Index([header[j] for j in numbers], dtype=object),
        title=_in_one_line(frame.index.name or "") if chosen is None else header[chosen],
        has_id=has_id,
        set_aside=(*(header[j] for j in others), *(f"{name} (empty)" for name in empty)),
        others=_set_aside(frame, header, others),
        notes=tuple(_nearly_numbers(frame.iloc[:, others], file)),
    )


def _set_aside(frame: pd.DataFrame, header: list[str], others: Any) -> pd.DataFrame:
    """The columns that are no numbers, rows by position; of two with one name the first."""
    table = frame.iloc[:, others].set_axis([header[j] for j in others], axis=1)
    first: pd.DataFrame = table.loc[:, ~table.columns.duplicated()]
    return first.reset_index(drop=True)


def is_numbering(names: pd.Index | None) -> bool:
    """Whether names are consecutive numbers from 0 or 1, perhaps with a prefix: f0, f1, …."""
    if names is None:
        return False
    first = str(names[0])
    prefix = first.rstrip("0123456789")
    start = first.removeprefix(prefix)
    if start not in ("0", "1"):
        return False
    counted = [f"{prefix}{i}" for i in range(int(start), int(start) + len(names))]
    return list(names) == counted


def are_row_numbers(names: pd.Index | None) -> bool:
    """Whether names are 0, 1, 2, … or 1, 2, 3, …."""
    return names is not None and str(names[0]).isdigit() and is_numbering(names)


def _column(frame: pd.DataFrame, j: Any) -> Any:
    """A column by position, since names may repeat."""
    return frame.iloc[:, int(j)]


def _checked(values: object, view: str, file: str) -> View:
    """Values as a view; an error names the file."""
    try:
        return as_view(values, view)
    except ViewError as error:
        msg = f"{file}: {error}"
        raise ViewError(msg) from None


def _with_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert object columns of numbers (booleans with gaps, decimals) to numbers."""
    frame = frame.copy(deep=False)
    for j in np.flatnonzero([types.is_object_dtype(dtype) for dtype in frame.dtypes]):
        column = _column(frame, j)
        if types.infer_dtype(column, skipna=True) in NUMBERS:
            numbers = column.map(float, na_action="ignore").astype(float)
            frame.isetitem(int(j), numbers.to_numpy())
    return frame


def _default_names(
    frame: pd.DataFrame, is_number: Any, file: str
) -> tuple[pd.Index | None, int | None]:
    """Names of the rows, and the position of the column that holds them, if any."""
    is_default = frame.index.equals(pd.RangeIndex(len(frame)))
    index = None if is_default else as_names(frame.index, file)
    if index is not None and not is_numbering(index):
        return index, None
    texts = [int(j) for j in np.flatnonzero(~is_number) if _is_text(_column(frame, j))]
    full = [j for j in texts if _column(frame, j).notna().all()]
    for j in full:
        if _column(frame, j).is_unique:
            return as_names(_column(frame, j), file), j
    # names that are meant to be unique; duplicates are refused later, by name
    if index is None and 0 in full and _column(frame, 0).nunique() > len(frame) / 2:
        return as_names(_column(frame, 0), file), 0
    return index, None


def _is_text(column: Any) -> bool:
    dtype = column.dtype
    is_label = isinstance(dtype, pd.CategoricalDtype)
    return is_label or types.is_string_dtype(dtype) or types.is_object_dtype(dtype)


def as_names(values: Any, file: str) -> pd.Index:
    """Names as text; integers without a decimal point."""
    names = pd.Series(np.asarray(values, dtype=object))
    if names.isna().any():
        row = int(np.flatnonzero(names.isna())[0])
        msg = f"{file} has no name in row {row + 1}; name every sample, or delete the row."
        raise ViewError(msg)
    texts = [
        str(int(name)) if isinstance(name, float) and name.is_integer() else _in_one_line(name)
        for name in names
    ]
    return pd.Index(texts, dtype=object)


def _in_one_line(name: object) -> str:
    """A name as one line of text; Excel cells may contain line breaks."""
    return " ".join(str(name).split())


def _matrix(frame: pd.DataFrame) -> Any:
    """Numbers of a frame in C order, float32 if all columns are; gaps are NaN."""
    dtype = np.float32 if all(frame.dtypes == np.float32) else np.float64
    return np.ascontiguousarray(frame.to_numpy(dtype=dtype, na_value=np.nan))


def _no_numbers(frame: pd.DataFrame, header: list[str], file: str) -> str:
    if not header:
        return f"{file} has no values; expected columns of numbers."
    value = _column(frame, -1).dropna().iloc[0]
    return (
        f"{file} has no column of numbers; expected some. Its columns are "
        f"{', '.join(header[:5])}{' …' if len(header) > 5 else ''}, and the last of them holds "
        f"{str(value)!r}. Encode text as numbers, and remove rows of text from the table."
    )


def _nearly_numbers(texts: pd.DataFrame, file: str) -> list[str]:
    """Notes on columns that were ignored because of a few values."""
    notes = []
    for j, name in enumerate(texts.columns[:EXAMINED]):
        column = _column(texts, j).dropna()
        if not _is_text(column):
            continue
        is_number = pd.to_numeric(column.astype(object), errors="coerce").notna()
        if is_number.mean() >= 0.5:
            others = [repr(str(value)) for value in column[~is_number].unique()[:3]]
            notes.append(
                f"{file}: column {str(name)!r} was ignored although {int(is_number.sum())} of "
                f"its {len(column)} values are numbers; "
                + (f"these are not: {', '.join(others)}." if others else "they are stored as text.")
            )
    return notes
