"""A hierarchy of the clusters: which to merge first, by what that costs in F; which could be one.

Bases and weights stay as they are, so a merge needs the moments of the clusters and no data.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from manyview.exceptions import ViewError
from manyview.kernels.statistics import ClusterMoments
from manyview.solver.inference import Assignment, Fitted
from manyview.solver.updates import merge_costs
from manyview.utils.types import FloatArray, IntArray

LEAST_SHARE = 0.25  # of each of two clusters that are one, whose second-best cluster is the other
LEAST_BETWEEN = 3  # samples of each
DOUBTFUL = 0.5  # largest median confidence of these
MOST_SHARE, CHEAP = 0.5, 0.5  # or a larger share, and less than this share of the usual cost


def link_clusters(fitted: Fitted) -> FloatArray:
    """Merge the two clusters that raise F least, until there is one.

    Parameters
    ----------
    fitted : Fitted
        The model and the moments of its k clusters.

    Returns
    -------
    ndarray of shape (k - 1, 4)
        A linkage as scipy has it: two nodes, the cost of merging them (at least that of merges
        inside of them), and the number of clusters of the fit below.
    """
    moments, model = fitted.moments.copy(), fitted.model
    k = moments.count.shape[1]
    costs = np.full((k, k), np.inf)
    for c in range(k - 1):
        costs[c, c + 1 :] = merge_costs(moments, model, c, np.arange(c + 1, k))
    costs = np.minimum(costs, costs.T)
    node, height, size = np.arange(k), np.zeros(k), np.ones(k)
    linkage = np.zeros((k - 1, 4))
    for step in range(k - 1):
        c, d = sorted(int(i) for i in np.unravel_index(costs.argmin(), costs.shape))
        height[c] = max(costs[c, d], height[c], height[d])
        size[c] += size[d]
        linkage[step] = (*sorted((node[c], node[d])), height[c], size[c])
        node[c] = k + step
        _join(moments, c, d)
        costs[d, :] = costs[:, d] = np.inf
        others = np.flatnonzero(np.isfinite(costs[c]))
        costs[c, others] = costs[others, c] = merge_costs(moments, model, c, others)
    return linkage


def _join(moments: ClusterMoments, c: int, d: int) -> None:
    """Put the moments of both clusters in the place of the first."""
    both = moments.of([c]) + moments.of([d])
    for name in ("rows", "count", "mean", "scatter"):
        getattr(moments, name)[:, c] = getattr(both, name)[:, 0]


def cut_hierarchy(linkage: FloatArray, n_clusters: int) -> IntArray:
    """Number of each cluster after the merges that leave `n_clusters`.

    Parameters
    ----------
    linkage : array of shape (k - 1, 4)
        As `link_clusters` returns it.
    n_clusters : int
        From 1 to k.

    Returns
    -------
    ndarray of shape (k,), int32
        In the order of the first cluster of each group.
    """
    k = len(linkage) + 1
    if not 1 <= n_clusters <= k:
        msg = f"n_clusters is {n_clusters}; the fit has {k} clusters. Ask for 1 to {k}."
        raise ViewError(msg)
    members = {c: [c] for c in range(k)}
    for step, (a, b, *_) in enumerate(linkage[: k - n_clusters]):
        members[k + step] = members.pop(int(a)) + members.pop(int(b))
    numbers = np.zeros(k, dtype=np.int32)
    for number, group in enumerate(sorted(members.values(), key=min)):
        numbers[group] = number
    return numbers


def find_borders(found: Assignment, fitted: Fitted) -> pd.DataFrame:
    """Pairs of clusters that are the second-best for samples of each other.

    Parameters
    ----------
    found : Assignment
        Of samples of the fit, with confidences.
    fitted : Fitted
        The model and the moments of its clusters.

    Returns
    -------
    DataFrame
        Most samples first: cluster, other, n (samples of either whose second-best cluster is the
        other), share (of the cluster that has fewer of them), confidence (median of these samples),
        cost (of merging both, in F), and could_be_one.
    """
    table = pd.DataFrame(
        {"own": found.labels, "next": found.next_labels, "confidence": found.confidence}
    )
    table = table[table["own"] != table["next"]]
    table["cluster"] = table[["own", "next"]].min(axis=1)
    table["other"] = table[["own", "next"]].max(axis=1)
    groups = table.groupby(["cluster", "other"])
    pairs = groups.agg(n=("own", "size"), confidence=("confidence", "median"))
    n_first = (table["own"] == table["cluster"]).groupby([table["cluster"], table["other"]]).sum()
    sizes = np.bincount(found.labels, minlength=fitted.model.problem.n_clusters)
    c, d = (pairs.index.get_level_values(level) for level in (0, 1))
    counts = np.array([n_first, pairs["n"] - n_first])  # (2, pairs)
    shares = counts / np.maximum([sizes[c], sizes[d]], 1)
    pairs.insert(1, "share", shares.min(axis=0))
    pairs["cost"] = [_cost(fitted, *pair) for pair in pairs.index]
    pairs = pairs.reset_index()
    is_near = (pairs["share"] >= LEAST_SHARE) & (counts.min(axis=0) >= LEAST_BETWEEN)
    is_cheap = (pairs["share"] >= MOST_SHARE) & (pairs["cost"] < CHEAP * _usual_cost(pairs))
    pairs["could_be_one"] = is_near & ((pairs["confidence"] < DOUBTFUL) | is_cheap)
    return pairs.sort_values("n", ascending=False, kind="stable", ignore_index=True)


def _cost(fitted: Fitted, c: int, d: int) -> float:
    return float(merge_costs(fitted.moments, fitted.model, int(c), np.array([d]))[0])


def _usual_cost(pairs: pd.DataFrame) -> float:
    """Median over the clusters of the cost of the cheapest merge with a neighbor."""
    ends = [pairs.set_index(name)["cost"] for name in ("cluster", "other")]
    return float(pd.concat(ends).groupby(level=0).min().median())
