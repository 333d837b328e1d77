"""Rows as a table of data sets × methods, mean ± standard deviation: Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

__all__ = ["to_latex", "to_markdown"]

Mark = Callable[[str, int], str]  # text of a cell and its place (1 best, 2 second) -> marked text


def to_markdown(rows: pd.DataFrame, metric: str) -> str:
    """Table of one metric in Markdown; best in bold, second in italics.

    Parameters
    ----------
    rows : DataFrame
        Rows of `run_benchmark`.
    metric : str
        Column to show.

    Returns
    -------
    str
    """
    header, body = _cells(rows, metric, "±", lambda text, rank: _marked(text, rank, "**", "*"))
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def to_latex(rows: pd.DataFrame, metric: str) -> str:
    """Table of one metric in LaTeX; best in bold, second underlined.

    Parameters
    ----------
    rows : DataFrame
        Rows of `run_benchmark`.
    metric : str
        Column to show.

    Returns
    -------
    str
    """

    def mark(text: str, rank: int) -> str:
        command = {1: r"\textbf", 2: r"\underline"}.get(rank)
        return text if command is None else f"{command}{{{text}}}"

    header, body = _cells(rows, metric, r"$\pm$", mark)
    lines = [" & ".join(_escaped(cell) for cell in line) + r" \\" for line in (header, *body)]
    columns = "l" + "c" * (len(header) - 1)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\hline", lines[0], r"\hline", *lines[1:], r"\hline",
         r"\end{tabular}", ""]
    )  # fmt: skip


def _cells(
    rows: pd.DataFrame, metric: str, between: str, mark: Mark
) -> tuple[list[str], list[list[str]]]:
    """Header and body; a method without a result shows its status."""
    methods = list(pd.unique(rows["method"]))
    body = []
    for data, group in rows.groupby("data", sort=False):
        done = group[group["status"] == "done"].groupby("method")[metric]
        mean, deviation = done.mean().round(4), done.std(ddof=0).round(4)
        places = mean.rank(ascending=False, method="min")
        line = [str(data)]
        for method in methods:
            if method in mean.index:
                text = f"{mean[method]:.4f} {between} {deviation[method]:.4f}"
                line.append(mark(text, int(places[method])))
            else:
                status = group.loc[group["method"] == method, "status"]
                line.append(status.iloc[0] if len(status) else "")
        body.append(line)
    return ["data", *map(str, methods)], body


def _marked(text: str, rank: int, first: str, second: str) -> str:
    around = {1: first, 2: second}.get(rank, "")
    return f"{around}{text}{around}"


def _escaped(text: str) -> str:
    return text.replace("_", r"\_")
