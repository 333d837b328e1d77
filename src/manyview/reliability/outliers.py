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
from manyview.kernels import Kernels
from manyview.kernels.block import Block
from manyview.kernels.row_space import holds_more, is_wide, rows_absent
from manyview.kernels.statistics import ArraySums
from manyview.reliability.shift import common_shares
from manyview.solver.description import sum_and_count
from manyview.solver.fitting import has_wide
from manyview.solver.inference import Fitted
from manyview.solver.initialization import coordinates_of_grams
from manyview.solver.outliers import (
    OutlierReference,
    common_threshold,
    fit_reference,
    score_rows,
    unsmoothed_problem,
    whole_problem,
)
from manyview.solver.problem import Problem
from manyview.solver.scaled_rows import apply_scalings
from manyview.solver.updates import project_rows
from manyview.utils.types import FloatArray, IntArray

SUBSET_ROWS = 1000  # samples that others are compared with
N_FOLDS = 5
N_SHOWN = 10  # most unusual samples in a summary


def fit_outliers(
    fitted: Fitted,
    data: MultiViewData,
    make_engine: Callable[[], Engine],
    rng: Generator,
    labelled: Engine | None = None,
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
    labelled : Engine, optional
        Holds exactly these samples, unweighted and labelled by `fitted`; used if all are in the
        subset. It then holds other rows.

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
    if n <= 1000 * SUBSET_ROWS:
        rows = np.sort(rng.permutation(n)[:SUBSET_ROWS])
    else:  # a permutation would take long
        rows = np.sort(rng.choice(n, SUBSET_ROWS, replace=False))
    is_whole = len(rows) == data.n_samples
    subset = (data if is_whole else data[rows]).in_memory()
    if is_whole and labelled is not None:
        whole = labelled
        whole.map_reduce(project_rows, fitted.model)
    else:
        whole = make_engine()
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
    locate = _locator(whole, problem, order)
    if locate is not None and problem is unsmoothed_problem(fitted):
        apply_scalings(whole, problem.scalings, problem.n_present)  # they were smoothed
    reference, scores = fit_reference(folds, labels, embedding, problem, rng, locate)
    reference = replace(reference, common_shares=common_shares(subset))
    return reference, rows[order], scores


def score_fit(
    engine: Engine,
    labelled: Fitted,
    fitted: Fitted,
    data: MultiViewData,
    counted: slice | NDArray[np.bool_],
    make_engine: Callable[[], Engine],
    rng: Generator,
    to_sum: Problem | None = None,
) -> tuple[OutlierReference, FloatArray, ArraySums | None]:
    """Outlier scores of the samples of a fit, and what they are relative to.

    Parameters
    ----------
    engine : Engine
        Holds all samples, labelled.
    labelled : Fitted
        The fit in the groups of these samples.
    fitted : Fitted
        The fit.
    data : MultiViewData
        Its samples.
    counted : slice or mask
        Those with a weight.
    make_engine : function
        Returns an empty engine.
    rng : Generator
        Draws the subset.
    to_sum : Problem, optional
        Of this problem, `sum_and_count` is made in the same pass over the samples.

    Returns
    -------
    reference : OutlierReference
        Small statistics; part of a model file.
    scores : ndarray of shape (n_samples,)
        Those of the subset come from bases of its other folds.
    sums : ArraySums or None
        The sums, if there was a pass.
    """
    part = data[counted]
    # see `label_samples`; a device has no Gram matrices to share
    is_whole = len(part) == data.n_samples and not engine.kernels.is_parallel
    is_loaded = is_whole and has_wide(data)
    if is_loaded:
        reference, rows, scores = fit_outliers(labelled, part, make_engine, rng, engine)
    else:
        reference, rows, scores = fit_outliers(fitted, part, make_engine, rng)
    of_all, sums = np.empty(data.n_samples), None
    if len(rows) < data.n_samples and to_sum is None:
        of_all = outlier_scores(engine, reference)
    elif len(rows) < data.n_samples:
        sums = engine.map_reduce(score_and_sum, reference, to_sum)
        of_all = engine.gather_column(0)
    of_all[rows if isinstance(counted, slice) else np.flatnonzero(counted)[rows]] = scores
    return with_threshold(reference, of_all[counted]), of_all, sums


def score_and_sum(
    block: Block, kernels: Kernels, reference: OutlierReference, problem: Problem
) -> tuple[Block, ArraySums]:
    """The visits `score_rows` and `sum_and_count` in one."""
    return score_rows(block, kernels, reference)[0], sum_and_count(block, kernels, problem)[1]


def _locator(
    whole: Engine, problem: Problem, order: IntArray
) -> Callable[[int, Generator], FloatArray] | None:
    """Leading coordinates from Gram matrices, if a view is wide; the rows are taken in an order."""
    widths = [len(mean) for mean in problem.means]
    blocks = whole.sample(len(order), np.random.default_rng(0))
    has_room = all(holds_more([block.given[s.view] for block in blocks]) for s in problem.scalings)
    if any(problem.is_far) or not (has_room and any(is_wide(len(order), d) for d in widths)):
        return None

    def locate(n_columns: int, rng: Generator) -> FloatArray:
        grams = [whole.gram(v)[np.ix_(order, order)] for v in range(len(widths))]
        absent = rows_absent(whole.sample(len(order), rng))[order].T
        return coordinates_of_grams(grams, absent, np.ones(len(order)), n_columns, rng)

    return locate


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
    return engine.gather_column(0)


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
