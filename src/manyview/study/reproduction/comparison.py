"""The tables of the paper with ours beside them, on the page and in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from manyview.datasets.registry import DERIVED_SETS, PAPER_SETS, PaperSet
from manyview.study.reproduction.tables import METRICS

NEAR = 0.03  # beyond the paper's standard deviation: a smaller difference has no color
DERIVED = "derived features"
SHADES = (0.1, 0.2)  # differences from which a color is stronger


@dataclass(frozen=True)
class Cell:
    """A value of the paper and ours; NaN where there is none."""

    ours: float
    paper: float
    spread: float  # of the paper
    is_comparable: bool = True

    @property
    def shade(self) -> str:
        """Color class: "up1" to "up3" if ours is higher, "down1" to "down3" if it is lower."""
        gap = self.ours - self.paper
        if not self.is_comparable or not abs(gap) > self.spread + NEAR:  # NaN has no color
            return ""
        return f"{'up' if gap > 0 else 'down'}{1 + sum(abs(gap) >= limit for limit in SHADES)}"


@dataclass(frozen=True)
class Line:
    """A data set: its name in the paper, a remark, and a cell for each method."""

    title: str
    remark: str
    cells: Sequence[Cell]


Comparison = dict[str, list[Line]]  # by the title of a metric


def side_by_side(
    ours: pd.DataFrame, paper: pd.DataFrame, methods: Sequence[str], titles: Mapping[str, str]
) -> Comparison:
    """Values of the paper and ours, for each metric, data set of the paper and method.

    Parameters
    ----------
    ours : DataFrame
        As `tables.oracle_table` returns it.
    paper : DataFrame
        Columns data, method, metric, mean, std.
    methods : sequence of str
        Columns.
    titles : mapping of str to str
        Names of the data sets of the study by file.

    Returns
    -------
    dict of str to list of Line
    """
    own = _by_cell(ours, "mean")
    means, spreads = _by_cell(paper, "mean"), _by_cell(paper, "std")
    tables: Comparison = {}
    for metric, title in METRICS.items():
        lines = []
        for one in PAPER_SETS:
            file, remark = _file_of(one, titles)
            cells = []
            for method in methods:
                key = one.name, method, metric
                value = own.get((file, method, metric), float("nan"))
                spread = spreads.get(key, 0.0)
                mean = means.get(key, float("nan"))
                is_comparable = remark != DERIVED
                cells.append(Cell(value, mean, 0.0 if pd.isna(spread) else spread, is_comparable))
            lines.append(Line(one.name, remark, cells))
        tables[title] = lines
    return tables


def _file_of(one: PaperSet, titles: Mapping[str, str]) -> tuple[str, str]:
    """File that stands for a set of the paper, and what is to be said of it."""
    if one.file in titles:
        return one.file, ""
    derived = (file for file, of in DERIVED_SETS.items() if of == one.file and file in titles)
    file = next(derived, "")
    return file, DERIVED if file else "no file"


def _by_cell(table: pd.DataFrame, column: str) -> dict[tuple[str, str, str], float]:
    """A column by data set, method and metric."""
    keys = zip(table["data"], table["method"], table["metric"], strict=True)
    return dict(zip(keys, table[column].astype(float).tolist(), strict=True))


def to_latex(comparison: Comparison, names: Sequence[str]) -> str:
    """One tabular for each metric; a cell has our value, and the paper's in brackets.

    Parameters
    ----------
    comparison : dict of str to list of Line
        As `side_by_side` returns it.
    names : sequence of str
        Titles of the methods.

    Returns
    -------
    str
    """
    parts = []
    for title, lines in comparison.items():
        rows = [" & ".join([title, *map(_escaped, names)])]
        for line in lines:
            best = max((cell.ours for cell in line.cells if not pd.isna(cell.ours)), default=None)
            name = f"{line.title} ({line.remark})" if line.remark else line.title
            rows.append(" & ".join([name, *(_latex(cell, best) for cell in line.cells)]))
        head, *body = (f"{row} \\\\" for row in rows)
        begin = f"\\begin{{tabular}}{{l{'c' * len(names)}}}"
        parts.append("\n".join([begin, "\\hline", head, "\\hline", *body, "\\hline",
                                "\\end{tabular}", ""]))  # fmt: skip
    return "\n".join(parts)


def _latex(cell: Cell, best: float | None) -> str:
    """Our value, bold if it is the best, and the paper's."""
    ours = "--" if pd.isna(cell.ours) else f"{cell.ours:.4f}"
    ours = f"\\textbf{{{ours}}}" if cell.ours == best else ours
    paper = "--" if pd.isna(cell.paper) else f"{cell.paper:.4f}"
    return f"{ours} ({paper})"


def _escaped(text: str) -> str:
    return text.replace("_", "\\_").replace("α", "$\\alpha$").replace("λ", "$\\lambda$")
