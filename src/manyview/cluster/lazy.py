"""Methods of a fitted model on rows that are elsewhere: Dask arrays, computed when asked for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.cluster.sample import with_sample
from manyview.data.partitions import PartitionedViews, has_dask
from manyview.engines.cluster import read_part
from manyview.engines.parts import rows_per_part
from manyview.exceptions import ViewError
from manyview.utils.optional import needed

Method = Callable[[Any, Any], NDArray[Any]]  # of a model and the rows of a part
OF_THE_FIT = ("labels_", "confidence_", "outlier_score_", "_data", "_margins", "_sample")


def is_elsewhere(X: Any) -> bool:
    """Whether the rows are on a cluster, or in Dask collections."""
    return isinstance(X, PartitionedViews) or has_dask(X)


def apply_lazily(
    model: Any, method: Method, X: Any, dtype: Any, n_columns: int | None = None
) -> NDArray[Any]:
    """The result of a method for each part of the rows, as one Dask array.

    Parameters
    ----------
    model : OMVCDR
        A fitted model.
    method : function
        Of the model and the rows of a part, in memory; on the top level of a module.
    X : Dask collections or PartitionedViews
        The views of the fit.
    dtype : dtype
        Of the result.
    n_columns : int, optional
        Columns of the result; None: it has one dimension.

    Returns
    -------
    dask.array.Array
    """
    from dask.delayed import delayed

    data = matched(model, X)
    part_rows = rows_per_part(data.n_samples, sum(data.n_features) * data.dtype.itemsize)
    own = delayed(small_copy(model), pure=False)
    apply = delayed(_apply_to_part, pure=False)
    blocks = []
    dtype = data.dtype if dtype is None else dtype
    for position, pieces in enumerate(data.cut(part_rows)):
        start = position * part_rows
        n_rows = min(part_rows, data.n_samples - start)
        made = apply(own, method, pieces, data.view_names, start)
        blocks.append((made, n_rows))
    lazy: NDArray[Any] = as_lazy(blocks, part_rows, dtype, n_columns)
    return lazy


def as_lazy(found: Any, part_rows: int, dtype: Any = np.int32, n_columns: int | None = None) -> Any:
    """One Dask array from an array, or from tasks and the numbers of rows they return."""
    array = needed("dask.array", "A result on a cluster")
    from dask.delayed import delayed

    if isinstance(found, np.ndarray):
        return array.from_array(found, chunks=(part_rows, *found.shape[1:]))
    blocks: Sequence[tuple[Any, int]] = found
    rest = () if n_columns is None else (n_columns,)
    return array.concatenate(
        [array.from_delayed(delayed(task), (n_rows, *rest), dtype=dtype) for task, n_rows in blocks]
    )


def matched(model: Any, X: Any) -> PartitionedViews:
    """The views in the order of the fit, with its numbers of features."""
    data = PartitionedViews.of(X)
    if set(data.view_names) == set(model.view_names_):
        data = data.in_order(model.view_names_)
    if data.n_features != model.view_sizes_:
        msg = (
            f"X has {data.n_views} view(s) of {data.n_features} features; the fit had "
            f"{len(model.view_sizes_)} view(s) of {model.view_sizes_}. Pass the same views in the "
            "same order."
        )
        raise ViewError(msg)
    return data


def small_copy(model: Any) -> Any:
    """The model without what it holds of the samples of its fit; it works in memory."""
    own = with_sample(model)
    own = own if own is not model else copy.copy(model)
    own.engine, own.device, own.n_jobs, own.check_structure = "memory", "cpu", 1, False
    for name in OF_THE_FIT:
        own.__dict__.pop(name, None)
    return own


def _apply_to_part(
    model: Any, method: Method, pieces: list[Any], names: tuple[str, ...], start: int
) -> NDArray[Any]:
    """Task: the result for one part."""
    return np.asarray(method(model, read_part(pieces, names, start).data))


def labels_of(model: Any, data: Any) -> NDArray[np.int32]:
    """`predict`."""
    found: NDArray[np.int32] = model.predict(data)
    return found


def embedding_of(model: Any, data: Any) -> NDArray[Any]:
    """`transform`."""
    found: NDArray[Any] = model.transform(data)
    return found


def normality_of(model: Any, data: Any) -> NDArray[Any]:
    """`score_samples`."""
    found: NDArray[Any] = model.score_samples(data)
    return found


def outlier_scores_of(model: Any, data: Any) -> NDArray[Any]:
    """Outlier scores, as of new samples."""
    return -normality_of(model, data)


def confidence_of(model: Any, data: Any) -> NDArray[Any]:
    """Confidence of the labels."""
    found: NDArray[Any] = model.assign(data).confidence
    return found
