"""Views whose rows are on a cluster: Dask collections, or files that workers open.

Rows are cut again into the parts of a fit by their position, wherever the partitions of a
collection begin; so a fit depends on the rows, not on how they are partitioned. Nothing here holds
rows; a part is described by what makes it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.data.conversion import as_stored
from manyview.data.opening import open_rows
from manyview.data.rows import File, Joined, Part, Picked, Rows, float_dtype
from manyview.data.views import MultiViewData
from manyview.exceptions import NotEnoughSamplesError, ViewError

Compute = Callable[..., Sequence[Any]]  # of tasks, to their results


def is_dask(view: object) -> bool:
    """Whether a view is a Dask collection; Dask is not imported for it."""
    return hasattr(view, "__dask_graph__")


def has_dask(X: object) -> bool:
    """Whether views, or a single one, are Dask collections."""
    if isinstance(X, Mapping):
        return any(is_dask(view) for view in X.values())
    if isinstance(X, list | tuple):
        return any(is_dask(view) for view in X)
    return is_dask(X)


@dataclass(frozen=True)
class PartitionedView:
    """A view whose rows are elsewhere."""

    source: Any  # a Dask array with known partitions, rows on disk, or an array in memory
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    features: NDArray[np.object_] | None

    def cut(self, part_rows: int) -> list[Any]:
        """What makes each part of so many rows: for `joined_piece`, once tasks are computed."""
        starts = range(0, self.shape[0], part_rows)
        if is_dask(self.source):
            stops = [min(start + part_rows, self.shape[0]) for start in starts]
            return _cut_partitions(self.source, list(starts), stops)
        if isinstance(self.source, Rows):
            return [rows_between(self.source, start, start + part_rows) for start in starts]
        return [self.source[start : start + part_rows] for start in starts]


@dataclass(frozen=True)
class PartitionedViews:
    """Views of the same samples whose rows are elsewhere; like a `MultiViewData` without them."""

    parts_of: tuple[PartitionedView, ...]
    view_names: tuple[str, ...]
    present: NDArray[np.bool_] | None = None  # which views each sample has; rows of NaN lack, too

    @classmethod
    def of(cls, X: Any, compute: Compute | None = None) -> PartitionedViews:
        """From a list or dict of Dask collections, files or arrays, or one of them.

        Lengths of partitions that Dask does not know are computed; `compute` does it.
        """
        if isinstance(X, cls):
            return X
        present = None
        if isinstance(X, MultiViewData):
            named, present = dict(zip(X.view_names, X.views, strict=True)), X.present
        elif isinstance(X, Mapping):
            named = {str(name): view for name, view in X.items()}
        else:
            views = X if isinstance(X, list | tuple) else [X]
            named = {f"view_{v}": view for v, view in enumerate(views)}
        if not named:
            msg = "Received no views; expected at least one 2-D Dask array, DataFrame or file."
            raise ViewError(msg)
        opened = tuple(_opened(view, name, compute) for name, view in named.items())
        found = cls(opened, tuple(named), present)
        found._check_rows()
        return found

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.parts_of[0].shape[0]

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.parts_of)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(view.shape[1] for view in self.parts_of)

    @property
    def feature_names(self) -> tuple[NDArray[np.object_] | None, ...]:
        """Names of the features of each view, if it has any."""
        return tuple(view.features for view in self.parts_of)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 if any view is, else float32."""
        return np.result_type(*(view.dtype for view in self.parts_of))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the concatenated views."""
        return self.n_samples, sum(self.n_features)

    @property
    def nbytes(self) -> int:
        """Bytes of the views in memory."""
        return sum(n * d * v.dtype.itemsize for v in self.parts_of for n, d in [v.shape])

    @property
    def is_on_disk(self) -> bool:
        """Whether all views are files, which can be read again."""
        return all(isinstance(view.source, Rows) for view in self.parts_of)

    @property
    def is_here(self) -> bool:
        """Whether all views are arrays in memory."""
        return all(isinstance(view.source, np.ndarray) for view in self.parts_of)

    def cut(self, part_rows: int) -> list[list[Any]]:
        """For each part, what makes the rows of each view; at the end, which of them are there."""
        of_views = [view.cut(part_rows) for view in self.parts_of]
        starts = range(0, self.n_samples, part_rows)
        present = [
            None if self.present is None else self.present[start : start + part_rows]
            for start in starts
        ]
        return [list(pieces) for pieces in zip(*of_views, present, strict=True)]

    def in_order(self, view_names: Sequence[str]) -> PartitionedViews:
        """The same views in the given order of names."""
        order = [self.view_names.index(name) for name in view_names]
        present = None if self.present is None else self.present[:, order]
        parts = tuple(self.parts_of[v] for v in order)
        return PartitionedViews(parts, tuple(view_names), present)

    def check_unchanged(self) -> None:
        """Raise ViewError if a file has changed or vanished since it was opened."""
        for view in self.parts_of:
            if isinstance(view.source, Rows):
                view.source.check_unchanged()

    def _check_rows(self) -> None:
        n = self.n_samples
        for view, name in zip(self.parts_of, self.view_names, strict=True):
            if view.shape[0] != n:
                msg = (
                    f"View '{name}' has {view.shape[0]} rows; view '{self.view_names[0]}' has {n}. "
                    "All views must describe the same samples, in the same order."
                )
                raise ViewError(msg)
        if n == 0:
            msg = "Found 0 samples; expected partitions that are not all empty."
            raise NotEnoughSamplesError(msg)


def joined_piece(piece: Any) -> NDArray[Any]:
    """The rows of a view in a part, from what `PartitionedView.cut` gives."""
    if isinstance(piece, Rows):
        return piece.read(slice(None))
    if isinstance(piece, list):
        found = [np.asarray(block)[start:stop] for block, start, stop in piece]
        piece = found[0] if len(found) == 1 else np.concatenate(found)
    # products of arrays that are not aligned in memory are rounded otherwise
    return np.require(piece, None, ["C", "A"])


def _cut_partitions(array: Any, starts: list[int], stops: list[int]) -> list[Any]:
    """For each part the partitions that it overlaps, and which of their rows; none are empty."""
    # an optimized graph has other tasks under the same names in each call
    blocks = array.rechunk({1: -1}).to_delayed(optimize_graph=False)[:, 0]
    ends = np.cumsum(array.chunks[0]).tolist()
    begins = [end - n for end, n in zip(ends, array.chunks[0], strict=True)]
    parts, first = [], 0
    for start, stop in zip(starts, stops, strict=True):
        while ends[first] <= start:
            first += 1
        own, b = [], first
        while b < len(ends) and begins[b] < stop:
            if begins[b] < ends[b]:
                own.append([blocks[b], max(start - begins[b], 0), min(stop, ends[b]) - begins[b]])
            b += 1
        parts.append(own)
    return parts


def rows_between(rows: Rows, start: int, stop: int) -> Rows:
    """A slice of rows on disk that refers only to the files it needs."""
    stop = min(stop, len(rows))
    if isinstance(rows, Part):
        return rows_between(rows.source, rows.start + start, rows.start + stop)
    if isinstance(rows, Picked):
        wanted = rows.positions[start:stop]
        found = wanted[wanted >= 0]
        if found.size == 0:
            return rows[start:stop]  # type: ignore[no-any-return]
        first, last = int(found.min()), int(found.max()) + 1
        source = rows_between(rows.source, first, last)
        return Picked(source, np.where(wanted >= 0, wanted - first, -1))
    if isinstance(rows, Joined):
        begins = rows.ends - [len(part) for part in rows.parts]
        some = [
            rows_between(part, max(start - begin, 0), min(stop, end) - begin)
            for part, begin, end in zip(
                rows.parts, begins.tolist(), rows.ends.tolist(), strict=True
            )
            if begin < stop and end > start
        ]
        return some[0] if len(some) == 1 else Joined(some)
    return rows[start:stop]  # type: ignore[no-any-return]


def _opened(view: Any, name: str, compute: Compute | None) -> PartitionedView:
    """A view, of whatever kind; its partitions are counted, its values are not looked at."""
    if isinstance(view, str | os.PathLike):
        view = open_rows(view)
    if is_dask(view):
        return _of_dask(view, name, compute)
    stored: Any = as_stored(view, name)
    if not isinstance(stored, Rows | np.ndarray):
        msg = (
            f"View '{name}' is sparse; a cluster takes dense views. Use engine='memory' or "
            "'stream', or a Dask array of dense blocks."
        )
        raise ViewError(msg)
    if isinstance(stored, Rows) and not _is_of_files(stored):
        stored = np.asarray(stored)
    return PartitionedView(stored, stored.shape, np.dtype(stored.dtype), None)


def _is_of_files(rows: Rows) -> bool:
    """Whether rows are of files only, which another process can open."""
    if isinstance(rows, Joined):
        return all(_is_of_files(part) for part in rows.parts)
    if isinstance(rows, Part | Picked):
        return _is_of_files(rows.source)
    return isinstance(rows, File)


def _of_dask(view: Any, name: str, compute: Compute | None) -> PartitionedView:
    """A Dask array or DataFrame as an array whose partitions have known lengths."""
    features = None
    if hasattr(view, "to_dask_array"):
        if view.ndim != 2:
            msg = f"View '{name}' is a Dask Series; expected a DataFrame: series.to_frame()."
            raise ViewError(msg)
        features = np.array([str(column) for column in view.columns], dtype=object)
        view = view.to_dask_array()
    if not hasattr(view, "rechunk"):
        msg = (
            f"View '{name}' is a {type(view).__name__} of Dask; expected a 2-D Dask array or a "
            "Dask DataFrame."
        )
        raise ViewError(msg)
    if view.ndim != 2:
        msg = f"View '{name}' has {view.ndim} dimensions; expected 2 (samples by features)."
        raise ViewError(msg)
    if np.isnan(view.shape).any():
        view = _with_lengths(view, compute)
    if view.dtype.kind not in "fiub":
        msg = f"View '{name}' has dtype {view.dtype}; expected numbers. Encode or drop the others."
        raise ViewError(msg)
    view = view.astype(float_dtype(view.dtype))
    shape = (int(view.shape[0]), int(view.shape[1]))
    return PartitionedView(view, shape, np.dtype(view.dtype), features)


def _with_lengths(view: Any, compute: Compute | None) -> Any:
    """A Dask array whose partitions have known lengths, which are computed once."""
    from dask.base import compute as at_once
    from dask.delayed import delayed

    blocks = view.to_delayed()
    shape = delayed(np.shape, pure=False)
    asked = [*blocks[:, 0], *blocks[0, 1:]]
    found = (compute or at_once)(*map(shape, asked))
    rows = tuple(n_rows for n_rows, _ in found[: len(blocks)])
    columns = tuple(n_columns for _, n_columns in (found[0], *found[len(blocks) :]))
    known = copy.copy(view)
    known._chunks = (rows, columns)
    return known
