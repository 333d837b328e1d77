"""Scaling of views before they enter the model.

A scaled row is  x' = f · (map(ℓ x) ∘ scale − offset) W:  a factor ℓ that gives all rows the same
sum, an element-wise map, an affine map of the columns, principal components W, and a row factor f;
most scalings have only some of these parts. `scale` and `offset` are computed in one pass over the
data, W from a subset, ℓ and f in a visit. A scaling is applied block by block inside the matrix
products; the scaled view is never stored as a copy of the data. A view may have several scalings;
each scaled view enters the model as a view of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from manyview.utils.types import FloatArray

Scaling: TypeAlias = Literal["unit", "l2", "sqrt-l2", "z", "z-l2", "pca-l2", "log-pca-l2"]
SCALINGS: tuple[str, ...] = get_args(Scaling)
AUTO = "auto"  # square roots, and what suits the view: see `suitable`
# element-wise maps; zero stays zero, so that sparse views stay sparse
MAPS: dict[str, np.ufunc] = {"sqrt": np.sqrt, "log1p": np.log1p}  # see `apply_map`
SPARSE = 0.7  # share of zeros from which on principal components lose more than they gain
FEWEST_COUNTS = 200.0  # mean row sum from which on counts are rates that a logarithm suits
WHITENING = 0.5  # exponent: 0 keeps the variances of the components, 1 makes them equal
LEAST_OF_FLOAT32, LEAST_OF_FLOAT64 = 1e-18, 1e-75  # deviation of a column that is not constant
LARGEST_FACTOR = 1e-3  # of the largest number of a dtype: room for what a factor is multiplied by


@dataclass(frozen=True)
class ColumnMoments:
    """Weight, mean, scatter and smallest value of the columns of one view."""

    weight: float
    mean: FloatArray  # (d_v,)
    scatter: FloatArray  # (d_v,): sum of squared distances to the mean
    smallest: float
    resolution: float  # relative rounding of the values
    zeros: float = 0.0  # share of zeros among the entries
    is_integer: bool = False  # all values are whole numbers

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        """Moments of the union of two sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        delta = other.mean - self.mean
        return ColumnMoments(
            weight=weight,
            mean=self.mean + share * delta,
            scatter=self.scatter + other.scatter + self.weight * share * delta**2,
            smallest=min(self.smallest, other.smallest),
            resolution=self.resolution,
            zeros=self.zeros + share * (other.zeros - self.zeros),
            is_integer=self.is_integer and other.is_integer,
        )

    @property
    def are_counts(self) -> bool:
        """Whether the values are counts with enough of them in a row."""
        total = float(self.mean.sum())
        return self.is_integer and self.smallest >= 0 and total >= FEWEST_COUNTS

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each column."""
        return np.sqrt(self.scatter / max(self.weight, np.finfo(float).tiny))

    @property
    def least_deviation(self) -> float:
        """Below it, squares of the largest values allowed would overflow once they are z-scores."""
        is_single = self.resolution == np.finfo(np.float32).eps
        return LEAST_OF_FLOAT32 if is_single else LEAST_OF_FLOAT64

    @property
    def mean_square_norm(self) -> float:
        """Mean of the squared norms of the rows."""
        return float(np.sum(self.deviation**2 + self.mean**2))


def join_columns(parts: Sequence[ColumnMoments]) -> ColumnMoments:
    """Moments of all columns of a view, from those of pieces of it."""
    widths = np.array([len(part.mean) for part in parts])
    return replace(
        parts[0],
        mean=np.concatenate([part.mean for part in parts]),
        scatter=np.concatenate([part.scatter for part in parts]),
        smallest=min(part.smallest for part in parts),
        zeros=float(widths @ [part.zeros for part in parts] / widths.sum()),
        is_integer=all(part.is_integer for part in parts),
    )


@dataclass(frozen=True)
class ViewScaling:
    """One scaling of one view; a part that is `None` is not applied."""

    view: int
    name: str | None = None  # of `SCALINGS`
    map: str | None = None  # of `MAPS`; None is the identity
    scale: NDArray[np.float64] | None = None  # (d_v,)
    offset: NDArray[np.float64] | None = None  # (d_v,)
    has_unit_rows: bool = False
    is_smoothed: bool = False  # each row is smoothed along the anchor graph
    row_sum: float | None = None  # that all rows get before the map
    components: NDArray[np.float64] | None = None  # (d_v, r): W

    @property
    def has_components(self) -> bool:
        """Whether the scaled rows are principal components, fitted or not."""
        return self.name in ("pca-l2", "log-pca-l2")

    @property
    def directions(self) -> NDArray[np.float64] | None:
        """The principal axes of unit norm: (d_v, r)."""
        if self.components is None:
            return None
        norms = np.linalg.norm(self.components, axis=0)
        return np.asarray(self.components / np.where(norms > 0, norms, 1.0))

    def width(self, n_features: int) -> int:
        """Number of columns of the scaled rows."""
        return n_features if self.components is None else self.components.shape[1]


def apply_map(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Apply one of `MAPS`; a negative value is mapped as its opposite is.

    Maps are fitted to values none of which is negative; new samples, and samples without weight,
    may have some.
    """
    function = MAPS[name]
    if values.size == 0 or values.min() >= 0:
        return np.asarray(function(values))
    return np.asarray(np.copysign(function(np.abs(values)), values))


