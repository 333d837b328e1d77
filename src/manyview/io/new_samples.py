"""Read new samples for a fitted model: match tables with views, and order the features."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.containers import merged_index
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io._assembly import (
    PathLike,
    check_options,
    described,
    read_tables,
    rows_of,
    spread,
    with_view_names,
)
from manyview.io._categories import has_categories, with_known_categories
from manyview.io._completion import estimate_new
from manyview.io._matching import orient
from manyview.io._missing_values import Filled, fill, without_empty_rows
from manyview.io._naming import check_names, name_samples
from manyview.io._table import Table
from manyview.io.tables import LoadedViews, Samples

NanOfNew = Literal["fail", "feature-mean", "estimate"]
ENOUGH = 0.5  # share of the features of a view that identifies a table with it
SHOWN = 5  # names in a message


@dataclass(frozen=True, eq=False)
class FittedView:
    """A view of a fitted model.

    Attributes
    ----------
    name : str
        Name of the view.
    means : array of shape (d_v,)
        Mean of each feature.
    features : array of str of shape (d_v,), or None
        Names of the features, if the fit had them.
    centers : array of shape (k, d_v), or None
        Mean of each feature in each cluster; NaN where a cluster lacks the view.
    spreads : array of shape (d_v,), or None
        Standard deviation of each feature.
    """

    name: str
    means: NDArray[np.float64]
    features: NDArray[np.object_] | None = None
    centers: NDArray[np.float64] | None = None
    spreads: NDArray[np.float64] | None = None


def read_new_samples(
    paths: PathLike | Sequence[PathLike],
    fitted_views: Sequence[FittedView],
    *,
    id: str | None = None,
    samples: Samples = "auto",
    nan: NanOfNew = "fail",
    view_names: Sequence[str] | None = None,
    by_position: bool = False,
) -> LoadedViews:
    """Read some or all views of new samples, with views and features ordered as in the fit.

    Parameters
    ----------
    paths : path or sequence of paths
        Files or folders, as for `read_views`. A table is matched with a view by its name, else by
        its features, else by its width, if that is unique.
    fitted_views : sequence of FittedView
        The views of the fit.
    id : str, optional
        Name of the column with the sample names.
    samples : {"auto", "rows", "columns"}, default="auto"
        Whether samples are in rows or columns. "auto": the side that does not name the features.
    nan : {"fail", "feature-mean", "estimate"}, default="fail"
        Handling of NaN in part of a row, and of features that a file lacks: refuse, impute the
        mean of the feature in the fit, or that of the cluster which is nearest by the values that
        are there.
    view_names : sequence of str, optional
        Name of the view of the fit for each table, if the file names do not identify it.
    by_position : bool, default=False
        Match row i of each table with row i of the others, whatever their names are.

    Returns
    -------
    LoadedViews
        All views of the fit; those that are in no file are marked as missing.
    """
    check_options(samples=(samples, Samples), nan=(nan, NanOfNew))
    unknown = [
        name for name in view_names or () if name not in {view.name for view in fitted_views}
    ]
    if unknown:
        msg = f"The model has no view {unknown[0]!r} (--views); it has {_listed(fitted_views)}."
        raise ViewError(msg)
    tables, notes = _read(paths, id, view_names, fitted_views)
    chosen = [_choose(table, fitted_views, samples) for table in tables]
    _refuse_twins(tables, [v for v, _ in chosen], fitted_views)
    tables = [
        replace(table.turned() if side else table, view=fitted_views[v].name)
        for table, (v, side) in zip(tables, chosen, strict=True)
    ]
    tables = _named_by_keys(tables, [fitted_views[v] for v, _ in chosen], by_position)
    check_names(tables)
    named = name_samples(tables, by_position=by_position)
    tables = [without_empty_rows(table) for table in named.tables]
    notes += named.notes
    found_views = [v for v, _ in chosen]
    filled, remarks = _filled(tables, [fitted_views[v] for v in found_views], nan)
    notes += remarks
    notes += [
        f"The view {view.name!r} is missing; the samples are assigned by the other views."
        for v, view in enumerate(fitted_views)
        if v not in found_views
    ]
    names = merged_index([table.samples for table in tables], "outer")
    found = [
        described(table, part, names, tables) for table, part in zip(tables, filled, strict=True)
    ]
    data = _assembled(dict(zip(found_views, filled, strict=True)), fitted_views, names)
    return LoadedViews(data, pd.DataFrame(found), tuple(notes), matching=named.matching)


def _read(
    paths: PathLike | Sequence[PathLike],
    id: str | None,
    view_names: Sequence[str] | None,
    fitted_views: Sequence[FittedView],
) -> tuple[list[Table], list[str]]:
    """The tables of the files; text becomes the categories of the fit, if it had some."""
    categories = {
        view.name: list(view.features)
        for view in fitted_views
        if view.features is not None and has_categories(view.name, view.features)
    }
    tables, notes = read_tables(paths, id, keeps_text=bool(categories))
    tables = with_view_names(tables, view_names)
    notes += [note for table in tables for note in table.notes]
    if categories:
        tables, remarks = with_known_categories(tables, categories)
        notes += remarks
    return tables, notes


def _filled(
    tables: Sequence[Table], views: Sequence[FittedView], nan: str
) -> tuple[list[Filled], list[str]]:
    """The tables with the features of their views, in order and without NaN; and notes."""
    pairs = [_in_order(table, view, nan) for table, view in zip(tables, views, strict=True)]
    ordered, notes = [table for table, _ in pairs], [note for _, said in pairs for note in said]
    if nan != "estimate":
        filled = (fill(table, nan, view.means) for table, view in zip(ordered, views, strict=True))
        return list(filled), notes
    centers = [view.centers for view in views if view.centers is not None]
    spreads = [view.spreads for view in views if view.spreads is not None]
    if len(centers) < len(views) or len(spreads) < len(views):
        msg = 'nan="estimate" needs the centers and spreads of the views; add them to FittedView.'
        raise ViewError(msg)
    return estimate_new(ordered, centers, spreads), notes


def _named_by_keys(
    tables: Sequence[Table], fitted_views: Sequence[FittedView], by_position: bool
) -> list[Table]:
    """Tables named by the columns that they share; features of the fit are none of them."""
    candidates = []
    for table, view in zip(tables, fitted_views, strict=True):
        features = set(() if view.features is None else view.features)
        keys = tuple(key for key in table.keys if key.title not in features or key is table.key)
        candidates.append(replace(table, keys=keys))
    if len(candidates) > 1:
        return orient(candidates, "rows", by_position=by_position)[0]
    (table,) = candidates
    titled = [key for key in table.keys if key.has_id_title and key.is_sound]
    return [table.named_by(titled[0])] if table.rows is None and titled else [table]


def _choose(table: Table, fitted_views: Sequence[FittedView], samples: str) -> tuple[int, bool]:
    """Which view a table holds, and whether its samples are in the columns."""
    own = [v for v, view in enumerate(fitted_views) if view.name == table.view]
    shares = {
        (v, side): _share(table.rows if side else table.columns, fitted_views[v].features)
        for v in own or range(len(fitted_views))
        for side in _sides(table, samples)
    }
    best = max(shares.values())
    if best[0] >= ENOUGH:
        choices = [choice for choice, share in shares.items() if share == best]
    else:
        choices = [
            (v, side) for v, side in shares if own or _fits_nameless(table, fitted_views[v], side)
        ]
    views = sorted({v for v, _ in choices})
    if len(views) > 1:
        words = set(re.split(r"[\W_]+", table.view.lower()))
        views = [
            v for v in views if set(re.split(r"[\W_]+", fitted_views[v].name.lower())) <= words
        ]
    if len(views) != 1:
        msg = (
            f"{table.file} could not be matched with one view of the model by its name or its "
            f"features; the model has {_listed(fitted_views)}. Name the views in the order of the "
            "files with --views."
        )
        raise ViewError(msg)
    return next((v, side) for v, side in choices if v == views[0])


def _sides(table: Table, samples: str) -> tuple[bool, ...]:
    """Whether a table may have its samples in the columns."""
    if samples != "auto":
        return (samples == "columns" and table.is_turnable,)
    has_names = table.rows is not None and table.columns is not None
    return (False, True) if has_names and table.is_turnable and not table.has_id else (False,)


def _share(names: pd.Index | None, features: Any) -> tuple[float, float]:
    """Shares of shared names among the features, and among all names."""
    if names is None or features is None:
        return 0.0, 0.0
    n_shared = int(pd.Index(features).isin(names).sum())
    return n_shared / len(features), n_shared / (len(features) + len(names) - n_shared)


def _fits_nameless(table: Table, view: FittedView, side: bool) -> bool:
    """Whether table and view match by width, if one of them has no feature names."""
    is_nameless = table.columns is None or view.features is None
    return is_nameless and table.values.shape[0 if side else 1] == len(view.means)


def _refuse_twins(
    tables: Sequence[Table], views: Sequence[int], fitted_views: Sequence[FittedView]
) -> None:
    for v in views:
        files = [table.file for table, other in zip(tables, views, strict=True) if other == v]
        if len(files) > 1:
            msg = (
                f"{files[0]} and {files[1]} both hold the view {fitted_views[v].name!r}; expected "
                "one file per view. Omit one, or name the views in the order of the files with "
                "--views."
            )
            raise ViewError(msg)


def _in_order(table: Table, view: FittedView, nan: str) -> tuple[Table, list[str]]:
    """The table with the features ordered as in the fit; NaN for missing ones."""
    n_known = len(view.means)
    if table.columns is None or view.features is None:
        if table.values.shape[1] != n_known:
            msg = (
                f"{table.file} has {table.values.shape[1]} features; the view {view.name!r} of the "
                f"fit has {n_known}. Provide the same features, or use --samples columns if the "
                "samples are there."
            )
            raise ViewError(msg)
        return table, []
    features = pd.Index(view.features)
    places = table.columns.get_indexer(features)  # (d_v,)
    lacking, extra = features[places < 0], table.columns[~table.columns.isin(features)]
    notes = []
    if len(lacking):
        shown = f"{table.file} lacks {len(lacking)} of {n_known} features of {view.name!r}"
        if nan == "fail" or len(lacking) == n_known:
            msg = (
                f"{shown}: {_some(lacking)}. Add them, or fill them with their means in the fit: "
                "--nan feature-mean."
                if len(lacking) < n_known
                else f"{shown}, all of them: {_some(lacking)}; it has {_some(table.columns)}."
            )
            raise ViewError(msg)
        source = "estimated" if nan == "estimate" else "filled with their means in the fit"
        notes.append(f"{shown}, {source}: {_some(lacking)}.")
    if len(extra):
        notes.append(
            f"{table.file}: ignored {len(extra)} of {len(table.columns)} features that are "
            f"not in the fit: {_some(extra)}."
        )
    return replace(table, values=_columns(table.values, places), columns=features), notes


def _columns(values: Any, places: NDArray[np.intp]) -> Any:
    """Columns of a matrix by position; NaN if the position is -1."""
    gap = np.full((values.shape[0], 1), np.nan, dtype=values.dtype)
    is_sparse = isinstance(values, sparse.csr_array)
    if (places < 0).any():  # index -1 selects the last column, which is all NaN
        values = (
            sparse.hstack([values, sparse.csr_array(gap)])
            if is_sparse
            else np.hstack([values, gap])
        )
    if is_sparse:
        return sparse.csr_array(sparse.csc_array(values)[:, places])
    return np.ascontiguousarray(values[:, places])


def _assembled(
    filled: dict[int, Filled], fitted_views: Sequence[FittedView], names: pd.Index
) -> MultiViewData:
    """All views of the fit, with zeros for missing rows."""
    present = np.zeros((len(names), len(fitted_views)), dtype=bool)
    views: dict[str, Any] = {}
    for v, view in enumerate(fitted_views):
        if v not in filled:
            views[view.name] = sparse.csr_array((len(names), len(view.means)), dtype=np.float32)
            continue
        table = filled[v].table
        present[:, v] = names.isin(table.samples)
        views[view.name] = spread(table.values[rows_of(table, names)], present[:, v])
    data = MultiViewData.of(views, present=None if present.all() else present)
    return replace(
        data, sample_names=names, feature_names=tuple(view.features for view in fitted_views)
    )


def _some(names: pd.Index) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _listed(fitted_views: Sequence[FittedView]) -> str:
    return ", ".join(f"{view.name!r} ({len(view.means)} features)" for view in fitted_views)
