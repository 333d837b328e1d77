"""Samples that are unlike all clusters: scores, the rule that flags them, and a summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.engines import Engine
from manyview.reliability.shift import common_shares
from manyview.solver.inference import Fitted
from manyview.solver.outliers import (
    OutlierReference,
    common_threshold,
    fit_reference,
    score_rows,
    whole_problem,
)
from manyview.utils.types import FloatArray, IntArray

SUBSET_ROWS = 1000  # samples that others are compared with
N_FOLDS = 5
N_SHOWN = 10  # most unusual samples in a summary


def fit_outliers(
    fitted: Fitted, data: MultiViewData, make_engine: Callable[[], Engine], rng: Generator
) -> tuple[OutlierReference, IntArray, FloatArray]:
    """What outlier scores are relative to, from a subset of the samples of a fit.

    Parameters
    ----------
    fitted : Fitted
        The fit.
    data : MultiViewData
        Its samples.
    make_engine : function
        Returns an empty engine.
    rng : Generator
        Draws the subset.

    Returns
    -------
    reference : OutlierReference
        Small statistics; part of a model file.
    rows : ndarray
        The samples of the subset.
    scores : ndarray
        Their scores, each relative to bases of the other folds.
    """
    n = data.n_samples
    is_few = n <= 1000 * SUBSET_ROWS  # a permutation of many takes long
    drawn = (
        rng.permutation(n)[:SUBSET_ROWS] if is_few else rng.choice(n, SUBSET_ROWS, replace=False)
    )
    rows = np.sort(drawn)
    subset, whole = data[rows].in_memory(), make_engine()
    fitted.label(whole, subset)
    order = rng.permutation(len(rows))
    folds = []
    for part in np.array_split(order, min(N_FOLDS, len(rows))):
        folds.append(make_engine())
        folds[-1].load(subset[part], None)
    labels = whole.gather("labels")[order]
    largest = slice(int(fitted.model.problem.starts[-1]), None)
    embedding = whole.gather("projection")[order, largest]
    problem = whole_problem(whole, fitted)
    reference, scores = fit_reference(folds, labels, embedding, problem, rng)
    reference = replace(reference, common_shares=common_shares(subset))
    return reference, rows[order], scores


def with_threshold(reference: OutlierReference, scores: FloatArray) -> OutlierReference:
    """The reference with the threshold of all samples, most of which it was not made from.

    Parameters
    ----------
    reference : OutlierReference
        As returned by `fit_outliers`.
    scores : ndarray
        The scores of all samples of the fit.

    Returns
    -------
    OutlierReference
    """
    return replace(reference, threshold=max(reference.threshold, common_threshold(scores)))


def outlier_scores(engine: Engine, reference: OutlierReference) -> FloatArray:
    """Outlier scores of the labelled rows of an engine, in one pass; overwrites projections.

    Parameters
    ----------
    engine : Engine
        The rows.
    reference : OutlierReference
        As returned by `fit_outliers`.

    Returns
    -------
    ndarray of shape (n_samples,)
        Higher is more unusual.
    """
    engine.map_reduce(score_rows, reference)
    return np.asarray(engine.gather("projection")[:, 0], dtype=np.float64)


def describe_outliers(model: Any, data: MultiViewData) -> dict[str, Any]:
    """Summary of the outlier scores of a fit, as plain values.

    Parameters
    ----------
    model : OMVCDR
        A fitted model.
    data : MultiViewData
        The samples of the fit, for their names.

    Returns
    -------
    dict
        `threshold`; `n_outliers` above it and their `share`; `clusters`, the number of outliers
        and the median score in each; `samples`, the most unusual ones with name, cluster, score
        and whether they are outliers, in falling order.
    """
    scores, labels = vars(model)["outlier_score_"], vars(model)["labels_"]
    threshold = vars(model)["_outliers"].threshold
    is_outlier = scores > threshold
    order = np.argsort(-scores, kind="stable")[:N_SHOWN]
    names = data.sample_names
    return {
        "threshold": float(threshold),
        "n_outliers": int(is_outlier.sum()),
        "share": float(is_outlier.mean()),
        "clusters": [
            _describe_cluster(c, scores[labels == c], is_outlier[labels == c])
            for c in range(vars(model)["n_clusters_"])
        ],
        "samples": [
            {
                "sample": str(i if names is None else names[i]),
                "cluster": int(labels[i]),
                "score": float(scores[i]),
                "is_outlier": bool(is_outlier[i]),
            }
            for i in order
        ],
    }


def _describe_cluster(
    c: int, scores: FloatArray, is_outlier: NDArray[np.bool_]
) -> dict[str, int | float | None]:
    """Outliers and median score of one cluster."""
    median = float(np.median(scores)) if len(scores) else None
    return {"cluster": c, "n_outliers": int(is_outlier.sum()), "median_score": median}
