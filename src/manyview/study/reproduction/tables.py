"""Tidy tables of the runs: means at the best points, ranks, and the values of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from manyview.datasets.registry import DERIVED_SETS, PAPER_SETS, STAND_INS
from manyview.study.grids import at_best_point, point_key
from manyview.study.paper import paper_ablation, paper_results
from manyview.study.reproduction.scope import PUBLISHED, FoundSet

METRICS = {"acc": "ACC", "nmi": "NMI", "purity": "purity", "fscore": "F-score"}
METHOD_TITLES = {  # in the order of the tables; other methods come before the last two
    "fmr": "FMR",
    "sfmc": "SFMC",
    "smvsc": "SMVSC",
    "opmc": "OPMC",
    "fpmvs": "FPMVS",
    "lmvsc": "LMVSC",
    "awmvc": "AWMVC",
    "concat_kmeans": "k-means, views joined",
    "concat_spectral": "spectral, views joined",
    "best_single_view": "best single view",
    "ksums": "k-sums",
    "matrix_factorization": "matrix factorization",
    PUBLISHED: "OMVCDR, published",
    "omvcdr": "OMVCDR, manyview",
}
ABLATION_TITLES = {
    "omvc": "OMVC (one space)",
    "omvcdr_2": "OMVCDR-2 (two spaces)",
    "omvcdr_alpha": "OMVCDR-α (equal weights)",
    "two_step": "two steps (λ = 0, k-means)",
    "full": "OMVCDR, published",
}
CELL_COLUMNS = [
    *("data", "method", "metric", "mean", "std", "n_runs"),
    *("n_points", "n_planned"),  # of the grid: points with a result, and all points
    *("parameters", "status", "reason"),
]


def sets_table(found: Sequence[FoundSet]) -> pd.DataFrame:
    """Table I: the data sets of the paper, whether they were found, and further data sets.

    Parameters
    ----------
    found : sequence of FoundSet
        As `find_sets` returns them.

    Returns
    -------
    DataFrame
        Sizes of our files, sizes in the paper, whether they are equal, and a remark.
    """
    counts = ["samples", "views", "classes"]
    of_paper = [f"paper_{name}" for name in counts]
    paper = pd.DataFrame(
        [(p.file, p.name, p.n_samples, p.n_views, p.n_classes, p.remark) for p in PAPER_SETS],
        columns=["file", "set", *of_paper, "remark"],
    )
    sizes = [
        (one.file, one.n_samples, len(one.n_features), ", ".join(map(str, one.n_features)),
         one.n_classes)
        for one in found
    ]  # fmt: skip
    ours = pd.DataFrame(sizes, columns=["file", "samples", "views", "features", "classes"])
    files = [*paper["file"], *(one.file for one in found if one.paper is None)]
    table = ours.merge(paper, on="file", how="outer").set_index("file").loc[files].reset_index()
    table["remark"] = table["remark"].fillna(table["file"].map(_remark))
    table = table.fillna({"set": "", "features": ""})
    table["is_found"] = table["samples"].notna()
    table["is_same"] = (table[counts].to_numpy() == table[of_paper].to_numpy()).all(axis=1)
    table = table.astype(dict.fromkeys([*counts, *of_paper], "Int64"))
    return table[["set", *table.columns.drop("set")]]


def _remark(file: str) -> str:
    """Why a set that is not in the paper is here."""
    if file in DERIVED_SETS:
        return f"other features of the images of {DERIVED_SETS[file].capitalize()}"
    if file in STAND_INS:
        return "stand-in for AWA, YTF-10 and YTF-20; decides no claim"
    return "not in the paper"


def records(table: pd.DataFrame) -> list[Any]:
    """Rows of a table as objects with its columns as attributes.

    Parameters
    ----------
    table : DataFrame
        Any table of this module.

    Returns
    -------
    list
    """
    return list(table.itertuples(index=False))


def label_free_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Table II with default parameters; without the paper's values, which are oracle values.

    Parameters
    ----------
    rows : DataFrame
        Rows of the stage "label-free".

    Returns
    -------
    DataFrame
        One row per data set, method and metric: mean, std, n_runs, parameters, place, status,
        reason.
    """
    return _cells(rows, METHOD_TITLES).assign(protocol="label-free")


