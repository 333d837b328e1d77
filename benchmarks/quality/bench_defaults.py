"""What the constants of the defaults are worth, and groups of unequal size: docs/quality.md.

    python -m benchmarks.quality.bench_defaults           # all sets of MANYVIEW_DATA
    python -m benchmarks.quality.bench_defaults --quick   # three small sets; no page
    python -m benchmarks.quality.bench_defaults --again   # fill the page from the last rows

Every constant is halved and doubled, one at a time, on at most 1000 samples of each set, one seed;
and on simulated cells and blobs, where sizes are known to be unequal. The cells are also clustered
by k-means and by Leiden on a neighbor graph, both on joined principal components of log counts, if
leidenalg is installed; the blobs by Gaussian mixtures of all kinds.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from benchmarks.page import markdown, write_section
from benchmarks.quality.bench_rivals import LARGE, ROWS, load_some
from manyview import OMVCDR
from manyview.datasets import make_citeseq
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.metrics import evaluate
from manyview.utils.processes import end_with_parent
from manyview.utils.threads import limit_threads

QUICK_SETS = ("nutrimouse", "synthetic3d", "msrcv1_5v")
CELLS = "cells"  # simulated, of eight types
BLOBS = {"50 : 1": (50, 1), "10 : 3 : 1": (10, 3, 1)}
APART = 4.0  # standard deviations between two centers, in each view
N_DRAWS = 5
# name, module and values tried; the value of the code is in between
CONSTANTS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "WHITENING": ("manyview.solver.scaled_rows", (0.25, 1.0)),
    "N_COMPONENTS": ("manyview.solver.scaled_rows", (25, 100)),
    "ROWS_PER_COMPONENT": ("manyview.solver.scaled_rows", (2, 6)),
    "SPARSE": ("manyview.data.scaling", (0.35, 0.85)),
    "FEWEST_COUNTS": ("manyview.data.scaling", (100.0, 400.0)),
    "FIRST_COUPLING": ("manyview.solver.fitting", (0.025, 0.1)),
    "UNEVEN": ("manyview.solver.fitting", (0.8, 1.0)),
    "CLEARLY": ("manyview.solver.fitting", (0.05, 0.2)),
    "SLIGHTLY": ("manyview.solver.fitting", (0.015, 0.06)),
    "LOOSE": ("manyview.solver.fitting", (0.7, 0.9)),
    "FREE_COUPLING": ("manyview.solver.fitting", (2.5, 10.0)),
    "SIZE_PRIOR": ("manyview.solver.fitting", (0.35, 1.4)),
}
PARAMETERS = {"lam": (1.0, 4.0), "n_init": (2, 10)}


def main() -> None:
    """Run, or use the rows of an earlier run, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets; no page")
    parser.add_argument("--again", action="store_true", help="fill the page from the last rows")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--out", type=Path, default=Path("docs/results/defaults.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/quality.md"))
    options = parser.parse_args()
    if options.again:
        rows = pd.read_csv(options.out, keep_default_na=False)
    else:
        rows = measure(options.quick, options.jobs)
    text = summary(rows)
    print(text)
    if options.quick:
        return
    rows.to_csv(options.out, index=False, float_format="%.5g")
    write_section(options.page, "defaults", text)


def measure(quick: bool, n_jobs: int) -> pd.DataFrame:
    """One row per data set and changed constant."""
    names = QUICK_SETS if quick else sorted(set(benchmark_files()) - {LARGE})
    simulated = [f"{CELLS} {draw}" for draw in range(1 if quick else N_DRAWS)]
    simulated += [f"{kind} {draw}" for kind in BLOBS for draw in range(1 if quick else N_DRAWS)]
    changes: list[tuple[str, Any]] = [("", "")]
    for name, values in [*PARAMETERS.items(), *((n, v) for n, (_, v) in CONSTANTS.items())]:
        changes += [(name, value) for value in values]
    jobs = [(data, *change) for change in changes for data in [*names, *simulated]]
    spawn = get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=spawn, initializer=end_with_parent) as pool:
        found = list(pool.map(run, *zip(*jobs, strict=True), chunksize=4))
        others = list(pool.map(run_others, simulated))
    return pd.DataFrame([*found, *(row for rows in others for row in rows)])


def run(data: str, name: str, value: Any) -> dict[str, Any]:
    """OMVCDR on one data set, with one constant changed."""
    views, target = load(data)
    given = {name: value} if name in PARAMETERS else {}
    with _changed(name, value), limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OMVCDR(len(np.unique(target)), random_state=0, check_structure=False, **given)
        scores = evaluate(target, model.fit_predict(views))
    kept = {metric: scores[metric] for metric in ("acc", "nmi", "ari")}
    return {"data": data, "method": "omvcdr", "constant": name, "value": value, **kept}


def run_others(data: str) -> list[dict[str, Any]]:
    """Other methods on simulated data."""
    views, target = load(data)
    k = len(np.unique(target))
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dict(_of_cells(views, k) if data.startswith(CELLS) else _of_blobs(views, k))
    return [
        {"data": data, "method": method, "constant": "", "value": "",
         "acc": "", "nmi": "", "ari": adjusted_rand_score(target, labels)}
        for method, labels in found.items()
    ]  # fmt: skip


