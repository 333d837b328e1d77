"""How well found labels agree with known classes.

Every measure is read from one contingency table, held as its nonzero entries: never more than
n of them, whatever the numbers of classes and clusters. Counts of pairs are exact. They are
summed in int64, since n² passes 2⁵³, the last exact float64, just below n = 10⁸; their products
pass int64 as well, so from there on they are Python integers, rounded once, by the division.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from manyview.errors import ViewError

__all__ = [
    "adjusted_rand_index",
    "clustering_accuracy",
    "evaluate",
    "normalized_mutual_info",
    "pairwise_f_score",
    "pairwise_precision",
    "pairwise_recall",
    "purity",
]

Average = Literal["max", "arithmetic", "geometric", "min"]

_AVERAGES: dict[str, Callable[[float, float], float]] = {
    "max": max,
    "arithmetic": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: math.sqrt(a * b),
    "min": min,
}

_MAX_DENSE_CELLS = 2**16  # half a MiB; a full table is matched faster this way


def clustering_accuracy(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Share of samples whose cluster is paired with their class, by the best pairing.

    Clusters and classes are paired one to one; the samples of any left over count as wrong.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    float
        Accuracy, in (0, 1].

    References
    ----------
    H. W. Kuhn. The Hungarian method for the assignment problem. Naval Research Logistics 2, 1955.

    Examples
    --------
    >>> from manyview.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    return _tabulate(y_true, labels).accuracy()


def normalized_mutual_info(
    y_true: ArrayLike, labels: ArrayLike, *, average: Average = "max"
) -> float:
    """Mutual information of classes and clusters over an average of their entropies.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.
    average : {"max", "arithmetic", "geometric", "min"}, default="max"
        Average of the two entropies; scikit-learn's default, ``"arithmetic"``, reads higher.

    Returns
    -------
    float
        Normalized mutual information, in [0, 1]. One cluster against one class gives 1; one
        cluster against several classes, or the reverse, gives 0.

    References
    ----------
    N. X. Vinh et al. Information theoretic measures for clusterings comparison. JMLR 11, 2010.

    Examples
    --------
    >>> from manyview.metrics import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6667
    """
    if average not in _AVERAGES:
        message = f"`average` must be one of {', '.join(_AVERAGES)}, but is {average!r}."
        raise ValueError(message)
    return _tabulate(y_true, labels).mutual_info(average)


def purity(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Share of samples that belong to the largest class of their cluster.

    Purity never falls when a cluster is split: compare it at equal numbers of clusters only.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    float
        Purity, in (0, 1]; 1 when every cluster holds a single class.

    References
    ----------
    C. D. Manning et al. Introduction to Information Retrieval, section 16.3. Cambridge, 2008.

    Examples
    --------
    >>> from manyview.metrics import purity
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return _tabulate(y_true, labels).purity()


def pairwise_f_score(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Harmonic mean of the precision and the recall over pairs of samples.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    float
        F-score, in [0, 1]. Where neither side puts two samples together it is 1.

    Examples
    --------
    >>> from manyview.metrics import pairwise_f_score
    >>> pairwise_f_score([0, 0, 1, 1], [0, 0, 0, 1])
    0.4
    """
    return _tabulate(y_true, labels).pairs().f_score()


