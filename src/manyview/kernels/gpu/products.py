"""Products of one view with a small matrix in torch, and sums over rows by cluster.

Sums over rows are made of tiles in the precision of the rows, which are added in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from manyview.data.scaling import ColumnMoments
from manyview.kernels.block import ViewRows
from manyview.kernels.gpu.sparse_rows import SparseRows
from manyview.kernels.gpu.transfers import to_device
from manyview.kernels.gpu.uploads import opened
from manyview.utils.types import FloatArray

TILE_ROWS = 8192  # whose sums are float32
COST_BYTES = 1 << 30  # of the costs of some rows for all clusters
MAPS = {"sqrt": torch.sqrt, "log1p": torch.log1p}
ROWS_CHECKED = 16  # before all others, whether the values are whole numbers
SHORT = (torch.float16, torch.bfloat16)  # types that are computed with in float32


def to_tensor(array: Any, device: torch.device) -> Any:
    """An array on a device; numbers of a sparse one, too."""
    if isinstance(array, SparseRows):
        return array
    if not isinstance(array, Tensor):
        array = torch.as_tensor(np.ascontiguousarray(array))
    return to_device(array, device)


def to_numpy(tensor: Tensor) -> FloatArray:
    """A small tensor in numpy."""
    found: FloatArray = tensor.detach().cpu().numpy()
    return found


def numpy_dtype(dtype: Any) -> Any:
    """The numpy dtype that a tensor of some dtype is computed with."""
    if not isinstance(dtype, torch.dtype):
        return dtype
    return np.float64 if dtype == torch.float64 else np.float32


def row_pieces(n: int, width: int, itemsize: int) -> Iterator[slice]:
    """Rows whose (rows, width) arrays are of bounded size."""
    step = max(COST_BYTES // max(width * itemsize, 1), 1024)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def spaces(b: Tensor, starts: Any) -> Sequence[Tensor]:
    """The columns of each space."""
    parts: Sequence[Tensor] = b.tensor_split([int(start) for start in starts[1:]], dim=1)
    return parts


def space_dims(starts: Any, n_columns: int) -> NDArray[np.int64]:
    """Number of columns of each space."""
    return np.diff([*starts, n_columns])


def is_plain(view: ViewRows) -> bool:
    """Whether a product with the stored values is one with the scaled rows, but for an offset."""
    parts = (view.factor, view.table, view.baseline)
    return not isinstance(view.values, SparseRows) and all(part is None for part in parts)


def raw_rows(view: ViewRows) -> Any:
    """map(ℓ x) in the type that it is stored in, where nothing has to be computed."""
    is_plain = view.map is None and view.level is None and view.absent is None
    return opened(view.values) if is_plain else mapped(view)


def mapped(view: ViewRows) -> Any:
    """map(ℓ x), with missing rows set to zero."""
    X = opened(view.values)
    if not isinstance(X, SparseRows):
        X = X.float() if X.dtype in SHORT else X
    if view.absent is not None:
        is_there = torch.ones(X.shape[0], dtype=X.dtype, device=X.device)
        is_there[view.absent] = 0
        if isinstance(X, SparseRows):
            X = X.with_values(torch.where(is_there[X.pattern.row_of] > 0, X.values, 0.0))
        else:
            X = torch.where(is_there[:, None] > 0, X, 0.0)
    if view.level is not None:
        level = view.level.to(X.dtype)
        X = X.times_rows(level) if isinstance(X, SparseRows) else X * level[:, None]
    if view.map is None:
        return X
    function = MAPS[view.map]
    if isinstance(X, SparseRows):
        return X.with_values(torch.copysign(function(X.values.abs()), X.values))
    return torch.copysign(function(X.abs()), X)


def unfactored(view: ViewRows) -> Tensor:
    """(map(ℓ x) ∘ scale − offset) W as a dense tensor of its own."""
    X = mapped(view)
    rows = X.to_dense() if isinstance(X, SparseRows) else X
    if view.scale is not None:
        rows = rows * to_tensor(view.scale, rows.device).to(rows.dtype)
    if view.offset is not None:
        rows = rows - to_tensor(view.offset, rows.device).to(rows.dtype)
    if view.table is not None:
        return rows @ to_tensor(view.table, rows.device).to(rows.dtype)
    return rows.clone() if rows is X else rows


def relative_rows(view: ViewRows) -> Tensor:
    """x' − baseline, subtracted before the product against cancellation."""
    rows = unfactored(view)
    if view.factor is not None:
        rows *= view.factor.to(rows.dtype)[:, None]
    return rows.sub_(to_tensor(view.baseline, rows.device).to(rows.dtype))


