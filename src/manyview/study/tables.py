"""Tables of data sets × methods, mean ± standard deviation, in Markdown and LaTeX."""

from __future__ import annotations

import pandas as pd


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
    header, *body = _lines(rows, metric, "±", ("**{}**", "*{}*"))
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
    table = _lines(rows, metric, r"$\pm$", (r"\textbf{{{}}}", r"\underline{{{}}}"))
    first, *rest = [" & ".join(line).replace("_", r"\_") + r" \\" for line in table]
    begin = rf"\begin{{tabular}}{{l{'c' * (len(table[0]) - 1)}}}"
    lines = [begin, r"\hline", first, r"\hline", *rest, r"\hline", r"\end{tabular}", ""]
    return "\n".join(lines)


def _lines(
    rows: pd.DataFrame, metric: str, between: str, marks: tuple[str, str]
) -> list[list[str]]:
    """Header and one line per data set; best and second are marked; no result: the status."""
    pairs = rows.groupby(["data", "method"], sort=False)
    done = rows[rows["status"] == "done"].groupby(["data", "method"], sort=False)[metric]
    mean, deviation = done.mean().round(4), done.std(ddof=0).round(4)
    ranks = mean.groupby("data").rank(ascending=False, method="min")
    cells = pairs["status"].first().to_dict()
    for key, rank, center, spread in zip(ranks.index, ranks, mean, deviation, strict=True):
        text = f"{center:.4f} {between} {spread:.4f}"
        cells[key] = dict(enumerate(marks, start=1)).get(int(rank), "{}").format(text)
    sets, methods = pd.unique(rows["data"]), pd.unique(rows["method"])
    table = pd.Series(cells).unstack().reindex(index=sets, columns=methods).fillna("")
    return [["data", *methods], *([name, *line] for name, *line in table.itertuples())]
