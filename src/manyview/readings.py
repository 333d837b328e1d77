"""Readings: how a view is scaled before it enters the model.

A reading of a row x is  x' = f · (map(x) ∘ scale − offset):  an element-wise map (the identity or
the square root), a column affine and a row factor f. `scale` and `offset` are fixed by one pass
over the data, f by a second. A reading is applied block by block inside the matrix products and
never exists as a second copy of the data. A view may be read in several ways; each enters as a view
of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from manyview.blocks import ColumnMoments

__all__ = ["SCALINGS", "Reading", "fit_readings", "is_scale", "scale_name", "scalings"]

Scaling: TypeAlias = Literal["unit", "l2", "sqrt-l2", "z", "z-l2"]
SCALINGS: tuple[str, ...] = get_args(Scaling)
AUTO: tuple[str, ...] = ("sqrt-l2", "z-l2")


@dataclass(frozen=True)
class Reading:
    """One way to read one view; `None` leaves that part of the map out."""

    view: int
    scaling: str | None = None
    takes_root: bool = False
    scale: NDArray[np.float64] | None = None  # (d_v,)
    offset: NDArray[np.float64] | None = None  # (d_v,)
    has_unit_rows: bool = False
    is_mixed: bool = False  # each row a mix of the mean rows of its neighbors


def is_scale(scale: str | Sequence[str] | None, *others: str) -> bool:
    """Whether readings stand for a `scale`, or it is one of the names that a method adds."""
    names = ["auto"] if scale is None else [scale] if isinstance(scale, str) else list(scale)
    if names in ([name] for name in ("auto", *others)):
        return True
    return len(names) > 0 and all(name in SCALINGS for name in names)


def scale_name(scale: str | Sequence[str] | None) -> str:
    """A `scale` in one word, as the command line takes it."""
    return "none" if scale is None else scale if isinstance(scale, str) else ",".join(scale)


def scalings(scale: str | Sequence[str]) -> tuple[str, ...]:
    """Scalings that the estimator's `scale` stands for."""
    if isinstance(scale, str):
        return AUTO if scale == "auto" else (scale,)
    return tuple(scale)


def fit_readings(
    scale: str | Sequence[str], columns: Sequence[ColumnMoments]
) -> tuple[Reading, ...]:
    """Fix the readings of all views from the moments of their columns."""
    return tuple(
        _fit_reading(scaling, v, moments)
        for scaling in scalings(scale)
        for v, moments in enumerate(columns)
    )


def _fit_reading(scaling: str, v: int, columns: ColumnMoments) -> Reading:
    """Fix one reading of one view."""
    has_unit_rows = scaling.endswith("l2")
    if scaling == "unit":
        energy = columns.mean_square_norm
        scale = np.full(columns.mean.shape, 1 / np.sqrt(energy) if energy > 0 else 1.0)
        return Reading(v, scaling, scale=scale)
    if scaling in ("z", "z-l2"):
        deviation = columns.deviation
        # a constant column carries nothing: its rounding noise must not become unit variance
        varies = deviation > 8 * columns.resolution * np.abs(columns.mean)
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
        return Reading(
            v, scaling, scale=scale, offset=columns.mean * scale, has_unit_rows=has_unit_rows
        )
    takes_root = scaling == "sqrt-l2" and columns.smallest >= 0
    return Reading(v, scaling, takes_root=takes_root, has_unit_rows=has_unit_rows)
