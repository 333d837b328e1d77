"""A fit on a GPU beside its two bare products, and beside k-means of the joined views.

    python -m benchmarks.speed.bench_gpu [--quick] [--device torch]
        [--only iteration default digits stream predict equal]
        [--out benchmarks/results/bench_gpu.csv]

Data are blobs, made on the GPU. `iteration`: seconds of one, with `scale=None`, beside its two
matrix products on whole views, in the same precision; and whole fits. `default`: fits beside
Lloyd's k-means in torch, and beside flash-kmeans where it is installed; `digits`: the same with
views of 70 000 digits, repeated, from the folder MANYVIEW_DATA. `stream`: an iteration on
views in memory of the host, with 20 GB of the device, beside copies from pinned memory alone.
`predict`: labels of rows in memory of the host. `equal`: labels of 20 fits, and of the CPU
with the same label step. `--device torch` runs all of it on the CPU, to try the program.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.measuring import machine
from benchmarks.page import keep_rows
from manyview import OMVCDR
from manyview.datasets import load_benchmark
from manyview.exceptions import ViewError

ROOM = 20e9  # bytes of the device for views that are streamed
DEVICE = "cuda"


def place() -> str:
    """Where torch makes the data."""
    return "cuda" if DEVICE == "cuda" else "cpu"


def wait() -> None:
    """Until the GPU is idle."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def blobs(n: int, widths: tuple[int, ...], k: int, *, separation: float, seed: int = 0) -> Any:
    """Views of k blobs on the GPU, and the classes; each feature has unit variance around them."""
    generator = torch.Generator(place()).manual_seed(seed)
    y = torch.randint(k, (n,), generator=generator, device=place())
    views = []
    for d in widths:
        centers = torch.randn((k, d), generator=generator, device=place()) * separation / d**0.5
        X = torch.randn((n, d), generator=generator, device=place())
        for start in range(0, n, 1_000_000):
            rows = slice(start, start + 1_000_000)
            X[rows] += centers[y[rows]]
        views.append(X)
    return views, y


def seconds(action: Callable[[], object], repeats: int = 1) -> float:
    """Median wall time of a call, on an idle GPU."""
    found = []
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        action()
        wait()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def product_seconds(views: list[Any], n_columns: int, *, tf32: bool) -> float:
    """The two products of an iteration on whole views."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    bases = [torch.randn((X.shape[1], n_columns), device=place()) for X in views]
    Z = torch.randn((len(views[0]), n_columns), device=place())

    def run() -> None:
        for X, H in zip(views, bases, strict=True):
            X @ H
            X.T @ Z

    run()
    found = seconds(run, 5)
    torch.backends.cuda.matmul.allow_tf32 = before
    return found


def timed_fit(model: OMVCDR, views: Any) -> tuple[float, list[float]]:
    """Seconds of a fit, and of its full iterations on all rows."""
    marks: list[tuple[str, float]] = []

    def note(progress: Any) -> None:
        if progress.n_starts == 1 or progress.step in ("start", "weights"):
            marks.append((progress.step, time.perf_counter()))

    total = seconds(lambda: model.fit(views, callback=note))
    starts = [i for i, (step, _) in enumerate(marks) if step == "start"]
    last = [when for step, when in marks[starts[-1] :] if step == "weights"]
    return total, np.diff(last).tolist()


def lloyd(X: Any, k: int, *, seed: int, tol: float = 1e-4, most: int = 300) -> tuple[Any, int]:
    """Lloyd's k-means: k-means++ on a sample, one product for the labels, one-hot for the means."""
    generator = torch.Generator(place()).manual_seed(seed)
    some = X[torch.randint(len(X), (20_000,), generator=generator, device=place())]
    C = some[:1]
    nearest = torch.full((len(some),), torch.inf, device=place())
    for _ in range(k - 1):
        nearest = torch.minimum(nearest, (some - C[-1]).square().sum(1))
        chosen = torch.multinomial(nearest, 1, generator=generator)
        C = torch.cat([C, some[chosen]])
    scale = float(some.var(0).mean())
    step = 1 << 19
    n_iter, shift = 0, np.inf
    while n_iter < most and shift > tol * scale:
        n_iter += 1
        sums, counts = torch.zeros_like(C, dtype=torch.float64), torch.zeros(k, device=place())
        labels = []
        for start in range(0, len(X), step):
            rows = X[start : start + step]
            own = torch.addmm(C.square().sum(1), rows, C.T, alpha=-2).argmin(1)
            one_hot = torch.zeros((len(rows), k), device=place()).scatter_(1, own[:, None], 1.0)
            sums += (one_hot.T @ rows).double()
            counts += one_hot.sum(0)
            labels.append(own)
        new = torch.where(counts[:, None] > 0, sums / counts[:, None].clamp(min=1), C.double())
        shift = float((new - C).square().sum())
        C = new.float()
    return torch.cat(labels), n_iter


