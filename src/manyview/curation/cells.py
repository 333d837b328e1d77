"""Rows as unit vectors of all views, sorted into cells such that near rows meet in one.

A row belongs to the cell of its nearest center. If two rows are at most r apart and x belongs to a,
the other is at most r behind the border of a and any other cell: it is also written to those cells,
as a visitor. So of any two rows that are at most r apart, each meets the other in its own cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from manyview.data.views import MultiViewData
from manyview.utils.types import FloatArray, IntArray

BLOCK_ROWS = 8192
PER_CELL = 5000  # rows
MOST_CELLS = 1024
N_SUBSET = 20_000  # rows that centers are made of
SLACK = 1e-4  # of the radius, for rounding


def unit_blocks(data: MultiViewData, rows: int = BLOCK_ROWS) -> Iterator[tuple[int, FloatArray]]:
    """Blocks of rows as unit vectors, with the number of the first row.

    Yields
    ------
    int, ndarray of shape (n_rows, Σ (d_v + 1)), float32
        The views side by side, each with norm 1 / √V. The last column of a view is for rows that
        lack it or are zero, so that these are alike.
    """
    for start in range(0, data.n_samples, rows):
        part = slice(start, min(start + rows, data.n_samples))
        yield start, unit_rows(data[part])


def unit_rows(data: MultiViewData) -> FloatArray:
    """The rows of one block; see `unit_blocks`."""
    parts = []
    for v, view in enumerate(data.views):
        dense = view.toarray() if hasattr(view, "toarray") else np.asarray(view)
        values = np.zeros((len(dense), dense.shape[1] + 1), dtype=np.float32)
        values[:, :-1] = dense
        if data.present is not None:
            values[~data.present[:, v]] = 0
        scale = np.sqrt(np.einsum("ij,ij->i", values, values, dtype=np.float64))
        values[scale == 0, -1] = scale[scale == 0] = 1
        values /= (scale * np.sqrt(data.n_views)).astype(np.float32)[:, None]
        parts.append(values)
    return np.hstack(parts)


@dataclass
class Cells:
    """Rows in files, one file a cell."""

    folder: Path
    centers: FloatArray  # (cells, D)
    radius: float
    rows: list[list[IntArray]] = field(init=False)  # of each cell, in the order of the file
    is_home: list[list[NDArray[np.bool_]]] = field(init=False)

    def __post_init__(self) -> None:
        """No rows yet."""
        self.rows = [[] for _ in self.centers]
        self.is_home = [[] for _ in self.centers]
        self._apart = cdist(self.centers, self.centers)
        self._half = np.einsum("ad,ad->a", self.centers, self.centers) / 2

    def add(self, start: int, block: FloatArray) -> None:
        """Write the rows of a block to their cells, and to those that they visit."""
        score = block @ self.centers.T - self._half  # the larger, the nearer
        home = score.argmax(axis=1)
        behind = score[np.arange(len(block)), home][:, None] - score
        is_there = behind <= self.radius * (1 + SLACK) * self._apart[home] + SLACK
        for c in np.flatnonzero(is_there.any(axis=0)):
            found = np.flatnonzero(is_there[:, c])
            self.rows[c].append(start + found)
            self.is_home[c].append(home[found] == c)
            with (self.folder / f"{c}.bin").open("ab") as file:
                block[found].tofile(file)

    def read(self, cell: int) -> tuple[IntArray, NDArray[np.bool_], FloatArray]:
        """Numbers of the rows of a cell, which are its own, and their values (on disk)."""
        if not self.rows[cell]:
            return np.zeros(0, int), np.zeros(0, bool), np.zeros((0, self.centers.shape[1]))
        rows, is_home = np.concatenate(self.rows[cell]), np.concatenate(self.is_home[cell])
        shape = (len(rows), self.centers.shape[1])
        return rows, is_home, np.memmap(self.path(cell), np.float32, "r", shape=shape)

    def path(self, cell: int) -> Path:
        """The file of a cell."""
        return self.folder / f"{cell}.bin"

    def forget(self, cell: int) -> None:
        """Remove a cell that has been worked on."""
        if self.rows[cell]:
            os.unlink(self.path(cell))  # noqa: PTH108 - Windows keeps Path.unlink of open maps


def choose_centers(data: MultiViewData, labels: Any, rng: np.random.Generator) -> FloatArray:
    """Centers of the cells: means of the clusters if there are labels, else by k-means."""
    n = data.n_samples
    rows = np.sort(rng.permutation(n)[:N_SUBSET])
    subset = unit_rows(data[rows])
    if labels is not None:
        own = np.asarray(labels)[rows]
        return np.stack([subset[own == c].mean(axis=0) for c in np.unique(own)])
    k = int(np.clip(n // PER_CELL, 1, min(MOST_CELLS, len(rows))))
    seed = int(rng.integers(2**31))
    found = KMeans(k, n_init=1, max_iter=10, init="random", random_state=seed).fit(subset)
    return np.asarray(found.cluster_centers_, dtype=np.float32)
