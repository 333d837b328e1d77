"""Many clusters: time of an iteration as k grows, and of `predict` relative to its products.

Growth: seconds of an iteration for k from 10 to 1000 at fixed `latent_dims`, with the fitted
exponent. New samples: `predict` at k = 1000 on views of 512 + 768 features, relative to the
matrix products X H and b Cᵀ; both in CPU time of one thread. Whole fits of 10 000 clusters, in
memory and streamed from files: seconds, peak memory compared with an array of samples × clusters,
which is never allocated, and whether both engines give the same labels.

    python -m benchmarks.speed.bench_large_k [--quick] [--out benchmarks/results/bench_large_k.csv]
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measuring import exponent, iteration_times, machine
from benchmarks.page import keep_rows
from manyview import OMVCDR
from manyview.exceptions import ConvergenceWarning
from manyview.utils.memory import peak_memory, start_peak
from manyview.utils.threads import limit_threads

DIMS = (32, 64)  # of the latent spaces, independent of k


def timed(action: Callable[[], object]) -> float:
    """Seconds of this process during one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def blobs(n: int, widths: tuple[int, ...], k: int) -> list[np.ndarray]:
    """Views of k round clusters in float32."""
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    centers = 2 * rng.standard_normal((k, sum(widths)), dtype=np.float32)
    X = rng.standard_normal((n, sum(widths)), dtype=np.float32) + centers[labels]
    return [np.ascontiguousarray(part) for part in np.split(X, np.cumsum(widths)[:-1], axis=1)]


def growth(n: int, counts: list[int]) -> Iterator[dict[str, object]]:
    """Seconds of an iteration for each number of clusters, on the same views."""
    views = blobs(n, (64, 64), 1000)
    for k in counts:
        model = OMVCDR(k, scale=None, latent_dims=DIMS, n_init=1, max_iter=5, tol=0, random_state=0)
        seconds = float(np.median(iteration_times(model, views, time.process_time)))
        print(f"iteration at k={k}: {seconds:.3f} s", flush=True)
        yield {"what": "iteration", "n": n, "k": k, "seconds": seconds}


def growth_told(rows: pd.DataFrame) -> str:
    """The exponents of an iteration, over all numbers of clusters and over the last three."""
    curve = rows[rows["what"] == "iteration"]
    whole, late = (exponent(part["k"], part["seconds"]) for part in (curve, curve[-3:]))
    first, last, from_k = curve["k"].iloc[0], curve["k"].iloc[-1], curve["k"].iloc[-3]
    return (
        f"the time of an iteration grows with k to the power of {whole:.2f} from {first} to {last} "
        f"clusters, of {late:.2f} from {from_k} on"
    )


def prediction(n: int, k: int) -> dict[str, object]:
    """Rows per second of `predict`, relative to those of its matrix products."""
    views = blobs(n, (512, 768), k)
    model = OMVCDR(k, scale=None, n_init=1, max_iter=2, random_state=0)
    model.fit([X[: 5 * k] for X in views])
    bases = [np.hstack(of_view).astype(np.float32) for of_view in zip(*model.bases_, strict=True)]
    C = np.random.default_rng(0).standard_normal((k, bases[0].shape[1]), dtype=np.float32)
    ratios = []
    for _ in range(3):
        bare = timed(lambda: sum(X @ H for X, H in zip(views, bases, strict=True)) @ C.T)
        ratios.append((bare, timed(partial(model.predict, views))))
    bare, ours = np.median(ratios, axis=0)
    print(
        f"predict at k={k}, d = 512 + 768: {n / ours:.0f} rows per second, "
        f"{bare / ours:.2f} of those of the matrix products",
        flush=True,
    )
    return {"what": "predict", "n": n, "k": k, "seconds": ours, "bare_s": bare}


def many(n: int, k: int, folder: Path) -> Iterator[dict[str, object]]:
    """A whole fit of many clusters, by each engine."""
    views = blobs(n, (32, 32), k)
    for view, X in enumerate(views):
        np.save(folder / f"{view}.npy", X)
    files = [str(folder / f"{view}.npy") for view in range(len(views))]
    first: OMVCDR | None = None
    for engine, given in {"memory": views, "stream": files}.items():
        model = OMVCDR(k, scale=None, n_init=1, max_iter=3, engine=engine, random_state=0)
        held = start_peak()
        seconds = timed(partial(model.fit, given))
        extra = peak_memory() - held
        first = first or model
        same = float(np.mean(model.labels_ == first.labels_))
        n_found = len(np.unique(model.labels_))
        print(
            f"fit of {n} × (32, 32) at k={k}, {engine}: {seconds:.1f} s, {n_found} clusters, "
            f"{extra / 1e6:.0f} MB; (samples, clusters) would be {4e-6 * n * k:.0f} MB; "
            f"{same:.4f} of the labels as in memory, F {model.objective_ / first.objective_:.7f} ×",
            flush=True,
        )
        found = {"bytes": extra, "clusters": n_found, "same": same}
        yield {"what": "fit", "engine": engine, "n": n, "k": k, "seconds": seconds, **found}


def main() -> None:
    """Run, print the ratios, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and clusters")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_large_k.csv"))
    arguments = parser.parse_args()
    quick = arguments.quick
    warnings.simplefilter("ignore", ConvergenceWarning)  # few iterations on purpose
    machine()  # the load at the start
    with limit_threads(1):
        OMVCDR(2, scale=None, n_init=1).fit(blobs(100, (4, 4), 2))  # compile
        rows = list(growth(20_000 if quick else 60_000, [10, 30, 100, 300, 1000]))
        curve = pd.DataFrame(rows)
        print(growth_told(curve))
        rows.append(prediction(10_000 if quick else 50_000, 1000))
        with tempfile.TemporaryDirectory() as folder:
            rows += many(*((20_000, 2000) if quick else (60_000, 10_000)), Path(folder))
    keep_rows(arguments.out, pd.DataFrame(rows).assign(**{**machine(), "threads": 1}))


if __name__ == "__main__":
    main()
