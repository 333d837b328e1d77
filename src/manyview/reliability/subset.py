"""A subset of the samples of a fit in joint coordinates, cheap enough to fit again and again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.random import Generator

from manyview.data.views import MultiViewData
from manyview.engines import choose_engine
from manyview.exceptions import DataWarning
from manyview.model_selection.sample import (
    Coordinates,
    draw_sample,
    has_enough_complete,
    locate,
)
from manyview.solver.alternation import Schedule
from manyview.solver.fitting import fit
from manyview.solver.problem import Settings
from manyview.solver.progress import make_callback
from manyview.utils.types import FloatArray, IntArray

MAX_ITER, TOL = 20, 1e-4  # of a fit to a subset
COMPLETE_PER_CLUSTER = 4  # samples with all views, if they are used alone
LOST = 1e-9  # of the largest eigenvalue: below, a direction is rounding noise


@dataclass(frozen=True)
class Subset:
    """Some samples of a fit: their positions, labels and coordinates."""

    rows: IntArray  # (s,), positions in the fit
    labels: IntArray  # (s,)
    coordinates: Coordinates
    views: Sequence[FloatArray]  # scaled view, unless it is all zeros: (s, r), in coordinates
    settings: Settings

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the fit."""
        return self.settings.n_clusters

    def refit(self, rows: IntArray, seed: int, n_init: int = 1) -> IntArray:
        """Labels of another fit to some rows of the subset."""
        data = MultiViewData.of([view[rows] for view in self.views])
        engine = choose_engine("memory", "cpu", data)
        engine.load(data, None)
        settings = replace(self.settings, scale=None, latent_dims=None)
        rng, silent = np.random.default_rng(seed), make_callback(None, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the fit to all samples has warned
            schedule = Schedule(n_init, MAX_ITER, TOL)
            fit(engine, settings, schedule, data.view_names, rng, silent, lambda *_: None)
        return np.asarray(engine.gather("labels"))


def draw_subset(
    data: MultiViewData, labels: IntArray, settings: Settings, n_rows: int, rng: Generator
) -> Subset:
    """At most `n_rows` samples of a fit; only those with all views, if there are enough."""
    numbered = replace(data, sample_names=pd.RangeIndex(data.n_samples))
    is_enough = has_enough_complete(data, n_rows, COMPLETE_PER_CLUSTER * settings.n_clusters)
    part = draw_sample(numbered, n_rows, rng, only_complete=is_enough)
    rows = np.asarray(part.sample_names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        coordinates = locate(part, settings.scale, rng)
    views = [coordinates.points @ _root(share) for share in coordinates.shares]
    filled = [view for view in views if view.shape[1] > 0]
    return Subset(rows, labels[rows], coordinates, filled, settings)


def _root(share: FloatArray) -> FloatArray:
    """R with R Rᵀ = W Wᵀ: rows P R have the inner products of the rows P W: (D, r)."""
    values, vectors = np.linalg.eigh((share + share.T) / 2)
    is_kept = values > LOST * max(values.max(initial=0.0), np.finfo(float).tiny)
    return np.asarray(vectors[:, is_kept] * np.sqrt(values[is_kept]))