def pairwise_precision(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Share of the pairs within a cluster that are also within a class.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    float
        Precision, in [0, 1]. Where no cluster holds a pair, none is wrong, and it is 1.

    Examples
    --------
    >>> from manyview.metrics import pairwise_precision
    >>> round(pairwise_precision([0, 0, 1, 1], [0, 0, 0, 1]), 4)
    0.3333
    """
    return _tabulate(y_true, labels).pairs().precision()


def pairwise_recall(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Share of the pairs within a class that are also within a cluster.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    float
        Recall, in [0, 1]. Where no class holds a pair, none is missed, and it is 1.

    Examples
    --------
    >>> from manyview.metrics import pairwise_recall
    >>> pairwise_recall([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    return _tabulate(y_true, labels).pairs().recall()


def adjusted_rand_index(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Agreement over pairs of samples, corrected for chance.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    float
        Adjusted Rand index, in [-0.5, 1]: about 0 for labels drawn at random, and 1 for equal
        partitions, among them all in one, and all apart, on both sides.

    References
    ----------
    L. Hubert, P. Arabie. Comparing partitions. Journal of Classification 2, 1985.

    Examples
    --------
    >>> from manyview.metrics import adjusted_rand_index
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    return _tabulate(y_true, labels).pairs().adjusted_rand()


def evaluate(y_true: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Compute all measures at once, from one reading of the labels.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    dict of str to float
        ``acc``, ``nmi`` (normalized by the larger entropy), ``purity``, ``fscore``, ``ari``,
        ``precision`` and ``recall``, the last two and ``fscore`` over pairs of samples.

    Examples
    --------
    >>> from manyview.metrics import evaluate
    >>> evaluate([0, 0, 1, 1], [0, 0, 0, 1])["fscore"]
    0.4
    """
    table = _tabulate(y_true, labels)
    pairs = table.pairs()
    return {
        "acc": table.accuracy(),
        "nmi": table.mutual_info("max"),
        "purity": table.purity(),
        "fscore": pairs.f_score(),
        "ari": pairs.adjusted_rand(),
        "precision": pairs.precision(),
        "recall": pairs.recall(),
    }


@dataclass(frozen=True)
class _Pairs:
    """Unordered pairs of samples: in one class, in one cluster, in both, and all."""

    in_class: int
    in_cluster: int
    in_both: int
    total: int

    def precision(self) -> float:
        return self.in_both / self.in_cluster if self.in_cluster else 1.0

    def recall(self) -> float:
        return self.in_both / self.in_class if self.in_class else 1.0

    def f_score(self) -> float:
        either = self.in_class + self.in_cluster
        return 2 * self.in_both / either if either else 1.0

    def adjusted_rand(self) -> float:
        """(both − chance) / (mean − chance), chance = in_class · in_cluster / total."""
        product = self.in_class * self.in_cluster
        span = (self.in_class + self.in_cluster) * self.total - 2 * product
        # Zero only where both sides are all in one or both all apart: equal partitions.
        return 2 * (self.in_both * self.total - product) / span if span else 1.0


@dataclass(frozen=True)
class _Table:
    """Nonzero entries of the contingency table: `count` samples of class `row`, cluster `col`."""

    row: NDArray[np.int32]  # (nnz,)
    col: NDArray[np.int32]  # (nnz,)
    count: NDArray[np.int64]  # (nnz,)
    class_size: NDArray[np.int64]  # (n_classes,)
    cluster_size: NDArray[np.int64]  # (n_clusters,)
    n_samples: int

    def accuracy(self) -> float:
        is_small = self.class_size.size * self.cluster_size.size <= _MAX_DENSE_CELLS
        return (_match_dense(self) if is_small else _match_sparse(self)) / self.n_samples

    def mutual_info(self, average: Average) -> float:
        """Σ p_rc log(p_rc / p_r p_c) over the average of the two entropies."""
        p_class = self.class_size / self.n_samples  # (n_classes,)
        p_cluster = self.cluster_size / self.n_samples  # (n_clusters,)
        h_class, h_cluster = _entropy(p_class), _entropy(p_cluster)
        if h_class == 0 or h_cluster == 0:
            return float(h_class == h_cluster)
        p_joint = self.count / self.n_samples  # (nnz,)
        info = float(p_joint @ np.log(p_joint / (p_class[self.row] * p_cluster[self.col])))
        return min(max(info / _AVERAGES[average](h_class, h_cluster), 0.0), 1.0)

    def purity(self) -> float:
        largest = np.zeros_like(self.cluster_size)  # (n_clusters,)
        np.maximum.at(largest, self.col, self.count)
        return int(largest.sum()) / self.n_samples

    def pairs(self) -> _Pairs:
        return _Pairs(
            in_class=_count_pairs(self.class_size),
            in_cluster=_count_pairs(self.cluster_size),
            in_both=_count_pairs(self.count),
            total=self.n_samples * (self.n_samples - 1) // 2,
        )


def _tabulate(y_true: ArrayLike, labels: ArrayLike) -> _Table:
    """Count every (class, cluster) that occurs."""
    row, col = _encode("y_true", y_true), _encode("labels", labels)  # (n,), (n,)
    if row.size != col.size:
        message = (
            f"`y_true` has {row.size} entries and `labels` has {col.size}, but both must describe "
            "the same samples: pass two arrays of equal length, in the same order."
        )
        raise ViewError(message)
    class_size, cluster_size = np.bincount(row), np.bincount(col)
    shape = (class_size.size, cluster_size.size)
    # The conversion adds up repeated entries in linear time; np.unique would sort.
    entries = csr_array(coo_array((np.ones(row.size, dtype=np.int64), (row, col)), shape)).tocoo()
    return _Table(entries.row, entries.col, entries.data, class_size, cluster_size, row.size)


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


def _match_dense(table: _Table) -> int:
    """Count the samples on the best one-to-one pairing, by the Hungarian method."""
    counts = np.zeros((table.class_size.size, table.cluster_size.size), dtype=np.int64)
    counts[table.row, table.col] = table.count
    return int(counts[linear_sum_assignment(counts, maximize=True)].sum())


def _match_sparse(table: _Table) -> int:
    """Count the samples on the best one-to-one pairing, without filling in the table.

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
    paired = min_weight_full_bipartite_matching(graph, maximize=True)
    return int(graph[paired].sum()) - n_rows


def _entropy(p: NDArray[np.float64]) -> float:
    """−Σ p log p."""
    return -float(p @ np.log(p))


def _count_pairs(size: NDArray[np.int64]) -> int:
    """Σ n(n − 1)/2, exact up to n = 3·10⁹."""
    return int(size @ (size - 1)) // 2
