"""Shared by the anchor-based methods: scaled rows in blocks, spectral embeddings."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from scipy import linalg, sparse

from manyview.data.conversion import View
from manyview.utils.types import FloatArray

Scale = Literal["z"] | None

_BLOCK_ENTRIES = 1 << 21  # 16 MB in float64: a block of all views fits in the cache
_RANK_TOL = 1e-10  # of the largest eigenvalue; the published programs drop smaller ones


@dataclass(frozen=True)
class ScaledView:
    """A view with its scaling, (x − mean) · factor."""

    values: View  # (n, d_v)
    mean: FloatArray | None = None  # (d_v,)
    factor: FloatArray | None = None  # (d_v,), zero for constant features

    @property
    def n_features(self) -> int:
        """Number of features, d_v."""
        return int(self.values.shape[1])

    def rows(self, part: slice) -> FloatArray:
        """Some rows, dense and scaled, in float64: a view is never copied as a whole."""
        block = self.values[part]
        dense = block.toarray() if sparse.issparse(block) else np.asarray(block)
        dense = dense.astype(np.float64)
        if self.mean is not None and self.factor is not None:
            dense -= self.mean
            dense *= self.factor
        return cast("FloatArray", dense)

    def whole(self) -> View:
        """All rows in the dtype of the view; the view itself if it is not scaled."""
        if self.mean is None:
            return self.values
        scaled = np.empty(self.values.shape, dtype=self.values.dtype)
        for part in row_blocks(len(scaled), self.n_features):
            scaled[part] = self.rows(part)
        return scaled


def scale_view(X: View, scale: Scale) -> ScaledView:
    """A view as given, or with standardized features (ddof=1); constant features become 0."""
    view = ScaledView(X)
    if scale is None:
        return view
    n, d_v = X.shape
    mean, scatter = np.zeros(d_v), np.zeros(d_v)
    for part in row_blocks(n, d_v):
        mean += view.rows(part).sum(axis=0) / n
    for part in row_blocks(n, d_v):
        scatter += ((view.rows(part) - mean) ** 2).sum(axis=0)
    deviation = np.sqrt(scatter / max(n - 1, 1))
    is_constant = deviation <= 1e-7 * np.abs(mean)  # up to float32 rounding
    factor = np.divide(1, deviation, out=np.zeros(d_v), where=~is_constant)
    return ScaledView(X, mean, factor)


def row_blocks(n_samples: int, width: int) -> Iterator[slice]:
    """Split the samples into blocks of rows of bounded size."""
    step = max(_BLOCK_ENTRIES // max(width, 1), 64)
    for start in range(0, n_samples, step):
        yield slice(start, min(start + step, n_samples))


def block_bytes(n_samples: int, width: int) -> int:
    """Bytes of a block and of one work array of the same size."""
    return 16 * width * min(n_samples, max(_BLOCK_ENTRIES // max(width, 1), 64))


def spectral_embedding(graph: FloatArray, n_components: int) -> FloatArray:
    """First left singular vectors of the (n, m) graph S, through the m eigenvectors of SᵀS."""
    values, vectors = linalg.eigh(graph.T @ graph)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    is_kept = values > _RANK_TOL * values[0]
    return cast("FloatArray", graph @ (vectors[:, is_kept] / np.sqrt(values[is_kept])))
