"""What a fit on a cluster costs by the number of rows and workers, as `estimate_cost` predicts.

Prints a table for the page "On a cluster". Workers count as fast as one thread of this machine.

    python -m benchmarks.speed.cluster_costs
"""

from __future__ import annotations

import argparse

from manyview import estimate_cost
from manyview.cost import CostEstimate

ROWS = (10**8, 10**9)
WORKERS = (16, 64, 256)
WIDTHS = (256, 256)  # of two views in float32
N_CLUSTERS = 100


def table() -> str:
    """A row for each number of rows, a column for each number of workers."""
    head = ["rows", *(f"{n_workers} workers" for n_workers in WORKERS)]
    lines = [head, ["---"] * len(head)]
    for n in ROWS:
        lines.append([f"{n:.0e}".replace("e+0", "·10^"), *_costs(n)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _costs(n: int) -> list[str]:
    """Hours of a fit, and memory of a worker, for each number of workers.

    Part of the time is divided by the workers, so two estimates tell all others.
    """
    few, many = (_estimate(n, n_workers) for n_workers in (WORKERS[0], WORKERS[-1]))
    growing = (few.seconds - many.seconds) / (1 / WORKERS[0] - 1 / WORKERS[-1])
    cells = []
    for n_workers in WORKERS:
        seconds = few.seconds + growing * (1 / n_workers - 1 / WORKERS[0])
        each = (few.memory_bytes + few.view_bytes) / n_workers
        cells.append(f"{_short(seconds / 3600)} h, {_short(each / 1e9)} GB each")
    return cells


def _short(number: float) -> str:
    """Two digits, without an exponent."""
    return f"{float(f'{number:.2g}'):g}"


def _estimate(n: int, n_workers: int) -> CostEstimate:
    """What a fit of blobs costs."""
    shapes = [(n, width) for width in WIDTHS]
    return estimate_cost(shapes, N_CLUSTERS, engine="dask", n_workers=n_workers, dtype="float32")


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(table())


if __name__ == "__main__":
    main()
