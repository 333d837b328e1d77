"""Columns that may hold the names of samples, and how well those of two tables agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.data.sample_names import counts_rows, folded, is_id_title, is_whole
from manyview.exceptions import ViewError

# Consecutive numbering (f0, f1, …) agrees by accident: features often have such names.
WEIGHT_OF_NUMBERING = 0.25
ENOUGH = 0.5  # share of the shorter of two columns that makes numbers the same names
BY_CHANCE = 1 / 3  # share that two columns of different whole numbers may have by chance
REPEATED = 0.2  # share of different names in a column that is meant to name samples
NEARLY_ALL = 0.9  # share of different numbers in a column that may name samples in another file
MOST = 50  # columns of whole numbers without repetition; a table of counts has more
LOOKED_AT = 64  # rows that rule out most columns


@dataclass(frozen=True, eq=False)
class Key:
    """A column, an index or a header that may name the samples.

    `column` is its position in the frame, and `position` that among the features of the table; None
    where it is not there.
    """

    title: str
    values: Any
    kind: Literal["index", "text", "integer", "header"]
    column: int | None = None
    position: int | None = None
    is_odd: bool = False  # whole numbers in a table of other numbers

    @cached_property
    def names(self) -> pd.Index:
        """Names as text, without gaps."""
        values = pd.Series(np.asarray(self.values, dtype=object))
        return as_text(values[values.notna()])

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Rows that have a name."""
        return np.flatnonzero(pd.Series(np.asarray(self.values, dtype=object)).notna())

    @cached_property
    def plain(self) -> pd.Index | None:
        """Names without differences of spelling; None if names of the table become equal."""
        names = folded(self.names)
        return names if names.is_unique else None

    @cached_property
    def is_numbering(self) -> bool:
        """Whether the names merely count."""
        if self.kind == "integer":
            return counts_rows(self.values)
        return is_numbering(self.names)

    @cached_property
    def is_sound(self) -> bool:
        """Whether every sample has a name, and no two the same."""
        return len(self.names) == len(self.values) and self.names.is_unique

    @property
    def has_id_title(self) -> bool:
        """Whether the header announces names."""
        return self.kind == "index" or is_id_title(self.title)

    @property
    def is_plausible(self) -> bool:
        """Whether it can be names without another table that shares them."""
        return self.has_id_title or self.position in (None, 0) or self.is_odd

    def complete(self, file: str) -> pd.Index:
        """All names; a gap is refused."""
        return self.names if len(self.names) == len(self.values) else as_names(self.values, file)


@dataclass(frozen=True)
class Link:
    """How well the names of two tables agree: the share of the shorter list in the longer one."""

    share: float = 0.0
    is_folded: bool = False  # whether spellings must be set aside
    has_one_title: bool = False
    is_weak: bool = False  # numbers that may agree by chance


def link(a: Key | None, b: Key | None) -> Link:
    """How well two columns agree."""
    if a is None or b is None or min(len(a.names), len(b.names)) == 0:
        return Link()
    has_one_title = a.title == b.title != "" and "header" not in (a.kind, b.kind)
    is_number = "integer" in (a.kind, b.kind)
    if is_number and not has_one_title and not (a.is_plausible and b.is_plausible):
        return Link()
    if not (a.is_sound and b.is_sound) and is_number and not has_one_title:
        return Link()
    share, is_folded = _share(a.names, b.names), False
    if share < 1 and a.plain is not None and b.plain is not None:
        other = _share(a.plain, b.plain)
        share, is_folded = max(share, other), other > share
    if a.is_numbering and b.is_numbering:
        share *= 0.0 if is_number else WEIGHT_OF_NUMBERING
    if is_number and share < ENOUGH:
        return Link()
    has_id_titles = a.has_id_title and b.has_id_title
    is_weak = a.kind == b.kind == "integer" and not (has_one_title and has_id_titles)
    if is_weak and (has_one_title or has_id_titles):
        is_weak = _may_be_chance(a, b)
    return Link(share, is_folded, has_one_title, is_weak)


def pairing(a: Key, b: Key) -> NDArray[np.intp]:
    """Row of b for each row of a; -1 where it has none, or the name repeats."""
    ours, theirs = a.names, b.names
    if link(a, b).is_folded and a.plain is not None and b.plain is not None:
        ours, theirs = a.plain, b.plain
    is_once = ~theirs.duplicated(keep=False)
    at = theirs[is_once].get_indexer(ours)
    found = np.where(at >= 0, np.append(b.rows[is_once], -1)[at], -1)
    found[ours.duplicated(keep=False)] = -1
    pairs = np.full(len(a.values), -1, dtype=np.intp)
    pairs[a.rows] = found
    return pairs


def _share(a: pd.Index, b: pd.Index) -> float:
    return float(a.isin(b).sum()) / min(len(a), len(b))


