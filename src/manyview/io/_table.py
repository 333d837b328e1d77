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
from manyview.io._keys import Key, default_key, find_keys, in_one_line, is_text

# pandas' names for object columns that contain only numbers and gaps
NUMBERS = {"boolean", "integer", "floating", "mixed-integer-float", "decimal"}
YES_AND_NO = {"yes": 1.0, "no": 0.0, "y": 1.0, "n": 0.0, "true": 1.0, "false": 0.0}
EXAMINED = 20  # text columns that are checked for numbers


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers of one view, with the names of rows and columns, if any.

    `is_turnable` is False if the format defines where the samples are; `has_id` is True if the user
    named the column of sample names. `title` is the header of the row names. Columns that are not
    features are listed by name in `set_aside`; `others` holds their values. `keys` are the columns
    that may name the rows, `key` is the one that does; `spelled` holds yes and no as written. `obs`
    is what a file with a place for it says about the samples, in columns. A table without numbers
    has a `refusal`, the sentence that says so.
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
    keys: tuple[Key, ...] = ()
    key: Key | None = None
    spelled: pd.DataFrame = field(default_factory=pd.DataFrame)
    obs: pd.DataFrame = field(default_factory=pd.DataFrame)
    refusal: str = ""

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
            keys=(),
            key=None,
        )

    def named_by(self, key: Key | None) -> Table:
        """The table with another of its keys as the names of its rows."""
        if key is self.key or key is None:
            return self
        aside, others = list(self.set_aside), self.others
        if self.key is not None and self.key.kind == "text":
            aside.append(self.key.title)
            others = others.reindex(range(len(self.key.values))).assign(
                **{self.key.title: np.asarray(self.key.values, dtype=object)}
            )
        if key.kind == "text":
            aside.remove(key.title)
            others = others.drop(columns=key.title)
        named = replace(
            self,
            rows=key.complete(self.file),
            title=key.title,
            key=key,
            set_aside=tuple(aside),
            others=others,
        )
        if key.position is None or self.columns is None:  # rows on disk leave it out themselves
            return named
        return named._without_column(key.position)

    def _without_column(self, position: int) -> Table:
        """The table without a feature that names its samples."""
        assert self.columns is not None
        if self.values.shape[1] == 1:
            msg = (
                f"{self.file} has no feature but {self.columns[0]!r}, which names the samples; "
                "expected others to cluster by. If it is a feature, use --by-position."
            )
            raise ViewError(msg)
        return replace(
            self,
            values=np.delete(np.asarray(self.values), position, axis=1),
            columns=self.columns.delete(position),
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
        written = {
            str(name): self.spelled.get(name, column)
            for name, column in zip(names, dense.T, strict=True)
        }
        return replace(
            self,
            values=self.values[:, is_in],
            columns=self.columns[is_in],
            set_aside=(*self.set_aside, *names),
            others=self.others.reindex(range(len(dense))).assign(**written),
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
    empty = [in_one_line(name) for name in frame.columns[~is_filled] if name != ""]
    frame = _with_numbers(frame.iloc[:, is_filled])
    header = [in_one_line(name) for name in frame.columns]
    frame, spelled = _with_yes_and_no(frame, header, id)
    is_number = np.array([types.is_numeric_dtype(dtype) for dtype in frame.dtypes], dtype=bool)
    has_id = id is not None and (id in header or frame.index.name == id)
    if has_id:
        keys = [_key_of_id(frame, header, id)]
        key: Key | None = keys[0]
        is_number[[] if keys[0].column is None else keys[0].column] = False
    numbers = np.flatnonzero(is_number)
    if not has_id:
        keys = find_keys(frame, header, numbers.tolist())
        key = default_key(keys)
    if not header:
        raise ViewError(_no_numbers(frame, header, file))
    chosen = None if key is None else key.column
    others = [int(j) for j in np.flatnonzero(~is_number) if j != chosen]
    values = _matrix(frame.iloc[:, numbers])
    return Table(
        view,
        file,
        format,
        _checked(values, view, file) if numbers.size else values,
        None if key is None else key.complete(file),
        pd.Index([header[j] for j in numbers], dtype=object),
        title="" if key is None else key.title,
        has_id=has_id,
        set_aside=(*(header[j] for j in others), *(f"{name} (empty)" for name in empty)),
        others=_set_aside(frame, header, others),
        notes=tuple(_nearly_numbers(frame.iloc[:, others], file)),
        keys=tuple(keys),
        key=key,
        spelled=spelled,
        refusal="" if numbers.size else _no_numbers(frame, header, file),
    )


def _key_of_id(frame: pd.DataFrame, header: list[str], id: str | None) -> Key:
    """The column or index that the user named."""
    if id in header:
        column = header.index(id)
        return Key(str(id), frame.iloc[:, column], "text", column=column)
    return Key(str(id), frame.index, "index")


def _with_yes_and_no(
    frame: pd.DataFrame, header: list[str], id: str | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns of yes and no as 1 and 0, and as they were written."""
    spelled = {}
    for j in range(frame.shape[1]):
        column = _column(frame, j)
        if not is_text(column) or header[j] == id:
            continue
        is_gap = column.isna().to_numpy()
        words = column.astype(object).astype(str).str.strip().str.lower()
        if words[~is_gap].isin(YES_AND_NO).all():
            spelled[header[j]] = column.reset_index(drop=True)
            frame.isetitem(j, words.mask(is_gap).map(YES_AND_NO).to_numpy(dtype=float))
    return frame, pd.DataFrame(spelled)


def _set_aside(frame: pd.DataFrame, header: list[str], others: Any) -> pd.DataFrame:
    """The columns that are no numbers, rows by position; of two with one name the first."""
    table = frame.iloc[:, others].set_axis([header[j] for j in others], axis=1)
    first: pd.DataFrame = table.loc[:, ~table.columns.duplicated()]
    return first.reset_index(drop=True)


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
        if not is_text(column):
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