def shortest_norm(dtype: Any) -> float:
    """Norm above which a row can be scaled to unit norm: its square has all its digits."""
    limits = np.finfo(np.float64)
    return max(1 / largest_factor(dtype), float(np.sqrt(limits.tiny / limits.eps)))


def largest_factor(dtype: Any) -> float:
    """Largest factor of a row whose products stay finite in a dtype."""
    return LARGEST_FACTOR * float(np.finfo(dtype).max)


def is_scale(scale: Any, *others: str) -> bool:
    """Whether `scale` is valid, or one of the additional names of a method."""
    if scale is not None and not isinstance(scale, str | Sequence):
        return False
    names = ["auto"] if scale is None else [scale] if isinstance(scale, str) else list(scale)
    if names in ([name] for name in ("auto", *others)):
        return True
    return len(names) > 0 and all(name in SCALINGS for name in names)


def scale_name(scale: str | Sequence[str] | None) -> str:
    """Text form of a `scale`, as on the command line."""
    return "none" if scale is None else scale if isinstance(scale, str) else ",".join(scale)


def suitable(columns: ColumnMoments) -> str:
    """The scaling of a view that "auto" adds to square roots.

    Principal components, of logarithms if the values are counts; z-scores if most are zero.
    """
    if columns.are_counts:
        return "log-pca-l2"
    return "z-l2" if columns.zeros >= SPARSE else "pca-l2"


def n_scalings(scale: str | Sequence[str] | None) -> int:
    """Number of scalings of each view."""
    return 2 if scale == AUTO else 1 if scale is None or isinstance(scale, str) else len(scale)


def fit_scalings(
    scale: str | Sequence[str], columns: Sequence[ColumnMoments]
) -> tuple[ViewScaling, ...]:
    """Fit the scalings of all views to the moments of their columns.

    Principal components are not fitted yet, nor what follows a logarithm: see
    `solver.scaled_rows`.
    """
    if scale == AUTO:
        names = [["sqrt-l2"] * len(columns), [suitable(moments) for moments in columns]]
    else:
        names = [[name] * len(columns) for name in ([scale] if isinstance(scale, str) else scale)]
    return tuple(
        fit_scaling(name, v, moments)
        for of_views in names
        for v, (name, moments) in enumerate(zip(of_views, columns, strict=True))
    )


def fit_scaling(name: str, v: int, columns: ColumnMoments) -> ViewScaling:
    """Fit one scaling of one view."""
    has_unit_rows = name.endswith("l2")
    if name == "unit":
        sum_squares = columns.mean_square_norm
        scale = np.full(columns.mean.shape, 1 / np.sqrt(sum_squares) if sum_squares > 0 else 1.0)
        return ViewScaling(v, name, scale=scale)
    if name in ("z", "z-l2", "pca-l2"):
        return z_scores(ViewScaling(v, name, has_unit_rows=has_unit_rows), columns)
    if name == "log-pca-l2":
        total = float(columns.mean.sum())
        has_logarithm = columns.smallest >= 0 and total > 0
        return ViewScaling(
            v,
            name,
            map="log1p" if has_logarithm else None,
            has_unit_rows=True,
            row_sum=total if has_logarithm else None,
        )
    if name in ("l2", "sqrt-l2"):
        root = "sqrt" if name == "sqrt-l2" and columns.smallest >= 0 else None
        return ViewScaling(v, name, map=root, has_unit_rows=has_unit_rows)
    msg = f"scaling {name!r} has a name and no fit; expected one in `fit_scaling`."
    raise NotImplementedError(msg)


def z_scores(scaling: ViewScaling, columns: ColumnMoments) -> ViewScaling:
    """A scaling with z-scores of the mapped columns, given their moments."""
    deviation = columns.deviation
    # a constant column has no information: rounding noise must not become unit variance
    least = np.maximum(8 * columns.resolution * np.abs(columns.mean), columns.least_deviation)
    varies = deviation > least
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return replace(scaling, scale=scale, offset=columns.mean * scale)


def groups_of(
    scalings: Sequence[ViewScaling], present: NDArray[np.bool_] | None, others: FloatArray | None
) -> tuple[NDArray[np.int64], int | NDArray[np.int64]]:
    """The distinct numbers of scaled views present, and others; which of them each row has.

    One number if all rows have all views.
    """
    more: list[float] = [] if others is None else others.tolist()
    if present is None:
        known = np.unique([len(scalings), *more]).astype(np.int64)
        return known, int(np.searchsorted(known, len(scalings)))
    counts = present[:, [scaling.view for scaling in scalings]].sum(axis=1)
    known = np.unique(np.concatenate([counts, more])).astype(np.int64)
    return known, np.searchsorted(known, counts)
