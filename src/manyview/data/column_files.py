"""Views on disk as columns: Parquet, and Arrow files and streams (Feather is an Arrow file).

The vectors are one column of lists, or all numeric columns. Files are decoded in batches of a few
megabytes, independent of the size of their row groups; sequential reads decode nothing twice.
"""

from __future__ import annotations

import itertools
import threading
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.data.arrow_messages import BATCH, has_file_mark, messages_of
from manyview.data.readable import ReadableFile
from manyview.data.rows import float_dtype
from manyview.data.sample_names import is_id_title
from manyview.exceptions import ViewError
from manyview.utils.memory import installed_memory
from manyview.utils.types import IntArray

BATCH_BYTES = 1 << 24
MOST_NUMBERS = 8  # columns of whole numbers that are examined; a table of counts has more


class _Cursor:
    """Batches from a row on; the rest of a batch is kept for the next call."""

    def __init__(self, at: int, batches: Iterator[Any]) -> None:
        self.at = at
        self._batches = batches
        self._rest: Any = None

    def advance(self, n_rows: int) -> Any:
        """The next rows: at least one, at most `n_rows`."""
        while self._rest is None or self._rest.num_rows == 0:
            self._rest = next(self._batches)
        batch = self._rest.slice(0, n_rows)
        self._rest = self._rest.slice(batch.num_rows)
        self.at += batch.num_rows
        return batch


