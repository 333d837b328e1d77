"""What every clusterer of the package shares: parameters, the border check, the fitted shape."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import validate_data

from manyview.display import NotebookDisplay
from manyview.errors import NotEnoughSamplesError, ViewError
from manyview.views import MultiViewData, is_list_of_views, is_one_table

__all__ = [
    "MultiViewClusterer",
    "check_parameter",
    "checked_weights",
    "generator",
    "is_count",
    "is_number",
]


class MultiViewClusterer(NotebookDisplay, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: turns X into a MultiViewData once, then calls `_fit`.

    Subclasses store their parameters in `__init__` (`n_clusters` and `view_sizes` among them) and
    implement `_fit(data)`, which sets `labels_` and whatever else the method learns.
    """

    n_clusters: int
    view_sizes: Sequence[int] | None
    labels_: NDArray[np.int32]
    n_features_in_: int

    def fit(self, X: Any, y: object = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : views
            A list or dict of 2-D arrays, DataFrames, sparse matrices, AnnData or files of the same
            samples, a MuData, a MultiViewData, or one 2-D table (cut by `view_sizes`).
        y : ignored
            Present for the scikit-learn interface.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._validate(X)
        self._fit(data)
        self._remember(X, data)
        return self

    def _fit(self, data: MultiViewData) -> None:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense; subclasses add theirs."""
        check_parameter("n_clusters", self.n_clusters, is_count(self.n_clusters), "an integer >= 1")

    @property
    def _fewest(self) -> int:
        """Samples that are needed at least: one a cluster."""
        return self.n_clusters

    def _validate(self, X: Any, *, present: object = None) -> MultiViewData:
        """Views for `fit`, without touching the estimator."""
        if isinstance(X, list | tuple) and is_list_of_views(X) and len(X) == 1:
            msg = (
                "X is a list of one view; expected several. Pass the 2-D array itself, or wrap the "
                "list in MultiViewData.of (scikit-learn's splitters cut a bare list over views, "
                "not samples)."
            )
            raise ViewError(msg)
        data = MultiViewData.of(X, view_sizes=self.view_sizes, present=present)
        if data.n_samples < self._fewest:
            msg = (
                f"Found n_samples={data.n_samples}, fewer than n_clusters={self.n_clusters}. "
                "Ask for fewer clusters or bring more samples."
            )
            raise NotEnoughSamplesError(msg)
        return data

    def _remember(self, X: Any, data: MultiViewData) -> None:
        """Store what later calls are checked against; only after a fit that succeeded."""
        if is_one_table(X):
            validate_data(self, X, skip_check_array=True)
        else:
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            self.n_features_in_ = sum(data.n_features)
        self.view_names_ = data.view_names
        self._view_widths = data.n_features
        self._view_rows = data.view_rows
        self._view_features = tuple(
            None if names is None else np.array([str(name) for name in names], dtype=object)
            for names in data.feature_names
        )

    def _validate_new(self, X: Any, *, present: object = None) -> MultiViewData:
        """Views for `predict` and its kin: the same views as in `fit`."""
        if is_one_table(X):
            X = _as_table(X)
            validate_data(self, X, skip_check_array=True, reset=False)
        data = MultiViewData.of(X, view_sizes=self.view_sizes, present=present)
        data = _matched(data, self.view_names_)
        if data.n_features != self._view_widths:
            msg = (
                f"X has {data.n_views} view(s) of {data.n_features} features; the fit saw "
                f"{len(self._view_widths)} view(s) of {self._view_widths}. Pass the same views in "
                "the same order."
            )
            raise ViewError(msg)
        return data

    def __sklearn_tags__(self) -> Tags:
        """Sparse input is welcome, beside the defaults of a clusterer."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _matched(data: MultiViewData, view_names: Sequence[str]) -> MultiViewData:
    """Views in the order of the fit where both have names; views of a list stay as they stand."""
    if set(data.view_names) == set(view_names):
        return data.in_order(view_names)
    unnamed = {f"view_{v}" for v in range(data.n_views)}
    if len(view_names) == data.n_views and unnamed not in (set(data.view_names), set(view_names)):
        msg = (
            f"X has the views {list(data.view_names)}; the fit saw {list(view_names)}. Pass the "
            "same views under the same names, or a list in the same order."
        )
        raise ViewError(msg)
    return data


def _as_table(X: Any) -> Any:
    """One 2-D table, refused in the same words as in `fit` where it is none."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if len(X.shape) != 2:
        MultiViewData.of(X)
    return X


def is_count(value: Any) -> bool:
    """Whether a parameter is an integer of at least one; True is not."""
    return isinstance(value, Integral) and value is not True and int(value) >= 1


def is_number(value: Any) -> bool:
    """Whether a parameter is a finite number; True is not."""
    return isinstance(value, Real) and value is not True and bool(np.isfinite(float(value)))


def check_parameter(name: str, value: object, is_valid: bool, expected: str) -> None:
    """Refuse a parameter with a sentence: expected, received."""
    if not is_valid:
        msg = f"{name}={value!r} is not usable; expected {expected}."
        raise ValueError(msg)


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """One generator for a fit."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


def checked_weights(
    sample_weight: Any, n_samples: int, n_clusters: int
) -> NDArray[np.float64] | None:
    """Weights as float64, or None where all are equal to one."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    has_shape = weights.shape == (n_samples,)
    if not has_shape or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        found = (
            "holds negative or infinite values or NaN"
            if has_shape
            else f"has shape {weights.shape}"
        )
        msg = f"sample_weight {found}; expected ({n_samples},) finite weights >= 0, one a sample."
        raise ViewError(msg)
    if np.count_nonzero(weights) < n_clusters:
        msg = (
            f"Only {np.count_nonzero(weights)} samples have a weight above zero, fewer than "
            f"n_clusters={n_clusters}. Ask for fewer clusters or weigh more samples."
        )
        raise NotEnoughSamplesError(msg)
    return None if np.all(weights == 1) else weights
