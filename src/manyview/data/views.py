"""The data model: samples described by several views, validated once.

A view is a dense array (in memory or memory-mapped), a CSR array or rows on disk (`Rows`), of shape
(n_samples, d_v). Validation happens here and nowhere else: no function below this module checks
shapes, types or NaN.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.containers import (
    LabeledValues,
    align_samples,
    check_columns,
    common_index,
    is_annotated,
    is_frame,
    is_multimodal,
    merged_index,
    open_modalities,
    rows_of,
    unwrap_container,
)
from manyview.data.conversion import (
    StoredView,
    View,
    as_stored,
    check_same_rows,
    check_values,
    cut,
)
from manyview.data.rows import Rows
from manyview.exceptions import ViewError


@dataclass(frozen=True, eq=False)
class MultiViewData:
    """Views of the same samples, validated.

    Create one with :meth:`of` or :meth:`align`. Length and indexing refer to samples, so that
    scikit-learn's splitters treat it like an array.

    Attributes
    ----------
    views : tuple of arrays, CSR arrays or Rows, each of shape (n_samples, d_v)
        float32 or float64. The row of a missing view may hold NaN or any value; see `present`.
    view_names : tuple of str
        Name of each view.
    sample_names : pandas.Index or None
        Names of the samples, if the input has them.
    feature_names : tuple of (array of object or None)
        Names of the features of each view, if the input has them.
    present : array of bool of shape (n_samples, n_views), or None
        Which views each sample has; None if no view is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import MultiViewData
    >>> data = MultiViewData.of({"rna": np.eye(4), "protein": np.ones((4, 2))})
    >>> len(data), data.n_features, data[:2].view_names
    (4, (4, 2), ('rna', 'protein'))
    """

    views: tuple[StoredView, ...]
    view_names: tuple[str, ...]
    sample_names: pd.Index | None
    feature_names: tuple[NDArray[np.object_] | None, ...]
    present: NDArray[np.bool_] | None

    @classmethod
    def of(
        cls,
        X: object,
        *,
        view_sizes: Sequence[int] | None = None,
        present: object = None,
    ) -> MultiViewData:
        """Validate and wrap views of any supported type.

        Parameters
        ----------
        X : list or dict of views; one 2-D table; MuData; MultiViewData
            A view is a 2-D array, a sparse matrix, a DataFrame of pandas or Polars, an Arrow table,
            an AnnData, or rows on disk: the result of `open_rows`, or a path or pattern for it. The
            keys of a dict are the names of the views. One table is split into views by
            `view_sizes`. The modalities of a MuData are views, and all samples that are in any
            modality are used.
        view_sizes : sequence of int, optional
            Number of features of each view inside one 2-D array; None: it is one view.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view. A row that is all NaN marks a missing view, too.

        Returns
        -------
        MultiViewData
        """
        if isinstance(X, cls):
            return X if present is None else _with_presence(X, present)
        if is_multimodal(X):
            labeled_views = open_modalities(X)
        elif is_list_of_views(X):
            labeled_views = {name: unwrap_container(view, name) for name, view in _named(X).items()}
        else:
            labeled_views = cut(X, view_sizes)
        if not labeled_views:
            msg = "Received no views; expected at least one 2-D array."
            raise ViewError(msg)
        return cls._of_sheets(labeled_views, present)

    @classmethod
    def align(
        cls,
        views: Mapping[str, Any] | Sequence[Any],
        *,
        how: Literal["inner", "outer"] = "inner",
    ) -> MultiViewData:
        """Join tables by the names of their samples.

        Parameters
        ----------
        views : dict or list of DataFrames or AnnData
            The index (or `obs_names`) of each table holds its sample names, in any order.
        how : {"inner", "outer"}, default="inner"
            Keep the samples that are in all tables, or in any; with "outer", missing views are
            marked in `present`.

        Returns
        -------
        MultiViewData
            Samples in order of their first appearance.
        """
        if how not in ("inner", "outer"):
            msg = f"how={how!r} is unknown; expected 'inner' or 'outer'."
            raise ViewError(msg)
        named = _named(views)
        if not named or any(rows_of(view) is None for view in named.values()):
            msg = (
                "align expects a dict or list of DataFrames or AnnData, whose index holds the "
                "sample names."
            )
            raise ViewError(msg)
        labeled_views = {name: unwrap_container(view, name) for name, view in named.items()}
        rows = [labeled.rows for labeled in labeled_views.values() if labeled.rows is not None]
        return cls._of_sheets(align_samples(labeled_views, merged_index(rows, how)), None)

    @classmethod
    def _of_sheets(
        cls, labeled_views: Mapping[str, LabeledValues], present: object
    ) -> MultiViewData:
        """Validate views whose rows are in the same order."""
        check_columns(labeled_views)
        views = tuple(as_stored(labeled.values, name) for name, labeled in labeled_views.items())
        check_same_rows(views, tuple(labeled_views))
        data = cls(
            views=views,
            view_names=tuple(labeled_views),
            sample_names=common_index(labeled_views),
            feature_names=tuple(labeled.columns for labeled in labeled_views.values()),
            present=_presence(list(labeled_views.values())),
        )
        return _with_presence(data, present)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.views[0].shape[0])

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.views)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(int(view.shape[1]) for view in self.views)

    @property
    def arrays(self) -> tuple[View, ...]:
        """The views in memory; those on disk are read at each access."""
        return tuple(np.asarray(X) if isinstance(X, Rows) else X for X in self.views)

    @property
    def view_rows(self) -> tuple[int, ...]:
        """Number of samples that have each view."""
        if self.present is None:
            return (self.n_samples,) * self.n_views
        return tuple(self.present.sum(axis=0).tolist())

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the concatenated views, for scikit-learn's splitters."""
        return self.n_samples, sum(self.n_features)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 if any view is, else float32."""
        return np.result_type(*(view.dtype for view in self.views))

    def __len__(self) -> int:
        """Number of samples."""
        return self.n_samples

    def __getitem__(self, rows: Any) -> MultiViewData:
        """Samples selected by a slice, a mask, indices or one index; the result has all views.

        Views on disk stay there for a slice, or a mask that keeps all rows; else rows are read.
        """
        if isinstance(rows, tuple):  # scikit-learn indexes arrays as X[rows, ...]
            rows = rows[0]
        if isinstance(rows, int | np.integer):
            if not -len(self) <= rows < len(self):
                msg = f"sample {rows} is out of range for {len(self)} samples"
                raise IndexError(msg)
            rows = [int(rows)]
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
        return replace(
            self,
            views=tuple(view[rows] for view in self.views),
            sample_names=None if self.sample_names is None else self.sample_names[rows],
            present=None if self.present is None else self.present[rows],
        )

    def checked(self) -> MultiViewData:
        """The same views, whose values have been checked, and rows of NaN marked as missing."""
        return _with_presence(self, None)

    def in_memory(self) -> MultiViewData:
        """The same views, all in memory."""
        return replace(self, views=self.arrays)

    def check_unchanged(self) -> None:
        """Raise ViewError if a file of a view has changed or vanished since it was opened."""
        for view in self.views:
            if isinstance(view, Rows):
                view.check_unchanged()

    def is_unchanged(self) -> bool:
        """Whether no file of a view has changed or vanished since it was opened."""
        try:
            self.check_unchanged()
        except ViewError:
            return False
        return True

    def in_order(self, view_names: Sequence[str]) -> MultiViewData:
        """The same views in the given order of names."""
        order = [self.view_names.index(name) for name in view_names]
        return replace(
            self,
            views=tuple(self.views[v] for v in order),
            view_names=tuple(view_names),
            feature_names=tuple(self.feature_names[v] for v in order),
            present=None if self.present is None else self.present[:, order],
        )

    def __repr__(self) -> str:
        """One line: sizes, names, and the share of missing rows."""
        views = ", ".join(
            f"{name} ({width})"
            for name, width in zip(self.view_names, self.n_features, strict=True)
        )
        lacking = "" if self.present is None else f"; {1 - self.present.mean():.0%} of rows missing"
        return f"MultiViewData({self.n_samples} samples; {views}{lacking})"


def is_list_of_views(X: object) -> bool:
    """Whether X is a plain list or dict of views, which a splitter would split by views."""
    if sparse.issparse(X):  # a DOK array is a Mapping, too
        return False
    if isinstance(X, Mapping):
        return True
    if not isinstance(X, list | tuple):
        return False
    return len(X) == 0 or all(_n_dims(view) == 2 for view in X)


def is_one_table(X: object) -> bool:
    """Whether X is a single table in the sense of scikit-learn, not a container of views."""
    is_container = isinstance(X, MultiViewData | Rows | str | os.PathLike) or is_list_of_views(X)
    return not (is_container or is_annotated(X) or is_multimodal(X))


def sample_names(X: Any) -> pd.Index | None:
    """Names of the samples of anything that `of` accepts, without access to its values."""
    if isinstance(X, MultiViewData):
        return X.sample_names
    views = _named(X).values() if is_list_of_views(X) else [X]
    return next((rows for view in views if (rows := rows_of(view)) is not None), None)


def _n_dims(view: object) -> int:
    """Number of dimensions of a potential view; ragged lists count as 1-D."""
    if isinstance(view, str | os.PathLike):
        return 2
    if hasattr(view, "shape"):
        return len(view.shape)
    if is_frame(view):
        return 2
    if isinstance(view, list | tuple) and view and isinstance(view[0], list | tuple | np.ndarray):
        return 2
    return 1


def _named(X: Any) -> dict[str, Any]:
    """Views by name: the keys of a dict, else view_0, view_1, …."""
    if isinstance(X, Mapping):
        return {str(name): view for name, view in X.items()}
    return {f"view_{v}": view for v, view in enumerate(X)}


def _presence(labeled_views: Sequence[LabeledValues]) -> NDArray[np.bool_] | None:
    """Which samples each view has; None if no view is missing."""
    if all(labeled.present is None for labeled in labeled_views):
        return None
    shown = [np.True_ if labeled.present is None else labeled.present for labeled in labeled_views]
    return np.column_stack(np.broadcast_arrays(*shown))


def _with_presence(data: MultiViewData, present: Any) -> MultiViewData:
    """Check all values, and mark missing views by `present` or by rows of NaN."""
    n, V = data.n_samples, data.n_views
    mask = np.ones((n, V), dtype=bool)
    if data.present is not None:
        mask &= data.present
    if present is not None:
        given = np.asarray(present)
        if given.shape != (n, V) or given.dtype.kind not in "biu":
            msg = (
                f"`present` has shape {given.shape} and dtype {given.dtype}; "
                f"expected booleans of shape ({n}, {V}): one row per sample, one column per view."
            )
            raise ViewError(msg)
        mask &= given.astype(bool)
    for v, (view, name) in enumerate(zip(data.views, data.view_names, strict=True)):
        check_values(view, name, mask[:, v])
    is_whole = bool(mask.all())
    lost = np.array([], dtype=np.intp) if is_whole else np.flatnonzero(~mask.any(axis=1))
    if lost.size:
        names = lost[:3] if data.sample_names is None else data.sample_names[lost[:3]]
        msg = (
            f"{lost.size} sample(s) have no view at all (NaN in every view), the first: "
            f"{list(names)}. Each sample needs at least one view; drop the others."
        )
        raise ViewError(msg)
    return replace(data, present=None if is_whole else mask)
