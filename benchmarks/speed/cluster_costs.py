"""What a fit on a cluster costs by the number of rows and workers, as `estimate_cost` predicts.

Prints a table for the page "On a cluster". Workers count as fast as one thread of this machine.

    python -m benchmarks.speed.cluster_costs
"""

from __future__ import annotations

import argparse

from manyview import estimate_cost

ROWS = (10**8, 10**9)
WORKERS = (16, 64, 256)
WIDTHS = (256, 256)  # of two views in float32
N_CLUSTERS = 100


def table() -> str:
    """A row for each number of rows, a column for each number of workers."""
    head = ["rows", *(f"{n_workers} workers" for n_workers in WORKERS)]
    lines = [head, ["---"] * len(head)]
    for n in ROWS:
        shapes = [(n, width) for width in WIDTHS]
        costs = [_cost(shapes, n_workers) for n_workers in WORKERS]
        lines.append([f"{n:.0e}".replace("e+0", "·10^"), *costs])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cost(shapes: list[tuple[int, int]], n_workers: int) -> str:
    """Hours of a fit, and memory of a worker."""
    found = estimate_cost(shapes, N_CLUSTERS, engine="dask", n_workers=n_workers, dtype="float32")
    each = (found.memory_bytes + found.view_bytes) / n_workers
    return f"{found.seconds / 3600:.2g} h, {each / 1e9:.2g} GB each"


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(table())


if __name__ == "__main__":
    main()
