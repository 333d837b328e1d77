"""The contingency table of two labelings, held as its nonzero entries.

There are never more than n of them, whatever the numbers of classes and clusters. Counts of pairs
are exact. They are summed in int64, since n² passes 2⁵³, the last exact float64, just below
n = 10⁸; their products pass int64 as well, so from there on they are Python integers, rounded once,
by the division.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from manyview.errors import ViewError

__all__ = ["AVERAGES", "Average", "Pairs", "Table", "find_matched", "tabulate"]

Average = Literal["max", "arithmetic", "geometric", "min"]

AVERAGES: dict[str, Callable[[float, float], float]] = {
    "max": max,
    "arithmetic": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: math.sqrt(a * b),
    "min": min,
}

_MAX_DENSE_CELLS = 2**16  # half a MiB; a full table is matched faster this way


@dataclass(frozen=True)
class Pairs:
    """Unordered pairs of samples: in one class, in one cluster, in both, and all."""

    in_class: int
    in_cluster: int
    in_both: int
    total: int

    @classmethod
    def of(cls, labels: NDArray[np.integer[Any]], others: NDArray[np.integer[Any]]) -> Pairs:
        """Count the pairs of two labelings by small integers from 0, which are not checked."""
        shape = int(labels.max()) + 1, int(others.max()) + 1
        cells = labels.astype(np.int64) * shape[1] + others  # (n,)
        counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
        return cls(
            in_class=_count_pairs(counts.sum(axis=1)),
            in_cluster=_count_pairs(counts.sum(axis=0)),
            in_both=_count_pairs(counts.ravel()),
            total=labels.size * (labels.size - 1) // 2,
        )

    def precision(self) -> float:
        """Share of the pairs in one cluster that are in one class."""
        return self.in_both / self.in_cluster if self.in_cluster else 1.0

    def recall(self) -> float:
        """Share of the pairs in one class that are in one cluster."""
        return self.in_both / self.in_class if self.in_class else 1.0

    def f_score(self) -> float:
        """Harmonic mean of precision and recall."""
        either = self.in_class + self.in_cluster
        return 2 * self.in_both / either if either else 1.0

    def adjusted_rand(self) -> float:
        """(both − chance) / (mean − chance), chance = in_class · in_cluster / total."""
        product = self.in_class * self.in_cluster
        span = (self.in_class + self.in_cluster) * self.total - 2 * product
        # Zero only where both sides are all in one or both all apart: equal partitions.
        return 2 * (self.in_both * self.total - product) / span if span else 1.0


@dataclass(frozen=True)
class Table:
    """Nonzero entries of the contingency table: `count` samples of class `row`, cluster `col`."""

    row: NDArray[np.int32]  # (nnz,)
    col: NDArray[np.int32]  # (nnz,)
    count: NDArray[np.int64]  # (nnz,)
    class_size: NDArray[np.int64]  # (n_classes,)
    cluster_size: NDArray[np.int64]  # (n_clusters,)
    n_samples: int

    @classmethod
    def of(cls, counts: csr_array) -> Table:
        """Entries and margins of a table that is there; its zeros are not stored."""
        entries = counts.tocoo()
        sizes = counts.sum(axis=1), counts.sum(axis=0)
        return cls(entries.row, entries.col, entries.data, *sizes, int(sizes[0].sum()))

    def accuracy(self) -> float:
        """Share of samples on the best one-to-one pairing."""
        return self.count_matched(self.pairing()) / self.n_samples

    def pairing(self) -> NDArray[np.int32]:
        """Cluster of each class on the best one-to-one pairing; −1 where it has none."""
        is_small = self.class_size.size * self.cluster_size.size <= _MAX_DENSE_CELLS
        return _pair_dense(self) if is_small else _pair_sparse(self)

    def count_matched(self, pairing: NDArray[np.int32]) -> int:
        """Count the samples whose cluster is paired with their class."""
        return int(self.count[pairing[self.row] == self.col].sum())

    def mutual_info(self, average: Average) -> float:
        """Σ p_rc log(p_rc / p_r p_c) over the average of the two entropies."""
        p_class = self.class_size / self.n_samples  # (n_classes,)
        p_cluster = self.cluster_size / self.n_samples  # (n_clusters,)
        h_class, h_cluster = _entropy(p_class), _entropy(p_cluster)
        if h_class == 0 or h_cluster == 0:
            return float(h_class == h_cluster)
        p_joint = self.count / self.n_samples  # (nnz,)
        info = float(p_joint @ np.log(p_joint / (p_class[self.row] * p_cluster[self.col])))
        return min(max(info / AVERAGES[average](h_class, h_cluster), 0.0), 1.0)

    def purity(self) -> float:
        """Share of samples in the commonest class of their cluster."""
        largest = np.zeros_like(self.cluster_size)  # (n_clusters,)
        np.maximum.at(largest, self.col, self.count)
        return int(largest.sum()) / self.n_samples

    def pairs(self) -> Pairs:
        """Count the pairs of samples."""
        return Pairs(
            in_class=_count_pairs(self.class_size),
            in_cluster=_count_pairs(self.cluster_size),
            in_both=_count_pairs(self.count),
            total=self.n_samples * (self.n_samples - 1) // 2,
        )


def tabulate(y_true: ArrayLike, labels: ArrayLike) -> Table:
    """Count every (class, cluster) that occurs."""
    row, col = _encode("y_true", y_true), _encode("labels", labels)  # (n,), (n,)
    if row.size != col.size:
        message = (
            f"`y_true` has {row.size} entries and `labels` has {col.size}, but both must describe "
            "the same samples: pass two arrays of equal length, in the same order."
        )
        raise ViewError(message)
    shape = (int(row.max()) + 1, int(col.max()) + 1)
    # The conversion adds up repeated entries in linear time; np.unique would sort.
    counts = csr_array(coo_array((np.ones(row.size, dtype=np.int64), (row, col)), shape))
    return Table.of(counts)


def find_matched(y_true: ArrayLike, labels: ArrayLike) -> NDArray[np.bool_]:
    """Whether the cluster of each sample is paired with its class."""
    pairing = tabulate(y_true, labels).pairing()  # (n_classes,)
    return np.equal(pairing[_encode("y_true", y_true)], _encode("labels", labels))


def _encode(name: str, values: ArrayLike) -> NDArray[np.int32]:
    """Validate one side and replace its distinct values by 0, 1, … as they appear."""
    # As objects, a list keeps its NaN and its 1 apart from "nan" and "1".
    array = np.asarray(values, dtype=None if hasattr(values, "__array__") else object)
    if array.ndim != 1 or array.size == 0:
        message = (
            f"`{name}` must hold one label per sample, but has shape {array.shape}: pass a "
            "non-empty, one-dimensional array (`np.ravel` flattens a single column)."
        )
        raise ViewError(message)
    # pandas hashes, so mixed types need no order; it refuses the other byte order.
    codes, _ = pd.factorize(array.astype(array.dtype.newbyteorder("="), copy=False))
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        message = (
            f"`{name}` must label every sample, but has {missing.size} missing values, the first "
            f"at position {missing[0]}: drop those samples from both arrays."
        )
        raise ViewError(message)
    return codes.astype(np.int32)


def _pair_dense(table: Table) -> NDArray[np.int32]:
    """Pair classes with clusters by the Hungarian method."""
    counts = np.zeros((table.class_size.size, table.cluster_size.size), dtype=np.int64)
    counts[table.row, table.col] = table.count
    pairing = np.full(table.class_size.size, -1, dtype=np.int32)
    paired, clusters = linear_sum_assignment(counts, maximize=True)
    pairing[paired] = clusters
    return pairing


def _pair_sparse(table: Table) -> NDArray[np.int32]:
    """Pair classes with clusters without filling in the table.

    Each row gets a dummy column of its own, of count 0, so that leaving it unpaired is an edge
    too and a full matching always exists. One is then added to every count, since SciPy reads 0
    as no edge: every full matching has one edge a row, so their order stays.
    """
    sides = [(table.class_size.size, table.row), (table.cluster_size.size, table.col)]
    # The search costs a pass over the columns for each row: the fewer rows, the better.
    (n_rows, row), (n_cols, col) = sorted(sides, key=itemgetter(0))
    dummy = np.arange(n_rows, dtype=np.int32)
    weight = np.concatenate([table.count + 1.0, np.ones(n_rows)])
    edges = (np.concatenate([row, dummy]), np.concatenate([col, n_cols + dummy]))
    graph = csr_array(coo_array((weight, edges), shape=(n_rows, n_cols + n_rows)))
    rows, cols = min_weight_full_bipartite_matching(graph, maximize=True)
    is_real = cols < n_cols
    has_class_rows = row is table.row
    classes, clusters = (rows, cols) if has_class_rows else (cols, rows)
    pairing = np.full(table.class_size.size, -1, dtype=np.int32)
    pairing[classes[is_real]] = clusters[is_real]
    return pairing


def _entropy(p: NDArray[np.float64]) -> float:
    """−Σ p log p."""
    return -float(p @ np.log(p))


def _count_pairs(size: NDArray[np.int64]) -> int:
    """Σ n(n − 1)/2, exact up to n = 3·10⁹."""
    return int(size @ (size - 1)) // 2
