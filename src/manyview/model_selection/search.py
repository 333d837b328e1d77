"""Choose the number of clusters: one graph of a subset, partitioned into every number of clusters.

A partition is scored by its modularity in a neighbor graph, relative to the modularity of the same
procedure on a reference, one blob with the mean and covariance of the subset,

    excess = (Q − Q_blob) / (1 − 1/k − Q_blob),

where 1 − 1/k is that of k unconnected clusters. Its stability is the agreement with partitions of
the graphs of two halves. Each additional candidate costs only a small QR. A p-value compares the
modularity of the recommended partition with those of further blobs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
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
from manyview.model_selection.sample import Coordinates, draw_sample, has_enough_complete, locate
from manyview.model_selection.settings import OnProgress, Row, Scale
from manyview.model_selection.settings import tune as tune_settings
from manyview.model_selection.significance import p_value
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray, IntArray

SAMPLE_ROWS = 2000
N_BLOBS = 2
FEW = 10  # clusters: blobs are partitioned into every number up to it (long ones need 3 and 4),
N_LEVELS = 6  # and into this many numbers beyond, between which the modularity is smooth
CANDIDATES = Allowed(
    "integers >= 1, one of them >= 2",
    lambda ks: len(ks) > 0 and all(map(is_count, ks)) and max(ks) >= 2,
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
        The candidates. Those above a quarter of the subset are ignored. If there is no clear
        structure, 1 is recommended if it is among them, and else the steadiest split. With a
        single candidate, scaling and λ are chosen for it, whether or not there is structure.
    scale : None, str or list of str, default="auto"
        Scaling of the views, as in `OMVCDR`; kept unless another scaling is clearly better.
    tune : bool, default=True
        Whether to choose scaling and λ, too, which takes several fits if clusters are not clear.
    max_samples : int, default=2000
        Size of the subset that is used. Samples that lack views are left out if as many have all,
        or if structure is clear only without them.
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
        `n_clusters`, `has_structure`, `confidence`, `sentence`, `table` and `p_value`; `scale`,
        `lam`, `advice` and `settings`.

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
    rng_settings, rng_blobs, rng_whole = rng.spawn(3)  # the same, with or without earlier rows
    everything = MultiViewData.of(X)
    data = draw_sample(everything, max_samples, rng)
    before = [dict(row) for row in rows]
    done_before = {row["n_clusters"]: row for row in before if "lam" not in row}
    with limit_threads(1):
        choice = _count(data, wanted, scale, (rng, rng_blobs), n_jobs, done_before, on_progress)
        if not choice.has_structure and has_enough_complete(everything, max_samples):
            whole = draw_sample(everything, max_samples, rng_whole, only_complete=True)
            second = _count(whole, wanted, scale, (rng_whole, rng_blobs), n_jobs)
            data, choice = (whole, second) if second.has_structure else (data, choice)
        if not tune:
            return choice
        k = wanted[0] if len(wanted) == 1 else choice.n_clusters if choice.has_structure else 1
        tried = [row for row in before if "lam" in row and row["n_clusters"] == k]
        how: Any = {"n_jobs": n_jobs, "on_progress": on_progress}
        return tune_settings(data, choice, k, rng_settings, rows=tried, **how)


def _count(
    data: MultiViewData,
    wanted: Sequence[int],
    scale: Scale,
    rngs: tuple[np.random.Generator, np.random.Generator],  # of the subset, of further blobs
    n_jobs: int | None,
    done_before: Mapping[int, Row] = MappingProxyType({}),
    on_progress: OnProgress | None = None,
) -> Choice:
    """The choice of the number of clusters of a subset."""
    several = [k for k in wanted if k > 1]
    candidates = [k for k in several if k <= data.n_samples // 4]
    if not candidates:
        fewest = 4 * several[0]
        msg = (
            f"Found {data.n_samples} samples; expected at least {fewest}, four per cluster. "
            "Provide more samples, or set the number of clusters yourself."
        )
        raise NotEnoughSamplesError(msg)
    evidence = _gather(locate(data, scale, rngs[0]), candidates, rngs[0], n_jobs)
    found = _judge_all(evidence, candidates, done_before, on_progress)
    tail = partial(evidence.p_value, rngs[1], n_jobs)
    choice = decide(found, data.n_samples, tail, may_be_one=wanted[0] == 1)
    return replace(choice, scale=scale)


def _judge_all(
    evidence: _Evidence,
    candidates: Sequence[int],
    done_before: Mapping[int, Row],
    on_progress: OnProgress | None,
) -> list[Row]:
    """One row per candidate; earlier rows are reused."""
    rows = {k: done_before[k] for k in candidates if k in done_before}
    for k in (k for k in candidates if k not in rows):
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

    located: Coordinates
    whole: _Cut
    blobs: Sequence[_Cut]
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
        silhouette, davies_bouldin = _compactness(self.located.points, labels)
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

    def p_value(
        self,
        rng: np.random.Generator,
        n_jobs: int | None,
        n_clusters: int,
        found: float,
        n_blobs: int,
    ) -> float:
        """Chance that one blob reaches a modularity with this number of clusters."""
        clouds = [self.located.one_blob(rng) for _ in range(n_blobs - len(self.blobs))]
        further = _cut_all(clouds, n_clusters, rng, n_jobs)
        return p_value(found, [cut.quality(n_clusters) for cut in (*self.blobs, *further)])


def _cut_all(
    clouds: Sequence[FloatArray], n_vectors: int, rng: np.random.Generator, n_jobs: int | None
) -> list[_Cut]:
    seeds = rng.integers(2**31, size=len(clouds))
    cuts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_Cut.of)(cloud, n_vectors, int(seed))
        for cloud, seed in zip(clouds, seeds, strict=True)
    )
    return list(cuts)


def _gather(
    located: Coordinates, candidates: Sequence[int], rng: np.random.Generator, n_jobs: int | None
) -> _Evidence:
    """Graphs of the subset, of blobs of its shape and of its halves, each with its spectrum."""
    halves = np.array_split(rng.permutation(len(located.points)), 2)
    clouds = [
        located.points,
        *(located.one_blob(rng) for _ in range(N_BLOBS)),
        *(located.points[half] for half in halves),
    ]
    whole, *others = _cut_all(clouds, candidates[-1] + 1, rng, n_jobs)
    blobs, parts = others[:N_BLOBS], others[N_BLOBS:]
    least, most = candidates[0], candidates[-1]
    beyond = np.geomspace(FEW, max(FEW, most), N_LEVELS).round()
    counts = np.unique(np.clip(np.r_[least : FEW + 1, beyond], least, most))
    one_blob = np.mean([[cut.quality(int(k)) for k in counts] for cut in blobs], axis=0)
    halves_cut = list(zip(halves, parts, strict=True))
    return _Evidence(located, whole, blobs, counts, one_blob, halves_cut)


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
        use = "It is used all the same; set n_clusters=1 to leave the samples together."
        warnings.warn(f"{choice.sentence} {use}", DataWarning, stacklevel=4)
    return choice
