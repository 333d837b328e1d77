"""Shared by all clusterers: parameters, validation of input, fitted attributes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import validate_data

from manyview.data.conversion import check_not_vanishing
from manyview.data.doubts import find_doubts
from manyview.data.scaling import SCALINGS, is_scale
from manyview.data.views import MultiViewData, is_list_of_views, is_one_table, sample_names
from manyview.exceptions import DataWarning, NotEnoughSamplesError, ViewError
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray

Class = TypeVar("Class", bound=type)

MOST_UNEQUAL = 1e13  # largest over smallest weight: beyond, sums lose the small ones
WEIGHT_BITS = 30  # of a weight: the unit that it was given in leaves no trace in fewer digits


class MultiViewClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all estimators: converts X to a MultiViewData once, then calls `_fit`.

    Subclasses are dataclasses whose fields are the parameters (including `n_clusters` and
    `view_sizes`), each with its default and its allowed values (`param`). They implement
    `_fit(data)`, which sets `labels_` and the other fitted attributes.
    """

    n_clusters: Any
    view_sizes: Sequence[int] | None
    labels_: NDArray[np.int32]
    n_features_in_: int

    def fit(self, X: Any, y: object = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : views
            A list or dict of 2-D arrays, DataFrames, sparse matrices, AnnData or files of the same
            samples, a MuData, a MultiViewData, or one 2-D table (split by `view_sizes`).
        y : ignored
            Present for the scikit-learn interface.

        Returns
        -------
        self
        """
        check_parameters(self)
        data = validate_views(self, X)
        warn_of_doubts(self, data)
        self._fit(data)
        self._remember(X, data)
        return self

    def _fit(self, data: MultiViewData) -> None:
        raise NotImplementedError

    def _remember(self, X: Any, data: MultiViewData) -> None:
        """Store what later calls are validated against; only after a successful fit."""
        if is_one_table(X):
            validate_data(self, X, skip_check_array=True)
        else:
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            self.n_features_in_ = sum(data.n_features)
        self.view_names_ = data.view_names
        self.view_sizes_ = data.n_features
        self.view_counts_ = data.view_rows
        self.view_features_ = tuple(
            None if names is None else np.array([str(name) for name in names], dtype=object)
            for names in data.feature_names
        )

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """HTML for notebooks: scikit-learn's diagram and, after a fit, its result."""
        if get_config()["display"] != "diagram":
            msg = "_repr_html_ is only defined with sklearn.set_config(display='diagram')."
            raise AttributeError(msg)
        from manyview.utils.notebook import notebook_html

        return lambda: notebook_html(self)

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_()
        return bundle

    def __sklearn_tags__(self) -> Tags:
        """Tags of a clusterer that also accepts sparse input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def min_samples(estimator: MultiViewClusterer) -> int:
    """Minimum number of samples of a fit: one per cluster, if their number is given."""
    return 1 if isinstance(estimator.n_clusters, str) else int(estimator.n_clusters)


def validate_views(
    estimator: MultiViewClusterer, X: Any, *, present: object = None
) -> MultiViewData:
    """Validated views for `fit`; the estimator is not changed."""
    if isinstance(X, list | tuple) and is_list_of_views(X) and len(X) == 1:
        msg = (
            "X is a list of one view; expected several. Pass the 2-D array itself, or wrap the "
            "list in MultiViewData.of (scikit-learn's splitters split a plain list by views, "
            "not samples)."
        )
        raise ViewError(msg)
    data = _checked(estimator, X, present)
    for v, (view, name) in enumerate(zip(data.views, data.view_names, strict=True)):
        check_not_vanishing(view, name, None if data.present is None else data.present[:, v])
    if data.n_samples < min_samples(estimator):
        msg = (
            f"Found n_samples={data.n_samples}, fewer than n_clusters={estimator.n_clusters}. "
            "Use fewer clusters or more samples."
        )
        raise NotEnoughSamplesError(msg)
    return data


def warn_of_doubts(estimator: MultiViewClusterer, data: MultiViewData) -> None:
    """Warn about input of a fit that is valid and probably a mistake."""
    doubts = find_doubts(data)
    if data.n_samples > 1 and data.n_samples == estimator.n_clusters:
        doubts.append(
            f"n_clusters={estimator.n_clusters} is the number of samples, so that every sample is "
            "a cluster of its own; use fewer clusters."
        )
    for doubt in doubts:
        warnings.warn(doubt, DataWarning, stacklevel=3)


def validate_new_views(
    estimator: MultiViewClusterer, X: Any, *, present: object = None
) -> MultiViewData:
    """Validated views for `predict` and similar methods: the same views as in `fit`."""
    if is_one_table(X):
        X = _as_table(X)
        validate_data(estimator, X, skip_check_array=True, reset=False)
    data = _checked(estimator, X, present)
    data = _matched(data, estimator.view_names_)
    if data.n_features != estimator.view_sizes_:
        msg = (
            f"X has {data.n_views} view(s) of {data.n_features} features; the fit had "
            f"{len(estimator.view_sizes_)} view(s) of {estimator.view_sizes_}. Pass the same "
            "views in the same order."
        )
        raise ViewError(msg)
    return data


def _checked(estimator: MultiViewClusterer, X: Any, present: object) -> MultiViewData:
    with limit_threads(getattr(estimator, "n_jobs", None)):
        return MultiViewData.of(X, view_sizes=estimator.view_sizes, present=present)


def _matched(data: MultiViewData, view_names: Sequence[str]) -> MultiViewData:
    """Views in the order of the fit if both have names; a list keeps its order."""
    if set(data.view_names) == set(view_names):
        return data.in_order(view_names)
    unnamed = {f"view_{v}" for v in range(data.n_views)}
    if len(view_names) == data.n_views and unnamed not in (set(data.view_names), set(view_names)):
        msg = (
            f"X has the views {list(data.view_names)}; the fit had {list(view_names)}. Pass the "
            "same views under the same names, or a list in the same order."
        )
        raise ViewError(msg)
    return data


def _as_table(X: Any) -> Any:
    """One 2-D table; anything else is refused with the message of `fit`."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if len(X.shape) != 2:
        MultiViewData.of(X)
    return X


class Allowed(NamedTuple):
    """Allowed values of a parameter: in words, for error messages, and as a predicate."""

    expected: str
    allows: Callable[[Any], bool]


def is_count(value: Any) -> bool:
    """Whether a value is a positive integer; True is not."""
    return isinstance(value, Integral) and value is not True and int(value) >= 1


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; True is not."""
    return isinstance(value, Real) and value is not True and bool(np.isfinite(float(value)))


def number(
    *, above: float | None = None, least: float | None = None, most: float = np.inf
) -> Allowed:
    """A finite number > `above` or >= `least`, and <= `most`."""
    if above is not None:
        words = f"a number > {above:g}" if most == np.inf else f"a number in ({above:g}, {most:g}]"
        return Allowed(words, lambda x: is_number(x) and above < x <= most)
    words = "a number" if least is None else f"a number >= {least:g}"
    return Allowed(words, lambda x: is_number(x) and (least is None or x >= least))


def one_of(*options: Any) -> Allowed:
    """One of some values; True is not 1."""
    words = [repr(option) for option in options]
    text = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    return Allowed(text, lambda x: any(type(x) is type(o) and x == o for o in options))


def either(*choices: Allowed) -> Allowed:
    """Allowed by any of several."""
    words = " or ".join(choice.expected for choice in choices)
    return Allowed(words, lambda x: any(choice.allows(x) for choice in choices))


def scale_option(*others: str) -> Allowed:
    """A `scale`: one or several scalings, or an additional name of a method."""
    added = "".join(f", {other!r}" for other in others)
    words = f"None, 'auto'{added}, one of {SCALINGS} or a list of those"
    return Allowed(words, lambda x: is_scale(x, *others))


COUNT = Allowed("an integer >= 1", is_count)
GPU = Allowed(
    "one of several GPUs, such as cuda:1",
    lambda x: isinstance(x, str) and re.fullmatch(r"cuda:\d+", x) is not None,
)
COUNTS = Allowed(
    "a sequence of integers >= 1",
    lambda x: (
        isinstance(x, Sequence | np.ndarray)
        and not isinstance(x, str)
        and len(x) > 0
        and all(map(is_count, x))
    ),
)
FLAG = one_of(True, False)
NONE = one_of(None)
LIMIT = either(NONE, number(above=0))


def check_parameter(name: str, value: object, allowed: Allowed) -> None:
    """Refuse a value that is not allowed."""
    if not allowed.allows(value):
        msg = f"{name}={value!r} is not usable; expected {allowed.expected}."
        raise ValueError(msg)


def param(default: Any, allowed: Allowed) -> Any:
    """A parameter of an estimator: its default and its allowed values."""
    return field(default=default, metadata={"allowed": allowed})


def allowed_values(kind: Any) -> dict[str, Allowed]:
    """Allowed values of the parameters of an estimator; others are unrestricted."""
    return {f.name: f.metadata["allowed"] for f in fields(kind) if "allowed" in f.metadata}


def check_parameters(estimator: MultiViewClusterer) -> None:
    """Check all parameters before any work."""
    for name, allowed in allowed_values(type(estimator)).items():
        check_parameter(name, getattr(estimator, name), allowed)


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """The random generator of a fit."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


@dataclass(frozen=True)
class Weights:
    """Weights of samples, relative to the mean of those above zero in the first batch.

    Only their ratios matter, so that any unit gives the same clusters. Samples of weight zero do
    not enter the mean: they count for nothing, and adding some must not change a fit.
    """

    values: FloatArray | None = None  # (n_samples,); None: all are one
    unit: float = 1.0  # what was given for a weight of one

    @property
    def counted(self) -> slice | NDArray[np.bool_]:
        """Samples with a weight above zero."""
        return slice(None) if self.values is None or self.values.all() else self.values > 0

    @property
    def of_counted(self) -> FloatArray | None:
        """Weights of these samples; None if all are one."""
        return None if self.values is None else self.values[self.counted]

    @property
    def least(self) -> float:
        """Smallest weight above zero."""
        return 1.0 if self.values is None else float(self.values[self.counted].min())


def checked_weights(
    sample_weight: Any, n_samples: int, n_clusters: int, unit: float | None = None
) -> Weights:
    """Valid weights; `unit` is that of the first batch, if there was one."""
    if sample_weight is None:
        return Weights() if unit in (None, 1.0) else _weights_in(np.ones(n_samples), unit)
    given = np.asarray(sample_weight, dtype=np.float64)
    has_shape = given.shape == (n_samples,)
    if not has_shape or not np.all(np.isfinite(given)) or np.any(given < 0):
        found = (
            "holds negative or infinite values or NaN" if has_shape else f"has shape {given.shape}"
        )
        msg = f"sample_weight {found}; expected ({n_samples},) finite weights >= 0, one per sample."
        raise ViewError(msg)
    if np.count_nonzero(given) < n_clusters:
        msg = (
            f"Only {np.count_nonzero(given)} samples have a weight above zero, fewer than "
            f"n_clusters={n_clusters}. Use fewer clusters or give weights to more samples."
        )
        raise NotEnoughSamplesError(msg)
    return _weights_in(given, unit)


def fixed_parameters(estimator: Any, free: Sequence[str]) -> dict[str, Any]:
    """What all batches have in common: everything but the free parameters."""
    asked = estimator.get_params(deep=False)
    return {name: value for name, value in asked.items() if name not in free}


def check_fixed(estimator: Any, free: Sequence[str]) -> None:
    """Refuse parameters that were changed after the first batch; a loaded model has its own."""
    now = fixed_parameters(estimator, free)
    fixed = estimator.__dict__.setdefault("_fixed", now)
    for name, value in now.items():
        # as objects: numpy 2.0 cannot compare a word with a number
        if not np.array_equal(np.asarray(value, object), np.asarray(fixed[name], object)):
            msg = (
                f"{name}={value!r} after a first batch with {name}={fixed[name]!r}: between "
                f"batches only {', '.join(free)} may change. Set {name} back, or "
                "call fit to begin anew."
            )
            raise ValueError(msg)


def _weights_in(given: FloatArray, unit: float | None) -> Weights:
    """Weights relative to a unit, or to their own mean; refuses those that sums would lose."""
    above = given[given > 0]
    least, most = float(above.min()), float(above.max())
    if unit is None:
        unit = most * float(np.mean(above / most))  # the sum of huge weights would overflow
    least, most = min(least, unit), max(most, unit)
    if least < most / MOST_UNEQUAL:
        msg = (
            f"sample_weight ranges from {least:.3g} to {most:.3g}, a factor above "
            f"{MOST_UNEQUAL:.0e}, so that the smaller weights would be lost in sums. Use 0 for "
            "samples that shall not count, and raise the smallest weights."
        )
        raise ViewError(msg)
    mantissa, exponent = np.frexp(given / unit)
    values = np.ldexp(np.rint(np.ldexp(mantissa, WEIGHT_BITS)), exponent - WEIGHT_BITS)
    return Weights(None if np.all(values == 1) else values, unit)


def keeps_sample_names(cls: Class) -> Class:
    """Make `transform` keep the sample names as index of a DataFrame after `set_output`.

    scikit-learn keeps the index of a single DataFrame; views have their sample names elsewhere.
    """
    transform = cls.transform  # type: ignore[attr-defined]

    @wraps(transform)
    def wrapped(self: Any, X: Any, *args: Any, **keys: Any) -> Any:
        output = transform(self, X, *args, **keys)
        if isinstance(output, pd.DataFrame) and (names := sample_names(X)) is not None:
            output.index = names
        return output

    cls.transform = wrapped  # type: ignore[attr-defined]
    return cls
