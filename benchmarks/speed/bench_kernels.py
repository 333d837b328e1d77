"""Each CPU kernel on one block, relative to the operation that bounds it.

A block is that of the memory engine: as many rows of two views (300 and 500 features) as make
32 MB. `project` and `accumulate` are compared with their matrix products, `nearest` and `assign`
with the product of the block and k centers, `embed` with a copy of the block's projection,
`moments` with half a copy (it loads, and stores next to nothing). The bounds are measured in turns
with the kernels, in the same dtype on the same threads. A ratio can be large and not matter:
`of_products` is the time of a kernel relative to the two matrix products of an iteration. The rates
of the machine are stored, too: a large product, a large copy and a large triad a = b + s · c.

    python -m benchmarks.speed.bench_kernels [--quick] [--out FILE]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.measuring import fastest, machine
from benchmarks.page import keep_rows, parser_for, results_file
from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.engines import BLOCK_BYTES
from manyview.exceptions import ConvergenceWarning
from manyview.kernels import cpu
from manyview.kernels.block import CHUNK_ROWS, Block, Shrinkage, ViewRows
from manyview.kernels.statistics import ClusterMoments, Clusters

Array = NDArray[Any]
Work = Callable[[], object]

WIDTHS = (300, 500)
FITTED_ROWS = 4000
LAM = 0.5
WRONG = 0.01  # share of labels that a sweep changes
DTYPES = ("float32", "float64")
PRODUCTS = ("project", "accumulate")  # the lower bound of an iteration
LARGE = 1 << 25  # values of the arrays that measure the machine: far more than a cache holds


@dataclass(frozen=True)
class Case:
    """A block with all arguments of the kernels."""

    views: list[ViewRows]
    bases: list[Array]  # (d_v, D)
    block: Block
    clusters: Clusters

    @property
    def fresh_clusters(self) -> Clusters:
        """The clusters, for a sweep that changes their moments."""
        return replace(self.clusters, moments=self.clusters.moments.copy())

    @property
    def shrinkage(self) -> Shrinkage:
        """How `embed` draws rows to their clusters."""
        moments = self.clusters.moments
        starts, mean = moments.starts, moments.mean[0]  # (k, D)
        keep = np.full((1, len(mean), len(starts)), 1 / (1 + LAM))
        return Shrinkage(starts, keep, mean, np.zeros(mean.shape[1]))


def fitted_bases(data: MultiViewData, k: int) -> list[Array]:
    """Bases of spaces of k, 2k and 3k dimensions for each view, from a short fit of some rows."""
    model = OMVCDR(k, scale=None, n_init=1, max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data[:FITTED_ROWS])
    return [np.hstack([bases[v] for bases in model.bases_]) for v in range(data.n_views)]


def make_case(k: int, dtype: str, n_rows: int) -> Case:
    """Blobs in spaces of k, 2k and 3k dimensions, few labels of them wrong."""
    rng = np.random.default_rng(0)
    data, target = make_multiview_blobs(
        n_rows, WIDTHS, n_clusters=k, dtype=dtype, random_state=rng, return_X_y=True
    )
    views = [ViewRows(X) for X in data.views]
    bases = fitted_bases(data, k)
    projection = cpu.project(views, bases)
    projection -= projection.mean(axis=0)
    labels = target.astype(np.int32)
    group, weights = np.zeros(n_rows, dtype=np.int64), np.ones(n_rows)
    starts = np.array([0, k, 3 * k])
    none = np.zeros((1, k))
    empty = ClusterMoments(
        starts, none.astype(int), none, np.zeros((1, k, 6 * k)), np.zeros((1, k, 3))
    )
    wrong = rng.random(n_rows) < WRONG
    labels[wrong] = rng.integers(k, size=wrong.sum())
    block = Block(tuple(views), weights, group, labels, projection)
    n_present, coupling = np.array([float(len(views))]), np.full(3, LAM * len(views) * k / n_rows)
    return Case(views, bases, block, Clusters(cpu.moments(block, empty), n_present, coupling))


def sweep(case: Case) -> int:
    """Move the labels of all chunks, as the engine does."""
    block, clusters = case.block, case.fresh_clusters
    labels, rng = block.labels.copy(), np.random.default_rng(0)
    n_moved = 0
    for start in range(0, len(labels), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        chunk = Block(
            (), block.weights[rows], block.group[rows], labels[rows], block.projection[rows]
        )
        n_moved += cpu.assign(chunk, rng.permutation(len(labels[rows])), clusters)
    return n_moved


def works(case: Case) -> dict[str, tuple[Work, Work, float, str]]:
    """Of each kernel: itself, what bounds it, the share of that which it needs, and its name."""
    block, b = case.block, case.block.projection
    dtype = b.dtype
    X = [view.values for view in case.views]
    H = [basis.astype(dtype) for basis in case.bases]
    center = np.ascontiguousarray(case.clusters.moments.mean[0].T.astype(dtype))  # (D, k)
    spare, Z = np.empty_like(b), cpu.embed(block, case.shrinkage)

    def copy() -> None:
        np.copyto(spare, b)

    def forth() -> list[Array]:
        return [x @ h for x, h in zip(X, H, strict=True)]

    def back() -> list[Array]:
        return [x.T @ Z for x in X]

    def scores() -> Array:
        return b @ center

    moments = partial(cpu.moments, block, case.clusters.moments)
    return {
        "project": (partial(cpu.project, case.views, case.bases), forth, 1.0, "X H"),
        "accumulate": (partial(cpu.accumulate, case.views, Z), back, 1.0, "Xᵀ Z"),
        "moments": (moments, copy, 0.5, "half a copy of b"),
        "embed": (partial(cpu.embed, block, case.shrinkage), copy, 1.0, "a copy of b"),
        "nearest": (partial(cpu.nearest, block, case.clusters), scores, 1.0, "b Cᵀ"),
        "assign": (partial(sweep, case), scores, 1.0, "b Cᵀ"),
    }


def measure(k: int, dtype: str, n_rows: int, n_repeats: int) -> pd.DataFrame:
    """Rows of all kernels on one block."""
    rows = []
    for name, (kernel, bare, share, bound) in works(make_case(k, dtype, n_rows)).items():
        seconds, alone = fastest([kernel, bare], n_repeats)
        row = {
            "kernel": name,
            "dtype": dtype,
            "k": k,
            "D": 6 * k,
            "rows": n_rows,
            "seconds": seconds,
            "bound": bound,
            "bound_seconds": share * alone,
            "ratio": seconds / (share * alone),
            "rows_per_second": n_rows / seconds,
        }
        rows.append(row)
    table = pd.DataFrame(rows)
    products = table["kernel"].isin(PRODUCTS)
    return table.assign(of_products=table["seconds"] / table["bound_seconds"][products].sum())


def machine_rates(dtype: str, n_values: int, n_repeats: int) -> dict[str, float]:
    """Rates of a product (10⁹ operations/s), a copy and a triad (10⁹ bytes/s)."""
    side = int(np.sqrt(n_values)) // 2
    square, out = np.ones((side, side), dtype=dtype), np.empty((side, side), dtype=dtype)
    b, c, a = (np.ones(n_values, dtype=dtype) for _ in range(3))

    def triad() -> None:
        np.multiply(c, 3, out=a)
        np.add(a, b, out=a)

    works = [partial(np.matmul, square, square, out=out), partial(np.copyto, a, b), triad]
    multiplied, copied, added = fastest(works, n_repeats)
    return {
        "product_gflops": 2e-9 * side**3 / multiplied,
        "copy_gb_s": 2e-9 * b.nbytes / copied,
        "triad_gb_s": 5e-9 * b.nbytes / added,  # two passes: two arrays, then three
    }


def rows_of_a_block(dtype: str) -> int:
    """Rows per block of the memory engine."""
    row_bytes = sum(WIDTHS) * np.dtype(dtype).itemsize
    return BLOCK_BYTES // (CHUNK_ROWS * row_bytes) * CHUNK_ROWS


def main() -> None:
    """Run, print the ratios, and keep the rows."""
    parser = parser_for(__doc__, "small blocks, fewer repeats")
    arguments = parser.parse_args()
    n_repeats = 10 if arguments.quick else 30
    tables = []
    for dtype in DTYPES:
        n_values = LARGE // 16 if arguments.quick else LARGE
        rates = machine_rates(dtype, n_values, n_repeats)
        print(", ".join(f"{name} {rate:.1f}" for name, rate in rates.items()), f"({dtype})")
        for k in (10, 50):
            n_rows = 2 * CHUNK_ROWS if arguments.quick else rows_of_a_block(dtype)
            table = measure(k, dtype, n_rows, n_repeats)
            tables.append(table.assign(**rates, **machine()))
            for row in table.itertuples():
                share = f"{row.of_products:.2f} of the matrix products of an iteration"
                print(f"{row.kernel}, {dtype}, k = {k}: {row.ratio:.2f} × {row.bound}; {share}")
    keep_rows(results_file("bench_kernels", arguments), pd.concat(tables))


if __name__ == "__main__":
    main()
