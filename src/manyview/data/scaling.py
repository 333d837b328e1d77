"""Scaling of views before they enter the model.

A scaled row is  x' = f · (map(x) ∘ scale − offset):  an element-wise map (the identity or
the square root), an affine map of the columns and a row factor f. `scale` and `offset` are computed
in one pass over the data, f in a second. A scaling is applied block by block inside the matrix
products; the scaled view is never stored as a copy of the data. A view may have several scalings;
each scaled view enters the model as a view of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from manyview.utils.types import FloatArray

Scaling: TypeAlias = Literal["unit", "l2", "sqrt-l2", "z", "z-l2"]
SCALINGS: tuple[str, ...] = get_args(Scaling)
AUTO: tuple[str, ...] = ("sqrt-l2", "z-l2")
# element-wise maps; zero stays zero, so that sparse views stay sparse
MAPS: dict[str, np.ufunc] = {"sqrt": np.sqrt}


@dataclass(frozen=True)
class ColumnMoments:
    """Weight, mean, scatter and smallest value of the columns of one view."""

    weight: float
    mean: FloatArray  # (d_v,)
    scatter: FloatArray  # (d_v,): sum of squared distances to the mean
    smallest: float
    resolution: float  # relative rounding of the values

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
        )

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each column."""
        return np.sqrt(self.scatter / max(self.weight, np.finfo(float).tiny))

    @property
    def mean_square_norm(self) -> float:
        """Mean of the squared norms of the rows."""
        return float(np.sum(self.deviation**2 + self.mean**2))


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


def scaling_names(scale: str | Sequence[str]) -> tuple[str, ...]:
    """The scalings of the estimator's `scale`."""
    if isinstance(scale, str):
        return AUTO if scale == "auto" else (scale,)
    return tuple(scale)


def fit_scalings(
    scale: str | Sequence[str], columns: Sequence[ColumnMoments]
) -> tuple[ViewScaling, ...]:
    """Fit the scalings of all views to the moments of their columns."""
    return tuple(
        _fit_scaling(name, v, moments)
        for name in scaling_names(scale)
        for v, moments in enumerate(columns)
    )


def _fit_scaling(name: str, v: int, columns: ColumnMoments) -> ViewScaling:
    """Fit one scaling of one view."""
    has_unit_rows = name.endswith("l2")
    if name == "unit":
        sum_squares = columns.mean_square_norm
        scale = np.full(columns.mean.shape, 1 / np.sqrt(sum_squares) if sum_squares > 0 else 1.0)
        return ViewScaling(v, name, scale=scale)
    if name in ("z", "z-l2"):
        deviation = columns.deviation
        # a constant column has no information: rounding noise must not become unit variance
        varies = deviation > 8 * columns.resolution * np.abs(columns.mean)
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
        return ViewScaling(
            v, name, scale=scale, offset=columns.mean * scale, has_unit_rows=has_unit_rows
        )
    if name in ("l2", "sqrt-l2"):
        root = "sqrt" if name == "sqrt-l2" and columns.smallest >= 0 else None
        return ViewScaling(v, name, map=root, has_unit_rows=has_unit_rows)
    msg = f"scaling {name!r} has a name and no fit; expected one in `_fit_scaling`."
    raise NotImplementedError(msg)
