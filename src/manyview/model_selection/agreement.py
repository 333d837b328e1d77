"""The setting whose clusters agree most with those of other settings.

Which scaling and λ suit the data cannot be known without labels, and F cannot be compared across
settings. Clusters that several settings find are likelier to be right than those of a single one:
all settings are fitted to the same samples, and the one with the highest mean adjusted Rand index
with the others is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from sklearn.metrics import adjusted_rand_score

from manyview.data.views import MultiViewData
from manyview.engines import choose_engine
from manyview.exceptions import DataWarning
from manyview.solver.alternation import Schedule
from manyview.solver.fitting import fit
from manyview.solver.problem import Settings
from manyview.solver.progress import make_callback
from manyview.utils.types import FloatArray, IntArray

Scale: TypeAlias = str | Sequence[str] | None

SCALES: tuple[Scale, ...] = ("auto", ("sqrt-l2", "z-l2"), ("sqrt-l2", "pca-l2"))
COUPLINGS = (1.0, 0.25, 5.0)  # relative to λ
MOST_ROWS, ROWS_PER_CLUSTER = 5000, 20


def most_agreed(
    data: MultiViewData,
    weights: FloatArray | None,
    settings: Settings,
    schedule: Schedule,
    rng: Generator,
) -> Settings:
    """The settings that agree most with others: nine with scale="auto", else three."""
    n_rows = max(MOST_ROWS, ROWS_PER_CLUSTER * settings.n_clusters)
    rows = np.arange(data.n_samples)
    if len(rows) > n_rows:
        rows = np.sort(rng.choice(len(rows), n_rows, replace=False))
    subset = data[rows].in_memory()
    own = None if weights is None else weights[rows]
    scales = SCALES if settings.scale == "auto" else (settings.scale,)
    tried = [
        replace(settings, scale=scale, lam=coupling * settings.lam)
        for scale in scales
        for coupling in COUPLINGS
    ]
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the fit to all samples will warn
        labels = [_labels(subset, own, one, schedule, seed) for one in tried]
    agreement = [[adjusted_rand_score(a, b) for b in labels] for a in labels]
    return tried[int(np.mean(agreement, axis=1).argmax())]


def _labels(
    data: MultiViewData,
    weights: FloatArray | None,
    settings: Settings,
    schedule: Schedule,
    seed: int,
) -> IntArray:
    """Labels of one fit."""
    engine = choose_engine("memory", "cpu", data)
    engine.load(data, weights)
    rng, silent = np.random.default_rng(seed), make_callback(None, 0)
    fit(engine, settings, schedule, data.view_names, rng, silent, lambda *_: None)
    return engine.gather("labels")
