"""Wording of findings: names, lists and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized

import pandas as pd

from manyview.study.reproduction.tables import ABLATION_TITLES, METHOD_TITLES


def places(cells: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The methods of some cells, each with its data sets."""
    text = []
    for method, group in cells.groupby("method", sort=False):
        where = listed(titles[data] for data in pd.unique(group["data"]))
        text.append(f"{method_title(str(method))} on {where}")
    return "; ".join(text)


def method_title(name: str) -> str:
    """Displayed name of a method or variant."""
    return (METHOD_TITLES | ABLATION_TITLES).get(name, name)


def listed(names: Iterable[object]) -> str:
    """Join names with commas and "and"."""
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def verb(names: Sized, one: str, several: str) -> str:
    """The singular or plural form of a verb."""
    return one if len(names) == 1 else several


def count(number: float, noun: str) -> str:
    """A number with its noun, in singular or plural."""
    return f"{number:g} {noun}{'' if number == 1 else 's'}"
