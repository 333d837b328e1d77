"""A fit on a GPU beside its two bare products, and beside k-means of the joined views.

    python -m benchmarks.speed.bench_gpu [--quick] [--only iteration fit default predict equal]
        [--out benchmarks/results/bench_gpu.csv]

Data are blobs, made on the GPU. `iteration`: seconds of one, with `scale=None`, beside its two
matrix products on whole views, in the same precision. `fit`: whole fits. `default`: a fit with the
defaults beside Lloyd's k-means in torch. `predict`: rows in memory of the host. `equal`: labels of
a second fit, and of the CPU with the same label step.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.page import keep_rows
from manyview import OMVCDR

PARTS = ("iteration", "fit", "default", "predict", "equal")


def blobs(n: int, widths: tuple[int, ...], k: int, *, separation: float, seed: int = 0) -> Any:
    """Views of k blobs on the GPU, and the classes; each feature has unit variance around them."""
    generator = torch.Generator("cuda").manual_seed(seed)
    y = torch.randint(k, (n,), generator=generator, device="cuda")
    views = []
    for d in widths:
        centers = torch.randn((k, d), generator=generator, device="cuda") * separation / d**0.5
        X = torch.randn((n, d), generator=generator, device="cuda")
        for start in range(0, n, 1_000_000):
            rows = slice(start, start + 1_000_000)
            X[rows] += centers[y[rows]]
        views.append(X)
    return views, y


def seconds(action: Callable[[], object], repeats: int = 1) -> float:
    """Median wall time of a call, on an idle GPU."""
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        action()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def product_seconds(views: list[Any], n_columns: int, *, tf32: bool) -> float:
    """The two products of an iteration on whole views."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    bases = [torch.randn((X.shape[1], n_columns), device="cuda") for X in views]
    Z = torch.randn((len(views[0]), n_columns), device="cuda")

    def run() -> None:
        for X, H in zip(views, bases, strict=True):
            X @ H
            X.T @ Z

    run()
    found = seconds(run, 5)
    torch.backends.cuda.matmul.allow_tf32 = before
    return found


def timed_fit(model: OMVCDR, views: list[Any]) -> tuple[float, list[float]]:
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
    generator = torch.Generator("cuda").manual_seed(seed)
    some = X[torch.randint(len(X), (20_000,), generator=generator, device="cuda")]
    C = some[:1]
    nearest = torch.full((len(some),), torch.inf, device="cuda")
    for _ in range(k - 1):
        nearest = torch.minimum(nearest, (some - C[-1]).square().sum(1))
        chosen = torch.multinomial(nearest, 1, generator=generator)
        C = torch.cat([C, some[chosen]])
    scale = float(some.var(0).mean())
    step = 1 << 19
    n_iter, shift = 0, np.inf
    while n_iter < most and shift > tol * scale:
        n_iter += 1
        sums, counts = torch.zeros_like(C, dtype=torch.float64), torch.zeros(k, device="cuda")
        labels = []
        for start in range(0, len(X), step):
            rows = X[start : start + step]
            own = torch.addmm(C.square().sum(1), rows, C.T, alpha=-2).argmin(1)
            one_hot = torch.zeros((len(rows), k), device="cuda").scatter_(1, own[:, None], 1.0)
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


def run(parts: list[str], *, quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of all parts."""
    shrink = 20 if quick else 1
    if {"iteration", "fit"} & set(parts):
        n = 10_000_000 // shrink
        views, y = blobs(n, (256, 256), 10, separation=8.0)
        options = {"scale": None, "n_init": 1, "random_state": 0}
        OMVCDR(10, **options).fit([X[:50_000] for X in views])  # compile
        for tf32 in (True, False):
            bare = product_seconds(views, 60, tf32=tf32)
            if "iteration" in parts:
                model = OMVCDR(10, tf32=tf32, tol=0, max_iter=6, **options)
                _, each = timed_fit(model, views)
                yield {
                    "part": "iteration",
                    "n": n,
                    "tf32": tf32,
                    "bare_s": bare,
                    "iteration_s": float(np.median(each)),
                    "iteration / bare": float(np.median(each)) / bare,
                }
            if "fit" in parts:
                model = OMVCDR(10, tf32=tf32, **options)
                total, each = timed_fit(model, views)
                yield {
                    "part": "fit",
                    "n": n,
                    "tf32": tf32,
                    "fit_s": total,
                    "n_iter": model.n_iter_,
                    "iteration_s": float(np.median(each)) if each else np.nan,
                    "nmi": nmi(y, model.labels_),
                }
        del views, y
    if "default" in parts:
        n = 1_000_000 // shrink
        views, y = blobs(n, (512, 768), 100, separation=10.0)
        joined = torch.cat(views, 1)
        lloyd(joined[:50_000], 100, seed=0)
        for scale in ("auto", None):
            start = time.perf_counter()
            labels, n_iter = lloyd(joined, 100, seed=0)
            torch.cuda.synchronize()
            kmeans = time.perf_counter() - start
            options = {"scale": scale, "n_init": 5 if scale else 1, "random_state": 0}
            OMVCDR(100, **options).fit([X[:50_000] for X in views])
            model = OMVCDR(100, **options)
            total, _ = timed_fit(model, views)
            yield {
                "part": "default",
                "n": n,
                "scale": str(scale),
                "fit_s": total,
                "kmeans_s": kmeans,
                "kmeans_iter": n_iter,
                "fit / kmeans": total / kmeans,
                "nmi": nmi(y, model.labels_),
                "kmeans_nmi": nmi(y, labels),
            }
        del joined, views
    if "equal" in parts:
        n = 200_000 // shrink
        views, y = blobs(n, (60, 40), 10, separation=6.0)
        for scale in ("auto", None):
            options = {"scale": scale, "random_state": 0}
            found = [OMVCDR(10, device="cuda", **options).fit(views).labels_ for _ in range(3)]
            again = [float(np.mean(found[0] == other)) for other in found[1:]]
            host = OMVCDR(10, device="cpu", label_step="parallel", **options)
            host.fit([X.cpu().numpy() for X in views])
            yield {
                "part": "equal",
                "n": n,
                "scale": str(scale),
                "same again": min(again),
                "same as cpu": float(np.mean(found[0] == host.labels_)),
            }


def main() -> None:
    """Run, print and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_gpu.csv"))
    arguments = parser.parse_args()
    rows = []
    for row in run(arguments.only, quick=arguments.quick):
        rows.append({**row, "gpu": torch.cuda.get_device_name(), "torch": torch.__version__})
        print(" ".join(f"{name}={value}" for name, value in row.items()), flush=True)
    keep_rows(arguments.out, pd.DataFrame(rows))


if __name__ == "__main__":
    main()
