"""Agreement of cluster labels with known classes, beyond what `sklearn.metrics` offers.

Labels may be any hashable values. Contingency tables are sparse, with at most one nonzero entry per
sample.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from manyview.exceptions import ViewError

__all__ = [
    "adjusted_rand_of_counts",
    "clustering_accuracy",
    "evaluate",
    "pairwise_f_score",
    "purity",
    "right_samples",
    "selective_accuracy",
]

Codes = NDArray[np.integer[Any]]

_MAX_DENSE_CELLS = 2**16  # half a MiB; below this, a dense table is matched faster


def clustering_accuracy(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Share of samples whose cluster is matched with their class, by the best matching.

    Clusters and classes are matched one to one; samples of unmatched ones count as wrong.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        True class and cluster of each sample: integers, strings, any hashable values.

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
    return float(right_samples(y_true, labels).mean())


def right_samples(y_true: ArrayLike, labels: ArrayLike) -> NDArray[np.bool_]:
    """Mask of the samples that `clustering_accuracy` counts as correct.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        True class and cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    ndarray of bool of shape (n_samples,)
        True if the cluster of a sample is matched with its class; the mean is the accuracy.

    Examples
    --------
    >>> from manyview.metrics import right_samples
    >>> right_samples(["a", "a", "b", "b"], [1, 1, 0, 1]).tolist()
    [True, True, True, False]
    """
    classes, clusters = _encode_both(y_true, labels)
    return np.equal(_pair(classes, clusters)[classes], clusters)


def selective_accuracy(
    y_true: ArrayLike, labels: ArrayLike, confidence: ArrayLike, shares: ArrayLike
) -> NDArray[np.float64]:
    """Accuracy among the most confident samples.

    Clusters and classes are matched once, on all samples.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        True class and cluster of each sample: integers, strings, any hashable values.
    confidence : array-like of shape (n_samples,)
        Confidence of each label; ties keep the order of the samples.
    shares : array-like of shape (n_shares,)
        Shares of the samples to keep, in (0, 1]; rounded up to whole samples.

    Returns
    -------
    ndarray of shape (n_shares,)
        Share of correct samples among those kept; at 1 it is the accuracy.

    Examples
    --------
    >>> from manyview.metrics import selective_accuracy
    >>> selective_accuracy([0, 0, 1, 1], [5, 5, 7, 5], [0.9, 0.8, 0.7, 0.1], [0.5, 1]).tolist()
    [1.0, 0.75]
    """
    is_right = right_samples(y_true, labels)  # (n,)
    sure = np.asarray(confidence, dtype=np.float64)  # (n,)
    if sure.shape != is_right.shape:
        message = (
            f"`confidence` must have one value per sample, {is_right.size} in all, but has shape "
            f"{sure.shape}: pass one-dimensional values in the order of the labels."
        )
        raise ViewError(message)
    wanted = np.asarray(shares, dtype=np.float64)  # (n_shares,)
    if not np.all((wanted > 0) & (wanted <= 1)):
        message = f"`shares` must lie in (0, 1], but are {shares!r}: 0.5 keeps half of the samples."
        raise ValueError(message)
    n_right = np.cumsum(is_right[np.argsort(-sure, kind="stable")])  # (n,)
    # Rounded first: 0.07 · 100 is a little more than 7, and must not keep 8.
    n_kept = np.ceil(np.round(wanted * is_right.size, 6)).astype(np.int64)
    return np.asarray(n_right[n_kept - 1] / n_kept)


def purity(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Share of samples that belong to the largest class of their cluster.

    Purity never decreases when a cluster is split: compare it only at equal numbers of clusters.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        True class and cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    float
        Purity, in (0, 1]; 1 if every cluster holds a single class.

    References
    ----------
    C. D. Manning et al. Introduction to Information Retrieval, section 16.3. Cambridge, 2008.

    Examples
    --------
    >>> from manyview.metrics import purity
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    counts = contingency_matrix(*_encode_both(y_true, labels), sparse=True)
    return int(counts.max(axis=0).sum()) / int(counts.sum())


def pairwise_f_score(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Harmonic mean of the precision and the recall over pairs of samples.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        True class and cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    float
        F-score, in [0, 1]; 1 if neither labeling puts two samples together.

    Examples
    --------
    >>> from manyview.metrics import pairwise_f_score
    >>> pairwise_f_score([0, 0, 1, 1], [0, 0, 0, 1])
    0.4
    """
    return _pair_scores(*_encode_both(y_true, labels))["fscore"]


