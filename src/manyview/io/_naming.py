"""The samples of all tables under one name each: by their names, or by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.data.sample_names import first_repeated, folded, without_ending
from manyview.exceptions import ViewError
from manyview.io._keys import ENOUGH, Key, are_row_numbers, is_numbering
from manyview.io._table import Table

ONE_VIEW = "There is one view, so that no samples had to be matched."
INSISTED = "Samples were matched by position, as asked: row i of each view is the same sample."
COMPARED = 100  # columns of two tables
DISTINCT = 5  # values of a column that would hardly be the same in another order by chance
DISTINCT_ROWS = 3  # rows from which on whole numbers that differ are worth a note
NAMELESS = "Samples were matched by position: no view has sample names."


@dataclass(frozen=True, eq=False)
class NamedTables:
    """Tables whose rows have names, by what samples were matched, and notes."""

    tables: list[Table]
    matching: str
    notes: list[str]


def check_names(tables: Sequence[Table]) -> None:
    """Refuse duplicate names."""
    for table in tables:
        for names, kind in ((table.rows, "sample"), (table.columns, "feature")):
            if names is not None and first_repeated(names) is not None:
                twice = names[names.duplicated()]
                msg = (
                    f"{table.file} has {kind} {twice[0]!r} twice ({twice.nunique()} {kind} name(s) "
                    f"are repeated); make the {kind} names unique."
                )
                raise ViewError(msg)


def name_samples(tables: Sequence[Table], *, by_position: bool = False) -> NamedTables:
    """Give every table sample names, by position if none has any, and check that they overlap."""
    kept = [_without_numbering(table, tables) for table in tables]
    if by_position and len(kept) > 1:
        return _insisted(kept)
    named = [table for table in kept if table.rows is not None]
    if len(named) == len(kept):
        return _by_name(named)
    if len(kept) > 1:
        _refuse_names_in_some(kept)
        _refuse_another_order(kept)
    names = _row_numbers(kept)
    kept, notes = _without_counters(kept)
    notes += [note for table in kept if (note := _possible_id(table))]
    return NamedTables(
        [replace(table, rows=names) for table in kept],
        NAMELESS if len(kept) > 1 else ONE_VIEW,
        notes,
    )


def _without_numbering(table: Table, tables: Sequence[Table]) -> Table:
    """Drop row numbers as names, unless another table uses such names without counting."""
    if table.has_id or not are_row_numbers(table.rows):
        return table
    others = [other.rows for other in tables if not is_numbering(other.rows)]
    is_used = any(names is not None and names.isin(table.samples).any() for names in others)
    return table if is_used else replace(table, rows=None)


def _by_name(tables: list[Table]) -> NamedTables:
    """Match by name; names that differ by their spelling alone become one."""
    if len(tables) == 1:
        return NamedTables(tables, ONE_VIEW, [])
    matching = tell_matching([(table.file, table.is_turned, table.key) for table in tables])
    tables, notes = _with_one_spelling(tables)
    notes += _check_endings(tables)
    for table in tables:
        others = (
            tables[0].samples[:0].append([other.samples for other in tables if other is not table])
        )
        n_shared = int(table.samples.isin(others).sum())
        if n_shared == 0:
            raise ViewError(_strangers(table, tables))
        if n_shared < ENOUGH * len(table.samples):
            notes.append(
                f"Only {n_shared} of {len(table.samples)} samples of {table.file} are in another "
                "view; check that the names are those of the samples."
            )
    return NamedTables(tables, matching, notes + _tell_contradictions(tables))


def tell_matching(used: Sequence[tuple[str, bool, Key | None]]) -> str:
    """By what the samples of some files were matched; for each its name, side and key."""
    short = [Path(file).name for file, _, _ in used]
    shown = short if len(set(short)) == len(short) else [file for file, _, _ in used]
    by_what: dict[str, list[str]] = {}
    for file, (_, is_turned, key) in zip(shown, used, strict=True):
        by_what.setdefault(_what(is_turned, key), []).append(file)
    parts = [f"{what} of {_listed(files)}" for what, files in by_what.items()]
    return f"Samples were matched by {'name: ' if len(parts) > 1 else ''}{'; '.join(parts)}."


def _what(is_turned: bool, key: Key | None) -> str:
    if is_turned:
        return "the header"
    if key is None or key.title == "":
        return "the row names"
    return f"the {'index' if key.kind == 'index' else 'column'} {key.title!r}"


def _listed(files: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(files[:-1]), files[-1]]))


def _with_one_spelling(tables: list[Table]) -> tuple[list[Table], list[str]]:
    """Take the spelling of the first table for names that differ by case, blanks or zeros alone."""
    first = tables[0].samples
    if all(len(table.samples) == len(first) == first.isin(table.samples).sum() for table in tables):
        return tables, []
    plain = [folded(table.samples) for table in tables]
    n_names = len(first.append([table.samples for table in tables]).unique())
    n_plain = len(plain[0].append(plain[1:]).unique())
    if n_plain == n_names or not all(names.is_unique for names in plain):
        return tables, []
    spelling: dict[str, str] = {}
    notes, renamed = [], []
    for table, names in zip(tables, plain, strict=True):
        for name, given in zip(names, table.samples, strict=True):
            spelling.setdefault(name, given)
        rows = pd.Index([spelling[name] for name in names], dtype=object)
        renamed.append(replace(table, rows=rows))
        if (differs := rows != table.samples).any():
            notes.append(
                f"{table.file} spells {int(differs.sum())} sample names otherwise, such as "
                f"{table.samples[differs][0]!r} for {rows[differs][0]!r}; names that differ by "
                "case, blanks, separators or leading zeros alone were taken for the same."
            )
    return renamed, notes


def _check_endings(tables: Sequence[Table]) -> list[str]:
    """Refuse names that agree but for an ending such as -1; a note where --id named the columns."""
    notes: list[str] = []
    for a, b in permutations(tables, 2):
        ours = folded(a.samples[~a.samples.isin(b.samples)])
        theirs = folded(b.samples[~b.samples.isin(a.samples)])
        short = without_ending(ours)
        is_shared = short.isin(theirs) & (short != ours)
        if not short.is_unique or is_shared.sum() < max(1, ENOUGH * min(len(ours), len(theirs))):
            continue
        longer = a.samples[~a.samples.isin(b.samples)][is_shared][0]
        other = b.samples[~b.samples.isin(a.samples)][theirs.get_indexer(short[is_shared])[0]]
        said = (
            f"{int(is_shared.sum())} sample names of {a.file} and {b.file} differ by an ending "
            f"alone, such as {longer!r} and {other!r}."
        )
        if not (a.has_id and b.has_id and len(ours) < len(a.samples)):
            msg = (
                f"{said} Write them alike in both files if they are the same samples; if row i is "
                "the same sample in each file, use --by-position; to take these names as they are, "
                "name their column with --id."
            )
            raise ViewError(msg)
        notes.append(f"{said} They were taken for different samples.")
    return notes


def _insisted(tables: Sequence[Table]) -> NamedTables:
    """Match by position, whatever the names are."""
    names, notes = _row_numbers(tables), []
    named = [table for table in tables if table.rows is not None]
    for table in named[1:]:
        if (differs := table.samples != named[0].samples).any():
            row = int(differs.argmax())
            notes.append(
                f"{named[0].file} and {table.file} name {int(differs.sum())} of {len(names)} rows "
                f"differently, such as row {row + 1}: {named[0].samples[row]!r} and "
                f"{table.samples[row]!r}. They were matched by position, as asked."
            )
    taken = named[0].samples if named else names
    plain, aside = _without_counters([table for table in tables if table.rows is None])
    aside += [note for table in plain if (note := _possible_id(table))]
    unnamed = iter(plain)
    kept = [table if table.rows is not None else next(unnamed) for table in tables]
    return NamedTables([replace(table, rows=taken) for table in kept], INSISTED, notes + aside)


def _row_numbers(tables: Sequence[Table]) -> pd.RangeIndex:
    """Numbers of the rows, which must be as many in every table."""
    first = next((table for table in tables if table.rows is None), tables[0])
    for table in tables:
        if table.values.shape[0] != first.values.shape[0]:
            has = "has no sample names and" if first.rows is None else "has"
            msg = (
                f"{first.file} {has} {first.values.shape[0]} rows, {table.file} has "
                f"{table.values.shape[0]}; expected the same samples in the same order. Add a "
                "column with sample names to each file (--id), or use --samples columns if the "
                "samples are there."
            )
            raise ViewError(msg)
    return pd.RangeIndex(first.values.shape[0])


def _refuse_names_in_some(tables: Sequence[Table]) -> None:
    """Refuse to match by position where some of the tables have names."""
    for table in tables:
        others = [other for other in tables if other is not table]
        nameless = next((other for other in others if other.rows is None), None)
        remedy = (
            f"and {'' if nameless is None else nameless.file} has none that agree, so the rows may "
            "be in another order. Add the same names to each file (--id says which column), or use "
            "--by-position if row i is the same sample in each file."
        )
        if table.rows is not None and nameless is not None:
            msg = f"{table.file} has sample names ({', '.join(table.samples[:3])}, …) {remedy}"
            raise ViewError(msg)
        for key in table.keys if nameless is not None else ():
            is_odd = key.kind == "integer" and not (key.is_sound or key.has_id_title)
            if key.is_plausible and not key.is_numbering and not is_odd:
                msg = f"The column {key.title!r} of {table.file} may name its samples, {remedy}"
                raise ViewError(msg)


def _refuse_another_order(tables: Sequence[Table]) -> None:
    """Refuse to match by position if two tables have a column with its values in another order."""
    for a, b in combinations(tables, 2):
        if a.values.shape[0] != b.values.shape[0]:
            continue
        for title, ours, theirs in _common_columns(a, b):
            if _is_shuffled(ours, theirs):
                msg = (
                    f"{a.file} and {b.file} have no sample names in common, and the column "
                    f"{title!r} holds the same values in another order, so the rows are not in the "
                    "same order. Add the same names to each file (--id), or use --by-position if "
                    "row i is the same sample nevertheless."
                )
                raise ViewError(msg)


def _tell_contradictions(tables: Sequence[Table]) -> list[str]:
    """Notes on columns of two tables that hold the same values, for other samples."""
    notes = []
    for a, b in combinations(tables, 2):
        rows = b.samples.get_indexer(a.samples)
        is_shared = rows >= 0
        for title, ours, theirs in _common_columns(a, b):
            if _is_shuffled(ours[is_shared], theirs[rows[is_shared]]):
                notes.append(
                    f"The column {title!r} of {a.file} and {b.file} holds the same values for "
                    "other samples; check that samples were matched by their names (--id)."
                )
    return notes


def _common_columns(a: Table, b: Table) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Columns with one header in two tables: those that were set aside, and some features."""
    for title in a.others.columns.intersection(b.others.columns)[:COMPARED]:
        if len(a.others) == a.values.shape[0] and len(b.others) == b.values.shape[0]:
            ours, theirs = (t.others[title].astype(str).to_numpy(object) for t in (a, b))
            yield str(title), ours, theirs
    X, Y = a.values, b.values
    titles: list[pd.Index] = [pd.Index([]) if t.columns is None else t.columns for t in (a, b)]
    if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
        for feature in titles[0].intersection(titles[1])[:COMPARED]:
            i, j = (of.get_indexer(pd.Index([feature]))[0] for of in titles)
            yield str(feature), np.asarray(X[:, i]), np.asarray(Y[:, j])


