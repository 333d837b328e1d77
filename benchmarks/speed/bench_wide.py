"""A default fit of views wider than samples, relative to the Gram matrices of its scaled views.

No exact method on such views costs much less than the Gram matrix of each scaled view (of principal
components: that of the z-scores) and its eigenvectors. These are computed by numpy from scaled rows
in float64 that are there already; the fit starts from the views and does everything, outlier scores
included. Both are measured in turns, on one thread and on as many as BLAS takes by itself; a fit on
all features, once.

    python -m benchmarks.speed.bench_wide [--quick] [--out FILE]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from benchmarks.measuring import fastest, machine, timed
from benchmarks.page import keep_rows, parser_for, results_file
from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.engines import choose_engine
from manyview.kernels import row_space
from manyview.kernels.products import scaled_rows
from manyview.kernels.row_space import is_wide
from manyview.solver.scaled_rows import apply_scalings
from manyview.utils.threads import limit_threads

Array = NDArray[Any]

N_CLUSTERS = 5
SEPARATION = 3.0
SIZES = {
    "500 × (20 000, 1 000, 25 000)": (500, (20_000, 1_000, 25_000)),
    "600 × 107 000 in five views": (600, (20_000, 22_000, 21_000, 23_000, 21_000)),
}
QUICK = {"200 × (3 000, 1 000, 4 000)": (200, (3_000, 1_000, 4_000))}
LIMIT = 3.0  # target


def wide_rows(data: MultiViewData) -> list[Array]:
    """The scaled views of a default fit that are wider than samples, before components."""
    model = OMVCDR(N_CLUSTERS, random_state=0).fit(data)
    fitted = model._fitted if model._fitted.first is None else model._fitted.first
    scalings = [replace(s, components=None) for s in fitted.model.problem.scalings]
    engine = choose_engine("memory", "cpu", data)
    engine.load(data, None)
    apply_scalings(engine, scalings)
    blocks = engine.sample(len(data), np.random.default_rng(0))
    return [
        np.concatenate([scaled_rows(block.views[v]) for block in blocks]).astype(np.float64)
        for v, scaling in enumerate(scalings)
        if is_wide(len(data), data.n_features[scaling.view])
    ]


def decompose(rows: list[Array]) -> None:
    """Gram matrix and eigenvectors of each scaled view."""
    for X in rows:
        np.linalg.eigh(X @ X.T)


def measure(n: int, widths: tuple[int, ...], n_jobs: int | None, n_repeats: int) -> dict[str, Any]:
    """Seconds of the fit and of the decompositions, and their ratio."""
    data = make_multiview_blobs(
        n, widths, n_clusters=N_CLUSTERS, separation=SEPARATION, random_state=0
    ).data
    rows = wide_rows(data)
    model = OMVCDR(N_CLUSTERS, n_jobs=n_jobs, random_state=0)
    with limit_threads(n_jobs):
        fit, bound = fastest([partial(model.fit, data), partial(decompose, rows)], n_repeats)
    plain = OMVCDR(N_CLUSTERS, n_jobs=n_jobs, random_state=0)
    with on_all_features():
        before = timed(partial(plain.fit, data))
    return {
        "samples": n,
        "features": sum(widths),
        "gram_matrices": len(rows),
        "n_jobs": n_jobs or 0,
        "fit_seconds": fit,
        "bound_seconds": bound,
        "ratio": fit / bound,
        "plain_seconds": before,
        "plain_ratio": before / bound,
        "ari": adjusted_rand_score(plain.labels_, model.labels_),
    }


@contextmanager
def on_all_features() -> Iterator[None]:
    """No view counts as wide."""
    fewest = row_space.FEWEST_FEATURES
    row_space.FEWEST_FEATURES = sys.maxsize
    try:
        yield
    finally:
        row_space.FEWEST_FEATURES = fewest


def main() -> None:
    """Run, print the ratios, and keep the rows."""
    parser = parser_for(__doc__, "one small size")
    arguments = parser.parse_args()
    table = []
    for name, (n, widths) in (QUICK if arguments.quick else SIZES).items():
        for n_jobs in (1, None):
            row = measure(n, widths, n_jobs, 2)
            table.append({"case": name, **row, **machine()})
            threads = "one thread" if n_jobs else "all threads"
            print(
                f"{name}, {threads}: a fit takes {row['ratio']:.1f} × the {row['gram_matrices']} "
                f"Gram matrices and eigenvectors (limit {LIMIT:g}), {row['fit_seconds']:.2f} s; on "
                f"all features {row['plain_ratio']:.1f} ×, adjusted Rand index {row['ari']:.3f}"
            )
    keep_rows(results_file("bench_wide", arguments), pd.DataFrame(table))


if __name__ == "__main__":
    main()
