"""A fit on a cluster: the parts of `OMVCDR.fit` for rows that are never gathered."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from manyview.base import generator
from manyview.cluster.lazy import apply_lazily, as_lazy, outlier_scores_of
from manyview.cluster.sample import Sample
from manyview.data.doubts import find_doubts
from manyview.data.partitions import PartitionedViews
from manyview.engines import choose_batches, choose_engine
from manyview.engines.cluster import OnCluster, OnParts, is_cluster, open_client
from manyview.engines.waiting import Waiting
from manyview.exceptions import DataWarning, NotEnoughSamplesError
from manyview.kernels import choose_kernels
from manyview.model_selection.choice import Choice
from manyview.model_selection.search import count_clusters
from manyview.reliability.outliers import score_fit
from manyview.solver.alternation import Schedule
from manyview.solver.description import Description, describe, sum_and_count
from manyview.solver.fitting import fit, label_samples
from manyview.solver.inference import Fitted
from manyview.solver.model import Solution
from manyview.solver.outliers import OutlierReference
from manyview.solver.progress import OnStep

SAMPLE_ROWS = 20_000  # that are gathered, for what is told of a fit
SEED = 0  # of that sample: it is the same whatever was drawn before


@dataclass(frozen=True)
class ClusterFit:
    """Result of a fit on a cluster."""

    n_clusters: int
    choice: Choice | None
    labels: Any  # a Dask array, or of arrays in memory an array
    solution: Solution
    fitted: Fitted
    description: Description
    outliers: OutlierReference
    sample: Sample
    view_counts: tuple[int, ...]


def fit_on_cluster(model: Any, X: Any, on_step: OnStep, on_parts: OnParts | None = None) -> Any:
    """Cluster rows on the cluster that the engine of an estimator names.

    Parameters
    ----------
    model : OMVCDR
        It gets the fitted attributes.
    X : views
        Dask collections, files or arrays.
    on_step : function of a Progress
        Called after each step.
    on_parts : function of two numbers, optional
        Called while a pass runs, with the parts that are done and their number.
    """
    _check_parameters(model)
    rng = generator(model.random_state)
    with open_client(model.engine, model.n_jobs) as (client, is_own):
        data = PartitionedViews.of(X, Waiting(client).compute)
        engine = OnCluster(client, choose_kernels("cpu"), on_parts)
        try:
            engine.load(data, None)
            found = _fit(model, engine, data, rng, on_step, is_own=is_own)
        finally:
            engine.close()
    _store(model, found, data)


def refuse_on_cluster(**given: object) -> None:
    """Refuse what a fit on a cluster does not take."""
    reasons = {
        "sample_weight": "all samples count the same",
        "present": "rows of NaN mark missing views",
        "checkpoint": "lost workers are replaced without one",
    }
    for name, value in given.items():
        if value is not None:
            msg = (
                f"{name} was given, and a fit on a cluster takes none: {reasons[name]}. Leave it "
                "out, or use engine='memory' or 'stream'."
            )
            raise ValueError(msg)


def _check_parameters(model: Any) -> None:
    """Refuse parameters that a fit on a cluster cannot follow, before anything is read."""
    if model.label_step in ("sequential", "parallel"):
        msg = (
            f"label_step={model.label_step!r} was given, and on a cluster parts of the rows move "
            "at once; expected 'auto' or 'sharded'."
        )
        raise ValueError(msg)
    if model.device not in ("auto", "cpu"):
        msg = (
            f"device={model.device!r} was given, and workers of a cluster compute on their CPUs; "
            "expected 'auto' or 'cpu'. For a GPU of this machine, use engine='auto'."
        )
        raise ValueError(msg)


def refuse_batches(engine: Any) -> None:
    """Refuse batches on a cluster."""
    if is_cluster(engine):
        msg = (
            f"partial_fit was called with engine={engine!r}; expected batches in memory or on "
            "disk. Use engine='auto', or fit all rows on the cluster."
        )
        raise ValueError(msg)


def _store(model: Any, found: ClusterFit, data: PartitionedViews) -> None:
    """Set the fitted attributes."""
    model._fitted, model._sample, model._data = found.fitted, found.sample, data
    model.view_names_, model.view_sizes_ = data.view_names, data.n_features
    model.view_counts_, model.view_features_ = found.view_counts, data.feature_names
    model.n_features_in_ = sum(data.n_features)
    sample, rng = found.sample, generator(model.random_state)
    model._store_labels(sample.data, sample.labels, sample.margins, slice(None), rng)
    del model._margins  # of the sample
    model.labels_, model._outliers = found.labels, found.outliers
    model._store_solution(found.solution)
    model._store_model(found.description)
    model.n_clusters_, model.engine_ = found.n_clusters, "dask"
    model.outlier_score_ = apply_lazily(model, outlier_scores_of, data, np.float64)
    if found.choice is not None:
        model.choice_ = found.choice
    scalings = found.solution.model.problem.scalings
    model.scalings_ = [(data.view_names[scaling.view], scaling.name) for scaling in scalings]


def _fit(
    model: Any,
    engine: OnCluster,
    data: PartitionedViews,
    rng: Generator,
    on_step: OnStep,
    *,
    is_own: bool,
) -> ClusterFit:
    k, choice = _count_clusters(model, engine)
    solution, fitted = fit(
        *(engine, model._settings(k), _schedule(model, engine), data.view_names, rng, on_step),
        lambda problem, n_anchors: None,
    )
    sums = engine.map_reduce(sum_and_count, solution.model.problem)
    label_samples(engine, fitted, data)  # type: ignore[arg-type]
    labels = engine.gather("labels") if data.is_here or is_own else engine.lazy_labels()
    sample, reference = _look_at_sample(engine, fitted, rng)
    data.check_unchanged()
    return ClusterFit(
        n_clusters=k,
        choice=choice,
        labels=labels if data.is_here else as_lazy(labels, engine.part_rows),
        solution=solution,
        fitted=fitted,
        description=describe(sums, solution.model, data.n_views),
        outliers=reference,
        sample=sample,
        view_counts=engine.view_counts(),
    )


def _schedule(model: Any, engine: OnCluster) -> Schedule:
    """As for rows in memory with the same label step."""
    return Schedule(
        *(model.n_init, model.max_iter, model.tol, model.init),
        batches=choose_batches(model.label_step, engine),
        reads_once=model.n_passes != 2,
    )


def _count_clusters(model: Any, engine: OnCluster) -> tuple[int, Choice | None]:
    """The given number of clusters, or the one recommended for a sample."""
    if model.n_clusters != "auto":
        if model.n_clusters > engine.n_samples:
            msg = (
                f"Found n_samples={engine.n_samples}, fewer than n_clusters={model.n_clusters}. "
                "Use fewer clusters or more samples."
            )
            raise NotEnoughSamplesError(msg)
        return int(model.n_clusters), None
    some = engine.gather_given(_drawn(engine.n_samples))
    choice = count_clusters(some, model.scale, model.random_state, model.n_jobs)
    return choice.n_clusters, choice


def _drawn(n_samples: int) -> NDArray[np.intp]:
    """Sorted rows, drawn without replacement; all if there are no more."""
    if n_samples <= SAMPLE_ROWS:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(SEED).choice(n_samples, SAMPLE_ROWS, replace=False))


def _look_at_sample(
    engine: OnCluster, fitted: Fitted, rng: Generator
) -> tuple[Sample, OutlierReference]:
    """A sample of the rows with labels, margins and outlier scores, made here."""
    rows = _drawn(engine.n_samples)
    data = engine.gather_given(rows)
    for doubt in find_doubts(data):
        warnings.warn(doubt, DataWarning, stacklevel=5)
    here = choose_engine("memory", "cpu", data)
    own = fitted.label(here, data)
    labels, margins = here.gather("labels"), own.margins(here)
    reference, scores, _ = score_fit(
        *(here, own, fitted, data, slice(None), lambda: choose_engine("memory", "cpu", data), rng)
    )
    return Sample(rows, data, labels, margins, scores), reference
