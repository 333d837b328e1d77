"""Cost of a fit, beside its bare matrix products and beside one k-means.

For each data set, in one run: the time of an iteration as a ratio to the bare time of its two
products (A = Σ X_v H_v and C_v = X_vᵀ Z, same sizes, same dtype, same threads), and the time of a
whole fit (`n_init=1`, views as given) as a ratio to scikit-learn's `KMeans(n_init=1)` on the
concatenation, which is made outside the clock. Compilation is outside all clocks.

    python benchmarks/bench_fit.py [--quick] [--out benchmarks/results/bench_fit.csv]
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from manyview import OMVCDR, MultiViewData, durable
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.datasets.benchmarks import benchmark_files


def data_sets(*, quick: bool) -> Iterator[tuple[str, MultiViewData, int]]:
    """Name, data and number of clusters of each set; real ones where their files are."""
    names = ["hdigit"] if quick else ["hdigit", "mnist70k_4v"]
    for name in names:
        if name in benchmark_files():
            yield name, load_benchmark(name, return_X_y=True)[0], 10
        else:
            print(f"{name}: no file; set MANYVIEW_DATA to the folder of the benchmark files")
    for dtype in (np.float32, np.float64):
        data, _ = make_multiview_blobs(
            100_000,
            (200, 300),
            n_clusters=10,
            dtype=dtype,
            random_state=0,
            return_X_y=True,
        )
        yield f"blobs 100000 × (200, 300) {np.dtype(dtype).name}", data, 10


def timed(action: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def iteration_times(data: MultiViewData, k: int, n_iter: int) -> list[float]:
    """Seconds of each iteration on all rows: both products and everything between."""
    marks: list[float] = []

    def mark(progress) -> None:
        if progress.step == "start":  # of a start on a sample, or then on all rows
            marks.clear()
        if progress.step == "weights":
            marks.append(time.perf_counter())

    model = OMVCDR(k, scale=None, n_init=1, max_iter=n_iter, tol=0, random_state=0)
    model.fit(data, callback=mark)
    return [after - before for before, after in pairwise(marks)]


def product_time(data: MultiViewData, n_columns: int) -> float:
    """Seconds of the two bare products of an iteration."""
    rng = np.random.default_rng(0)
    n = data.n_samples
    bases = [rng.standard_normal((d, n_columns)).astype(data.dtype) for d in data.n_features]
    Z = rng.standard_normal((n, n_columns)).astype(data.dtype)
    forth = timed(lambda: [X @ H for X, H in zip(data.views, bases, strict=True)])
    back = timed(lambda: [X.T @ Z for X in data.views])
    return forth + back


def measure(name: str, data: MultiViewData, k: int, n_repeats: int) -> list[dict[str, object]]:
    """Rows of one data set: repeats of both ratios, interleaved so that noise hits all alike."""
    n_columns = sum(p * k for p in (1, 2, 3))
    side_by_side = np.hstack(data.views)
    OMVCDR(2, scale=None, n_init=1).fit(data[:100])  # compile
    rows: list[dict[str, object]] = []
    for repeat in range(n_repeats):
        bare = min(product_time(data, n_columns) for _ in range(3))
        iteration = float(np.median(iteration_times(data, k, 8)))
        ours = OMVCDR(k, scale=None, n_init=1, random_state=repeat)
        fit = timed(partial(ours.fit, data))
        kmeans = KMeans(k, n_init=1, random_state=repeat)
        other = timed(partial(kmeans.fit, side_by_side))
        rows.append(
            {
                "data": name,
                "repeat": repeat,
                "bare_products_s": bare,
                "iteration_s": iteration,
                "iteration_ratio": iteration / bare,
                "fit_s": fit,
                "kmeans_s": other,
                "fit_ratio": fit / other,
                "n_iter": ours.n_iter_,
                "kmeans_n_iter": kmeans.n_iter_,
                "machine": platform.processor() or platform.machine(),
                "numpy": np.__version__,
            }
        )
    return rows


def main() -> None:
    """Run, print the medians with their spread, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="end within two minutes")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_fit.csv"))
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name, data, k in data_sets(quick=arguments.quick):
        rows += measure(name, data, k, n_repeats=3 if arguments.quick else 7)
        table = pd.DataFrame(rows).query("data == @name")
        for ratio, what in (
            ("iteration_ratio", "iteration / its two bare products"),
            ("fit_ratio", "fit / KMeans(n_init=1)"),
        ):
            low, middle, high = table[ratio].quantile([0, 0.5, 1])
            print(f"{name}: {what} = {middle:.2f} ({low:.2f} to {high:.2f})")
        print(
            f"{name}: {table.n_iter.median():.0f} iterations of ours, "
            f"{table.kmeans_n_iter.median():.0f} of k-means",
            flush=True,
        )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    durable.write_text(arguments.out, pd.DataFrame(rows).to_csv(index=False))
    print(f"rows: {arguments.out}")


if __name__ == "__main__":
    main()
