"""Which column, index or header of each table names its samples: the one that the others share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from manyview.exceptions import ViewError
from manyview.io._keys import ENOUGH, Key, Link, are_row_numbers, link, pairing
from manyview.io._table import Table

NEARLY = 0.8  # of the most shared names: enough to prefer rows
# headers of the column of row names
OF_SAMPLES = re.compile("sample|patient|subject|donor|participant|individual|barcode|cell", re.I)
OF_FEATURES = re.compile("gene(?!r)|probe|feature|protein|transcript|symbol|cpg|id_ref", re.I)


@dataclass(frozen=True, eq=False)
class Choice:
    """What names the samples of a table; the table is transposed if that is its header."""

    turned: bool
    key: Key | None


@dataclass(frozen=True, eq=False)
class Plan:
    """A choice for each table, and how well the names of one of them agree with the others."""

    choices: tuple[Choice, ...]
    links: tuple[Link, ...]  # of the other tables

    @property
    def sides(self) -> tuple[bool, ...]:
        """Which tables are transposed."""
        return tuple(choice.turned for choice in self.choices)

    @property
    def keys(self) -> tuple[Key | None, ...]:
        """What names the samples of each table."""
        return tuple(choice.key for choice in self.choices)

    @property
    def shared(self) -> float:
        """Sum of the shares of names in common."""
        return round(sum(part.share for part in self.links), 9)

    @property
    def n_titles(self) -> int:
        """Number of tables whose names have the header of the first."""
        return sum(part.has_one_title for part in self.links)

    @property
    def is_weak(self) -> bool:
        """Whether numbers may agree by chance."""
        return any(part.is_weak for part in self.links)

    @property
    def is_sound(self) -> bool:
        """Whether all names that were found are complete and different."""
        return all(key is None or key.is_sound for key in self.keys)


def orient(
    tables: Sequence[Table], samples: str, *, by_position: bool = False
) -> tuple[list[Table], list[str]]:
    """Transpose tables so that samples are in rows, named by what the tables share."""
    choices = [_choices(table, samples, by_position) for table in tables]
    plans = [_plan(choices, seed, choice) for seed, of in enumerate(choices) for choice in of]
    titled = [_side_by_title(table) for table in tables]
    best = _best(plans, titled)
    if best.shared == 0:
        sides = tuple(of[0].turned for of in choices)
        notes: list[str] = []
        if samples == "auto":
            sides, notes = _sides_by_titles(tables, titled)
        return [
            table.turned() if side else table for table, side in zip(tables, sides, strict=True)
        ], notes
    other_names = set() if by_position else _check_certain(tables, best, plans)
    turned = [
        table.turned() if choice.turned else table.named_by(choice.key).without(other_names)
        for table, choice in zip(tables, best.choices, strict=True)
    ]
    return turned, _told_sides(tables, best, plans, titled) if samples == "auto" else []


def _choices(table: Table, samples: str, by_position: bool) -> list[Choice]:
    """What may name the samples of a table."""
    names = _feature_names(table)
    header = [] if names is None else [Choice(True, Key("", names, "header"))]
    if samples == "columns" and table.is_turnable:
        return header or [Choice(True, None)]
    own = [] if table.rows is None else [Key(table.title, table.rows, "index")]
    keys = (own if table.key is None else [table.key]) if by_position else (table.keys or own)
    rows = [Choice(False, key) for key in keys] or [Choice(False, None)]
    return [*rows, *header] if samples == "auto" and _may_turn(table) else rows


def _feature_names(table: Table) -> Any:
    """The header without columns that may name the rows."""
    keys = [key.title for key in table.keys if key.kind == "integer" and key.is_plausible]
    return None if table.columns is None else table.columns[~table.columns.isin(keys)]


def _told_sides(
    tables: Sequence[Table], best: Plan, plans: Sequence[Plan], titled: Sequence[bool | None]
) -> list[str]:
    """Notes on tables with samples in columns, and on names that are shared on both sides."""
    notes = [
        f"{table.file}: the samples are in the columns, whose names other views share."
        for table, side in zip(tables, best.sides, strict=True)
        if side
    ]
    is_told = any(side is not None for side in titled)
    others = [plan for plan in plans if plan.sides != best.sides]
    if not is_told and any(plan.shared >= best.shared / 2 for plan in others):
        taken = best.keys[0]
        examples = [] if taken is None else [str(name) for name in taken.names[:3]]
        notes.append(
            "The views share names in rows and in columns, so the samples may be in either; those "
            f"used are {', '.join(examples)}. If these are features, use --samples rows or "
            "columns, or name the column of sample names with --id."
        )
    return notes


def _best(plans: Sequence[Plan], titled: Sequence[bool | None]) -> Plan:
    """The plan with most shared names that no header contradicts; rows are preferred if close.

    Names that repeat or have gaps are taken only where there are no others.
    """
    agreeing = [
        plan
        for plan in plans
        if plan.shared > 0
        and all(said in (None, side) for said, side in zip(titled, plan.sides, strict=True))
    ]
    possible = agreeing or list(plans)
    sound = [plan for plan in possible if plan.is_sound and plan.shared > 0]
    most = max(plan.shared for plan in possible)
    if not any(plan.shared >= most / 2 for plan in sound):
        sound = possible
    most = max(plan.shared for plan in sound)
    near = [plan for plan in sound if plan.shared >= NEARLY * most]
    return max(
        near, key=lambda plan: (-sum(plan.sides), not plan.is_weak, plan.n_titles, plan.shared)
    )


def _check_certain(tables: Sequence[Table], best: Plan, plans: Sequence[Plan]) -> set[str]:
    """Refuse names that may agree by chance, and columns that pair the rows differently.

    Returns the headers of further columns of numbers that name the samples in the same way.
    """
    others: set[str] = set()
    used = _columns_of(tables, best)
    if best.is_weak:
        msg = (
            f"{used} hold whole numbers that agree, perhaps by chance, and the rows "
            "may be in another order. If they name the samples, say so with --id (columns with one "
            "name); if row i is the same sample in each file, use --by-position."
        )
        raise ViewError(msg)
    for plan in plans:
        if not _is_rival(plan, best):
            continue
        if _contradict(best, plan):
            msg = (
                f"{used} pair the rows in one way, and {_columns_of(tables, plan)} in "
                "another. Name the column of sample names with --id, or use --by-position if row "
                "i is the same sample in each file."
            )
            raise ViewError(msg)
        for key in set(plan.keys) - set(best.keys) if plan.is_sound else ():
            if key is not None and key.kind == "integer" and key.has_id_title:
                others.add(key.title)
    _check_no_better_title(tables, best, others)
    return others


def _check_no_better_title(tables: Sequence[Table], best: Plan, others: set[str]) -> None:
    """Refuse text that is not called a name of samples where another column of a table is."""
    plain = [k for k in best.keys if k is not None and k.kind == "text" and not k.has_id_title]
    if not plain or any(table.has_id for table in tables):
        return
    for table, used in zip(tables, best.keys, strict=True):
        for key in table.keys:
            is_better = key.has_id_title and key.is_sound and not key.is_numbering
            if is_better and key is not used and key.title not in others:
                msg = (
                    f"The tables share the column {plain[0].title!r}, and {table.file} has "
                    f"{key.title!r} as well, which the others lack; either may name the samples. "
                    f"Choose with --id {plain[0].title}, or use --by-position if row i is the same "
                    "sample in each file."
                )
                raise ViewError(msg)


def _is_rival(plan: Plan, best: Plan) -> bool:
    """Whether a plan may be right instead; one with flaws only by its headers."""
    if plan.sides != best.sides or any(0 < part.share < ENOUGH for part in plan.links):
        return False
    is_called, best_is = (all(k is None or k.has_id_title for k in p.keys) for p in (plan, best))
    if plan.is_weak and (best_is or plan.n_titles == 0):
        return False
    if plan.n_titles >= best.n_titles and (plan.is_sound or not best_is):
        return True
    return plan.shared > 0 and is_called and not best_is


def _contradict(one: Plan, other: Plan) -> bool:
    """Whether two plans pair a row of a table with different rows of another."""
    for (a, a2), (b, b2) in combinations(zip(one.keys, other.keys, strict=True), 2):
        if a is None or b is None or a2 is None or b2 is None or (a is a2 and b is b2):
            continue
        if link(a, b).share == 0 or link(a2, b2).share == 0:
            continue
        first, second = pairing(a, b), pairing(a2, b2)
        if ((first >= 0) & (second >= 0) & (first != second)).any():
            return True
    return False


def _columns_of(tables: Sequence[Table], plan: Plan) -> str:
    pairs = zip(tables, plan.keys, strict=True)
    return " and ".join(f"{_what(key)} of {table.file}" for table, key in pairs if key is not None)


def _what(key: Key) -> str:
    return "the index" if key.kind == "index" else f"the column {key.title!r}"


def _sides_by_titles(
    tables: Sequence[Table], titled: Sequence[bool | None]
) -> tuple[tuple[bool, ...], list[str]]:
    """The sides if no names are shared: by the headers, else rows."""
    notes = [
        f"{table.file}: the samples are in the columns, since the rows are named by {table.title}."
        for table, side in zip(tables, titled, strict=True)
        if side
    ]
    if any(side is None and _may_turn(table) for table, side in zip(tables, titled, strict=True)):
        notes.append(
            "The names do not show whether samples are in rows or columns: rows were assumed. "
            "Use --samples columns if that is wrong."
        )
    return tuple(bool(side) for side in titled), notes


def _side_by_title(table: Table) -> bool | None:
    """Whether to transpose a table, by the header of its row names; None: unknown."""
    is_sample, is_feature = (bool(word.search(table.title)) for word in (OF_SAMPLES, OF_FEATURES))
    return is_feature if _may_turn(table) and is_sample != is_feature else None


def _may_turn(table: Table) -> bool:
    """Whether a table may be transposed: it has names in rows and columns."""
    has_names = table.rows is not None and not are_row_numbers(table.rows)
    return table.is_turnable and has_names and table.columns is not None and not table.has_id


def _plan(choices: Sequence[Sequence[Choice]], seed: int, choice: Choice) -> Plan:
    """For each table the choice that shares most names with one choice of the seed table."""
    chosen, links = [], []
    for i, of in enumerate(choices):
        if i == seed:
            chosen.append(choice)
            continue
        found = [(link(choice.key, other.key), other) for other in of]
        best = max(
            found,
            key=lambda pair: (
                pair[0].has_one_title and pair[0].share >= ENOUGH,
                pair[0].share,
                not pair[1].turned,
            ),
        )
        chosen.append(best[1] if best[0].share > 0 else _unshared(of))
        links.append(best[0])
    return Plan(tuple(chosen), tuple(links))


def _unshared(choices: Sequence[Choice]) -> Choice:
    """What names the samples of a table that shares none: whole numbers are features then."""
    first = choices[0]
    is_feature = first.key is not None and first.key.kind == "integer"
    return Choice(False, None) if is_feature else first
