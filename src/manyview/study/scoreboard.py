"""The scoreboard: all methods on all data sets, as a table and as an HTML page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

from manyview.persistence.atomic import atomic_path, write_text
from manyview.study.ablation import VARIANTS
from manyview.study.statistics import friedman_ranks, mean_scores
from manyview.utils.pages import page_environment

METRICS = {"acc": "ACC", "nmi": "NMI", "ari": "ARI", "fscore": "F-score"}
OURS = "omvcdr"
YARDSTICK = "concat_kmeans"  # the times of the other methods are relative to it
EVEN = 0.005  # a difference of means below this is neither a win nor a loss


def scoreboard(rows: pd.DataFrame) -> pd.DataFrame:
    """Summarize a benchmark: one row per method, sorted by mean rank; variants come last.

    Parameters
    ----------
    rows : DataFrame
        Rows of `run_benchmark`.

    Returns
    -------
    DataFrame
        For each method: number of data sets with a result; mean of each metric and mean standard
        deviation over seeds; mean ranks, without the variants; number of data sets with a higher
        and with a lower NMI than OMVCDR; time, also relative to k-means on concatenated views.
    """
    scores = {metric: mean_scores(rows, metric) for metric in METRICS}
    done = rows[rows["status"] == "done"]
    names = scores["nmi"].columns
    is_variant = names.isin(list(VARIANTS)) | names.str.contains(":Prescaled(", regex=False)
    seconds = mean_scores(rows, "seconds")
    table = pd.DataFrame(index=scores["nmi"].columns)
    table["is_variant"] = is_variant
    table["n_sets"] = scores["nmi"].notna().sum()
    for metric, values in scores.items():
        table[metric] = values.mean()
        seeds = done.groupby(["method", "data"])[metric]
        spread = seeds.std(ddof=0).where(seeds.count() > 1)  # one seed has none
        table[f"{metric}_spread"] = spread.groupby("method").mean()
    for metric in ("acc", "nmi"):
        table[f"rank_{metric}"] = friedman_ranks(scores[metric].loc[:, ~is_variant])
    if OURS in scores["nmi"]:
        ahead = scores["nmi"].sub(scores["nmi"][OURS], axis=0)
        table["wins"] = (ahead > EVEN).sum()
        table["losses"] = (ahead < -EVEN).sum()
    table["seconds"] = seconds.mean()
    if YARDSTICK in seconds:
        table["relative_time"] = seconds.div(seconds[YARDSTICK], axis=0).median()
    return table.sort_values(["is_variant", "rank_nmi", "nmi"], ascending=[True, True, False])


def write_scoreboard(rows: pd.DataFrame, out: Path) -> None:
    """Write `scoreboard.csv`, `scoreboard_sets.csv` and `scoreboard.html` into a folder.

    Parameters
    ----------
    rows : DataFrame
        Rows of `run_benchmark`.
    out : path
        Folder to write to.
    """
    table = scoreboard(rows)
    done = rows[rows["status"] == "done"]
    per_set = done.groupby(["data", "method"])[[*METRICS, "seconds"]].agg(["mean", "std"])
    per_set.columns = ["_".join(pair) for pair in per_set.columns]
    with atomic_path(out / "scoreboard.csv") as path:
        table.to_csv(path, float_format="%.6g")
    with atomic_path(out / "scoreboard_sets.csv") as path:
        per_set.to_csv(path, float_format="%.6g")
    write_text(out / "scoreboard.html", _render(rows, table))


def _render(rows: pd.DataFrame, table: pd.DataFrame) -> str:
    """Render the scoreboard as one self-contained page."""
    environment = page_environment("manyview.study", "manyview.report")
    environment.filters["fixed"] = lambda value, n=3: "–" if pd.isna(value) else f"{value:.{n}f}"
    methods = list(table.index[~table["is_variant"]])
    sets = {metric: _by_set(rows, metric, methods) for metric in ("nmi", "acc")}
    return environment.get_template("scoreboard.html").render(
        methods=_lines(table[~table["is_variant"]]),
        variants=_lines(table[table["is_variant"]]),
        titles={str(name): short_title(str(name)) for name in table.index},
        names=methods,
        sets=sets,
        metrics=METRICS,
        n_sets=rows["data"].nunique(),
        n_seeds=rows["seed"].nunique(),
        order=", ".join(sorted(rows["rows"].unique())),
        limit=rows["time_limit"].dropna().max(),
        declined=int((rows["status"] == "declined").sum()),
        failed=int((rows["status"] == "failed").sum()),
        ours=OURS,
        even=EVEN,
    )


def short_title(name: str) -> str:
    """Title of a variant, or of a method on scaled views."""
    found = re.search(r":Prescaled\(method='(\w+)', scale='?([\w-]+)'?\)", name)
    return VARIANTS.get(name, name) if found is None else f"{found[1]}, {found[2]}"


def _lines(table: pd.DataFrame) -> list[Any]:
    """Rows of a table as dicts; missing columns are NaN."""
    full = table.reindex(columns=table.columns.union(["wins", "losses", "relative_time"]))
    return full.rename_axis("name").reset_index().to_dict("records")


def _by_set(rows: pd.DataFrame, metric: str, methods: list[str]) -> list[dict[str, Any]]:
    """One line per data set: values in the order of the methods; the best is marked."""
    scores = mean_scores(rows, metric)[methods]
    return [
        {"name": data, "cells": [{"value": v, "is_best": v == values.max()} for v in values]}
        for data, values in scores.iterrows()
    ]