def times_basis(view: ViewRows, H: FloatArray) -> Tensor:
    """X' H = f · (map(X) (scale ∘ H) − offset · H), H ← W H; with a baseline, (X' − baseline) H."""
    if view.baseline is not None:
        rows = relative_rows(view)
        return rows @ to_tensor(H, rows.device).to(rows.dtype)
    X = mapped(view)
    if view.table is not None:
        H = view.table @ H
    small = to_tensor(H if view.scale is None else view.scale[:, None] * H, X.device).to(X.dtype)
    product: Tensor = X.times(small) if isinstance(X, SparseRows) else X @ small
    if view.offset is not None:
        product -= to_tensor(view.offset @ H, X.device).to(X.dtype)
    if view.factor is not None:
        product *= view.factor.to(X.dtype)[:, None]
    return product


def transposed_times(view: ViewRows, Z: Tensor) -> Tensor:
    """X'ᵀ Z = Wᵀ (scale ∘ (map(X)ᵀ (f ∘ Z)) − offset ⊗ Σ f z), in float64."""
    if view.baseline is not None:
        relative = tiled(relative_rows(view), Z)
        return relative + torch.outer(
            to_tensor(view.baseline, Z.device), Z.sum(0, dtype=torch.float64)
        )
    X = mapped(view)
    weighted = Z if view.factor is None else Z * view.factor.to(Z.dtype)[:, None]
    weighted = weighted.to(X.dtype)
    product = X.transposed_times(weighted) if isinstance(X, SparseRows) else tiled(X, weighted)
    if view.scale is not None:
        product = product * to_tensor(view.scale, Z.device)[:, None]
    if view.offset is not None:
        sums = weighted.sum(0, dtype=torch.float64)
        product = product - torch.outer(to_tensor(view.offset, Z.device), sums)
    return product if view.table is None else to_tensor(view.table, Z.device).T @ product


def tiled(X: Tensor, Z: Tensor) -> Tensor:
    """Xᵀ Z, tiles of rows added in float64."""
    n = len(X) // TILE_ROWS * TILE_ROWS
    total = (X[n:].T @ Z[n:]).double()
    if n:
        tiles = [part[:n].unflatten(0, (-1, TILE_ROWS)) for part in (X, Z)]
        total += torch.bmm(tiles[0].mT, tiles[1]).sum(0, dtype=torch.float64)
    return total


def one_hot_rows(labels: Tensor, weights: Tensor, n_clusters: int) -> Tensor:
    """ω in the column of its cluster: (rows, k)."""
    out = torch.zeros((len(labels), n_clusters), dtype=weights.dtype, device=labels.device)
    return out.scatter_(1, labels.long()[:, None], weights[:, None])


def cluster_sums(X: Tensor, labels: Tensor, weights: Tensor, n_clusters: int) -> Tensor:
    """Σ_{i∈c} ω x, in float64: (k, columns)."""
    total = torch.zeros((n_clusters, X.shape[1]), dtype=torch.float64, device=X.device)
    for rows in row_pieces(len(X), n_clusters, X.element_size()):
        one_hot = one_hot_rows(labels[rows], weights[rows].to(X.dtype), n_clusters)
        total += tiled(one_hot, X[rows])
    return total