def evaluate(y_true: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """All metrics at once.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        True class and cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    dict of str to float
        ``acc``, ``nmi`` (normalized by the larger entropy), ``purity`` and ``ari``; ``fscore``,
        ``precision`` and ``recall`` over pairs of samples.

    Examples
    --------
    >>> from manyview.metrics import evaluate
    >>> evaluate([0, 0, 1, 1], [0, 0, 0, 1])["fscore"]
    0.4
    """
    classes, clusters = _encode_both(y_true, labels)
    over_pairs = _pair_scores(classes, clusters)
    return {
        "acc": clustering_accuracy(classes, clusters),
        "nmi": float(normalized_mutual_info_score(classes, clusters, average_method="max")),
        "purity": purity(classes, clusters),
        "fscore": over_pairs.pop("fscore"),
        "ari": float(adjusted_rand_score(classes, clusters)),
        **over_pairs,
    }


def adjusted_rand_of_counts(counts: csr_array[Any]) -> float:
    """Adjusted Rand index of two labelings, from their contingency table.

    Parameters
    ----------
    counts : sparse array of shape (n_clusters, n_other_clusters)
        Number of samples in each pair of clusters.

    Returns
    -------
    float
        The value of `sklearn.metrics.adjusted_rand_score` for the labels.
    """

    def pairs(sizes: NDArray[np.int64]) -> int:
        return int(sizes @ (sizes - 1)) // 2

    ours, theirs = pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0))
    both, n = pairs(counts.data), int(counts.sum())
    total = n * (n - 1) // 2  # a Python integer, since its products exceed int64
    span = (ours + theirs) * total - 2 * ours * theirs
    # zero only if both are one cluster or both are all singletons: equal partitions
    return 2 * (both * total - ours * theirs) / span if span else 1.0


def _pair_scores(classes: Codes, clusters: Codes) -> dict[str, float]:
    """F-score, precision and recall over pairs of samples; 1 if there is no pair."""
    (_, wrong), (missed, right) = pair_confusion_matrix(classes, clusters).tolist()
    return {
        "fscore": 2 * right / (2 * right + wrong + missed) if right + wrong + missed else 1.0,
        "precision": right / (right + wrong) if right + wrong else 1.0,
        "recall": right / (right + missed) if right + missed else 1.0,
    }


def _encode_both(y_true: ArrayLike, labels: ArrayLike) -> tuple[Codes, Codes]:
    """Both labelings as small integers."""
    classes, clusters = _encode("y_true", y_true), _encode("labels", labels)
    if classes.size != clusters.size:
        message = (
            f"`y_true` has {classes.size} entries and `labels` has {clusters.size}, but both must "
            "describe the same samples: pass two arrays of equal length, in the same order."
        )
        raise ViewError(message)
    return classes, clusters


def _encode(name: str, values: ArrayLike) -> NDArray[np.int32]:
    """Validate one labeling and encode its values as 0, 1, … in order of appearance."""
    # As objects, NaN and 1 in a list stay distinct from "nan" and "1".
    array = np.asarray(values, dtype=None if hasattr(values, "__array__") else object)
    if array.ndim != 1 or array.size == 0:
        message = (
            f"`{name}` must hold one label per sample, but has shape {array.shape}: pass a "
            "non-empty, one-dimensional array (`np.ravel` flattens a single column)."
        )
        raise ViewError(message)
    # pandas hashes, so mixed types need no order; it refuses foreign byte orders.
    codes, _ = pd.factorize(array.astype(array.dtype.newbyteorder("="), copy=False))
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        message = (
            f"`{name}` must label every sample, but has {missing.size} missing values, the first "
            f"at position {missing[0]}: drop those samples from both arrays."
        )
        raise ViewError(message)
    return codes.astype(np.int32)


def _pair(classes: Codes, clusters: Codes) -> Codes:
    """Cluster of each class in the best one-to-one matching; −1 if it has none."""
    counts = contingency_matrix(classes, clusters, sparse=True, dtype=np.int64)
    n_cells = counts.shape[0] * counts.shape[1]
    rows, columns = (_pair_dense if n_cells <= _MAX_DENSE_CELLS else _pair_sparse)(counts)
    pairing = np.full(counts.shape[0], -1, dtype=np.int32)
    pairing[rows] = columns
    return pairing


def _pair_dense(counts: Any) -> tuple[Codes, Codes]:
    """Match rows and columns by the Hungarian method."""
    rows, columns = linear_sum_assignment(counts.toarray(), maximize=True)
    return rows, columns


def _pair_sparse(counts: Any) -> tuple[Codes, Codes]:
    """Match rows and columns without a dense table.

    Each row gets a dummy column of count 0, so that leaving it unmatched is an edge, too, and a
    full matching always exists. One is then added to every count, since SciPy treats 0 as no edge:
    every full matching has one edge per row, so their order is unchanged.
    """
    table = counts.tocoo()
    sides = [(table.shape[0], table.row), (table.shape[1], table.col)]
    # The search takes a pass over the columns for each row: fewer rows are better.
    (n_rows, row), (n_cols, col) = sorted(sides, key=itemgetter(0))
    dummy = np.arange(n_rows, dtype=np.int32)
    weight = np.concatenate([table.data + 1.0, np.ones(n_rows)])
    edges = (np.concatenate([row, dummy]), np.concatenate([col, n_cols + dummy]))
    graph = csr_array(coo_array((weight, edges), shape=(n_rows, n_cols + n_rows)))
    rows, cols = min_weight_full_bipartite_matching(graph, maximize=True)
    is_real = cols < n_cols
    rows, cols = rows[is_real], cols[is_real]
    return (rows, cols) if row is table.row else (cols, rows)