def _may_be_chance(a: Key, b: Key) -> bool:
    """Whether numbers lie so near, or so regularly, that any two such columns may share most."""
    numbers = [pd.Series(key.values).dropna().to_numpy(dtype=float) for key in (a, b)]
    if any(len(np.unique(np.diff(np.sort(part)))) == 1 for part in numbers):
        return True
    width = max(part.max() for part in numbers) - min(part.min() for part in numbers) + 1
    return bool(max(map(len, numbers)) > BY_CHANCE * width)


def find_keys(frame: pd.DataFrame, header: Sequence[str], numbers: Sequence[int]) -> list[Key]:
    """All that may name the rows of a frame, the most likely first; `numbers` are its features."""
    is_default = frame.index.equals(pd.RangeIndex(len(frame)))
    index = [] if is_default else [Key(in_one_line(frame.index.name or ""), frame.index, "index")]
    counting = [key for key in index if key.is_numbering]
    features = set(numbers)
    texts = [
        j
        for j in range(len(header))
        if j not in features and (is_text(frame.iloc[:, j]) or frame.iloc[:, j].dtype.kind == "M")
    ]
    sound, flawed = [], []
    for j in texts:
        key, n_names = (
            Key(header[j], frame.iloc[:, j].copy(), "text", j),
            frame.iloc[:, j].nunique(),
        )
        if n_names == len(frame):
            sound.append(key)
        elif n_names > (REPEATED if key.has_id_title else ENOUGH) * len(frame) and (
            key.has_id_title or (j == 0 and is_default)
        ):
            flawed.append(key)
    first = index if not counting else []
    return [*first, *sound, *flawed, *_integer_keys(frame, header, numbers), *counting]


def default_key(keys: Sequence[Key]) -> Key | None:
    """Names of a table by itself: stored or text without repetition, else text that nearly is."""
    for key in keys:
        is_meant = key.is_sound or (
            key.column == 0
            and len(key.names) == len(key.values)
            and key.names.nunique() > ENOUGH * len(key.values)
        )
        if key.kind == "index" or (key.kind == "text" and is_meant):
            return key
    return None


def _integer_keys(frame: pd.DataFrame, header: Sequence[str], numbers: Sequence[int]) -> list[Key]:
    """Columns of whole numbers that differ, and those that are called names though some repeat."""
    if len(numbers) == 0 or len(frame) < 2:
        return []
    start = frame.iloc[:LOOKED_AT, list(numbers)].to_numpy(dtype=float, na_value=np.nan)
    is_gap = np.isnan(start)
    with np.errstate(invalid="ignore"):
        is_possible = ((start % 1 == 0) | is_gap).all(axis=0)
        is_repeated = np.diff(np.sort(start, axis=0), axis=0) == 0
    is_different = is_repeated.mean(axis=0) <= 1 - NEARLY_ALL
    is_different &= ~is_gap.any(axis=0) & is_possible
    is_odd = bool(is_possible.mean() <= ENOUGH)
    if is_different.sum() > MOST:
        is_different[:] = False  # a table of counts
    keys = []
    for position in np.flatnonzero(is_possible).tolist():
        j = numbers[position]
        column: Any = frame.iloc[:, j]
        has_title = is_id_title(header[j])
        if not (has_title or is_different[position]) or column.dtype.kind == "b":
            continue
        n_names = column.nunique() if is_whole(column) else 0
        if n_names > (REPEATED if has_title else NEARLY_ALL) * len(column):
            keys.append(Key(header[j], column.copy(), "integer", j, position, is_odd))
    return sorted(keys, key=lambda key: not key.has_id_title)


def is_text(column: Any) -> bool:
    """Whether a column holds text or categories."""
    dtype = column.dtype
    is_label = isinstance(dtype, pd.CategoricalDtype)
    return is_label or pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype)


def is_numbering(names: pd.Index | None) -> bool:
    """Whether names are consecutive numbers from 0 or 1, perhaps with a prefix: f0, f1, …."""
    if names is None or len(names) == 0:
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


def as_names(values: Any, file: str) -> pd.Index:
    """Names as text; integers without a decimal point; a gap is refused."""
    names = pd.Series(np.asarray(values, dtype=object))
    if names.isna().any():
        row = int(np.flatnonzero(names.isna())[0])
        msg = f"{file} has no name in row {row + 1}; name every sample, or delete the row."
        raise ViewError(msg)
    return as_text(names)


def as_text(names: pd.Series) -> pd.Index:
    """Names as text, so that they come back as they were; integers without a decimal point."""
    if all(type(name) is int for name in names):
        return pd.Index(list(map(str, names)), dtype=object)
    texts = [
        str(int(name)) if isinstance(name, float) and name.is_integer() else str(name).strip()
        for name in names
    ]
    return pd.Index(texts, dtype=object)


def in_one_line(name: object) -> str:
    """A title as one line of text; Excel cells may contain line breaks."""
    return " ".join(str(name).split())