def column_moments(view: ViewRows, weights: Tensor) -> ColumnMoments:
    """Weighted mean, scatter and minimum of the columns; missing rows have no weight."""
    X = mapped(view)
    w = weights if view.factor is None else weights * (view.factor > 0)
    total = float(w.sum())
    resolution = float(np.finfo(numpy_dtype(X.dtype)).eps)
    d = X.shape[1]
    if total == 0:
        none = np.zeros(d)
        return ColumnMoments(0.0, none, none, np.inf, resolution, is_integer=True)
    kept = w > 0
    if isinstance(X, SparseRows):
        mean = X.column_sums(w) / total
        spread = X.with_values((X.values - mean[X.pattern.columns]) ** 2)
        stored = X.with_values(torch.ones_like(X.values)).column_sums(w)
        scatter = spread.column_sums(w) + (total - stored).clamp(min=0) * mean**2
        values = X.values[kept[X.pattern.row_of]]
        smallest = min(float(values.min()) if len(values) else 0.0, 0.0)
        n_zero = total * d - float(stored.sum())
    else:
        weighted = X if bool((w == 1).all()) else X * w.to(X.dtype)[:, None]
        mean = weighted.sum(0, dtype=torch.float64) / total
        centered = (X - mean.to(X.dtype)).square_()
        if weighted is not X:
            centered *= w.to(X.dtype)[:, None]
        scatter = centered.sum(0, dtype=torch.float64)
        values = X if bool(kept.all()) else X[kept]
        smallest = float(values.min())
        n_zero = float(w.double() @ (X == 0).sum(1).double())
    zeros = n_zero / (total * max(d, 1))
    found = (to_numpy(mean), to_numpy(scatter.clamp(min=0)), smallest, resolution, zeros)
    return ColumnMoments(total, *found, is_integer(values))


def row_squares(view: ViewRows) -> Tensor:
    """‖(map(ℓ x) ∘ scale − offset) W‖² of each row."""
    if view.gram is not None:
        return smoothed_squares(mapped(view), view.gram)
    if view.table is not None:
        rows = unfactored(view)
        return rows.square_().sum(1, dtype=torch.float64)
    X = mapped(view)
    if not isinstance(X, SparseRows):
        if view.scale is not None:
            X = X * to_tensor(view.scale, X.device).to(X.dtype)
        if view.offset is not None:
            X = X - to_tensor(view.offset, X.device).to(X.dtype)
        return X.square().sum(1, dtype=torch.float64)
    d, columns = X.shape[1], X.pattern.columns
    scale = to_tensor(np.ones(d) if view.scale is None else view.scale, X.device)
    offset = to_tensor(np.zeros(d) if view.offset is None else view.offset, X.device)
    stored = X.with_values((X.values * scale[columns] - offset[columns]) ** 2).row_sums()
    at_zero = (offset @ offset) - X.with_values(offset[columns] ** 2).row_sums()
    at_zero[X.pattern.ends.diff() == d] = 0
    return stored + at_zero.clamp(min=0)


def is_integer(values: Tensor) -> bool:
    """Whether all values are whole numbers; usually the first few show that they are not."""
    parts = (values[:ROWS_CHECKED], values[ROWS_CHECKED:])
    return all(bool((part == part.round()).all()) for part in parts)


def smoothed_squares(shares: SparseRows, gram: FloatArray) -> Tensor:
    """‖Σ_j s_j t_j‖² of each row of weights, from the inner products of the t_j."""
    n = shares.shape[0]
    G = to_tensor(gram, shares.device)
    columns, values = shares.pattern.columns.view(n, -1), shares.values.view(n, -1).double()
    out = torch.empty(n, dtype=torch.float64, device=shares.device)
    for rows in row_pieces(n, columns.shape[1] ** 2, 16):
        links = G[columns[rows, :, None], columns[rows, None, :]]
        out[rows] = torch.einsum("ia,ib,iab->i", values[rows], values[rows], links)
    return out.clamp_(min=0)
