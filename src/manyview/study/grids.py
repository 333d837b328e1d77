"""Parameter grids of the published protocols, and the choice of the oracle protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd


def published_grids() -> dict[str, list[dict[str, Any]]]:
    """Parameter grid of each method that has one; "2k" is twice the number of clusters.

    Returns
    -------
    dict of str to list of dict
    """
    return {
        "published_omvcdr": [{"lam": 2.0**power} for power in range(-5, 6)],
        "lmvsc": [
            {"n_anchors": n_anchors, "alpha": alpha}
            for n_anchors, alpha in product(("1k", 50, 100), (0.01, 1.0, 100.0))
        ],
        "smvsc": [{"n_anchors": n_anchors} for n_anchors in ("1k", "2k", "3k")],
    }


# Parameters of the programs behind the tables of the papers, where our defaults are others; the
# first release of AWMVC and of SMVSC, which their printed values come from.
PROGRAMS: dict[str, dict[str, Any]] = {
    "awmvc": {"weighting": "learned"},
    "fmr": {"quirks": True},
    "lmvsc": {"quirks": True},
    "opmc": {"n_init": 100},
    "sfmc": {"quirks": True},
    "smvsc": {"weight_power": 0.5},
}


def program_grid(method: str, *, n_init: int | None = None) -> list[dict[str, Any]]:
    """Published grid of a method, with the parameters of its program.

    Parameters
    ----------
    method : str
        Name of a method.
    n_init : int, optional
        Number of final k-means runs; None: the default.

    Returns
    -------
    list of dict
        One empty point for a method without a grid.
    """
    more = PROGRAMS.get(method, {}) | ({} if n_init is None else {"n_init": n_init})
    return [{**point, **more} for point in published_grids().get(method, [{}])]


def resolved(point: Mapping[str, Any], n_clusters: int) -> dict[str, Any]:
    """A grid point with multiples of k replaced by numbers."""
    return {
        name: int(value[:-1]) * n_clusters
        if isinstance(value, str) and value[:-1].isdigit() and value.endswith("k")
        else value
        for name, value in point.items()
    }


def point_key(point: Mapping[str, Any]) -> str:
    """A grid point as text, equal for equal points."""
    return json.dumps(point, sort_keys=True)


def at_best_point(done: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Runs at the oracle's grid point: the one with the largest mean of the metric.

    Parameters
    ----------
    done : DataFrame
        Finished runs of one method on one data set.
    metric : str
        Column to choose by; each metric has a point of its own.

    Returns
    -------
    DataFrame
    """
    points = done["parameters"].map(point_key)
    means = done.groupby(points, sort=False)[metric].mean()
    return done[points == means.idxmax()]


def best_of_grid(rows: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """One row per seed, with each metric at its own best point; other columns: of any point.

    Parameters
    ----------
    rows : DataFrame
        Rows of `run_benchmark`.
    metrics : sequence of str
        Columns to choose by.

    Returns
    -------
    DataFrame
    """
    frames = []
    for _, group in rows.groupby(["data", "method", "rows", "missing_rate"], sort=False):
        is_done = group["status"] == "done"
        first_done = pd.concat([group[is_done], group[~is_done]])
        kept = first_done.drop_duplicates("seed").set_index("seed")
        if is_done.any():
            for metric in metrics:
                kept[metric] = at_best_point(group[is_done], metric).set_index("seed")[metric]
        frames.append(kept.reset_index())
    return pd.concat(frames, ignore_index=True)
