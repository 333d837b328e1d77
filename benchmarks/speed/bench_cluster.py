"""What a cluster gains, what it costs, and what a lost worker costs.

Workers are processes of this machine with one thread each; there are no more of them than cores.
Rows are blobs in two views, made by the workers. Compared are the seconds of an iteration on all
rows (median) with one worker and more, and with rows in memory on one thread; the seconds of a fit
in which a worker is killed, and its visits of parts, with those of an undisturbed fit; the peak
memory of the client; and k-means of dask-ml on the joined views, if it is installed.

    python -m benchmarks.speed.bench_cluster [--quick] [--out FILE]
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.measuring import iteration_times, machine
from benchmarks.page import keep_rows, parser_for, results_file
from manyview import OMVCDR
from manyview.engines.cluster import started_client
from manyview.utils.memory import peak_memory, start_peak
from manyview.utils.threads import limit_threads

K = 10
SPREAD = 3.0  # of the rows around their center, whose entries have a spread of one
BLOCK = 62_500  # rows of a partition
SETTINGS: dict[str, Any] = {"scale": None, "n_init": 1, "random_state": 0, "check_structure": False}


def blobs(n: int, d: int) -> tuple[list[Any], Any]:
    """Two views as Dask arrays, and the cluster of each row."""
    import dask.array as da

    sizes = (BLOCK,) * (n // BLOCK) + ((n % BLOCK,) if n % BLOCK else ())
    labels = da.map_blocks(_labels, chunks=(sizes,), dtype=np.int32, meta=np.empty(0, np.int32))
    views = [
        da.map_blocks(_rows, labels, v, d // 2, chunks=(sizes, (d // 2,)), new_axis=1, dtype="f4")
        for v in range(2)
    ]
    return views, labels


def _labels(block_info: Any = None) -> Any:
    """Clusters of the rows of a partition."""
    where, n_rows = block_info[None]["chunk-location"][0], block_info[None]["chunk-shape"][0]
    return np.random.default_rng((1, where)).integers(0, K, n_rows, dtype=np.int32)


def _rows(labels: Any, view: int, width: int, block_info: Any = None) -> Any:
    """Rows of a partition."""
    where = block_info[None]["chunk-location"][0]
    centers = np.random.default_rng((2, view)).standard_normal((K, width), dtype=np.float32)
    rng = np.random.default_rng((3, view, where))
    noise = rng.standard_normal((len(labels), width), dtype=np.float32)
    return centers[labels] + np.float32(SPREAD) * noise


@contextmanager
def workers(n_workers: int) -> Iterator[Any]:
    """A client of workers with one thread each."""
    with started_client(n_workers) as client, client.as_current():
        yield client


def on_workers(n: int, d: int, n_iter: int, n_workers: int) -> dict[str, Any]:
    """Seconds of an iteration on a cluster, and memory of the client."""
    with workers(n_workers) as client:
        views = client.persist(blobs(n, d)[0])
        model = OMVCDR(K, engine=client, max_iter=n_iter, tol=0, **SETTINGS)
        before, start = start_peak(), time.perf_counter()
        seconds = _iterations(model, views)
        whole = time.perf_counter() - start
    return {"iteration_s": seconds, "fit_s": whole, "client_bytes": peak_memory() - before}


def in_memory(n: int, d: int, n_iter: int, label_step: str) -> dict[str, Any]:
    """Seconds of an iteration of rows in memory, on one thread."""
    views = [np.asarray(view) for view in blobs(n, d)[0]]
    with limit_threads(1):
        given = {"label_step": label_step, "n_passes": 1, "n_jobs": 1}
        model = OMVCDR(K, engine="memory", max_iter=n_iter, tol=0, **given, **SETTINGS)
        start = time.perf_counter()
        seconds = _iterations(model, views)
    return {"iteration_s": seconds, "fit_s": time.perf_counter() - start}


def _iterations(model: OMVCDR, views: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.median(iteration_times(model, views)))


def lost_worker(n: int, d: int, n_iter: int) -> dict[str, Any]:
    """Seconds of a fit, and of one in which a worker is killed in the middle; labels agree."""
    with workers(2) as client:
        views = client.persist(blobs(n, d)[0])

        def fit() -> tuple[Any, float]:
            model = OMVCDR(K, engine=client, max_iter=n_iter, tol=0, **SETTINGS)
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(views)
            return np.asarray(model.labels_), time.perf_counter() - start

        labels, plain = fit()
        pid = min(client.run(os.getpid).values())
        timer = threading.Timer(plain / 2, os.kill, (pid, signal.SIGKILL))
        timer.start()
        again, disturbed = fit()
        timer.join()
    same = bool(np.array_equal(labels, again))
    return {"fit_s": plain, "fit_with_loss_s": disturbed, "same_labels": same}


def ours(n: int, d: int) -> dict[str, Any]:
    """Seconds and agreement with the clusters of a whole fit on two workers."""
    with workers(2) as client:
        views, truth = blobs(n, d)
        *views, truth = client.persist([*views, truth])
        model = OMVCDR(K, engine=client, **SETTINGS)
        start = time.perf_counter()
        model.fit(views)
        labels = np.asarray(model.labels_)
        seconds = time.perf_counter() - start
        return {"fit_s": seconds, "nmi": normalized_mutual_info_score(np.asarray(truth), labels)}


def dask_ml(n: int, d: int) -> dict[str, Any]:
    """The same of k-means of dask-ml on the joined views."""
    import dask.array as da
    from dask_ml.cluster import KMeans

    with workers(2) as client:
        views, truth = blobs(n, d)
        *views, truth = client.persist([*views, truth])
        joined = client.persist(da.concatenate(views, axis=1).rechunk({1: -1}))
        start = time.perf_counter()
        labels = np.asarray(KMeans(K, random_state=0).fit(joined).labels_)
        seconds = time.perf_counter() - start
        return {"fit_s": seconds, "nmi": normalized_mutual_info_score(np.asarray(truth), labels)}


def _measured(part: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """The row of a part; of one that needs a library that is not installed, why there is none."""
    try:
        return {"status": "done", **part(*given)}
    except ImportError as error:
        return {"status": "failed", "reason": str(error)}


def main() -> None:
    """Run all parts, and keep the rows."""
    arguments = parser_for(__doc__, "small sizes only").parse_args()
    n, d, n_iter = (40_000, 32, 3) if arguments.quick else (1_000_000, 512, 6)
    plan: list[tuple[str, Any, tuple[Any, ...]]] = [
        ("memory, sharded, one thread", in_memory, (n, d, n_iter, "sharded")),
        ("memory, one thread", in_memory, (n, d, n_iter, "sequential")),
        ("one worker", on_workers, (n, d, n_iter, 1)),
        ("two workers", on_workers, (n, d, n_iter, 2)),
        ("a lost worker", lost_worker, (n, d, n_iter)),
        ("manyview, whole fit", ours, (n, d)),
        ("dask-ml, joined views", dask_ml, (n, d)),
    ]
    rows = []
    for name, part, given in plan:
        row = {"part": name, "n": n, "d": d, **_measured(part, *given)}
        print(row, flush=True)
        rows.append({**row, **machine()})
    keep_rows(results_file("bench_cluster", arguments), pd.DataFrame(rows))


if __name__ == "__main__":
    main()
