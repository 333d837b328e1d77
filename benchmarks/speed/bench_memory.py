"""Peak memory of a fit in addition to the views, against n and d, compared with k-means.

Blobs in float32: n grows at 100 features, the width at 20 000 samples; then `mnist70k_4v` if its
file exists. `KMeans` gets the same values as one array, concatenated before. Each fit has a process
of its own; the peak is the maximum memory of the process during the fit, minus that at its start,
so that a copy of the views counts as 1.

    python -m benchmarks.speed.bench_memory [--quick] [--out FILE]
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import apart, exponent, machine, peak_of
from benchmarks.page import keep_rows, parser_for, results_file
from benchmarks.speed.peers import PEERS, Peer
from manyview import OMVCDR
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.datasets.benchmark_sets import benchmark_files

METHODS = [peer for peer in PEERS if peer.package == "manyview" or peer.name == "KMeans(n_init=1)"]
K = 10
REAL = "mnist70k_4v"
LIMIT = 0.6  # target, relative to the views of the real set
GRID = {
    "n": [(n, 100) for n in (10_000, 31_623, 100_000, 316_228, 1_000_000)],
    "d": [(20_000, d) for d in (100, 400, 1600, 6400)],
}
QUICK = {"n": [(n, 100) for n in (10_000, 20_000)], "d": [(5000, 400)]}


def views_of(source: tuple[int, int] | str) -> list[Any]:
    """Two views of blobs of a size, or those of a set, in float32."""
    if isinstance(source, str):
        data = load_benchmark(source, return_X_y=True)[0]
        return [np.asarray(X, dtype=np.float32) for X in data.views]
    n, d = source
    blobs = make_multiview_blobs(
        n, (d // 2, d - d // 2), n_clusters=K, dtype=np.float32, random_state=0
    )
    return list(blobs.data.views)


def measure(peer: Peer, source: tuple[int, int] | str) -> dict[str, Any]:
    """Bytes of one fit, and those of the views."""
    warnings.simplefilter("ignore")
    views = views_of(source)
    if peer.package == "manyview":
        OMVCDR(2, **peer.parameters).fit([X[:100] for X in views])  # compile
    _, cost = peak_of(peer.fitter(views, K, 0))
    view_bytes = sum(X.nbytes for X in views)
    size = {"n": len(views[0]), "d": sum(X.shape[1] for X in views)}
    return {**size, "view_bytes": view_bytes, **cost, "ratio": cost["peak_bytes"] / view_bytes}


def run(grid: dict[str, list[tuple[int, int]]], *, quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of all sizes and methods."""
    sources: list[tuple[str, Any]] = [(axis, size) for axis in grid for size in grid[axis]]
    if not quick and REAL in benchmark_files():
        sources.append((REAL, REAL))
    for axis, source in sources:
        for peer in METHODS:
            yield {"axis": axis, "method": peer.name, **apart(measure, peer, source), **machine()}


def findings(rows: pd.DataFrame) -> list[str]:
    """Exponents in n and d, the largest ratio, and the ratio on the real set."""
    lines = []
    done = rows[rows["status"] == "done"]
    for (axis, method), group in done.groupby(["axis", "method"], sort=False):
        last = group.iloc[-1]
        size = f"{last['peak_bytes'] / 1e6:.0f} MB, {last['ratio']:.2f} × the views"
        if axis == REAL:
            target = f" (target: at most {LIMIT:g})" if "scale=None" in method else ""
            lines.append(f"{method} on {REAL}: {size}{target}")
        elif len(group) > 1:
            slope = exponent(group[axis], group["peak_bytes"])
            lines.append(f"{method} in {axis}: exponent {slope:.2f}; at {last[axis]:.0f} {size}")
    return lines


def main() -> None:
    """Run, print the findings, and keep the rows."""
    parser = parser_for(__doc__, "three small sizes")
    arguments = parser.parse_args()
    rows = []
    for row in run(QUICK if arguments.quick else GRID, quick=arguments.quick):
        shown = f"{row['ratio']:.2f} × the views" if row["status"] == "done" else row["reason"]
        print(f"{row['axis']}, {row['method']}: {shown}", flush=True)
        rows.append(row)
    table = pd.DataFrame(rows)
    print("\n".join(findings(table)))
    keep_rows(results_file("bench_memory", arguments), table)


if __name__ == "__main__":
    main()
