"""What an estimator inherits to learn from samples that come in batches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from manyview.base import checked_weights, generator
from manyview.solver.description import describe_sums
from manyview.solver.inference import Fitted
from manyview.solver.online import Seen, begin, learn
from manyview.solver.updates import objective
from manyview.views import MultiViewData

__all__ = ["TaughtInBatches"]


class TaughtInBatches:
    """`partial_fit`, for a class that has what `OMVCDR.fit` leaves."""

    random_state: Any
    labels_: NDArray[np.int32]
    _fitted: Fitted
    _batches: Seen

    def partial_fit(
        self, X: Any, y: object = None, sample_weight: Any = None, *, present: Any = None
    ) -> Self:
        """Learn from one more batch of samples, and let it go.

        The first batch is fitted as by `fit` and fixes the readings and, with smoothing, the
        neighborhoods: let it be large enough to show all clusters. Each later batch is labelled
        and moves the clusters, bases and weights. `labels_` and `confidence_` are those of the
        batch, `cluster_centers_` and the weights of all samples so far.

        Parameters
        ----------
        X : views
            As in `fit`; later batches have the views of the first.
        y : ignored
            Present for the scikit-learn interface.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 counts as two equal rows; samples of weight 0 are only labelled.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        self
        """
        estimator: Any = self
        if not hasattr(self, "_fitted"):
            estimator.fit(X, sample_weight=sample_weight, present=present)
            self._batches = self._learn(estimator._samples_of_fit(None), sample_weight)
            return self
        data: MultiViewData = estimator._validate_new(X, present=present)
        if not hasattr(self, "_batches"):  # `fit` came before: its samples are the first batch
            self._batches = self._learn(estimator._samples_of_fit(None), None)
        self._batches = self._learn(data, sample_weight, self._batches)
        self._tell(data)
        estimator._remember(X, data)
        return self

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples of all batches."""
        return self._batches.n_samples if hasattr(self, "_batches") else len(self.labels_)

    def _forget_batches(self) -> None:
        """A new fit has seen its own samples only."""
        if hasattr(self, "_batches"):
            del self._batches

    def _learn(self, data: MultiViewData, sample_weight: Any, seen: Seen | None = None) -> Seen:
        """Look back on the first batch, or take in another."""
        estimator: Any = self
        weights = checked_weights(sample_weight, data.n_samples, 1)
        counted = slice(None) if weights is None else weights > 0
        with estimator._threads(data, estimator.n_clusters_):
            engine = estimator._choose_engine(data)
            engine.load(data[counted], None if weights is None else weights[counted])
            fitted = self._fitted.read(engine)
            if seen is None:
                return begin(engine, fitted)
            self._fitted, seen = learn(engine, fitted, seen, generator(self.random_state))
        return seen

    def _tell(self, data: MultiViewData) -> None:
        """Bring what the user sees up to date."""
        estimator: Any = self
        engine, fitted = estimator._label(data)
        estimator.labels_ = engine.gather("labels")
        estimator.confidence_ = fitted.margins(engine)[:, 0].copy()
        model, moments = self._fitted.model, self._fitted.moments
        estimator.objective_ = objective(moments, model)
        estimator._show(describe_sums(self._batches.totals, model, moments, data.n_views))
