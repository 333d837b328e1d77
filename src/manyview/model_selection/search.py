"""Choose the number of clusters: one graph of a subset, partitioned into every number of clusters.

A partition is scored by its modularity in a neighbor graph, relative to the modularity of the same
procedure on a reference, one blob with the mean and covariance of the subset,

    excess = (Q − Q_blob) / (1 − 1/k − Q_blob),

where 1 − 1/k is that of k unconnected clusters. Its stability is the agreement with partitions of
the graphs of two halves. Each additional candidate costs only a small QR.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from manyview.base import COUNT, FLAG, Allowed, check_parameter, generator, is_count, scale_option
from manyview.data.views import MultiViewData
from manyview.exceptions import DataWarning, NotEnoughSamplesError
from manyview.model_selection.choice import Choice, decide
from manyview.model_selection.graph import Spectrum, decompose, join_neighbors, modularity
from manyview.model_selection.sample import draw_sample, locate
from manyview.model_selection.settings import OnProgress, Row, Scale
from manyview.model_selection.settings import tune as tune_settings
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray, IntArray

SAMPLE_ROWS = 2000
N_BLOBS = 2
FEW = 10  # clusters: blobs are partitioned into every number up to it (long ones need 3 and 4),
N_LEVELS = 6  # and into this many numbers beyond, between which the modularity is smooth
CANDIDATES = Allowed(
    "integers >= 2", lambda ks: len(ks) > 0 and all(is_count(k) and k >= 2 for k in ks)
)


def choose(
    X: Any,
    n_clusters: Iterable[int] = range(2, 41),
    *,
    scale: Scale = "auto",
    tune: bool = True,
    max_samples: int = SAMPLE_ROWS,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    on_progress: OnProgress | None = None,
    rows: Iterable[Mapping[str, Any]] = (),
) -> Choice:
    """Recommend a number of clusters, a scaling and λ, without labels.

    Parameters
    ----------
    X : views
        A list or dict of 2-D arrays, DataFrames or CSR matrices of the same samples, a
        MultiViewData, or one 2-D array.
    n_clusters : iterable of int, default=range(2, 41)
        The candidates, each at least 2. Those above a quarter of the subset are ignored. With a
        single candidate, scaling and λ are chosen for it, whether or not there is structure.
    scale : None, str or list of str, default="auto"
        Scaling of the views, as in `OMVCDR`; kept unless another scaling is clearly better.
    tune : bool, default=True
        Whether to choose scaling and λ, too, which takes several fits if clusters are not clear.
    max_samples : int, default=2000
        Size of the subset that is used; only samples with all views, if there are 200 of them.
    random_state : int, RandomState or None, default=None
        Seed of the subset, its halves and the blobs.
    n_jobs : int, optional
        Number of threads; None: one.
    on_progress : function of (row, number done, total number), optional
        Called after each candidate with its row of `table`; then, with separate counts, after each
        setting with its row of `settings`.
    rows : iterable of mappings, default=()
        Rows of an earlier call with the same arguments, which are not computed again.

    Returns
    -------
    Choice
        `n_clusters`, `has_structure`, `confidence`, `sentence` and `table`; `scale`, `lam`,
        `advice` and `settings`.

    Examples
    --------
    >>> from manyview.datasets import make_multiview_blobs
    >>> from manyview.model_selection import choose
    >>> choose(make_multiview_blobs(n_clusters=4, random_state=0).data, random_state=0).n_clusters
    4
    """
    wanted = sorted(set(n_clusters))
    for name, value, allowed in (
        ("n_clusters", wanted, CANDIDATES),
        ("scale", scale, scale_option()),
        ("max_samples", max_samples, COUNT),
        ("tune", tune, FLAG),
    ):
        check_parameter(name, value, allowed)
    rng = generator(random_state)
    rng_settings = rng.spawn(1)[0]  # the same, whether or not earlier rows are given
    data = draw_sample(MultiViewData.of(X), max_samples, rng)
    candidates = [k for k in wanted if k <= data.n_samples // 4]
    if not candidates:
        msg = (
            f"Found {data.n_samples} samples; expected at least {4 * wanted[0]}, four per cluster. "
            "Provide more samples, or set the number of clusters yourself."
        )
        raise NotEnoughSamplesError(msg)
    before = [dict(row) for row in rows]
    done_before = {row["n_clusters"]: row for row in before if "lam" not in row}
    how: Any = {"n_jobs": n_jobs, "on_progress": on_progress}
    with limit_threads(1):
        found = _judge_all(data, candidates, scale, rng, done_before=done_before, **how)
        choice = replace(decide(found, data.n_samples), scale=scale)
        if not tune:
            return choice
        k = wanted[0] if len(wanted) == 1 else choice.n_clusters
        tried = [row for row in before if "lam" in row and row["n_clusters"] == k]
        return tune_settings(data, choice, k, rng_settings, rows=tried, **how)


def _judge_all(
    data: MultiViewData,
    candidates: Sequence[int],
    scale: Scale,
    rng: np.random.Generator,
    *,
    n_jobs: int | None,
    on_progress: OnProgress | None,
    done_before: Mapping[int, Row],
) -> list[Row]:
    """One row per candidate; earlier rows are reused."""
    rows = {k: done_before[k] for k in candidates if k in done_before}
    waiting = [k for k in candidates if k not in rows]
    if waiting:
        evidence = _gather(data, scale, candidates, rng, n_jobs)
        for k in waiting:
            rows[k] = evidence.judge(k)
            if on_progress is not None:
                on_progress(rows[k], len(rows), len(candidates))
    return [rows[k] for k in candidates]


@dataclass(frozen=True)
class _Cut:
    """A neighbor graph of some points, and its spectrum."""

    graph: sparse.csr_array
    spectrum: Spectrum

    @classmethod
    def of(cls, points: FloatArray, n_vectors: int, seed: int) -> _Cut:
        graph = join_neighbors(points)
        return cls(graph, decompose(graph, n_vectors, np.random.default_rng(seed)))

    def quality(self, n_clusters: int) -> float:
        return modularity(self.graph, self.spectrum.partition(n_clusters), n_clusters)


@dataclass(frozen=True)
class _Evidence:
    """Everything that candidates are scored by."""

    points: FloatArray  # (n, D)
    whole: _Cut
    counts: FloatArray  # of clusters
    one_blob: FloatArray  # (levels,), modularity
    halves: Sequence[tuple[IntArray, _Cut]]

    def judge(self, n_clusters: int) -> Row:
        """The row of one candidate."""
        labels = self.whole.spectrum.partition(n_clusters)
        quality = modularity(self.whole.graph, labels, n_clusters)
        blob = float(np.interp(np.log(n_clusters), np.log(self.counts), self.one_blob))
        values = self.whole.spectrum.values
        agreement = [
            adjusted_rand_score(labels[half], cut.spectrum.partition(n_clusters))
            for half, cut in self.halves
        ]
        silhouette, davies_bouldin = _compactness(self.points, labels)
        return {
            "n_clusters": n_clusters,
            "modularity": quality,
            "one_blob": blob,
            "excess": (quality - blob) / (1 - 1 / n_clusters - blob),
            "stability": float(np.mean(agreement)),
            "silhouette": silhouette,
            "davies_bouldin": davies_bouldin,
            "eigengap": float(values[n_clusters - 1] - values[n_clusters]),
        }


def _gather(
    data: MultiViewData,
    scale: Scale,
    candidates: Sequence[int],
    rng: np.random.Generator,
    n_jobs: int | None,
) -> _Evidence:
    """Graphs of the subset, of blobs of its shape and of its halves, each with its spectrum."""
    place = locate(data, scale, rng)
    halves = np.array_split(rng.permutation(data.n_samples), 2)
    clouds = [
        place.points,
        *(place.one_blob(rng) for _ in range(N_BLOBS)),
        *(place.points[half] for half in halves),
    ]
    seeds = rng.integers(2**31, size=len(clouds))
    whole, *others = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_Cut.of)(cloud, candidates[-1] + 1, int(seed))
        for cloud, seed in zip(clouds, seeds, strict=True)
    )
    least, most = candidates[0], candidates[-1]
    beyond = np.geomspace(FEW, max(FEW, most), N_LEVELS).round()
    counts = np.unique(np.clip(np.r_[least : FEW + 1, beyond], least, most))
    one_blob = [[cut.quality(int(k)) for k in counts] for cut in others[:N_BLOBS]]
    return _Evidence(
        place.points,
        whole,
        counts,
        np.mean(one_blob, axis=0),
        list(zip(halves, others[N_BLOBS:], strict=True)),
    )


def _compactness(points: FloatArray, labels: IntArray) -> tuple[float, float]:
    """Simplified silhouette, by distances to cluster means, and the Davies-Bouldin index."""
    n = len(points)
    _, own, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) == 1:
        return np.nan, np.nan
    member = sparse.csr_array((1 / sizes[own], (own, np.arange(n))), shape=(len(sizes), n))
    means: FloatArray = np.asarray(member @ points)  # (k, D)
    squares = np.einsum("ij,ij->i", points, points)  # (n,)
    distances = squares[:, None] - 2 * points @ means.T + np.einsum("ij,ij->i", means, means)
    distances = np.sqrt(np.maximum(distances, 0))  # (n, k)
    near = distances[np.arange(n), own].copy()
    distances[np.arange(n), own] = np.inf
    other = distances.min(axis=1)
    wider = np.maximum(near, other)
    silhouette = np.divide(other - near, wider, out=np.zeros(n), where=wider > 0).mean()
    radius = member @ near  # (k,)
    apart = cdist(means, means)  # (k, k)
    np.fill_diagonal(apart, np.inf)
    worst = np.max((radius[:, None] + radius) / np.maximum(apart, np.finfo(float).tiny), axis=1)
    return float(silhouette), float(worst.mean())


def count_clusters(
    data: MultiViewData, scale: str | Sequence[str] | None, random_state: Any, n_jobs: int | None
) -> Choice:
    """The choice for `n_clusters="auto"`; warns if there is no clear structure."""
    choice = choose(data, tune=False, scale=scale, random_state=random_state, n_jobs=n_jobs)
    if not choice.has_structure:
        warnings.warn(choice.sentence, DataWarning, stacklevel=4)
    return choice
