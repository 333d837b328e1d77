"""How the time of one iteration of OMVCDR grows in n, d, k and V.

One size grows at a time: n samples (d = 100 features in two views), d features in two views, k
clusters at fixed latent spaces, V views of 64 features. The time is the CPU time of one thread, the
median of the iterations on all rows, the minimum of the repeats, without starts and compilation.
The exponent is the slope between logarithms over the whole grid.

`bench_growth.py` measures something else: whole fits of all methods, time and memory, compared with
the stated complexity, on sizes that the slowest method can handle.

    python -m benchmarks.speed.bench_scaling [--quick] [--out FILE]
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from benchmarks.measuring import exponent, iteration_times, machine
from benchmarks.page import keep_rows, parser_for, results_file
from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.utils.threads import limit_threads

N_ITER = 8
SEPARATION = 3.0  # of the blobs: so near that labels keep changing
SPACES = (20, 40, 60)
LIMITS = {"n": 1.05, "k": 1.0}  # targets


@dataclass(frozen=True)
class Size:
    """Size of a problem."""

    n: int
    d: int  # of all views together
    k: int
    V: int


AXES = {
    "n": [Size(n, 100, 10, 2) for n in (10_000, 31_623, 100_000, 316_228, 1_000_000)],
    "d": [Size(20_000, d, 10, 2) for d in (128, 256, 512, 1024, 2048)],
    "k": [Size(50_000, 200, k, 2) for k in (10, 32, 100, 316, 1000)],
    "V": [Size(20_000, 64 * V, 10, V) for V in (2, 4, 8, 16, 32)],
}
QUICK = {
    "n": [Size(n, 100, 10, 2) for n in (10_000, 20_000, 40_000)],
    "d": [Size(4000, d, 10, 2) for d in (128, 256, 512)],
    "k": [Size(8000, 200, k, 2) for k in (10, 40, 160)],
    "V": [Size(4000, 64 * V, 10, V) for V in (2, 4, 8)],
}


def measure(size: Size, n_iter: int, n_repeats: int) -> float:
    """CPU seconds of one iteration."""
    widths = [len(part) for part in np.array_split(np.arange(size.d), size.V)]
    data = make_multiview_blobs(
        size.n,
        widths,
        n_clusters=size.k,
        separation=SEPARATION,
        dtype=np.float32,
        random_state=0,
    ).data
    seconds = []
    for _ in range(n_repeats):
        model = OMVCDR(
            size.k,
            latent_dims=SPACES,
            scale=None,
            n_init=1,
            max_iter=n_iter,
            tol=0,
            random_state=0,
            n_jobs=1,
        )
        times = iteration_times(model, data, time.process_time, n_samples=size.n)
        seconds.append(float(np.median(times)))
    return min(seconds)


def run(axes: dict[str, list[Size]], n_iter: int, n_repeats: int) -> Iterator[dict[str, object]]:
    """Rows of all axes and sizes."""
    measure(Size(200, 160, 4, 2), 2, 1)  # compile
    for axis, sizes in axes.items():
        for size in sizes:
            seconds = measure(size, n_iter, n_repeats)
            print(f"{axis} = {getattr(size, axis)}: {seconds:.4g} s per iteration", flush=True)
            yield {"axis": axis, **asdict(size), "iteration_s": seconds, **machine()}


def exponents(rows: pd.DataFrame) -> pd.Series:
    """Exponent of the time of an iteration in each size."""
    return pd.Series(
        {
            axis: exponent(group[axis], group["iteration_s"])
            for axis, group in rows.groupby("axis", sort=False)
        }
    )


def main() -> None:
    """Run, print the exponents, and keep the rows."""
    parser = parser_for(__doc__, "small sizes only")
    arguments = parser.parse_args()
    with limit_threads(1):
        quick = (QUICK, 4, 1)
        rows = pd.DataFrame(run(*quick) if arguments.quick else run(AXES, N_ITER, 3))
    for axis, slope in exponents(rows).items():
        target = f" (target: at most {LIMITS[axis]:g})" if axis in LIMITS else ""
        print(f"exponent of an iteration in {axis}: {slope:.3f}{target}")
    keep_rows(results_file("bench_scaling", arguments), rows)


if __name__ == "__main__":
    main()