def _is_shuffled(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two columns hold the same values, several of them, in another order."""
    if len(a) < DISTINCT or np.array_equal(a, b):
        return False
    ours, theirs = np.sort(a), np.sort(b)
    return np.array_equal(ours, theirs) and len(np.unique(ours)) >= DISTINCT


def _without_counters(tables: Sequence[Table]) -> tuple[list[Table], list[str]]:
    """Set aside a column that is called a name of samples and merely numbers the rows."""
    kept: list[Table] = []
    notes = []
    for table in tables:
        counters = [
            key
            for key in table.keys
            if key.kind == "integer"
            and key.is_numbering
            and key.has_id_title
            and key.position is not None
        ]
        if counters and table.values.shape[1] > 1:
            notes.append(
                f"{table.file}: the column {counters[0].title!r} numbers the rows and was not used "
                "as a feature."
            )
            kept.append(replace(table.named_by(counters[0]), rows=None))
        else:
            kept.append(table)
    return kept, notes


def _possible_id(table: Table) -> str | None:
    """Note on a feature of distinct integers that is the first or called a name of samples."""
    features = () if table.columns is None else table.columns
    names = [
        key.title
        for key in table.keys
        if key.kind == "integer" and key.is_plausible and key.is_sound and key.title in features
    ]
    if not names or len(table.keys[0].values) < DISTINCT_ROWS:
        return None
    name = names[0]
    return (
        f"{table.file}: column {name!r} has a different integer in every row and was used as a "
        f"feature. Use --id {name} if it names the samples."
    )


def _strangers(table: Table, tables: Sequence[Table]) -> str:
    shown = "; ".join(f"{other.file} has {', '.join(other.samples[:3])}" for other in tables)
    return (
        f"{table.file} shares no sample name with another view: {shown}. Check the column of "
        "sample names (--id) and the orientation (--samples rows or columns), or use --by-position "
        "if row i is the same sample in each file."
    )
