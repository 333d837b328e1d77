"""Orientation of the tables, and matching of their samples by name or position."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from manyview.exceptions import ViewError
from manyview.io._table import Table, are_row_numbers, is_numbering

# Consecutive numbering (f0, f1, …) agrees by accident: features often have such names.
WEIGHT_OF_NUMBERING = 0.25
NEARLY = 0.8  # of the most shared names: enough to prefer rows
# headers of the column of row names
OF_SAMPLES = re.compile("sample|patient|subject|donor|participant|individual|barcode|cell", re.I)
OF_FEATURES = re.compile("gene(?!r)|probe|feature|protein|transcript|symbol|cpg|id_ref", re.I)


@dataclass(frozen=True)
class Plan:
    """Which tables are transposed, and the share of sample names in common then."""

    sides: tuple[bool, ...]
    shared: float


def orient(tables: Sequence[Table], samples: str) -> tuple[list[Table], list[str]]:
    """Transpose tables so that samples are in rows."""
    notes: list[str] = []
    if samples == "rows":
        return list(tables), notes
    if samples == "columns":
        sides = tuple(table.is_turnable for table in tables)
    else:
        sides, notes = _sides_by_names(tables)
    turned = [table.turned() if side else table for table, side in zip(tables, sides, strict=True)]
    return turned, notes


def _sides_by_names(tables: Sequence[Table]) -> tuple[tuple[bool, ...], list[str]]:
    """The sides whose names the tables share; rows if names are uninformative."""
    choices = [(False, True) if _may_turn(table) else (False,) for table in tables]
    plans = [_plan(tables, choices, seed, side) for seed, of in enumerate(choices) for side in of]
    titled = [_side_by_title(table) for table in tables]
    best = _best(plans, titled)
    if best.shared == 0:
        return _sides_by_titles(tables, titled)
    notes = [
        f"{table.file}: the samples are in the columns, whose names other views share."
        for table, side in zip(tables, best.sides, strict=True)
        if side
    ]
    is_told = any(side is not None for side in titled)
    others = [plan for plan in plans if plan.sides != best.sides]
    if not is_told and any(plan.shared >= best.shared / 2 for plan in others):
        taken = _side(tables[0], best.sides[0])
        examples = [] if taken is None else [str(name) for name in taken[:3]]
        notes.append(
            "The views share names in rows and in columns, so the samples may be in either; those "
            f"used are {', '.join(examples)}. If these are features, use --samples rows or "
            "columns, or name the column of sample names with --id."
        )
    return best.sides, notes


def _best(plans: Sequence[Plan], titled: Sequence[bool | None]) -> Plan:
    """The plan with most shared names that no header contradicts; rows are preferred if close."""
    agreeing = [
        plan
        for plan in plans
        if plan.shared > 0
        and all(said in (None, side) for said, side in zip(titled, plan.sides, strict=True))
    ]
    most = max(plan.shared for plan in agreeing or plans)
    near = [plan for plan in agreeing or plans if plan.shared >= NEARLY * most]
    return max(near, key=lambda plan: (-sum(plan.sides), plan.shared))


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


def _plan(
    tables: Sequence[Table], choices: Sequence[tuple[bool, ...]], seed: int, side: bool
) -> Plan:
    """Transpose each table if that shares more names with one side of the seed table."""
    names = _side(tables[seed], side)
    sides, total = [], 0.0
    for i, (table, choice) in enumerate(zip(tables, choices, strict=True)):
        shares = {turned: _share(names, _side(table, turned)) for turned in choice}
        turned = side if i == seed else max(choice, key=lambda turned: (shares[turned], not turned))
        sides.append(turned)
        total += 0.0 if i == seed else shares[turned]
    return Plan(tuple(sides), round(total, 9))


def _side(table: Table, turned: bool) -> pd.Index | None:
    return table.columns if turned else table.rows


def _share(a: pd.Index | None, b: pd.Index | None) -> float:
    """Share of the shorter list of names that is in the longer one."""
    if a is None or b is None:
        return 0.0
    weight = WEIGHT_OF_NUMBERING if is_numbering(a) and is_numbering(b) else 1.0
    return weight * float(a.isin(b).sum()) / min(len(a), len(b))


def check_names(tables: Sequence[Table]) -> None:
    """Refuse duplicate names."""
    for table in tables:
        for names, kind in ((table.rows, "sample"), (table.columns, "feature")):
            if names is not None and not names.is_unique:
                twice = names[names.duplicated()]
                msg = (
                    f"{table.file} has {kind} {twice[0]!r} twice ({twice.nunique()} {kind} name(s) "
                    f"are repeated); make the {kind} names unique."
                )
                raise ViewError(msg)


def name_samples(tables: Sequence[Table]) -> tuple[list[Table], list[str]]:
    """Give every table sample names, by position if it has none, and check that they overlap."""
    kept = [_without_numbering(table, tables) for table in tables]
    named = [table for table in kept if table.rows is not None]
    if len(named) < len(kept):
        names = _names_by_position(kept, named)
        notes = [note for table in kept if (note := _possible_id(table))]
        if len(kept) > 1:
            why = "not all views have sample names" if named else "no view has sample names"
            notes.insert(0, f"Samples were matched by position: {why}.")
        return [
            table if table.rows is not None else replace(table, rows=names) for table in kept
        ], notes
    for table in named:
        others = [other.samples for other in named if other is not table]
        if others and not any(table.samples.isin(names).any() for names in others):
            raise ViewError(_strangers(table, named))
    return named, []


def _without_numbering(table: Table, tables: Sequence[Table]) -> Table:
    """Drop row numbers as names, unless another table uses such names without counting."""
    if table.has_id or not are_row_numbers(table.rows):
        return table
    others = [other.rows for other in tables if not is_numbering(other.rows)]
    is_used = any(names is not None and names.isin(table.samples).any() for names in others)
    return table if is_used else replace(table, rows=None)


def _names_by_position(tables: Sequence[Table], named: Sequence[Table]) -> pd.Index:
    """Names for tables without: those of the other tables, which must agree, or numbers."""
    nameless = next(table for table in tables if table.rows is None)
    for table in tables:
        if table.values.shape[0] != nameless.values.shape[0]:
            msg = (
                f"{nameless.file} has no sample names and {nameless.values.shape[0]} rows, "
                f"{table.file} has {table.values.shape[0]}; expected the same samples in the same "
                "order. Add a column with sample names to each file (--id), or use --samples "
                "columns if the samples are there."
            )
            raise ViewError(msg)
        if named and table.rows is not None and not table.rows.equals(named[0].rows):
            msg = (
                f"{nameless.file} has no sample names, and {named[0].file} and {table.file} have "
                "different ones or another order. Add a column with sample names to it."
            )
            raise ViewError(msg)
    return named[0].samples if named else pd.RangeIndex(nameless.values.shape[0])


def _possible_id(table: Table) -> str | None:
    """Note on a first column of distinct integers, which may be sample names."""
    if table.rows is not None or table.columns is None or table.is_turned:
        return None
    first = pd.Series(table.values[:, 0])
    if not first.is_unique or not (first % 1 == 0).all() or len(first) < 3:
        return None
    name = table.columns[0]
    return (
        f"{table.file}: column {name!r} has a different integer in every row and was used as a "
        f"feature. Use --id {name} if it names the samples."
    )


def _strangers(table: Table, tables: Sequence[Table]) -> str:
    shown = "; ".join(f"{other.file} has {', '.join(other.samples[:3])}" for other in tables)
    return (
        f"{table.file} shares no sample name with another view: {shown}. Check the column of "
        "sample names (--id) and the orientation (--samples rows or columns)."
    )