def nmi(y: Any, labels: Any) -> float:
    """Of at most a million samples."""
    y, labels = (np.asarray(torch.as_tensor(a).cpu())[:1_000_000] for a in (y, labels))
    return float(normalized_mutual_info_score(y, labels))


def measure_iterations(n: int) -> Iterator[dict[str, Any]]:
    """An iteration beside its bare products, and whole fits, of 2 × 256 features."""
    views, y = blobs(n, (256, 256), 10, separation=8.0)
    options = {"scale": None, "n_init": 1, "random_state": 0, "device": DEVICE}
    OMVCDR(10, **options).fit([X[:50_000] for X in views])  # compile
    for tf32 in (True, False):
        bare = product_seconds(views, 60, tf32=tf32)
        model = OMVCDR(10, tf32=tf32, tol=0, max_iter=6, **options)
        iteration = float(np.median(timed_fit(model, views)[1]))
        ratio = {"bare_s": bare, "iteration_s": iteration, "iteration / bare": iteration / bare}
        yield {"part": "iteration", "tf32": tf32, **ratio}
        model = OMVCDR(10, tf32=tf32, **options)
        total, each = timed_fit(model, views)
        yield {
            "part": "fit",
            "tf32": tf32,
            "fit_s": total,
            "n_iter": model.n_iter_,
            "iteration_s": float(np.median(each)) if each else np.nan,
            "nmi": nmi(y, model.labels_),
        }


def measure_default(n: int) -> Iterator[dict[str, Any]]:
    """Whole fits beside k-means of the joined views: 100 clusters, 512 + 768 features."""
    k = 100
    for row in beside_rivals(*blobs(n, (512, 768), k, separation=10.0), k):
        yield {"part": "default", **row}


