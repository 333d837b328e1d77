"""Thin a data set: drop near-duplicates by all views, then take a balanced subset.

Of two rows, the cosine of each view must reach the threshold. The rows that are kept are such that
no two of them are near-duplicates, and each row that is dropped is one of a row that is kept. A row
is decided in its own cell, against the rows there that have been kept before, so that borders of
cells do not matter, and no pairs are stored.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.curation.cells import Cells, choose_centers, unit_blocks, unit_rows
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.utils.types import FloatArray, IntArray

AT_ONCE = 512  # rows that are decided together
REFERENCES = 16_384  # kept rows that they are compared with at once
PAIRS = 20_000  # whose views are compared at once
N_QUANTILE = 1000  # rows whose nearest neighbor is looked for
DUPLICATE, SURPLUS = "near-duplicate", "beyond the share of its cluster"


@dataclass(frozen=True, eq=False)
class Thinned:
    """What is kept of a data set, and why the rest is not.

    Attributes
    ----------
    table : DataFrame, one row per sample
        cluster (if labels were given), kept, reason (empty where kept), duplicate_of (position of
        the row that is kept in its place) and similarity to it: the smallest cosine of the views.
    threshold : float
        Cosine from which on two rows are near-duplicates.
    """

    table: pd.DataFrame
    threshold: float

    @property
    def kept(self) -> IntArray:
        """Positions of the rows that are kept."""
        return np.flatnonzero(self.table["kept"])


def thin(
    X: Any,
    labels: Any = None,
    *,
    threshold: float = 0.99,
    quantile: float | None = None,
    n_samples: int | None = None,
    random_state: int | None = 0,
    scratch: Any = None,
) -> Thinned:
    """Drop near-duplicates by all views, and take a balanced subset.

    Parameters
    ----------
    X : views
        As for `OMVCDR.fit`; views on disk are read block by block. A view that two samples both
        lack counts as equal.
    labels : array of shape (n_samples,), optional
        Cluster of each sample. Makes the search faster, and the subset balanced.
    threshold : float, default=0.99
        Two samples are near-duplicates if their cosine in each view is at least this.
    quantile : float, optional
        Replaces the threshold: the share of the samples whose nearest neighbor is nearer than the
        threshold, from 1000 samples.
    n_samples : int, optional
        Number of samples that are left at last, drawn at random such that clusters are as equal
        in size as they allow.
    random_state : int, optional
        Seed of the draws.
    scratch : path, optional
        Folder for temporary files, of about the size of the views; None: that of the system.

    Returns
    -------
    Thinned

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.curation import thin
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(20, 8)), rng.normal(size=(20, 5))
    >>> A[7], B[7] = 1.01 * A[3], B[3]
    >>> thin([A, B]).table.loc[7, "duplicate_of"]
    np.int64(3)
    """
    data = X if isinstance(X, MultiViewData) else MultiViewData.of(X)
    given = None if labels is None else _as_labels(labels, data.n_samples)
    rng = np.random.default_rng(random_state)
    if quantile is not None:
        if not 0 < quantile < 1:
            msg = f"quantile is {quantile}; expected a share between 0 and 1."
            raise ViewError(msg)
        threshold = _threshold_of(data, quantile, rng)
    if not 0 < threshold <= 1:
        msg = f"threshold is {threshold}; expected a cosine above 0 and at most 1."
        raise ViewError(msg)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        radius = float(np.sqrt(2 - 2 * threshold))
        cells = Cells(Path(folder), choose_centers(data, given, rng), radius)
        for start, block in unit_blocks(data):
            cells.add(start, block)
        search = _Search(data, threshold)
        for cell in range(len(cells.centers)):
            search.decide(*cells.read(cell))
            cells.forget(cell)
    data.check_unchanged()
    return Thinned(_table(search, given, n_samples, rng), threshold)


class _Search:
    """Decides row after row whether it is kept."""

    def __init__(self, data: MultiViewData, threshold: float) -> None:
        n = data.n_samples
        self.threshold = threshold - 1e-6  # of cosines in single precision
        widths = [d + 1 for d in data.n_features]
        self.starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
        self.n_views = data.n_views
        self.is_kept = np.zeros(n, dtype=bool)
        self.duplicate_of = np.full(n, -1)
        self.similarity = np.full(n, np.nan)

    def decide(self, rows: IntArray, is_home: NDArray[np.bool_], values: FloatArray) -> None:
        """Decide the rows of a cell, given its visitors that have been kept."""
        known = np.flatnonzero(~is_home & self.is_kept[rows])
        own = np.flatnonzero(is_home)
        references: Any = np.empty((len(known) + len(own), values.shape[1]), dtype=np.float32)
        numbers = np.empty(len(references), dtype=np.int64)
        n = len(known)
        references[:n], numbers[:n] = values[known], rows[known]
        for first in range(0, len(own), AT_ONCE):
            some = own[first : first + AT_ONCE]
            block, their = values[some], rows[some]
            for start in range(0, n, REFERENCES):
                part = slice(start, min(start + REFERENCES, n))
                self._drop(block, their, references[part], numbers[part])
            is_left = self.duplicate_of[their] < 0
            block, their = block[is_left], their[is_left]
            self._choose(block, their)
            new = self.is_kept[their]
            end = n + int(new.sum())
            references[n:end], numbers[n:end], n = block[new], their[new], end

    def _drop(self, block: FloatArray, their: IntArray, kept: FloatArray, rows: IntArray) -> None:
        """Drop rows of a block that are near-duplicates of rows that are kept."""
        i, j = np.nonzero(block @ kept.T >= self.threshold)
        cosine = self._cosines(block, i, kept, j)
        is_near = cosine >= self.threshold
        i, j, cosine = i[is_near], j[is_near], cosine[is_near]
        best = np.lexsort((-cosine, i))
        i, j, cosine = i[best], j[best], cosine[best]
        first = np.unique(i, return_index=True)[1]
        new = first[self.duplicate_of[their[i[first]]] < 0]
        self.duplicate_of[their[i[new]]] = rows[j[new]]
        self.similarity[their[i[new]]] = cosine[new]

    def _choose(self, block: FloatArray, their: IntArray) -> None:
        """Keep rows of a block, in their order, that are no near-duplicates of one another."""
        i, j = np.nonzero(np.triu(block @ block.T >= self.threshold, 1))
        cosine = self._cosines(block, i, block, j)
        is_open = np.ones(len(block), dtype=bool)
        starts = np.searchsorted(i, np.arange(len(block) + 1))
        for row in range(len(block)):
            if not is_open[row]:
                continue
            self.is_kept[their[row]] = True
            for pair in range(starts[row], starts[row + 1]):
                other = j[pair]
                if is_open[other] and cosine[pair] >= self.threshold:
                    is_open[other] = False
                    self.duplicate_of[their[other]] = their[row]
                    self.similarity[their[other]] = cosine[pair]

    def _cosines(self, A: FloatArray, i: IntArray, B: FloatArray, j: IntArray) -> FloatArray:
        """The smallest cosine of the views, of pairs of rows."""
        found = np.empty(len(i))
        for start in range(0, len(i), PAIRS):
            part = slice(start, start + PAIRS)
            product = A[i[part]] * B[j[part]]
            views = np.add.reduceat(product, self.starts, axis=1, dtype=np.float64)
            found[part] = np.minimum(self.n_views * views.min(axis=1), 1.0)
        return found


def _threshold_of(data: MultiViewData, quantile: float, rng: np.random.Generator) -> float:
    """Cosine that the nearest neighbor of this share of the samples reaches."""
    rows = np.sort(rng.permutation(data.n_samples)[:N_QUANTILE])
    some = unit_rows(data[rows])
    ends = np.cumsum([d + 1 for d in data.n_features])
    views = [slice(end - d - 1, end) for end, d in zip(ends, data.n_features, strict=True)]
    nearest = np.full(len(rows), -1.0)
    for start, block in unit_blocks(data):
        cosine = np.min([some[:, v] @ block[:, v].T for v in views], axis=0) * data.n_views
        inside = np.flatnonzero((rows >= start) & (rows < start + len(block)))
        cosine[inside, rows[inside] - start] = -1  # a row is not its own neighbor
        nearest = np.maximum(nearest, cosine.max(axis=1))
    return float(np.clip(np.quantile(nearest, 1 - quantile), 1e-6, 1.0))


def _table(
    search: _Search, labels: IntArray | None, n_samples: int | None, rng: np.random.Generator
) -> pd.DataFrame:
    """Which rows are kept, and why others are not."""
    kept = search.is_kept
    reason = np.where(kept, "", DUPLICATE).astype(object)
    if n_samples is not None:
        kept = balanced(kept, labels, n_samples, rng)
        reason[search.is_kept & ~kept] = SURPLUS
    columns: dict[str, Any] = {} if labels is None else {"cluster": labels}
    columns |= {"kept": kept, "reason": reason}
    columns["duplicate_of"] = pd.array(search.duplicate_of, dtype="Int64")
    columns["similarity"] = search.similarity
    table = pd.DataFrame(columns)
    table.loc[search.duplicate_of < 0, "duplicate_of"] = pd.NA
    return table


def balanced(
    kept: NDArray[np.bool_], labels: IntArray | None, n_samples: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """At most `n_samples` of the kept rows, with clusters as equal in size as they allow."""
    if n_samples < 1:
        msg = f"n_samples is {n_samples}; expected at least 1."
        raise ViewError(msg)
    if kept.sum() <= n_samples:
        return kept
    rows = rng.permutation(np.flatnonzero(kept))
    own = np.zeros(len(rows), dtype=int) if labels is None else labels[rows]
    rank = pd.Series(own).groupby(own).cumcount().to_numpy()  # of a row in its cluster
    chosen = rows[np.argsort(rank, kind="stable")[:n_samples]]
    found = np.zeros_like(kept)
    found[chosen] = True
    return found


def _as_labels(labels: Any, n_samples: int) -> IntArray:
    """Numbers of the clusters, checked."""
    given = np.asarray(labels)
    if given.shape != (n_samples,) or given.dtype.kind not in "iu":
        msg = (
            f"labels have shape {given.shape} and type {given.dtype}; expected one whole number "
            f"per sample, ({n_samples},)."
        )
        raise ViewError(msg)
    return given.astype(np.int64)
