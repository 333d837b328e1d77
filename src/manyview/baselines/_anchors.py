"""Pieces of the methods by anchors: scaled rows in blocks, polar factors, embeddings, k-means."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from scipy import linalg, sparse

from manyview.data.conversion import View
from manyview.utils.types import FloatArray

Scale = Literal["z"] | None

_BLOCK_ENTRIES = 1 << 21  # 16 MB in float64: a block of all views stays near the cache
_RANK_TOL = 1e-10  # of the largest eigenvalue; the published programs drop what lies below


@dataclass(frozen=True)
class ScaledView:
    """A view, and what takes its rows to those the method reads: (x − mean) · factor."""

    values: View  # (n, d_v)
    mean: FloatArray | None = None  # (d_v,)
    factor: FloatArray | None = None  # (d_v,), zero for constant features

    @property
    def n_features(self) -> int:
        """Width, d_v."""
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
        """All rows in the precision of the view; the view itself where nothing is scaled."""
        if self.mean is None:
            return self.values
        scaled = np.empty(self.values.shape, dtype=self.values.dtype)
        for part in row_blocks(len(scaled), self.n_features):
            scaled[part] = self.rows(part)
        return scaled


def scale_view(X: View, scale: Scale) -> ScaledView:
    """A view as it is, or with features of mean 0 and deviation 1 (n − 1); constant ones are 0."""
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
    is_constant = deviation <= 1e-7 * np.abs(mean)  # what float32 rounding leaves
    factor = np.divide(1, deviation, out=np.zeros(d_v), where=~is_constant)
    return ScaledView(X, mean, factor)


def row_blocks(n_samples: int, width: int) -> Iterator[slice]:
    """Cut the samples into blocks of rows of bounded size."""
    step = max(_BLOCK_ENTRIES // max(width, 1), 64)
    for start in range(0, n_samples, step):
        yield slice(start, min(start + step, n_samples))


def block_bytes(n_samples: int, width: int) -> int:
    """Bytes of such a block, and of one work array of its size."""
    return 16 * width * min(n_samples, max(_BLOCK_ENTRIES // max(width, 1), 64))


def spectral_embedding(graph: FloatArray, n_components: int) -> FloatArray:
    """First left singular vectors of the (n, m) graph S, through the m eigenvectors of SᵀS."""
    values, vectors = linalg.eigh(graph.T @ graph)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    is_kept = values > _RANK_TOL * values[0]
    return cast("FloatArray", graph @ (vectors[:, is_kept] / np.sqrt(values[is_kept])))
