"""Views of new samples that have moved: another unit, a missing logarithm, constant features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.scaling import ColumnMoments
from manyview.data.views import MultiViewData
from manyview.engines import Engine
from manyview.solver.outliers import OutlierReference
from manyview.solver.scaled_rows import describe_columns
from manyview.utils.types import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

FAR = 3.0  # standard deviations of a feature: more than between two clusters
RATIO = 4.0  # of a mean or spread: more than between one cluster and all
FEWEST_ROWS = 5  # for a ratio
CHANCE = 1e-6  # of a feature that happens to be constant among the new samples
N_NAMED = 5
REMEDY = "perhaps another unit, or not log-transformed"


@dataclass(frozen=True)
class Shift:
    """One way in which a view of new samples differs from that of the fit.

    Attributes
    ----------
    view : str
        Name of the view.
    kind : {"level", "location", "spread", "negative", "constant"}
        What has changed.
    value : float
        Ratio of the means or spreads, median distance in standard deviations, smallest value, or
        number of constant features.
    sentence : str
        The same in words.
    """

    view: str
    kind: str
    value: float
    sentence: str


def common_shares(data: MultiViewData) -> tuple[FloatArray, ...]:
    """Share of the samples with the commonest value of each feature: the smallest, or zero.

    Parameters
    ----------
    data : MultiViewData
        Samples in memory.

    Returns
    -------
    tuple of ndarray of shape (n_features,)
        One array per view.
    """
    shares = []
    for v, view in enumerate(data.arrays):
        rows = view if data.present is None else view[data.present[:, v]]
        n = max(rows.shape[0], 1)
        if isinstance(rows, sparse.csr_array):
            stored = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1])
            shares.append(1 - stored / n)
        else:
            smallest = rows.min(axis=0, initial=np.inf)
            n_smallest, n_zero = ((rows == value).sum(axis=0) for value in (smallest, 0))
            shares.append(np.maximum(n_smallest, n_zero) / n)
    return tuple(shares)


def find_shifts(
    reference: OutlierReference,
    engine: Engine,
    view_names: Sequence[str],
    feature_names: Sequence[NDArray[Any] | None],
) -> list[Shift]:
    """Compare the columns of new samples with those of a fit.

    Parameters
    ----------
    reference : OutlierReference
        Of the fit.
    engine : Engine
        Holds the new samples, unscaled.
    view_names : sequence of str
        Names of the views.
    feature_names : sequence of array or None
        Names of the features of each view.

    Returns
    -------
    list of Shift
        Empty if nothing has moved. A view that all new samples lack is not compared.
    """
    found = engine.map_reduce(describe_columns).views
    parts = zip(view_names, reference.columns.views, found, strict=True)
    shifts = []
    for v, (name, old, new) in enumerate(parts):
        if new.weight > 0 and old.weight > 0:
            shifts += list(_moved(name, old, new))
            share, features = reference.common_shares[v], feature_names[v]
            shifts += list(_constant(name, old, new, share, features))
    return shifts


def _moved(name: str, old: ColumnMoments, new: ColumnMoments) -> Iterator[Shift]:
    """Changes of a view as a whole; the plainest of level, location and spread."""
    varies = _varies(old)
    if old.smallest >= 0 > new.smallest:
        sentence = f"View {name}: negative values (down to {new.smallest:.3g}); the fit had none."
        yield Shift(name, "negative", float(new.smallest), sentence)
    if not varies.any():
        return
    mean, deviation = old.mean[varies], old.deviation[varies]
    level = float(np.abs(new.mean[varies]).sum() / max(np.abs(mean).sum(), 1e-300))
    distance = float(np.median(np.abs(new.mean[varies] - mean) / deviation))
    spread = float(np.sqrt(np.mean((new.deviation[varies] / deviation) ** 2)))
    is_level = old.smallest >= 0 and _is_far_from_one(level)
    has_rows = new.weight >= FEWEST_ROWS
    if is_level and (has_rows or distance > FAR):
        words = f"mean {_times(level)} that of the fit; {REMEDY}."
        yield Shift(name, "level", level, f"View {name}: {words}")
    elif has_rows and _is_far_from_one(spread):
        words = f"spread {_times(spread)} that of the fit; {REMEDY}."
        yield Shift(name, "spread", spread, f"View {name}: {words}")
    elif distance > FAR:
        words = f"features {distance:.1f} standard deviations from their mean in the fit (median)"
        yield Shift(name, "location", distance, f"View {name}: {words}; {REMEDY}.")


def _constant(
    name: str,
    old: ColumnMoments,
    new: ColumnMoments,
    share: FloatArray,
    features: NDArray[Any] | None,
) -> Iterator[Shift]:
    """Features that are constant, where they were not and chance would hardly make them."""
    is_chance = share**new.weight > CHANCE
    lost = np.flatnonzero(_varies(old) & ~_varies(new) & ~is_chance)
    if new.weight < FEWEST_ROWS or len(lost) == 0:
        return
    names = [str(j if features is None else features[j]) for j in lost[:N_NAMED]]
    named = ", ".join(names) + (" …" if len(lost) > N_NAMED else "")
    words = "feature is constant, which was not" if len(lost) == 1 else "features are constant"
    rest = "" if len(lost) == 1 else ", which were not"
    sentence = f"View {name}: {len(lost):,} {words}{rest} in the fit: {named}."
    yield Shift(name, "constant", float(len(lost)), sentence)


def _varies(columns: ColumnMoments) -> NDArray[np.bool_]:
    """Columns whose spread is more than rounding."""
    return np.asarray(columns.deviation > 8 * columns.resolution * np.abs(columns.mean))


def _is_far_from_one(ratio: float) -> bool:
    return not 1 / RATIO <= ratio <= RATIO


def _times(ratio: float) -> str:
    """A ratio in words."""
    return f"{ratio:.3g} times"