def load(data: str) -> tuple[Any, Any]:
    """Views and classes of a benchmark set, of cells or of blobs."""
    kind, _, draw = data.rpartition(" ")
    if kind == CELLS:
        return make_citeseq(random_state=int(draw), return_X_y=True)
    if kind in BLOBS:
        return blobs(BLOBS[kind], int(draw))
    return load_some(data)


def blobs(sizes: tuple[int, ...], seed: int) -> tuple[list[Any], Any]:
    """2000 samples in two views of 20 features, with centers at equal distances."""
    rng = np.random.default_rng(seed)
    target = rng.choice(len(sizes), 2000, p=np.array(sizes) / np.sum(sizes))
    views = []
    for _ in range(2):
        axes = np.linalg.qr(rng.standard_normal((20, 20)))[0][: len(sizes)]
        views.append(APART / np.sqrt(2) * axes[target] + rng.standard_normal((2000, 20)))
    return views, target


@contextmanager
def _changed(name: str, value: Any) -> Iterator[None]:
    """A constant of the code with another value."""
    if name not in CONSTANTS:
        yield
        return
    module = importlib.import_module(CONSTANTS[name][0])
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def _of_cells(views: Any, k: int) -> Iterator[tuple[str, Any]]:
    """k-means and Leiden on joined principal components of log counts."""
    parts = []
    for X, r in zip(views.views, (30, 15), strict=True):
        counts = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        sums = counts.sum(axis=1, keepdims=True)
        logs = np.log1p(counts / np.maximum(sums, 1) * np.median(sums))
        parts.append(PCA(r, random_state=0, whiten=True).fit_transform(logs))
    joined = np.hstack(parts)
    yield "k-means on joined PCA", KMeans(k, n_init=10, random_state=0).fit_predict(joined)
    try:
        import igraph
        import leidenalg
    except ImportError:
        return
    from manyview.model_selection.graph import join_neighbors

    links = join_neighbors(joined, 15).tocoo()
    edges = igraph.Graph(len(joined), np.column_stack([links.row, links.col]).tolist())
    found = leidenalg.find_partition(
        edges, leidenalg.RBConfigurationVertexPartition, weights=links.data.tolist(), seed=0
    )
    yield "Leiden on joined PCA", np.array(found.membership)


def _of_blobs(views: list[Any], k: int) -> Iterator[tuple[str, Any]]:
    """Gaussian mixtures and k-means on the joined views."""
    joined = np.hstack(views)
    for kind in ("full", "tied", "spherical"):
        mixture = GaussianMixture(k, covariance_type=kind, n_init=5, random_state=0)
        yield f"Gaussian mixture, {kind}", mixture.fit_predict(joined)
    yield "k-means", KMeans(k, n_init=10, random_state=0).fit_predict(joined)


def summary(rows: pd.DataFrame) -> str:
    """Text of the page."""
    kind = rows["data"].str.rpartition(" ")[0].where(rows["data"].str.contains(" "), "sets")
    rows = rows.assign(kind=kind, ari=pd.to_numeric(rows["ari"]))
    ours = rows[(rows["method"] == "omvcdr") & (rows["constant"] == "")]
    others = rows[rows["method"] != "omvcdr"]
    sizes = []
    for name in [CELLS, *BLOBS]:
        for method, own in [("OMVCDR", ours), *others[others["kind"] == name].groupby("method")]:
            values = own[own["kind"] == name]["ari"]
            draws = ", ".join(f"{value:.3f}" for value in values)
            sizes.append([name, str(method), f"{values.mean():.3f}", draws])
    table = []
    for (constant, value), own in rows[rows["method"] == "omvcdr"].groupby(
        ["constant", rows["value"].astype(str)], sort=False
    ):
        real = own[own["kind"] == "sets"]
        means = [f"{pd.to_numeric(real[metric]).mean():.3f}" for metric in ("acc", "nmi")]
        known = [f"{own[own['kind'] == name]['ari'].mean():.3f}" for name in [CELLS, *BLOBS]]
        table.append([constant or "as they are", value, *means, *known])
    return "\n".join(
        [
            "Groups of unequal size, adjusted Rand index by draw: cells of eight types in raw "
            "counts (`make_citeseq`, 30 % to 2 %), and blobs in two views of 20 features:",
            "",
            markdown(["data", "method", "mean", "draws"], sizes),
            "",
            f"Every constant at about half and twice its value, on at most {ROWS} samples of each "
            "set, one seed; the last columns are the adjusted Rand index on the simulated data:",
            "",
            markdown(["constant", "value", "ACC", "NMI", CELLS, *BLOBS], table),
            "",
            "`python -m benchmarks.quality.bench_defaults` measures this; its results are in "
            "[defaults.csv](results/defaults.csv).",
        ]
    )


if __name__ == "__main__":
    main()