def oracle_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Table II by the paper's protocol, with the paper's values and our difference.

    Parameters
    ----------
    rows : DataFrame
        Rows of the stage "oracle".

    Returns
    -------
    DataFrame
        As `label_free_table`, and paper_mean, paper_std, difference.
    """
    paper = paper_results().replace({"method": {"omvcdr": PUBLISHED}})
    return _beside(_cells(rows, METHOD_TITLES), paper)


def ablation_table(
    rows: pd.DataFrame, oracle: pd.DataFrame, two_step: pd.DataFrame
) -> pd.DataFrame:
    """The ablation by the oracle protocol, with the paper's values and our difference.

    Parameters
    ----------
    rows : DataFrame
        Rows of the stage "ablation".
    oracle : DataFrame
        Rows of the stage "oracle"; the published algorithm is the full method.
    two_step : DataFrame
        Scores of the k-means runs of the two-step model.

    Returns
    -------
    DataFrame
        As `oracle_table`.
    """
    full = oracle[oracle["method"] == PUBLISHED].assign(method="full")
    full = full[full["data"].isin(rows["data"])]
    points: list[Any] = [{} for _ in range(len(two_step))]  # there is no grid
    pairs = two_step.assign(status="done", reason="", parameters=points)
    cells = _cells(pd.concat([rows, pairs, full], ignore_index=True), ABLATION_TITLES)
    paper = paper_ablation().replace({"method": {"omvcdr": "full"}})
    return _beside(cells, paper)


def order_table(file: pd.DataFrame, shuffled: pd.DataFrame) -> pd.DataFrame:
    """Scores on rows in file order and on shuffled rows, both with the oracle protocol.

    Parameters
    ----------
    file : DataFrame
        Rows of the stages "oracle" or "ablation".
    shuffled : DataFrame
        Rows of the stages "order" or "ablation-shuffled"; determines the methods and data sets.

    Returns
    -------
    DataFrame
        data, method, metric, file, shuffled, shuffled_std, n_shuffles, is_complete (all points of
        the grid have a result), gain (file − shuffled).
    """
    key = ["data", "method", "metric"]
    is_asked = file["method"].isin(shuffled["method"]) & file["data"].isin(shuffled["data"])
    ours = _cells(file[is_asked], METHOD_TITLES).set_index(key)
    other = _cells(shuffled, METHOD_TITLES).set_index(key)
    table = pd.DataFrame(
        {
            "file": ours["mean"],
            "shuffled": other["mean"],
            "shuffled_std": other["std"],
            "n_shuffles": other["n_runs"],
            "is_complete": (ours["n_points"] == ours["n_planned"])
            & (other["n_points"] == other["n_planned"]),
        }
    ).reindex(ours.index)
    return table.assign(gain=table["file"] - table["shuffled"]).reset_index()


def sensitivity_table(oracle: pd.DataFrame) -> pd.DataFrame:
    """ACC and NMI of the published algorithm at each λ, rows in file order.

    Parameters
    ----------
    oracle : DataFrame
        Rows of the stage "oracle".

    Returns
    -------
    DataFrame
        data, lam, acc, nmi.
    """
    own = oracle[(oracle["method"] == PUBLISHED) & (oracle["status"] == "done")]
    lam = [float(point["lam"]) for point in own["parameters"]]
    table = own.reindex(columns=["data", "acc", "nmi"])
    table.insert(1, "lam", lam)
    return table.reset_index(drop=True)


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """Cells for which all points of the grid have a result."""
    return table[table["n_points"] == table["n_planned"]]


def has_risen(objective: pd.Series[float]) -> bool:
    """Whether the objective increased after its second value, beyond rounding."""
    return bool((objective.diff().iloc[2:] > 1e-12 * objective.abs().max()).any())


def _cells(rows: pd.DataFrame, titles: dict[str, str]) -> pd.DataFrame:
    """Each metric at its own best point, and its rank by the four digits shown; 1 is the best."""
    cells = []
    for (data, method), group in rows.groupby(["data", "method"], sort=False):
        done = group[group["status"] == "done"]
        status, reason = ending(group)
        n_planned = group["parameters"].map(point_key).nunique()
        for metric in METRICS:
            cell = {"data": data, "method": method, "metric": metric}
            if len(done):
                best = at_best_point(done, metric)
                cell |= {
                    "mean": float(best[metric].mean()),
                    **_spread(best, metric),
                    "n_points": done["parameters"].map(point_key).nunique(),
                    "parameters": point_key(best["parameters"].iloc[0]),
                }
            cells.append({**cell, "n_planned": n_planned, "status": status, "reason": reason})
    table = ordered(pd.DataFrame(cells, columns=CELL_COLUMNS), titles)
    shown = table["mean"].astype(float).round(4).groupby([table["data"], table["metric"]])
    return table.assign(place=shown.rank(ascending=False, method="min"))


def _spread(best: pd.DataFrame, metric: str) -> dict[str, float]:
    """Standard deviation over k-means runs or seeds, and their number."""
    own = best.get(f"{metric}_std", pd.Series(dtype=float)).dropna()
    if own.empty:
        return {"std": float(best[metric].std(ddof=0)), "n_runs": len(best)}
    return {"std": float(own.mean()), "n_runs": int(best["n_kmeans"].sum())}


def ending(group: pd.DataFrame) -> tuple[str, str]:
    """Status and reason of a cell: done if any run was done, else those of its first run."""
    if (group["status"] == "done").any():
        return "done", ""
    return str(group["status"].iloc[0]), str(group["reason"].iloc[0])


def ordered(table: pd.DataFrame, titles: dict[str, str]) -> pd.DataFrame:
    """Sort methods as in `titles`, unknown methods before ours; keep the order of data sets."""
    *names, second, last = titles
    order = {name: i for i, name in enumerate([*names, "", second, last])}
    methods = table["method"].map(order).fillna(order[""])
    ranked = np.lexsort((methods, pd.factorize(table["data"])[0]))
    return table.iloc[ranked].reset_index(drop=True)


def _beside(cells: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Add the paper's mean and standard deviation, and ours minus the paper's, to each cell."""
    files = {one.name: one.file for one in PAPER_SETS}
    theirs = paper.assign(data=paper["data"].map(files)).rename(
        columns={"mean": "paper_mean", "std": "paper_std"}
    )
    key = ["data", "method", "metric"]
    joined = cells.merge(theirs[[*key, "paper_mean", "paper_std"]], on=key, how="left")
    return joined.assign(difference=joined["mean"] - joined["paper_mean"], protocol="oracle")
