"""Features that distinguish a cluster: moments per cluster, from one pass over a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.conversion import StoredView, read_rows, row_pieces
from manyview.data.views import MultiViewData
from manyview.utils.types import FloatArray, IntArray

ROUNDING = 64 * np.finfo(np.float64).eps
PIECE_ROWS = 4096  # read at a time
LOST = 1e-12  # of the subtracted value of a feature: this share of a sum may be rounding


@dataclass(frozen=True)
class Profile:
    """Statistics of the features of a view, per cluster and over all samples that have it."""

    names: NDArray[np.object_]  # (d_v,)
    count: FloatArray  # (k,)
    mean: FloatArray  # (k, d_v); NaN where no sample of the cluster has the view
    rest: FloatArray  # (k, d_v): mean of the samples outside of the cluster
    effect: FloatArray  # (k, d_v): zero if a feature is constant, NaN if unknown
    overall: FloatArray  # (d_v,)
    deviation: FloatArray  # (d_v,): zero if a feature is constant

    @property
    def scale(self) -> FloatArray:
        """One over the deviation; zero if a feature is constant: (d_v,)."""
        varies = self.deviation > 0
        return np.divide(1.0, self.deviation, out=np.zeros_like(self.deviation), where=varies)

    @property
    def strength(self) -> FloatArray:
        """Size of the effects; zero if unknown: (k, d_v)."""
        return np.asarray(np.nan_to_num(np.abs(self.effect), posinf=np.inf))

    @property
    def standardized(self) -> FloatArray:
        """Cluster means in standard deviations from the overall mean; zero if unknown."""
        return np.nan_to_num((self.mean - self.overall) * self.scale)

    def top(self, n_most: int) -> pd.DataFrame:
        """The features that distinguish each cluster most, strongest first."""
        strength = self.strength
        order = np.argsort(-strength, axis=1, kind="stable")[:, :n_most]  # (k, n_most)
        cluster = np.repeat(np.arange(len(order)), order.shape[1])
        position = order.ravel()
        table = pd.DataFrame(
            {
                "cluster": cluster,
                "feature": self.names[position],
                "position": position,
                "direction": np.where(self.effect[cluster, position] > 0, "higher", "lower"),
                "effect": self.effect[cluster, position],
                "mean": self.mean[cluster, position],
                "rest": self.rest[cluster, position],
                "n": self.count[cluster].astype(np.int64),
            }
        )
        return table[strength[cluster, position] > 0]

    def heatmap(self, n_most: int) -> pd.DataFrame:
        """Standardized means of the strongest features, about equally many per cluster."""
        strength = self.strength
        k = len(strength)
        by_rank = np.argsort(-strength, axis=1, kind="stable")[:, : max(1, n_most // k)]
        chosen = np.unique(by_rank)
        chosen = chosen[strength[:, chosen].max(axis=0) > 0]
        strongest = np.argsort(-strength[:, chosen].max(axis=0), kind="stable")[:n_most]
        chosen = chosen[strongest]
        chosen = chosen[np.argsort(self.standardized[:, chosen].argmax(axis=0), kind="stable")]
        return pd.DataFrame(
            self.standardized[:, chosen].T,
            index=pd.Index(self.names[chosen], name="feature"),
            columns=pd.RangeIndex(k, name="cluster"),
        )


def profile_view(
    view: StoredView,
    present: NDArray[np.bool_] | None,
    labels: IntArray,
    centers: FloatArray,
    names: NDArray[Any] | None,
) -> Profile:
    """Moments of a view per cluster; `centers` are nearby rows, against cancellation."""
    k, d = centers.shape
    is_sparse = sparse.issparse(view)
    near = np.zeros(d) if is_sparse else np.nan_to_num(centers).mean(axis=0)  # (d_v,)
    count, total, square = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    for rows in row_pieces(view):
        kept = slice(None) if present is None else present[rows]
        own, piece = labels[rows][kept], read_rows(view, rows)[kept].astype(np.float64)
        ones = (np.ones(len(own)), (own, np.arange(len(own))))
        members = sparse.csr_array(ones, shape=(k, len(own)))
        if not is_sparse:
            piece -= near
        count += np.bincount(own, minlength=k)
        total += _dense(members @ piece)
        square += _dense(members @ (piece * piece))
    return _profile(count, total, square, near, float(np.finfo(view.dtype).eps), names)


def feature_values(
    data: MultiViewData, v: int, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> FloatArray:
    """Some features of some samples, sorted by position; NaN for those without the view."""
    values = np.full((len(rows), len(columns)), np.nan)
    for start in range(0, len(rows), PIECE_ROWS):
        piece = slice(start, start + PIECE_ROWS)
        values[piece] = _dense(read_rows(data.views[v], rows[piece])[:, columns])
    if data.present is not None:
        values[~data.present[rows, v]] = np.nan
    return values


def _dense(product: Any) -> FloatArray:
    return np.asarray(product if isinstance(product, np.ndarray) else product.toarray())


def _profile(
    count: FloatArray,
    total: FloatArray,
    square: FloatArray,
    near: FloatArray,
    resolution: float,
    names: NDArray[Any] | None,
) -> Profile:
    """Means, deviations and effects from sums of x − near and of its square."""
    n, others = count[:, None], count.sum() - count[:, None]  # (k, 1)
    sums, squares = total.sum(axis=0), square.sum(axis=0)  # (d_v,)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, rest = total / n, (sums - total) / others  # (k, d_v)
        overall = sums / count.sum()
        within = square - n * mean**2 + (squares - square) - others * rest**2
        pooled = within / max(count.sum() - 2, 1)
        variance = squares / count.sum() - overall**2
        # rounding of a constant, in the values and in the sums, is not variance
        noise = (8 * resolution * (overall + near)) ** 2 + ROUNDING * squares / count.sum()
        is_flat = ~(variance > noise)
        effect = (mean - rest) / np.sqrt(np.where(pooled > noise, pooled, 0.0))
    effect[:, is_flat] = 0.0
    effect[(n.ravel() == 0) | (others.ravel() == 0)] = np.nan
    if names is None:
        names = np.array([f"feature {j}" for j in range(len(near))], dtype=object)
    return Profile(
        names=names,
        count=count,
        mean=_back(mean, near),
        rest=_back(rest, near),
        effect=effect,
        overall=_back(overall, near),
        deviation=np.sqrt(np.where(is_flat, 0.0, variance)),
    )


def _back(mean: FloatArray, near: FloatArray) -> FloatArray:
    """Means of x from those of x − near; rounding residues of a zero become zero."""
    given = mean + near
    return np.where(np.abs(given) <= LOST * np.abs(near), 0.0, given)