def measure_digits(n: int) -> Iterator[dict[str, Any]]:
    """The same for views of 70 000 digits, repeated."""
    try:
        data, y = load_benchmark("mnist70k_4v", return_X_y=True)
    except ViewError as error:
        print(error)
        return
    times = -(-n // len(y))
    views = [
        torch.as_tensor(X, dtype=torch.float32, device=place()).repeat(times, 1) for X in data.views
    ]
    for row in beside_rivals(views, torch.as_tensor(y).repeat(times), 10):
        yield {"part": "digits", **row}


def beside_rivals(views: Any, y: Any, k: int) -> Iterator[dict[str, Any]]:
    """Whole fits, beside k-means of the joined views."""
    joined = torch.cat(views, 1)
    for name, rival in rivals().items():
        rival(joined[:50_000], k)  # compile
        labels, total = None, 0.0

        def fit(rival: Callable[..., Any] = rival) -> None:
            nonlocal labels
            labels = rival(joined, k)

        total = seconds(fit)
        yield {"method": name, "fit_s": total, "nmi": nmi(y, labels)}
    for scale in ("auto", None):
        options = {"scale": scale, "n_init": 5 if scale else 1, "random_state": 0}
        model = OMVCDR(k, device=DEVICE, **options)
        model.fit([X[:50_000] for X in views])
        total, _ = timed_fit(model, views)
        name = f"OMVCDR(scale={scale!r})"
        yield {"method": name, "fit_s": total, "nmi": nmi(y, model.labels_)}


def rivals() -> dict[str, Callable[[Any, int], Any]]:
    """K-means on the same device: name -> labels of rows in k clusters."""
    found: dict[str, Callable[[Any, int], Any]] = {
        "Lloyd in torch": lambda X, k: lloyd(X, k, seed=0)[0]
    }
    if DEVICE == "cuda" and find_spec("flash_kmeans") is not None:
        from flash_kmeans import batch_kmeans_Euclid

        found["flash-kmeans"] = lambda X, k: batch_kmeans_Euclid(X[None], k, tol=1e-4)[0][0]
    else:
        print("flash-kmeans: not installed, or no GPU; pip install flash-kmeans")
    return found


def measure_streams(n: int) -> Iterator[dict[str, Any]]:
    """Views in memory of the host, beside the rate of copies from pinned memory."""
    options = {"scale": None, "n_init": 1, "random_state": 0, "device": DEVICE}
    X = host_blobs(n, 512, 10)
    OMVCDR(10, engine="stream", **options).fit(X[:50_000])  # compile
    if DEVICE == "cuda":
        share = ROOM / torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(share)
    rate = copy_rate()
    model = OMVCDR(10, engine="stream", tol=0, max_iter=4, **options)
    iteration = float(np.median(timed_fit(model, X)[1]))
    own = X.nbytes / iteration
    if DEVICE == "cuda":
        torch.cuda.set_per_process_memory_fraction(1.0)
    rates = {"copies_gb_s": rate / 1e9, "own_gb_s": own / 1e9, "rate / copies": own / rate}
    yield {"part": "stream", "iteration_s": iteration, **rates}


def measure_predict(n: int) -> Iterator[dict[str, Any]]:
    """Labels of new rows in memory of the host: 1000 clusters, 512 + 768 features."""
    views = [host_blobs(n, d, 1000) for d in (512, 768)]
    few = [X[:20_000] for X in views]
    options = {"scale": None, "n_init": 1, "max_iter": 3, "random_state": 0, "tol": 1e-2}
    model = OMVCDR(1000, device=DEVICE, **options).fit(few)
    model.predict(few)
    total = seconds(lambda: model.predict(views), 3)
    yield {"part": "predict", "predict_s": total, "rows_per_s": n / total}


def measure_equal(n: int) -> Iterator[dict[str, Any]]:
    """Labels of the same call, and of the CPU with the same label step."""
    views, _ = blobs(n, (60, 40), 10, separation=6.0)
    for scale in ("auto", None):
        options = {"scale": scale, "random_state": 0}
        found = [OMVCDR(10, device=DEVICE, **options).fit(views).labels_ for _ in range(20)]
        n_same = sum(bool((found[0] == other).all()) for other in found)
        host = OMVCDR(10, device="cpu", label_step="parallel", **options)
        host.fit([X.cpu().numpy() for X in views])
        of_cpu = float(np.mean(np.asarray(torch.as_tensor(found[0]).cpu()) == host.labels_))
        same = {"equal of 20": n_same, "share as on cpu": of_cpu}
        yield {"part": "equal", "scale": f"scale={scale!r}", **same}


def host_blobs(n: int, d: int, k: int) -> Any:
    """Rows of k blobs in memory of the host, made on the device a piece at a time."""
    X, step = np.empty((n, d), dtype=np.float32), 1_000_000
    generator = torch.Generator(place()).manual_seed(d)
    centers = torch.randn((k, d), generator=generator, device=place()) * 8.0 / d**0.5
    for start in range(0, n, step):
        y = torch.randint(k, (min(step, n - start),), generator=generator, device=place())
        noise = torch.randn((len(y), d), generator=generator, device=place())
        X[start : start + step] = noise.add_(centers[y]).cpu().numpy()
    return X


def copy_rate() -> float:
    """Bytes per second of copies from pinned memory to the device."""
    source = torch.empty(1 << 28, dtype=torch.float32, pin_memory=DEVICE == "cuda")
    target = torch.empty_like(source, device=place(), pin_memory=False)
    target.copy_(source)
    return source.nbytes / seconds(lambda: target.copy_(source, non_blocking=True), 5)


PARTS = {
    "iteration": (measure_iterations, 10_000_000),
    "default": (measure_default, 1_000_000),
    "digits": (measure_digits, 980_000),
    "stream": (measure_streams, 40_000_000),
    "predict": (measure_predict, 5_000_000),
    "equal": (measure_equal, 50_000),
}


def run(parts: list[str], *, shrink: int) -> Iterator[dict[str, Any]]:
    """Rows of some parts, at sizes divided by a number."""
    for part in parts:
        measure, n = PARTS[part]
        for row in measure(n // shrink):
            yield {"n": n // shrink, **row}


def main() -> None:
    """Run, print and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="sizes divided by 20")
    parser.add_argument("--device", default="cuda", choices=("cuda", "torch"))
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_gpu.csv"))
    arguments = parser.parse_args()
    global DEVICE
    DEVICE, rows = arguments.device, []
    gpu = torch.cuda.get_device_name() if DEVICE == "cuda" else "no GPU"
    here = machine()
    here["machine"] = f"{gpu}; {here['machine']}"
    here["versions"] = f"{here['versions']}, torch {torch.__version__}"
    for row in run(arguments.only, shrink=20 if arguments.quick else 1):
        rows.append({**row, **here})
        print(" ".join(f"{name}={value}" for name, value in row.items()), flush=True)
    keep_rows(arguments.out, pd.DataFrame(rows))


if __name__ == "__main__":
    main()
