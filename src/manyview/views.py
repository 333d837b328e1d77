"""The data model: samples described by several views, validated once.

A view is a dense array (in memory or memory-mapped) or a CSR array of shape (n_samples, d_v). What
a view is gets decided here and nowhere else; after this module no function checks shapes, types or
NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview.errors import ViewError

__all__ = ["MultiViewData", "is_list_of_views"]

View: TypeAlias = NDArray[np.floating[Any]] | sparse.csr_array[Any]

CHECKED_BYTES = 1 << 24  # rows are checked in pieces of this size, so that memory maps stay on disk


@dataclass(frozen=True, eq=False)
class MultiViewData:
    """Views of the same samples, checked and ready to cluster.

    Build one with :meth:`of` or :meth:`align`. Length and indexing run over samples, so that
    scikit-learn's splitters cut it as they cut an array.

    Attributes
    ----------
    views : tuple of arrays or CSR arrays, each of shape (n_samples, d_v)
        float32 or float64. Rows of a view that a sample lacks hold NaN or anything; see `present`.
    view_names : tuple of str
        One name a view.
    sample_names : pandas.Index or None
        Names of the samples, where the input had some.
    feature_names : tuple of (array of object or None)
        Names of the features of each view, where the input had some.
    present : array of bool of shape (n_samples, n_views), or None
        Which views each sample has; None where nothing is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import MultiViewData
    >>> data = MultiViewData.of({"rna": np.eye(4), "protein": np.ones((4, 2))})
    >>> len(data), data.n_features, data[:2].view_names
    (4, (4, 2), ('rna', 'protein'))
    """

    views: tuple[View, ...]
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
        """Check views of any supported form and wrap them.

        Parameters
        ----------
        X : list or dict of 2-D arrays, DataFrames or sparse matrices; one 2-D array; MultiViewData
            A dict names its views. One array is cut into views by `view_sizes`.
        view_sizes : sequence of int, optional
            Widths of the views inside one 2-D array; None reads it as one view.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view. A row of nothing but NaN is taken as lacking, too.

        Returns
        -------
        MultiViewData
        """
        if isinstance(X, cls):
            return X if present is None else _with_presence(X, present)
        named = _named(X) if is_list_of_views(X) else _cut(X, view_sizes)
        if not named:
            msg = "No views were given; expected at least one 2-D array."
            raise ViewError(msg)
        views = tuple(_as_view(view, name) for name, view in named.items())
        _check_same_rows(views, tuple(named))
        data = cls(
            views=views,
            view_names=tuple(named),
            sample_names=_common_index(named),
            feature_names=tuple(_columns(view) for view in named.values()),
            present=None,
        )
        return _with_presence(data, present)

    @classmethod
    def align(
        cls,
        views: Mapping[str, pd.DataFrame] | Sequence[pd.DataFrame],
        *,
        how: Literal["inner", "outer"] = "inner",
    ) -> MultiViewData:
        """Bring tables together by the names of their samples.

        Parameters
        ----------
        views : dict or list of DataFrames
            The index of each holds its sample names, in any order.
        how : {"inner", "outer"}, default="inner"
            Keep the samples that every table has, or all samples; with "outer", what a sample lacks
            is marked in `present`.

        Returns
        -------
        MultiViewData
            Samples in the order in which the tables first name them.
        """
        named = _named(views)
        if not named or not all(isinstance(table, pd.DataFrame) for table in named.values()):
            msg = "align expects a dict or list of DataFrames whose index holds the sample names."
            raise ViewError(msg)
        if how not in ("inner", "outer"):
            msg = f"how={how!r} is unknown; expected 'inner' or 'outer'."
            raise ViewError(msg)
        for name, table in named.items():
            if not table.index.is_unique:
                twice = table.index[table.index.duplicated()][0]
                msg = f"View '{name}' names sample {twice!r} twice; make the sample names unique."
                raise ViewError(msg)
        names = _merged_index([table.index for table in named.values()], how)
        present = np.column_stack([names.isin(table.index) for table in named.values()])
        rows = {name: table.reindex(names, fill_value=0) for name, table in named.items()}
        return cls.of(rows, present=None if present.all() else present)

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
    def shape(self) -> tuple[int, int]:
        """Shape of the views side by side; scikit-learn's splitters read it."""
        return self.n_samples, sum(self.n_features)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 if any view is, else float32."""
        return np.result_type(*(view.dtype for view in self.views))

    def __len__(self) -> int:
        """Number of samples."""
        return self.n_samples

    def __getitem__(self, rows: Any) -> MultiViewData:
        """Samples chosen by a slice, a mask, indices or one index; the result has all views."""
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

    def __repr__(self) -> str:
        """One line: sizes, names, and what is missing."""
        views = ", ".join(
            f"{name} ({width})"
            for name, width in zip(self.view_names, self.n_features, strict=True)
        )
        lacking = "" if self.present is None else f"; {1 - self.present.mean():.0%} of rows missing"
        return f"MultiViewData({self.n_samples} samples; {views}{lacking})"


def is_list_of_views(X: object) -> bool:
    """Whether X is a bare collection of views, which a splitter would cut over views."""
    if sparse.issparse(X):  # a DOK array is a Mapping, too
        return False
    if isinstance(X, Mapping):
        return True
    if not isinstance(X, list | tuple):
        return False
    return len(X) == 0 or all(_n_dims(view) == 2 for view in X)


def _n_dims(view: object) -> int:
    """Number of dimensions of anything that may be a view; ragged lists count as 1-D."""
    if hasattr(view, "ndim"):
        return int(view.ndim)
    if isinstance(view, list | tuple) and view and isinstance(view[0], list | tuple | np.ndarray):
        return 2
    return 1


def _named(X: Any) -> dict[str, Any]:
    """Views by name: the keys of a dict, else view_0, view_1 and so on."""
    if isinstance(X, Mapping):
        return {str(name): view for name, view in X.items()}
    return {f"view_{v}": view for v, view in enumerate(X)}


def _cut(X: Any, view_sizes: Sequence[int] | None) -> dict[str, Any]:
    """Cut one 2-D array into views of the given widths."""
    if not sparse.issparse(X) and not isinstance(X, np.ndarray | pd.DataFrame):
        X = np.asarray(X)
    if X.ndim != 2:
        msg = (
            f"Expected 2-D data (samples by features) or a list of such views; received an array "
            f"of shape {X.shape}. Reshape your data: array.reshape(-1, 1) for one feature, "
            "array.reshape(1, -1) for one sample."
        )
        raise ViewError(msg)
    if view_sizes is None:
        return {"view_0": X}
    sizes = [int(size) for size in view_sizes]
    if sum(sizes) != X.shape[1] or min(sizes, default=0) < 1:
        msg = (
            f"view_sizes={list(view_sizes)} must be positive and add up to the number of features; "
            f"X has {X.shape[1]} features."
        )
        raise ViewError(msg)
    if isinstance(X, pd.DataFrame):
        X = X.iloc
    elif sparse.issparse(X):
        X = sparse.csr_array(cast("Any", X))
    ends = np.cumsum(sizes)
    return {
        f"view_{v}": X[:, end - size : end]
        for v, (end, size) in enumerate(zip(ends, sizes, strict=True))
    }


def _as_view(view: Any, name: str) -> View:
    """Bring one view to float32 or float64, dense or CSR, without a copy where it is already so."""
    if isinstance(view, pd.DataFrame):
        _check_numeric_columns(view, name)
        view = view.to_numpy()
    if not sparse.issparse(view):
        view = np.asanyarray(view) if isinstance(view, np.memmap) else np.asarray(view)
    if view.ndim != 2:
        msg = f"View '{name}' has {view.ndim} dimensions; expected 2 (samples by features)."
        raise ViewError(msg)
    if view.shape[0] == 0:
        msg = (
            f"View '{name}' is empty: found 0 sample(s) (shape={view.shape}) while a minimum of 1 "
            "is required."
        )
        raise ViewError(msg)
    if view.shape[1] == 0:
        msg = (
            f"View '{name}' is empty: 0 feature(s) (shape={view.shape}) while a minimum of 1 "
            "is required."
        )
        raise ViewError(msg)
    dtype = _float_dtype(view, name)
    if sparse.issparse(view):
        matrix: sparse.csr_array[Any] = sparse.csr_array(cast("Any", view)).astype(dtype)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return matrix
    try:
        dense: NDArray[np.floating[Any]] = view.astype(dtype, copy=False)
    except ValueError as error:  # an array of objects, some of them text
        msg = f"View '{name}' holds values that are not numbers ({error}). Encode or drop them."
        raise ViewError(msg) from None
    return dense


def _float_dtype(view: Any, name: str) -> type[np.floating[Any]]:
    """float32 and float64 stay; what float32 holds exactly becomes float32, the rest float64."""
    kind = view.dtype.kind
    if kind == "c":
        msg = (
            f"Complex data not supported: view '{name}' has dtype {view.dtype}. Pass real features."
        )
        raise ViewError(msg)
    if kind not in "fiubO":
        msg = (
            f"View '{name}' has dtype {view.dtype}; expected numbers. "
            "Encode text or dates as numeric features first."
        )
        raise ViewError(msg)
    return np.float32 if view.dtype.itemsize <= (4 if kind == "f" else 2) else np.float64


def _check_numeric_columns(table: pd.DataFrame, name: str) -> None:
    """Refuse a table with text or dates, naming the columns."""
    is_number, is_object = pd.api.types.is_numeric_dtype, pd.api.types.is_object_dtype
    numeric = [is_number(dtype) or is_object(dtype) for dtype in table.dtypes]
    if not all(numeric):
        others = [
            str(column)
            for column, is_number in zip(table.columns, numeric, strict=True)
            if not is_number
        ]
        msg = (
            f"View '{name}' has columns that are not numbers: {', '.join(others[:5])}"
            f"{' …' if len(others) > 5 else ''}. Drop or encode them; sample names belong in the "
            "index."
        )
        raise ViewError(msg)


def _check_same_rows(views: Sequence[View], names: Sequence[str]) -> None:
    """All views describe the same samples."""
    for view, name in zip(views, names, strict=True):
        if view.shape[0] != views[0].shape[0]:
            msg = (
                f"View '{name}' has {view.shape[0]} rows; view '{names[0]}' has "
                f"{views[0].shape[0]}. All views must describe the same samples: bring tables "
                "together with MultiViewData.align, or pass `present=` to mark missing rows."
            )
            raise ViewError(msg)


def _common_index(named: Mapping[str, Any]) -> pd.Index | None:
    """Sample names of the DataFrames among the views, which must agree."""
    tables = {name: view for name, view in named.items() if isinstance(view, pd.DataFrame)}
    if not tables:
        return None
    (first, table), *others = tables.items()
    for name, other in others:
        if not other.index.equals(table.index):
            msg = (
                f"Views '{first}' and '{name}' name their samples differently or in another order. "
                "Bring them together with MultiViewData.align."
            )
            raise ViewError(msg)
    return table.index


def _columns(view: Any) -> NDArray[np.object_] | None:
    """Feature names of a DataFrame."""
    return view.columns.to_numpy(dtype=object) if isinstance(view, pd.DataFrame) else None


def _merged_index(indices: Sequence[pd.Index], how: str) -> pd.Index:
    """Sample names that all tables share, or that any has, in order of first appearance."""
    merged = indices[0]
    for index in indices[1:]:
        merged = (
            merged[merged.isin(index)]
            if how == "inner"
            else merged.append(index[~index.isin(merged)])
        )
    if merged.empty:
        msg = (
            "The views share no sample name: "
            + "; ".join(f"one has {list(map(str, index[:3]))}" for index in indices)
            + ". Check that the index holds the sample names, or align with how='outer'."
        )
        raise ViewError(msg)
    return merged


def _with_presence(data: MultiViewData, present: Any) -> MultiViewData:
    """Check all values, and mark what is missing by `present` or by rows of NaN."""
    n, V = data.n_samples, data.n_views
    mask = np.ones((n, V), dtype=bool)
    if data.present is not None:
        mask &= data.present
    if present is not None:
        given = np.asarray(present)
        if given.shape != (n, V) or given.dtype.kind not in "biu":
            msg = (
                f"`present` has shape {given.shape} and dtype {given.dtype}; "
                f"expected booleans of shape ({n}, {V}): one row a sample, one column a view."
            )
            raise ViewError(msg)
        mask &= given.astype(bool)
    for v, (view, name) in enumerate(zip(data.views, data.view_names, strict=True)):
        _check_values(view, name, mask[:, v])
    lost = np.flatnonzero(~mask.any(axis=1))
    if lost.size:
        names = lost[:3] if data.sample_names is None else data.sample_names[lost[:3]]
        msg = (
            f"{lost.size} sample(s) have no view at all (NaN in every view), the first: "
            f"{list(names)}. Each sample needs at least one view; drop the others."
        )
        raise ViewError(msg)
    return replace(data, present=None if mask.all() else mask)


def _check_values(view: View, name: str, present: NDArray[np.bool_]) -> None:
    """Clear `present` where a whole row is NaN; refuse other NaN, inf and overflowing squares."""
    largest = 0.0
    for rows in _pieces(view):
        piece = view[rows].data if sparse.issparse(view) else np.asarray(view[rows])
        kept = present[rows]
        low, high = (float(piece.min()), float(piece.max())) if piece.size else (0.0, 0.0)
        if not np.isfinite(low + high):
            dense = _dense(view[rows])
            _find_missing(dense, name, kept, rows.start)
            piece = dense[kept]
            low, high = (float(piece.min()), float(piece.max())) if piece.size else (0.0, 0.0)
        largest = max(largest, high, -low)
    n_values = view.shape[1] if view.dtype == np.float32 else view.shape[0] * view.shape[1]
    if largest > np.sqrt(np.finfo(view.dtype).max / (4.0 * n_values)):
        msg = (
            f"View '{name}' holds values up to {largest:.3g}, whose squares overflow {view.dtype}. "
            "Rescale the view, for example by its largest value."
        )
        raise ViewError(msg)


def _pieces(view: View) -> Iterator[slice]:
    """Slices of rows small enough to look at one after the other."""
    n, d = view.shape
    step = max(1, CHECKED_BYTES // (d * view.dtype.itemsize))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _dense(rows: View) -> NDArray[Any]:
    return rows.toarray() if isinstance(rows, sparse.csr_array) else np.asarray(rows)


def _find_missing(rows: NDArray[Any], name: str, present: NDArray[np.bool_], start: int) -> None:
    """Clear `present` for rows of nothing but NaN; refuse rows that are broken in part."""
    is_nan = np.isnan(rows)
    present &= ~is_nan.all(axis=1)
    broken = np.flatnonzero(present & ~np.isfinite(rows).all(axis=1))
    if broken.size == 0:
        return
    i = int(broken[0])
    if is_nan[i].any():
        msg = (
            f"View '{name}' contains NaN in part of row {start + i} ({int(is_nan[i].sum())} of "
            f"{rows.shape[1]} features). A sample may lack a whole view (a row of nothing but "
            "NaN); fill or drop the scattered ones, for example with sklearn.impute.SimpleImputer."
        )
    else:
        msg = (
            f"View '{name}' contains inf in row {start + i}; expected finite numbers. "
            "Clip or drop them."
        )
    raise ViewError(msg)
