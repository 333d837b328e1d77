"""Single missing values, estimated by a low-rank model of the values that are there.

Columns are standardized, and views weigh the same. X ≈ Σ_i s_i u_i v_iᵀ, and what is missing is
filled by the model itself: fill, take the leading directions, shrink each by the share of noise in
it, and fill again. The number of directions, and whether a view is completed from all views or from
its own values, is what restores values best that are there and were hidden; zero directions are the
means. Values of new samples are those of the cluster that is nearest by the values that are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.data.containers import merged_index
from manyview.exceptions import ViewError
from manyview.io._missing_values import Filled, refuse_infinite, without_empty_features
from manyview.io._table import Table
from manyview.utils.types import FloatArray

N_DIRECTIONS = (1, 2, 3, 5, 8, 12, 20)
HIDDEN = 0.05  # share of the values that are hidden to choose among these
ROWS_TO_CHOOSE = 2000
ROUNDS, STILL = 50, 1e-3  # relative change of the filled values that ends the rounds
MORE = 5  # directions that the subspace iteration follows besides


@dataclass(frozen=True)
class _Values:
    """Standardized values of some views side by side, zero where they are missing."""

    X: FloatArray  # (n, D)
    is_missing: NDArray[np.bool_]

    def hide(self, is_hidden: NDArray[np.bool_]) -> _Values:
        """The same with more values missing."""
        return _Values(np.where(is_hidden, 0.0, self.X), self.is_missing | is_hidden)

    def part(self, columns: slice) -> _Values:
        """One view."""
        return _Values(self.X[:, columns], self.is_missing[:, columns])


@dataclass(frozen=True)
class Completed:
    """A view without NaN, and by how many directions, and whether of all views, it was filled."""

    values: FloatArray
    n_directions: int
    is_from_all: bool


def estimate(tables: Sequence[Table], names: pd.Index) -> list[Filled]:
    """Tables whose single missing values are estimated from all views; `names` are the samples."""
    dense, views, rows = [], [], []
    for table in tables:
        refuse_infinite(table)
        if not isinstance(table.values, np.ndarray):
            msg = f"{table.file} is sparse; --nan estimate needs dense values. Try feature-mean."
            raise ViewError(msg)
        kept = without_empty_features(table)
        values = np.full((len(names), kept.values.shape[1]), np.nan)
        rows.append(names.get_indexer(table.samples))
        values[rows[-1]] = kept.values
        dense.append(kept)
        views.append(values)
    counts = [int(np.isnan(values[at]).sum()) for values, at in zip(views, rows, strict=True)]
    found = complete(views) if any(counts) else [Completed(values, 0, False) for values in views]
    return [
        Filled(
            replace(table, values=one.values[at].astype(table.values.dtype)),
            n_nan,
            _action(n_nan, one, len(tables)),
        )
        for table, one, at, n_nan in zip(dense, found, rows, counts, strict=True)
    ]


def _action(n_nan: int, one: Completed, n_views: int) -> str:
    if n_nan == 0:
        return ""
    if one.n_directions == 0:
        return f"{n_nan} filled with the feature's mean, since nothing restored values better"
    source = "all views" if one.is_from_all and n_views > 1 else "the view itself"
    return f"{n_nan} estimated from {source}, by {one.n_directions} directions"


def complete(views: Sequence[FloatArray]) -> list[Completed]:
    """Fill the NaN of some views of the same samples; no feature may be NaN throughout."""
    means = [np.asarray(np.nanmean(view, axis=0)) for view in views]
    spreads = [_spread(view) for view in views]
    X = np.hstack([(x - m) / s for x, m, s in zip(views, means, spreads, strict=True)])
    values = _Values(np.nan_to_num(X), np.isnan(X))
    ends = np.cumsum([0, *(view.shape[1] for view in views)]).tolist()
    columns = [slice(a, b) for a, b in pairwise(ends)]
    models: dict[int, FloatArray] = {}  # of all views, by their number of directions
    found = []
    for v, (n_directions, is_from_all) in enumerate(_choose(values, columns)):
        if is_from_all:
            if n_directions not in models:
                models[n_directions] = _low_rank(values, n_directions)
            guess = models[n_directions][:, columns[v]]
        else:
            guess = _low_rank(values.part(columns[v]), n_directions)
        filled = np.where(np.isnan(views[v]), guess * spreads[v] + means[v], views[v])
        found.append(Completed(filled, n_directions, is_from_all))
    return found


def _spread(view: FloatArray) -> FloatArray:
    """Deviation of each feature over its known values, so that all views weigh the same."""
    deviation = np.nanstd(view, axis=0)
    return np.asarray(np.where(deviation > 0, deviation, 1.0) * np.sqrt(view.shape[1]))


def _choose(values: _Values, columns: Sequence[slice]) -> list[tuple[int, bool]]:
    """Number of directions of each view, and whether they are those of all views."""
    rng = np.random.default_rng(0)
    if len(values.X) > ROWS_TO_CHOOSE:
        at = rng.choice(len(values.X), ROWS_TO_CHOOSE, replace=False)
        values = _Values(values.X[at], values.is_missing[at])
    is_hidden = ~values.is_missing & (rng.random(values.X.shape) < HIDDEN)
    hidden = values.hide(is_hidden)
    truth = np.where(is_hidden, values.X, 0.0)
    found: list[tuple[float, int, bool]] = [
        (float(np.sum(truth[:, one] ** 2)), 0, False) for one in columns
    ]
    parts = [(slice(None), True)] if len(columns) > 1 else []
    for where, from_all in [*parts, *((one, False) for one in columns)]:
        part = hidden.part(where)
        for n_directions in N_DIRECTIONS:
            if n_directions >= min(part.X.shape):
                break
            errors = np.zeros_like(truth)
            errors[:, where] = np.where(
                is_hidden[:, where], _low_rank(part, n_directions) - truth[:, where], 0.0
            )
            own = [(float(np.sum(errors[:, one] ** 2)), n_directions, from_all) for one in columns]
            is_part = [from_all or one == where for one in columns]
            better = [
                min(old, new) if is_own else old
                for old, new, is_own in zip(found, own, is_part, strict=True)
            ]
            if better == found:
                break
            found = better
    return [(n_directions, from_all) for _, n_directions, from_all in found]


def _low_rank(values: _Values, n_directions: int) -> FloatArray:
    """The model of the values: (n, D)."""
    if n_directions == 0:
        return np.zeros_like(values.X)
    n_columns = min(n_directions + MORE, *values.X.shape)
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((values.X.shape[1], n_columns)))[0]
    X = values.X.copy()
    guess = np.zeros_like(X)
    for _ in range(ROUNDS):
        Q = np.linalg.qr(X.T @ (X @ Q))[0]
        U, s, Wt = np.linalg.svd(X @ Q, full_matrices=False)
        rest = max(float(np.sum(X**2) - np.sum(s[:n_directions] ** 2)), 0.0)
        noise = rest / max(min(X.shape) - n_directions, 1)
        kept = s[:n_directions] - noise / np.maximum(s[:n_directions], np.finfo(float).tiny)
        guess = (U[:, :n_directions] * np.maximum(kept, 0.0)) @ (Wt[:n_directions] @ Q.T)
        filled = np.where(values.is_missing, guess, values.X)
        change = np.linalg.norm(filled - X) / max(float(np.linalg.norm(X)), np.finfo(float).tiny)
        X = filled
        if change < STILL:
            break
    return np.asarray(guess)


def estimate_new(
    tables: Sequence[Table], centers: Sequence[FloatArray], spreads: Sequence[FloatArray]
) -> list[Filled]:
    """Tables of new samples with the values of the nearest cluster where they have none.

    `centers` (k, d_v) and `spreads` (d_v,) are those of the views of a fit; a cluster without a
    view has a center of NaN.
    """
    names = merged_index([table.samples for table in tables], "outer")
    n_clusters = len(centers[0])
    distances = np.zeros((len(names), n_clusters))
    for table, own, spread in zip(tables, centers, spreads, strict=True):
        refuse_infinite(table)
        rows = names.get_indexer(table.samples)
        for c in range(n_clusters):
            apart = ((_dense(table) - own[c]) / np.where(spread > 0, spread, 1.0)) ** 2
            is_known = ~np.isnan(apart)
            distances[rows, c] += np.where(is_known, apart, 0.0).sum(axis=1) / np.maximum(
                is_known.sum(axis=1), 1
            )
            distances[rows, c] += np.inf if np.isnan(own[c]).all() else 0.0
    nearest = distances.argmin(axis=1)
    found = []
    for table, own in zip(tables, centers, strict=True):
        values = _dense(table)
        is_nan, guess = np.isnan(values), own[nearest[names.get_indexer(table.samples)]]
        n_nan = int(is_nan.sum())
        action = f"{n_nan} filled from the nearest cluster" if n_nan else ""
        filled = np.where(is_nan, guess, values)
        found.append(Filled(replace(table, values=filled) if n_nan else table, n_nan, action))
    return found


def _dense(table: Table) -> Any:
    values = table.values
    return values if isinstance(values, np.ndarray) else values.toarray()