class Columns(ReadableFile):
    """Rows decoded in batches, group by group."""

    def __init__(self, path: Path, key: str | None = None, leave_out: tuple[str, ...] = ()) -> None:
        super().__init__(path, key)
        self.leave_out = leave_out  # columns that are not features
        schema = self._schema = self._open()
        self._columns = _vector_columns(schema, key, path, leave_out)
        self._side_names = _side_columns(schema, self._columns)
        kinds = [_value_type(schema.field(name).type) for name in self._columns]
        self.dtype = max(map(_dtype_of, kinds))
        self._starts = np.concatenate([[0], np.cumsum(self._lengths())]).astype(np.int64)
        self._batch_rows = 1024
        n_features = self._width(schema)
        self._batch_rows = max(1, BATCH_BYTES // (max(1, n_features) * self.dtype.itemsize))
        self.shape = (int(self._starts[-1]), n_features)
        self.grain = max(1, int(np.diff(self._starts).max(initial=1)))
        self._lock = threading.Lock()
        self._cursor: _Cursor | None = None  # position after the last read

    @abstractmethod
    def _open(self) -> Any:
        """Open the file; returns its Arrow schema."""

    @abstractmethod
    def _lengths(self) -> list[int]:
        """Rows of each group."""

    @abstractmethod
    def _group(self, group: int) -> Iterator[Any]:
        """The record batches of a group, each of at most `_batch_rows` rows."""

    def _width(self, schema: Any) -> int:
        """Number of features: columns, or the length of the lists."""
        kind = schema.field(self._columns[0]).type
        if not _is_list(kind):
            return len(self._columns)
        if hasattr(kind, "list_size"):
            return int(kind.list_size)
        for batch in itertools.chain.from_iterable(map(self._group, range(len(self._starts) - 1))):
            lengths = batch.column(0).value_lengths().drop_null()
            if len(lengths):
                return int(lengths[0].as_py())
        return 0

    @property
    def features(self) -> tuple[str, ...]:
        """Columns of the vectors."""
        return tuple(self._columns)

    def without(self, column: str) -> Columns:
        """The same file with one column less."""
        return type(self)(self.path, self.key, (*self.leave_out, column))

    def side_names(self) -> list[str]:
        """Columns of text or whole numbers beside the vectors, or called names of samples."""
        return self._side_names

    def fingerprint(self) -> str:
        """Digest of path, sizes, times, shape and the columns."""
        return super().fingerprint() + "".join(f"-{name}" for name in self.leave_out)

    def __reduce__(self) -> Any:
        """Path, key and columns left out: files are reopened."""
        return type(self), (self.path, self.key, self.leave_out)

    def _fill_rows(self, start: int, out: NDArray[Any]) -> None:
        with self._lock:
            cursor, self._cursor = self._seek(start), None  # none after a failed read
            while cursor.at < start:
                cursor.advance(start - cursor.at)
            while cursor.at < start + len(out):
                done = cursor.at - start
                batch = cursor.advance(len(out) - done)
                self._decode(batch, out[done : done + batch.num_rows], start + done)
            if cursor.at < len(self):  # finished parts of many must not hold memory
                self._cursor = cursor

    def _seek(self, start: int) -> _Cursor:
        """Continue after the last read, unless the group of `start` is nearer."""
        group = int(np.searchsorted(self._starts, start, side="right")) - 1
        begin = int(self._starts[group])
        if self._cursor is not None and begin <= self._cursor.at <= start:
            return self._cursor
        groups = range(group, len(self._starts) - 1)
        return _Cursor(begin, itertools.chain.from_iterable(map(self._group, groups)))

    def _take_rows(self, rows: IntArray) -> NDArray[Any]:
        """Every row group with one of the rows is decoded."""
        rows = np.asarray(rows)
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for group in np.unique(np.searchsorted(self._starts, rows, side="right") - 1):
            start = int(self._starts[group])
            for batch in self._group(int(group)):
                low, high = np.searchsorted(rows, [start, start + batch.num_rows])
                if high > low:
                    self._decode(batch.take(_indices(rows[low:high] - start)), out[low:high], start)
                start += batch.num_rows
        return out

    def _decode(self, batch: Any, out: NDArray[Any], start: int) -> None:
        """Decode the columns of a batch into rows; null becomes NaN."""
        if not _is_list(batch.schema.field(self._columns[0]).type):
            for j, name in enumerate(self._columns):
                out[:, j] = self._values(batch.column(name))
            return
        lists = batch.column(self._columns[0])
        is_there = lists.is_valid().to_numpy(zero_copy_only=False)
        if not hasattr(lists.type, "list_size"):
            lengths = lists.value_lengths().fill_null(self.shape[1]).to_numpy()
            odd = np.flatnonzero(lengths != self.shape[1])
            if odd.size:
                msg = (
                    f"{self.path} has a list of {lengths[odd[0]]} values in column "
                    f"{self._columns[0]!r} near row {start + odd[0]}; expected {self.shape[1]}, as "
                    "in its first row. All rows of a view must have the same features."
                )
                raise ViewError(msg)
        values = self._values(lists.flatten()).reshape(-1, self.shape[1])
        if is_there.all():
            out[...] = values
        else:
            out[...] = np.nan
            out[is_there] = values

    def _values(self, array: Any) -> NDArray[Any]:
        """One Arrow array as floats."""
        import pyarrow

        cast = array.cast(pyarrow.from_numpy_dtype(self.dtype), safe=False)
        values: NDArray[Any] = cast.to_numpy(zero_copy_only=False)
        return values


class Parquet(Columns):
    """The vectors of a Parquet file."""

    def _open(self) -> Any:
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:
            self._metadata = file.metadata
            return file.schema_arrow

    def _read_names(self, name: str) -> Any:
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:
            table = file.read(columns=[name])
        table.validate(full=True)
        return table.column(name).to_pandas()

    def _lengths(self) -> list[int]:
        groups = range(self._metadata.num_row_groups)
        return [self._metadata.row_group(group).num_rows for group in groups]

    def _group(self, group: int) -> Iterator[Any]:
        from pyarrow import parquet

        # with a buffer per column, a row group is not read as a whole
        buffer = max(1 << 16, BATCH_BYTES // len(self._columns))
        with parquet.ParquetFile(
            self.path, metadata=self._metadata, buffer_size=buffer, pre_buffer=False
        ) as file:
            yield from file.iter_batches(
                self._batch_rows, row_groups=[group], columns=self._columns, use_threads=False
            )


class Arrow(Columns):
    """The vectors of an Arrow file or stream; a group is one of its record batches.

    Files are read, not mapped: a map of a file that is cut short ends the process with a signal. In
    a file, only the columns that are wanted are read; in a stream, whole batches.
    """

    def _open(self) -> Any:
        import pyarrow
        from pyarrow import ipc

        self._reading = threading.Lock()
        with self.path.open("rb") as file:
            self._is_file = has_file_mark(file)
            messages = list(messages_of(file, self.path.stat().st_size))
        self._batches = [message for message in messages if message.kind == BATCH]
        self._others = [message for message in messages if message.kind != BATCH]
        with pyarrow.OSFile(str(self.path)) as source:
            if not self._is_file:
                return ipc.open_stream(source).schema
            reader = ipc.open_file(source)
            _require(reader.num_record_batches == len(self._batches), "its index is another's")
            return reader.schema

    def _lengths(self) -> list[int]:
        for batch in self._batches:
            if batch.stop - batch.start > installed_memory() / 4:
                msg = (
                    f"{self.path} has a record batch of {batch.n_rows} rows and "
                    f"{(batch.stop - batch.start) / 1e9:.1f} GB, which is decoded at once; "
                    "expected at most a quarter of the memory. Write it with fewer rows per batch."
                )
                raise ViewError(msg)
        return [batch.n_rows for batch in self._batches]

    def _read_names(self, name: str) -> Any:
        import pyarrow

        batches = [self._batch(group, [name]) for group in range(len(self._batches))]
        schema = batches[0].schema if batches else None
        return pyarrow.Table.from_batches(batches, schema).column(name).to_pandas()

    def _group(self, group: int) -> Iterator[Any]:
        with self._reading:
            batch = self._batch(group, self._columns)
        for start in range(0, batch.num_rows, self._batch_rows):
            yield batch.slice(start, self._batch_rows)

    def _batch(self, group: int, columns: list[str]) -> Any:
        """Some columns of a record batch, checked: a wrong offset would be followed anywhere."""
        import pyarrow
        from pyarrow import ipc

        wanted = [self._schema.get_field_index(name) for name in columns]
        options = ipc.IpcReadOptions(included_fields=wanted, use_threads=False)
        with pyarrow.OSFile(str(self.path)) as source:
            if self._is_file:
                batch = ipc.open_file(source, options=options).get_batch(group)
            else:
                messages = pyarrow.BufferReader(self._stream_of(group, source))
                batch = ipc.open_stream(messages, options=options).read_next_batch()
        _require(batch.num_rows == self._batches[group].n_rows, "a batch has changed")
        batch.validate(full=True)
        return batch.select(columns)

    def _stream_of(self, group: int, source: Any) -> bytes:
        """A stream of one record batch: the schema, the dictionaries so far, and the batch."""
        batch = self._batches[group]
        pieces = []
        for message in (*(m for m in self._others if m.stop <= batch.start), batch):
            source.seek(message.start)
            pieces.append(source.read(message.stop - message.start))
        return b"".join(pieces)


def _require(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)


def _side_columns(schema: Any, vectors: list[str]) -> list[str]:
    """Columns that may hold sample names: text, whole numbers; of many features those called so."""
    from pyarrow import types

    texts = (types.is_string, types.is_large_string, types.is_dictionary)
    n_numbers = sum(types.is_integer(schema.field(name).type) for name in vectors)
    names = []
    for field in schema:
        is_number = types.is_integer(field.type) or (
            types.is_floating(field.type) and is_id_title(field.name)
        )
        is_text = any(kind(field.type) for kind in texts)
        is_vector = field.name in vectors
        is_possible = not is_vector or n_numbers <= MOST_NUMBERS or is_id_title(field.name)
        if (is_number or is_text) and is_possible:
            names.append(field.name)
    return names


def _vector_columns(
    schema: Any, key: str | None, path: Path, leave_out: tuple[str, ...] = ()
) -> list[str]:
    """Names of the columns of the vectors: one of lists, or all numeric ones."""
    kinds = {field.name: field.type for field in schema}
    if key is not None:
        if key not in kinds or _value_type(kinds[key]) is None:
            received = "no such column" if key not in kinds else f"a column of {kinds[key]}"
            msg = (
                f"{path} has {received} {key!r}; expected one of numbers or of lists of numbers. "
                f"Its columns: {', '.join(list(kinds)[:8])}."
            )
            raise ViewError(msg)
        return [key]
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in kinds if name not in index and name not in leave_out]
    others = [name for name in names if _value_type(kinds[name]) is None]
    lists = [name for name in names if _is_list(kinds[name])]
    if others:
        msg = (
            f"{path} has columns that are not numbers: {', '.join(others[:5])}; expected "
            "numbers alone or one column of lists. Name the vectors with key=, or drop the others."
        )
        raise ViewError(msg)
    if not names or (lists and len(names) > 1):
        msg = (
            f"{path} has the columns {', '.join(names[:8]) or 'none'}; expected numbers alone or "
            "one column of lists. Name the vectors with key=."
        )
        raise ViewError(msg)
    return names


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in kinds)


def _value_type(kind: Any) -> Any:
    """The numeric type of a column; None if it is not numeric."""
    from pyarrow import types

    kind = kind.value_type if _is_list(kind) else kind
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return kind if any(is_kind(kind) for is_kind in kinds) else None


def _dtype_of(kind: Any) -> np.dtype[Any]:
    from pyarrow import types

    if types.is_decimal(kind) or types.is_null(kind):
        return np.dtype(np.float64)
    return float_dtype(np.dtype(kind.to_pandas_dtype()))


def _indices(rows: IntArray) -> Any:
    import pyarrow

    return pyarrow.array(rows)
