"""Scalings fitted to the rows of an engine, and applied to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike

from manyview.data.scaling import (
    WHITENING,
    ColumnMoments,
    ViewScaling,
    fit_scalings,
    z_scores,
)
from manyview.engines import Engine
from manyview.kernels import Kernels
from manyview.kernels.block import Block
from manyview.kernels.row_space import RowSpace, find_row_space, holds_more, is_wide, narrow_data
from manyview.kernels.statistics import ArraySums
from manyview.utils.threads import limit_blas
from manyview.utils.types import FloatArray

N_COMPONENTS = 50  # principal components of a view at most,
ROWS_PER_COMPONENT = 3  # and samples for each of them
POWER_STEPS = 3  # of subspace iteration
MORE_COLUMNS = 10  # that it uses
LOST = 1e-10  # of the largest eigenvalue: below, a component is rounding noise
FAR = 1e4  # squared norm of the mean, relative to the mean squared distance from it
TINY = float(np.finfo(np.float64).tiny)


def find_scalings(
    engine: Engine, subset: Engine, scale: str | Sequence[str] | None, n_views: int
) -> tuple[ViewScaling, ...]:
    """Fit the scalings of all views, principal components on a subset of the rows.

    Both engines hold unscaled rows. None needs no pass over them.
    """
    if scale is None:
        return tuple(ViewScaling(v) for v in range(n_views))
    return fit_components(subset, fit_scalings(scale, engine.map_reduce(describe_columns).views))


def fit_components(engine: Engine, scalings: tuple[ViewScaling, ...]) -> tuple[ViewScaling, ...]:
    """Fit the principal components of scalings that have some, to the rows of an engine.

    W has the leading eigenvectors of the covariance of z-scores, each divided by a power of its
    eigenvalue. They are found by subspace iteration. Its random vectors are the same for all views,
    so that the order of the views does not matter.
    """
    which = [r for r, scaling in enumerate(scalings) if scaling.has_components]
    if not which:
        return scalings
    chosen = [scalings[r] for r in which]
    _set_rows(engine, chosen)
    if any(scaling.scale is None for scaling in chosen):  # z-scores of logarithms
        columns = engine.map_reduce(describe_columns).views
        pairs = zip(chosen, columns, strict=True)
        chosen = [z_scores(s, own) if s.scale is None else s for s, own in pairs]
        _set_rows(engine, chosen)
    engine.map_reduce(subtract_first, tuple(is_far(scaling) for scaling in chosen))
    widths = [0 if s.scale is None else len(s.scale) for s in chosen]
    most = max(min(N_COMPONENTS, engine.n_samples // ROWS_PER_COMPONENT), 2)
    n_columns = most + MORE_COLUMNS
    random = np.random.default_rng(0).standard_normal((max(widths), n_columns))
    bases: list[FloatArray] = [np.eye(d) if d <= n_columns else random[:d] for d in widths]
    is_broad = [d > n_columns for d in widths]
    spaces, rows = _row_spaces(engine, chosen, widths)
    bases = [Q if space is None else space.lower(Q) for space, Q in zip(spaces, bases, strict=True)]
    for _ in range(POWER_STEPS if any(is_broad) else 0):
        asked = [Q if broad else None for Q, broad in zip(bases, is_broad, strict=True)]
        products = iter(rows.map_reduce(spread_along, asked).arrays)
        with limit_blas(1):
            bases = [
                np.linalg.qr(next(products))[0] if broad else Q
                for Q, broad in zip(bases, is_broad, strict=True)
            ]
    products = iter(rows.map_reduce(spread_along, bases).arrays)
    fitted = list(scalings)
    for r, scaling, Q, space in zip(which, chosen, bases, spaces, strict=True):
        W = _components(Q, next(products), most)
        fitted[r] = replace(scaling, components=W if space is None else space.lift(W))
    return tuple(fitted)


def find_row_spaces(
    engine: Engine, is_wanted: Sequence[bool], least_rank: int = 1
) -> list[RowSpace | None]:
    """The row space of each scaled view of an engine, if wanted and of enough dimensions.

    On a device, where products are fast, there is none.
    """
    if not any(is_wanted) or engine.kernels.is_parallel:
        return [None] * len(is_wanted)
    blocks = engine.sample(engine.n_samples, np.random.default_rng(0))  # all of them
    spaces = []
    for position, wanted in enumerate(is_wanted):
        rows = tuple(block.views[position] for block in blocks)
        is_gain = wanted and holds_more(rows)
        space = find_row_space(engine.kernels, rows, engine.gram(position)) if is_gain else None
        spaces.append(None if space is None or space.rank < least_rank else space)
    return spaces


def narrow_engine(
    engine: Engine,
    spaces: Sequence[RowSpace | None],
    scalings: Sequence[ViewScaling],
    dtype: DTypeLike | None = None,
) -> tuple[Engine, tuple[ViewScaling, ...]]:
    """An engine with narrow views for the scaled views of another, and what is left to scale.

    Coordinates have the dtype of their view, if none is given.
    """
    blocks = engine.sample(engine.n_samples, np.random.default_rng(0))  # all of them
    data = narrow_data(blocks, spaces, scalings, dtype)
    narrow = engine.beside(data, np.concatenate([block.weights for block in blocks]))
    is_done = [
        space is not None or scaling.components is not None
        for space, scaling in zip(spaces, scalings, strict=True)
    ]
    left = (
        ViewScaling(v) if done else replace(scaling, view=v)
        for v, (scaling, done) in enumerate(zip(scalings, is_done, strict=True))
    )
    return narrow, tuple(left)


def _row_spaces(
    engine: Engine, scalings: Sequence[ViewScaling], widths: Sequence[int]
) -> tuple[list[RowSpace | None], Engine]:
    """The row spaces of wide views, and an engine with their coordinates in place of them."""
    spaces = find_row_spaces(engine, [is_wide(engine.n_samples, d) for d in widths])
    if not any(spaces):
        return spaces, engine
    narrow, scalings = narrow_engine(engine, spaces, scalings, np.float64)
    _set_rows(narrow, scalings)
    narrow.map_reduce(subtract_first, tuple(is_far(scaling) for scaling in scalings))
    return spaces, narrow


def _components(Q: FloatArray, C: FloatArray, most: int) -> FloatArray:
    """W from an orthonormal Q and C = S Q, S the scatter: (d_v, at most `most`)."""
    with limit_blas(1):
        values, vectors = np.linalg.eigh((Q.T @ C + C.T @ Q) / 2)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    is_kept = values > LOST * max(float(values[0]), TINY)
    if not is_kept.any():
        return np.zeros((len(Q), 1))
    relative = values[is_kept] / values[0]
    return np.asarray(Q @ vectors[:, is_kept] * relative ** (-WHITENING / 2))


def _set_rows(engine: Engine, scalings: Sequence[ViewScaling]) -> None:
    """Scale the rows, without principal components and row factors."""
    engine.apply_scalings(scalings)
    set_row_sums(engine, scalings)


def set_row_sums(engine: Engine, scalings: Sequence[ViewScaling]) -> None:
    """Give the rows of counts the same sum."""
    if any(scaling.row_sum is not None for scaling in scalings):
        engine.map_reduce(set_levels, tuple(scaling.row_sum for scaling in scalings))


def apply_scalings(
    engine: Engine, scalings: Sequence[ViewScaling], n_present: FloatArray | None = None
) -> FloatArray:
    """Scale the rows of an engine, including row factors.

    Principal components of wide views are stored at once: to compute them takes longest.
    """
    known = engine.apply_scalings(scalings, n_present)
    set_row_sums(engine, scalings)
    axes = [scaling.components for scaling in scalings]
    if any(W is not None and is_wide(engine.n_samples, len(W)) for W in axes):
        engine.map_reduce(store_scaled)
    engine.map_reduce(set_row_factors, tuple(scaling.has_unit_rows for scaling in scalings))
    return known


def is_far(scaling: ViewScaling) -> bool:
    """Whether the offset of a z-score is large relative to the spread around it."""
    if scaling.offset is None or scaling.scale is None:
        return False
    return bool(scaling.offset @ scaling.offset > FAR * np.count_nonzero(scaling.scale))


@dataclass(frozen=True)
class ViewColumns:
    """Column moments of all views; additive."""

    views: tuple[ColumnMoments, ...]

    def __add__(self, other: ViewColumns) -> ViewColumns:
        """Moments of the union of two sets of rows."""
        return ViewColumns(tuple(a + b for a, b in zip(self.views, other.views, strict=True)))


def describe_columns(block: Block, kernels: Kernels) -> tuple[Block, ViewColumns]:
    """Column moments of the views before scaling."""
    return block, ViewColumns(tuple(kernels.columns(view, block.weights) for view in block.views))


def set_levels(
    block: Block, kernels: Kernels, row_sums: tuple[float | None, ...]
) -> tuple[Block, ArraySums]:
    """Set ℓ of the scaled views whose rows get the same sum."""
    views = []
    for view, wanted in zip(block.views, row_sums, strict=True):
        if wanted is not None:
            view = replace(view, level=kernels.sum_factors(replace(view, map=None), wanted))
        views.append(view)
    return replace(block, views=tuple(views)), ArraySums(())


def subtract_first(
    block: Block, kernels: Kernels, is_far: tuple[bool, ...]
) -> tuple[Block, ArraySums]:
    """Make products subtract the offset of z-scores before they sum, against cancellation."""
    views = tuple(
        replace(view, baseline=np.zeros(view.values.shape[1])) if far else view
        for view, far in zip(block.views, is_far, strict=True)
    )
    return replace(block, views=views), ArraySums(())


def store_scaled(block: Block, kernels: Kernels) -> tuple[Block, ArraySums]:
    """Store the scaled rows that are principal components: they are narrow, and used often."""
    views = tuple(
        view if view.table is None else kernels.store_scaled(view) for view in block.views
    )
    return replace(block, views=views), ArraySums(())


def spread_along(
    block: Block, kernels: Kernels, bases: Sequence[FloatArray | None]
) -> tuple[Block, ArraySums]:
    """X_vᵀ diag(ω) X_v Q_v of each scaled view that has a Q_v."""
    sums: list[FloatArray] = []
    for view, Q in zip(block.views, bases, strict=True):
        if Q is None:
            continue
        rows = kernels.project((view,), (Q,))
        rows *= kernels.asarray(block.weights[:, None], like=rows)
        sums += kernels.accumulate((view,), rows).arrays
    return block, ArraySums(tuple(sums))


def set_row_factors(
    block: Block, kernels: Kernels, has_unit_rows: tuple[bool, ...]
) -> tuple[Block, ArraySums]:
    """Set f of the scaled views with unit rows."""
    views = []
    for view, is_unit in zip(block.views, has_unit_rows, strict=True):
        if is_unit:
            factor = kernels.unit_factors(kernels.row_squares(view), view.values.dtype)
            view = replace(
                view, factor=factor if view.factor is None else factor * (view.factor > 0)
            )
        views.append(view)
    return replace(block, views=tuple(views)), ArraySums(())
