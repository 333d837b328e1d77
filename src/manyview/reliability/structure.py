"""Whether the clusters of a fit are more than a partition of one blob.

The statistic is the assortativity of the labels in the neighbor graph of a subset: the share of
neighbors in the same cluster, on a scale from chance (0) to all (1), whatever the sizes of the
clusters. Its null distribution comes from blobs with the mean and covariance of the subset, each
partitioned by k-means of rows that are smoothed along its own graph. On blobs, that finds a larger
assortativity than the fit does, so the test is conservative.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview.data.views import MultiViewData
from manyview.model_selection.graph import assortativity, join_neighbors
from manyview.model_selection.significance import p_value
from manyview.reliability.calibration import calibrate
from manyview.reliability.subset import Subset, draw_subset
from manyview.solver.evidence import Calibration, Structure
from manyview.solver.problem import Settings
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray, IntArray

MANY_SAMPLES = 10_000  # from here on the subset is smaller: fits take little more time with more
SAMPLE_ROWS = (1000, 2000)  # the larger subset where the smaller one leaves doubts
FEWEST_OF_MANY, MOST_OF_MANY = 300, 500
ROWS_PER_CLUSTER, MOST_ROWS = 4, 4000  # so that distances to clusters stay small arrays
FEWEST_ROWS = 20
MOST_NEIGHBORS_SHARE = 4  # a sample has at most a quarter of a cluster as neighbors
FEW_REFERENCES, MOST_REFERENCES, ROWS_OF_REFERENCES = 6, 24, 6000  # few suffice for many rows
WEAK, SURELY_WEAK = 0.07, 0.05  # excess from which on, and p-value below which, there is structure
CLEAR, SURELY_CLEAR, STEADY = 0.4, 0.01, 0.5  # the same for clear clusters; and their stability,
CLEARLY = 0.5  # which does not matter from this excess on
KMEANS_STEPS = 10
N_STARTS = 5  # of a fit to a half, as in the fit itself
ROUNDING = 1e-6
TINY = float(np.finfo(np.float64).tiny)


def assess(
    data: MultiViewData,
    labels: IntArray,
    margins: FloatArray,
    settings: Settings,
    rng: Generator,
) -> tuple[Structure, Calibration | None]:
    """Structure of a fit, and the calibration of its margins."""
    n, k = data.n_samples, settings.n_clusters
    if k < 2 or n < _fewest_rows(k) or ROWS_PER_CLUSTER * k > MOST_ROWS:
        return Structure("unknown"), None
    if n >= MANY_SAMPLES:
        sizes = [min(max(FEWEST_OF_MANY, 50 * k), MOST_OF_MANY)]
    else:
        sizes = [size for size in SAMPLE_ROWS if size < n] or [n]
    with limit_threads(1):
        for size in sizes:
            found = _assess_some(
                data, labels, margins, settings, max(size, ROWS_PER_CLUSTER * k), rng
            )
            if found[0].verdict in ("clear", "unknown") or found[0].excess <= 0:
                break  # more rows would not change it
    return found


def _fewest_rows(n_clusters: int) -> int:
    """Samples that an assessment needs."""
    return max(FEWEST_ROWS, ROWS_PER_CLUSTER * n_clusters // 2)


class LazyAssessment:
    """`assess`, called when its result is first asked for."""

    def __init__(
        self,
        data: MultiViewData,
        labels: IntArray,
        margins: FloatArray,
        settings: Settings,
        rng: Generator,
    ) -> None:
        self._given = (data, labels, margins, settings, rng)
        self._result: tuple[Structure, Calibration | None] | None = None

    def result(self) -> tuple[Structure, Calibration | None]:
        """Structure and calibration; computed once."""
        if self._result is None:
            self._result = assess(*self._given)
        return self._result


def _assess_some(
    data: MultiViewData,
    labels: IntArray,
    margins: FloatArray,
    settings: Settings,
    n_rows: int,
    rng: Generator,
) -> tuple[Structure, Calibration | None]:
    """The same, on a subset of a given size."""
    subset = draw_subset(data, labels, settings, n_rows, rng)
    points = subset.coordinates.points
    if len(points) < _fewest_rows(subset.n_clusters):  # views that no sample links are left out
        return Structure("unknown"), None
    if np.linalg.norm(points - points.mean(axis=0)) <= ROUNDING * np.linalg.norm(points):
        return Structure("unknown"), None  # all samples are equal
    found = _partition_of(points, subset.labels, subset.n_clusters)
    wanted = ROWS_OF_REFERENCES // len(subset.rows) if data.n_samples < MANY_SAMPLES else 0
    n_references = min(max(wanted, FEW_REFERENCES), MOST_REFERENCES)
    references = [_reference(subset, rng) for _ in range(n_references)]
    structure = _judge(subset, found, references, _stability(subset, rng))
    if structure.verdict == "none":  # no label is then worth more than one of a blob
        return structure, Calibration(np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    null = np.concatenate([reference.margins for reference in references])
    return structure, calibrate(margins, found.margins, null)


@dataclass(frozen=True)
class _Partition:
    """A partition of some points: its assortativity, and the margin of each point."""

    assortativity: float
    margins: FloatArray


def _partition_of(points: FloatArray, labels: IntArray, n_clusters: int) -> _Partition:
    found = assortativity(_graph(points, n_clusters), labels, n_clusters)
    return _Partition(found, _margins(points, labels, n_clusters))


def _reference(subset: Subset, rng: Generator) -> _Partition:
    """A good partition of one blob of the shape of the subset."""
    k, points = subset.n_clusters, subset.coordinates.one_blob(rng)
    graph = _graph(points, k)
    kmeans = KMeans(k, n_init=1, max_iter=KMEANS_STEPS, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        labels = kmeans.fit_predict(_smoothed(graph, points))
    return _Partition(assortativity(graph, labels, k), _margins(points, labels, k))


def _graph(points: FloatArray, n_clusters: int) -> sparse.csr_array:
    return join_neighbors(points, len(points) // (MOST_NEIGHBORS_SHARE * n_clusters))


def _smoothed(graph: sparse.csr_array, points: FloatArray) -> FloatArray:
    """Mean of each point and its neighbors, the point as heavy as the nearest of them."""
    own = graph.max(axis=1).toarray().ravel()  # (n,)
    total = np.asarray(graph.sum(axis=1)).ravel() + own
    return np.asarray((graph @ points + own[:, None] * points) / np.maximum(total, TINY)[:, None])


def _margins(points: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    """1 − a / b: squared distances to the mean of the own cluster, and to the nearest other."""
    n = len(points)
    sizes = np.bincount(labels, minlength=n_clusters)
    member = sparse.csr_array((1 / sizes[labels], (labels, np.arange(n))), shape=(n_clusters, n))
    means = np.asarray(member @ points)[sizes > 0]
    own = (np.cumsum(sizes > 0) - 1)[labels]
    squares = np.einsum("ij,ij->i", points, points)[:, None] - 2 * points @ means.T
    squares = np.maximum(squares + np.einsum("ij,ij->i", means, means), 0)  # (n, k)
    a = squares[np.arange(n), own].copy()
    squares[np.arange(n), own] = np.inf
    b = squares.min(axis=1)
    is_apart = (b > 0) & np.isfinite(b)
    ratio = np.divide(a, b, out=np.ones(n), where=is_apart)
    return np.asarray(np.maximum(1 - ratio, 0))


def _stability(subset: Subset, rng: Generator) -> float:
    """Agreement with a fit to a random half of the subset."""
    half = np.sort(rng.permutation(len(subset.rows))[: (len(subset.rows) + 1) // 2])
    again = subset.refit(half, int(rng.integers(2**31)), N_STARTS)
    return float(adjusted_rand_score(subset.labels[half], again))


def _judge(
    subset: Subset, found: _Partition, references: list[_Partition], stability: float
) -> Structure:
    values = [reference.assortativity for reference in references]
    null = float(np.mean(values))
    excess = (found.assortativity - null) / max(1 - null, TINY)
    p = p_value(found.assortativity, values)
    is_clear = excess >= CLEARLY or (excess >= CLEAR and stability >= STEADY)
    if is_clear and p < SURELY_CLEAR:
        verdict = "clear"
    else:
        verdict = "weak" if excess >= WEAK and p < SURELY_WEAK else "none"
    return Structure(verdict, excess, p, stability, len(subset.rows), len(references))
