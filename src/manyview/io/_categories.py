"""Columns of text, and of yes and no, as a view of their own: one indicator per category.

The view of categories of a table is named after it, and its features are written `column=value`; so
a fitted model knows by these names what it was given, and new samples are encoded in the same way.
With one 1 per column in each row, every column counts alike, and the z-scores of `scale="auto"`
divide an indicator by its deviation, as multiple correspondence analysis does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from manyview.exceptions import ViewError
from manyview.io._keys import in_one_line
from manyview.io._table import Table

ENDING = "_categories"
MOST = 50  # categories of a column; with more it is a name, or free text
REPEATS = 2.0  # samples for each category on average
SHOWN = 5  # names in a message


def with_categories(
    tables: Sequence[Table], left_out: Collection[str], *, are_named: bool
) -> tuple[list[Table], list[str]]:
    """Tables of numbers, each followed by that of its categories; and notes on unused columns.

    Before it is known what names the samples, only tables without numbers are replaced.
    """
    found: list[Table] = []
    notes: list[str] = []
    for table in tables:
        if not (are_named or table.refusal):
            found.append(table)
            continue
        numbers, texts = _split(table)
        texts = texts.drop(columns=[name for name in texts if name in left_out])
        used = [name for name in texts if _is_category(texts[name])]
        unused = [str(name) for name in texts if name not in used]
        if unused:
            notes.append(
                f"{table.file}: not used as categories, since nearly every sample has another "
                f"value or all have one: {_some(unused)}."
            )
        if numbers is None and not used:
            raise ViewError(table.refusal)
        found += [] if numbers is None else [numbers]
        if used:
            found.append(_encoded(table, texts[used]))
    return found, notes


def has_categories(view: str, features: Collection[str] | None) -> bool:
    """Whether a view of a fit is one of categories."""
    return view.endswith(ENDING) and features is not None and all("=" in name for name in features)


def with_known_categories(
    tables: Sequence[Table], fitted: Mapping[str, Sequence[str]]
) -> tuple[list[Table], list[str]]:
    """The same for new samples; `fitted` has the features of each view of categories of the fit."""
    found: list[Table] = []
    notes: list[str] = []
    for table in tables:
        numbers, texts = _split(table)
        encoded = []
        for view, features in fitted.items():
            columns = [c for c in texts if any(name.startswith(f"{c}=") for name in features)]
            if columns:
                one, unknown = _encoded_like(table, texts[columns], features)
                encoded.append(replace(one, view=view))
                notes += unknown
        if numbers is None and not encoded:
            raise ViewError(table.refusal)
        found += [*([] if numbers is None else [numbers]), *encoded]
    return found, notes


def _encoded_like(
    table: Table, texts: pd.DataFrame, features: Sequence[str]
) -> tuple[Table, list[str]]:
    """Indicators of the categories of a fit, and a note on others."""
    own = _encoded(table, texts)
    assert own.columns is not None
    known = [name for name in features if any(name.startswith(f"{c}=") for c in texts)]
    unknown = [name for name in own.columns if name not in features]
    frame = pd.DataFrame(np.asarray(own.values), columns=own.columns)
    values = frame.reindex(columns=known, fill_value=0.0)
    values[frame.isna().all(axis=1)] = np.nan
    note = (
        f"{table.file}: the fit had no {_some(unknown)}; samples with these have none of the "
        "categories of that column."
    )
    names = pd.Index(known, dtype=object)
    return replace(own, values=np.ascontiguousarray(values), columns=names), [
        note
    ] if unknown else []


def _split(table: Table) -> tuple[Table | None, pd.DataFrame]:
    """The numbers of a table, if it has any, and its columns of text, and of yes and no."""
    if table.is_turned or table.columns is None:
        return table, pd.DataFrame()
    spelled = [name for name in table.columns if name in table.spelled]
    if table.refusal or len(spelled) == len(table.columns):
        return None, pd.concat([table.others, table.spelled[spelled]], axis=1)
    numbers = table.without(spelled)
    kept = tuple(name for name in numbers.set_aside if name not in numbers.others)
    is_in = ~table.columns.isin(spelled)
    keys = tuple(
        key if key.position is None else replace(key, position=int(is_in[: key.position].sum()))
        for key in table.keys
    )
    return replace(numbers, set_aside=kept, keys=keys), numbers.others


def _is_category(column: pd.Series) -> bool:
    n_kinds = column.nunique()
    return 2 <= n_kinds <= min(MOST, column.notna().sum() / REPEATS)


def _encoded(table: Table, texts: pd.DataFrame) -> Table:
    """Indicators, NaN in a row without any value; zeros in a column without a value."""
    parts = []
    for name, column in texts.items():
        words = pd.Series(np.asarray(column, dtype=object)).map(in_one_line, na_action="ignore")
        parts.append(pd.get_dummies(words, dtype=float).add_prefix(f"{name}="))
    joined = pd.concat(parts, axis=1)
    values = np.array(joined, order="C")
    values[texts.isna().all(axis=1).to_numpy()] = np.nan
    return replace(
        table,
        view=f"{table.view}{ENDING}",
        file=table.file if table.refusal else f"{table.file}:categories",
        values=values,
        columns=pd.Index(joined.columns, dtype=object),
        is_turnable=False,
        set_aside=(),
        others=pd.DataFrame(),
        spelled=pd.DataFrame(),
        obs=pd.DataFrame(),
        notes=(),
        keys=tuple(replace(key, position=None) for key in table.keys),
        key=None if table.key is None else replace(table.key, position=None),
        refusal="",
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(str, names[:SHOWN])) + (" …" if len(names) > SHOWN else "")
