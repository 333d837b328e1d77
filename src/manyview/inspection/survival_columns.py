"""Columns with survival: how times and events are written, and which columns look like them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api import types

from manyview.exceptions import ViewError
from manyview.utils.types import FloatArray


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SEEN = _set(
    "1 true yes y dead deceased died death event progressed progression recurred recurrence "
    "relapse relapsed"
)
CENSORED = _set("0 false no n alive living censored diseasefree progressionfree")
UNKNOWN = re.compile(r"\[.*\]|'?-+|n/?a|nan|none|unknown|not (available|reported)|", re.IGNORECASE)
CODED = re.compile(r"([01])\s*:.*")  # as in 1:DECEASED

ABBREVIATED = _set("os pfs dfs dss pfi dfi efs rfs mfs")
ENDPOINTS = ABBREVIATED | _set(
    "ttp survival surv death dead followup relapse recurrence progression event"
)
DURATIONS = _set(
    "time times day days week weeks month months mo year years yr yrs survival surv duration"
)
STATES = _set("status state event events vital dead death deceased died censor censored")
OTHERS = _set("age birth date at of score")  # no duration of survival has these
MOST_STATES = 2
FEW_TIMES = 5  # numbers with at most as many distinct values are not times


@dataclass(frozen=True)
class Likeness:
    """Columns that look like survival: the time, and the event that goes with it, if any."""

    time: str
    event: str | None

    @property
    def hint(self) -> str:
        """What to do."""
        if self.event is None:
            return (
                f"{self.time} looks like survival times, and no column like whether the event was "
                f"seen; with such a column, add --time {self.time} --event COLUMN for Kaplan-Meier "
                "curves and the log-rank test."
            )
        return (
            f"{self.time} and {self.event} look like survival: add --time {self.time} --event "
            f"{self.event} for Kaplan-Meier curves and the log-rank test."
        )


def read_times(table: pd.DataFrame, name: str) -> FloatArray:
    """Times of a column as numbers; NaN where unknown.

    Parameters
    ----------
    table : DataFrame
        The metadata.
    name : str
        The column.

    Returns
    -------
    array of shape (n_samples,)
    """
    texts = _texts(_column(table, name))
    numbers = pd.to_numeric(texts, errors="coerce").to_numpy(float)
    is_text = texts.notna().to_numpy() & np.isnan(numbers)
    if is_text.any():
        msg = f"{name!r} holds {texts[is_text].iloc[0]!r}; expected times as numbers. Change it."
        raise ViewError(msg)
    if (numbers < 0).any():
        msg = (
            f"{name!r} holds {np.nanmin(numbers):g}; expected times of at least 0, counted from "
            "where a sample was first seen. Correct or empty these values."
        )
        raise ViewError(msg)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def read_events(table: pd.DataFrame, name: str) -> tuple[FloatArray, list[str]]:
    """Events of a column: 1 if seen, 0 if censored, NaN where unknown.

    Parameters
    ----------
    table : DataFrame
        The metadata.
    name : str
        The column.

    Returns
    -------
    tuple of an array of shape (n_samples,), and of notes on how the column was read
    """
    texts = _texts(_column(table, name))
    codes, notes = _codes(texts)
    is_other = texts.notna() & codes.isna()
    if is_other.any():
        found = ", ".join(map(repr, texts[is_other].unique()[:3]))
        msg = (
            f"{name!r} holds {found}; expected 1 where the event was seen and 0 where it was not, "
            "or words such as dead and alive, yes and no. Recode the column."
        )
        raise ViewError(msg)
    return codes.to_numpy(float), [f"{name}: {note}" for note in notes]


def find_survival(table: pd.DataFrame) -> list[Likeness]:
    """Columns that look like survival times, each with its event.

    Parameters
    ----------
    table : DataFrame
        The metadata.

    Returns
    -------
    list of Likeness
    """
    columns = {str(name): table.iloc[:, j] for j, name in enumerate(table.columns)}
    events = [name for name, column in columns.items() if _is_event(name, column)]
    found = [
        Likeness(name, _event_of(name, events))
        for name, column in columns.items()
        if name not in events and _is_time(name, column, bool(events))
    ]
    return sorted(found, key=lambda likeness: likeness.event is None)


def _column(table: pd.DataFrame, name: str) -> pd.Series:
    """The column of a name."""
    header = list(map(str, table.columns))
    if name not in header:
        shown = ", ".join(header[:8]) + (" …" if len(header) > 8 else "")
        msg = f"The metadata have no column {name!r}; expected one of {shown}."
        raise ViewError(msg)
    return table.iloc[:, header.index(name)]


def _texts(column: pd.Series) -> pd.Series:
    """Values as text; None where they are unknown, however that is written."""
    is_known = column.notna()
    texts = [
        None if UNKNOWN.fullmatch(text) else text
        for text in (
            str(value).strip() if ok else "" for value, ok in zip(column, is_known, strict=True)
        )
    ]
    return pd.Series(texts, index=column.index, dtype=object)


def _codes(texts: pd.Series) -> tuple[pd.Series, list[str]]:
    """Texts as 1, 0 and NaN."""
    plain = texts.dropna().map(lambda text: CODED.sub(r"\1", text.lower()))
    plain = plain.str.replace(r"[\s_-]", "", regex=True).str.replace(r"\.0+$", "", regex=True)
    notes = []
    if set(plain) == {"1", "2"}:
        plain = plain.map({"1": "0", "2": "1"})
        notes.append("2 was read as an event, 1 as censored, as in R.")
    codes = plain.map(lambda text: 1.0 if text in SEEN else 0.0 if text in CENSORED else np.nan)
    return codes.astype(float).reindex(texts.index), notes


def _words(name: str) -> set[str]:
    """Words of a column name: daysToDeath, OS.time, follow_up_months."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return set(re.findall(r"[a-z]+", re.sub(r"follow[\s._-]*up", "followup", apart.lower())))


def _is_event(name: str, column: pd.Series) -> bool:
    words, texts = _words(name), _texts(column)
    if not words & (STATES | ABBREVIATED) or words & DURATIONS:
        return False
    return 0 < texts.nunique() <= MOST_STATES and bool(
        _codes(texts)[0][texts.notna()].notna().all()
    )


def _is_time(name: str, column: pd.Series, has_event: bool) -> bool:
    """Whether a column is long enough a list of numbers, and named as survival times are."""
    words = _words(name)
    is_named = bool(words & ENDPOINTS and words & DURATIONS) or bool(words & ABBREVIATED)
    is_plain = has_event and bool(words) and words <= DURATIONS | {"to", "in"}
    if words & OTHERS or not (is_named or is_plain) or types.is_bool_dtype(column.dtype):
        return False
    texts = _texts(column).dropna()
    numbers = pd.to_numeric(texts, errors="coerce")
    return bool(numbers.notna().all() and numbers.min() >= 0 and numbers.nunique() > FEW_TIMES)


def _event_of(time: str, events: list[str]) -> str | None:
    """The event whose name shares most with that of the time."""
    own = _words(time)
    alike = [event for event in events if _words(event) & own & (ENDPOINTS | ABBREVIATED)]
    return next(iter(alike or events), None)
