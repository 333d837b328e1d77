"""How well found labels agree with known classes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyview.contingency import AVERAGES, Average, find_matched, tabulate
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
    "right_samples",
    "selective_accuracy",
]


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
    return tabulate(y_true, labels).accuracy()


def right_samples(y_true: ArrayLike, labels: ArrayLike) -> NDArray[np.bool_]:
    """Which samples `clustering_accuracy` counts: their cluster is paired with their class.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.

    Returns
    -------
    ndarray of bool of shape (n_samples,)
        True where a sample is right; the mean is the accuracy.

    Examples
    --------
    >>> from manyview.metrics import right_samples
    >>> right_samples(["a", "a", "b", "b"], [1, 1, 0, 1]).tolist()
    [True, True, True, False]
    """
    return find_matched(y_true, labels)


def selective_accuracy(
    y_true: ArrayLike, labels: ArrayLike, confidence: ArrayLike, shares: ArrayLike
) -> NDArray[np.float64]:
    """Accuracy among the most confident samples.

    Clusters and classes are paired once, by all samples.

    Parameters
    ----------
    y_true, labels : array-like of shape (n_samples,)
        Known class and found cluster of each sample: integers, strings, any hashable values.
    confidence : array-like of shape (n_samples,)
        How sure each label is; larger is surer. Equal values keep the order of the samples.
    shares : array-like of shape (n_shares,)
        Shares of the samples to keep, in (0, 1]; rounded up to whole samples.

    Returns
    -------
    ndarray of shape (n_shares,)
        Share of right samples among those kept; at 1 it is the accuracy.

    Examples
    --------
    >>> from manyview.metrics import selective_accuracy
    >>> selective_accuracy([0, 0, 1, 1], [5, 5, 7, 5], [0.9, 0.8, 0.7, 0.1], [0.5, 1]).tolist()
    [1.0, 0.75]
    """
    is_right = find_matched(y_true, labels)  # (n,)
    sure = np.asarray(confidence, dtype=np.float64)  # (n,)
    if sure.shape != is_right.shape:
        message = (
            f"`confidence` must have one value per sample, {is_right.size} in all, but has shape "
            f"{sure.shape}: pass one-dimensional values in the order of the labels."
        )
        raise ViewError(message)
    wanted = np.asarray(shares, dtype=np.float64)  # (n_shares,)
    if not np.all((wanted > 0) & (wanted <= 1)):
        message = f"`shares` must lie in (0, 1], but are {shares!r}: 0.5 keeps half the samples."
        raise ValueError(message)
    n_right = np.cumsum(is_right[np.argsort(-sure, kind="stable")])  # (n,)
    # Rounded first: 0.07 · 100 is a little more than 7, and must not keep 8.
    n_kept = np.ceil(np.round(wanted * is_right.size, 6)).astype(np.int64)
    return np.asarray(n_right[n_kept - 1] / n_kept)


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
    if average not in AVERAGES:
        message = f"`average` must be one of {', '.join(AVERAGES)}, but is {average!r}."
        raise ValueError(message)
    return tabulate(y_true, labels).mutual_info(average)


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
    return tabulate(y_true, labels).purity()


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
    return tabulate(y_true, labels).pairs().f_score()


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
    return tabulate(y_true, labels).pairs().precision()


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
    return tabulate(y_true, labels).pairs().recall()


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
    return tabulate(y_true, labels).pairs().adjusted_rand()


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
    table = tabulate(y_true, labels)
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
