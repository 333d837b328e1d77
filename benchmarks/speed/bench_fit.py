"""Cost of a fit, relative to its matrix products and to one k-means.

Iterations: seconds of one, with `scale=None`, relative to its two matrix products alone
(A = Σ X_v H_v and C_v = X_vᵀ Z of whole arrays, same sizes, same dtype, same threads; the best of
three). Fits: one start, relative to scikit-learn's `KMeans(n_init=1)` on the concatenated views
(concatenation is not timed); the decrease of F from the first iterate, relative to that of a fit
with `tol=0, max_iter=300` and the same seed; and the peak memory in addition to the views, in a
separate process, relative to the size of the views. Ratios are between consecutive measurements.
Compilation is not timed.

    python -m benchmarks.speed.bench_fit [--quick] [--threads 1] [--repeats 3]
        [--out benchmarks/results/bench_fit.csv]

With one thread, times are CPU times of this process; else wall-clock times.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from benchmarks.measuring import iteration_times, machine
from benchmarks.page import keep_rows
from manyview import OMVCDR, MultiViewData
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.exceptions import ConvergenceWarning
from manyview.utils.memory import peak_memory, start_peak
from manyview.utils.processes import end_with_parent
from manyview.utils.threads import limit_threads, n_threads

N_ITER = 4  # of each timed run
UNIT = ", unit mean square"  # each view divided by the root mean square norm of its rows
LONG = {"tol": 0, "max_iter": 300}


class Clock:
    """CPU seconds of a call if there is one thread, else wall-clock seconds."""

    def __init__(self, threads: int | None) -> None:
        self.now = time.process_time if threads == 1 else time.perf_counter

    def __call__(self, action: Callable[[], object]) -> float:
        """Seconds of one call."""
        start = self.now()
        action()
        return self.now() - start


def load(name: str, dtype: str) -> MultiViewData:
    """A set by its name, the views in one dtype."""
    if name.startswith("blobs"):
        n = int(name.split()[1])
        return make_multiview_blobs(n, (300, 500), n_clusters=10, dtype=dtype, random_state=0).data
    data = load_benchmark(name.removesuffix(UNIT), return_X_y=True)[0]
    views = [np.ascontiguousarray(X, dtype=dtype) for X in data.views]
    if name.endswith(UNIT):
        views = [X / np.sqrt(np.mean(np.sum(X**2, axis=1))) for X in views]
    return MultiViewData.of(views)


def product_time(data: MultiViewData, n_columns: int, clock: Clock) -> float:
    """Seconds of the two matrix products of an iteration alone."""
    rng = np.random.default_rng(0)
    n = data.n_samples
    bases = [rng.standard_normal((d, n_columns)).astype(data.dtype) for d in data.n_features]
    Z = rng.standard_normal((n, n_columns)).astype(data.dtype)
    forth = clock(lambda: [X @ H for X, H in zip(data.views, bases, strict=True)])
    back = clock(lambda: [X.T @ Z for X in data.views])
    return forth + back


def measure_iterations(
    data: MultiViewData, k: int, n_repeats: int, clock: Clock
) -> Iterator[dict[str, object]]:
    """Iterations and their matrix products alone."""
    for repeat in range(n_repeats):
        bare = min(product_time(data, 6 * k, clock) for _ in range(3))
        model = OMVCDR(k, scale=None, n_init=1, max_iter=N_ITER, tol=0, random_state=0)
        iteration = float(np.median(iteration_times(model, data, clock.now)))
        yield {
            "k": k,
            "repeat": repeat,
            "bare_s": bare,
            "iteration_s": iteration,
            "iteration / bare": iteration / bare,
        }


def measure_fits(name: str, seeds: range, clock: Clock) -> Iterator[dict[str, object]]:
    """Whole fits and k-means."""
    data = load(name, "float32")
    joined = np.hstack(data.views)
    for seed in seeds:
        common = {"n_init": 1, "random_state": seed}
        kmeans = clock(partial(KMeans(10, **common).fit, joined))
        plain, default = OMVCDR(10, scale=None, **common), OMVCDR(10, **common)
        fit, scaled = (clock(partial(model.fit, data)) for model in (plain, default))
        again = clock(partial(KMeans(10, **common).fit, joined))
        yield {
            "k": 10,
            "repeat": seed,
            "kmeans_s": (kmeans + again) / 2,
            "fit_s": fit,
            "fit / KMeans": fit / kmeans,
            "default fit / KMeans": scaled / again,
            "share of decrease": decrease_share(plain, data),
        }


def decrease_share(model: OMVCDR, data: MultiViewData) -> float:
    """Decrease of F from the first iterate, relative to that of a much longer fit."""
    firsts: list[float] = []  # F per sample

    def note(progress) -> None:
        if not firsts:
            weight = progress.model.problem.weight
            firsts.append(progress.objective / weight * data.n_samples)

    long = OMVCDR(**{**model.get_params(), **LONG})
    long.fit(data, callback=note)
    return (firsts[0] - model.objective_) / (firsts[0] - long.objective_)


def memory_ratio(name: str, scale: str | None) -> float:
    """Peak memory of a fit in addition to the views, relative to their size."""
    spawn = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, initializer=end_with_parent) as pool:
        return pool.submit(_memory_ratio, name, scale).result()


def _memory_ratio(name: str, scale: str | None) -> float:
    views = list(load(name, "float32").views)
    model = OMVCDR(10, scale=scale, n_init=1, random_state=0)
    model.fit([X[:500] for X in views])  # compile
    held = start_peak()
    model.fit(views)
    return (peak_memory() - held) / sum(X.nbytes for X in views)


def run(*, quick: bool, repeats: int, clock: Clock) -> Iterator[dict[str, object]]:
    """Rows of all sets; real ones if their files exist."""
    real, n = ("hdigit", 20_000) if quick else ("mnist70k_4v", 200_000)
    names = [real] if real in benchmark_files() else []
    if not names:
        print(f"{real}: no file; set MANYVIEW_DATA to the folder of the benchmark files")
    dtypes = ["float32"] if quick else ["float32", "float64"]
    for name, dtype in product([*names, f"blobs {n} × (300, 500)"], dtypes):
        data = load(name, dtype)
        OMVCDR(2, scale=None, n_init=1).fit(data[:100])  # compile
        for k in [10] if quick else [10, 50]:
            for row in measure_iterations(data, k, repeats, clock):
                yield {"data": name, "dtype": dtype, **row}
    for name in [*names, *(name + UNIT for name in names)]:
        OMVCDR(2, n_init=1).fit(load(name, "float32")[:100])  # compile
        for row in measure_fits(name, range(1 if quick else 5), clock):
            yield {"data": name, "dtype": "float32", **row}
        if name.endswith(UNIT):
            continue
        yield {
            "data": name,
            "dtype": "float32",
            "k": 10,
            "memory / views": memory_ratio(name, scale=None),
            "memory / views, default": memory_ratio(name, scale="auto"),
        }


def report(rows: pd.DataFrame) -> None:
    """Print the median of each ratio, with its range."""
    ratios = [name for name in rows if " / " in name or name.startswith("share")]
    for (name, dtype, k), group in rows.groupby(["data", "dtype", "k"], sort=False):
        for ratio in ratios:
            if (values := group[ratio].dropna()).size:
                low, middle, high = values.quantile([0, 0.5, 1])
                print(f"{name} {dtype} k={k}: {ratio} = {middle:.3f} ({low:.3f} to {high:.3f})")


def main() -> None:
    """Run, print the medians with their ranges, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="end within two minutes")
    parser.add_argument("--repeats", type=int, default=3, help="of the timings of iterations")
    parser.add_argument("--threads", type=int, help="of BLAS and of manyview; default: all")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_fit.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # few iterations on purpose
    rows: list[dict[str, object]] = []
    machine()  # the load at the start
    with limit_threads(arguments.threads):
        clock = Clock(arguments.threads)
        for row in run(quick=arguments.quick, repeats=arguments.repeats, clock=clock):
            rows.append({**row, **machine(), "threads": arguments.threads or n_threads()})
    report(pd.DataFrame(rows))
    keep_rows(arguments.out, pd.DataFrame(rows))


if __name__ == "__main__":
    main()
