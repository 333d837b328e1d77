"""Accuracy and time of `choose`: the number of clusters, and data without clusters.

k from 2 to 40 at its defaults, on the sets of the data folder that have 2 to 40 classes, on blobs
of many shapes and on data without clusters; rows are shuffled by the seed. A recommendation is
correct if it is within ± 1 of the number of classes, or "no structure" for data without clusters.
Times are CPU seconds on one thread, with and without the choice of scaling and λ, relative to one
fit of OMVCDR at its defaults with the recommended number of clusters (at least 2), on the subset
that `choose` uses.

    python -m benchmarks.quality.bench_choose [--quick] [--again]
        [--out docs/results/choosing.csv] [--page docs/choosing.md]

The full run also writes the tables into the page; `--again` only does that, from the rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.page import keep_rows, markdown, write_section
from manyview import OMVCDR, MultiViewData
from manyview.data.scaling import scale_name
from manyview.datasets import load_benchmark, load_digits_views, make_multiview_blobs
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.model_selection import Choice, choose
from manyview.model_selection.search import SAMPLE_ROWS
from manyview.utils.threads import limit_threads

Source = Callable[[int], tuple[Any, np.ndarray]]

TARGETS = (
    *("handwritten_2v", "handwritten_6v", "hdigit", "mnist_usps5k", "bbcsport", "synthetic3d"),
    *("blobs 3", "blobs 7", "blobs 20", "blobs 35"),
)
QUICK = ("synthetic3d", "blobs 3", "noise, normal")
SEEDS = (10, 11, 12)  # the rule was developed with others, on the same stored sets
# what each column alone would choose: its largest value, or its smallest
CRITERIA = {
    "score": 1,
    "modularity": 1,
    "excess": 1,
    "stability": 1,
    "silhouette": 1,
    "davies_bouldin": -1,
    "eigengap": 1,
}


def blobs(n_clusters: int, n_samples: int = 2000, widths: tuple[int, ...] = (20, 30), **how: Any):
    """Blobs drawn anew for each seed."""
    make = partial(make_multiview_blobs, n_samples, widths, n_clusters=n_clusters, **how)
    return lambda seed: make(random_state=seed, return_X_y=True)


def long_blobs(n_clusters: int) -> Source:
    """Blobs that are three times as long in two directions, which differ between blobs."""

    def make(seed: int) -> tuple[Any, np.ndarray]:
        rng = np.random.default_rng(seed)
        target = rng.integers(n_clusters, size=1500)
        views = []
        for d in (15, 25):
            X = rng.normal(size=(1500, d)) * np.r_[3, 3, np.ones(d - 2)]
            turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(n_clusters)]
            centers = rng.normal(size=(n_clusters, d)) * 8 / np.sqrt(2 * d)
            views.append(np.einsum("ij,ijk->ik", X, np.array(turns)[target]) + centers[target])
        return views, target

    return make


def noise(draw: Callable[[np.random.Generator, int], np.ndarray], *widths: int) -> Source:
    """Independent views without clusters."""

    def make(seed: int) -> tuple[Any, np.ndarray]:
        rng = np.random.default_rng(seed)
        views = [draw(rng, d) for d in widths]
        return views, np.zeros(len(views[0]), dtype=int)

    return make


def shared(draw: Callable[[np.random.Generator], np.ndarray]) -> Source:
    """Views of a shared continuum, without clusters."""

    def make(seed: int) -> tuple[Any, np.ndarray]:
        rng = np.random.default_rng(seed)
        factors = draw(rng)
        n, r = factors.shape
        views = [factors @ rng.normal(size=(r, d)) + rng.normal(size=(n, d)) / 2 for d in (20, 30)]
        return views, np.zeros(n, dtype=int)

    return make


N = 1500
DRAWN: dict[str, Source] = {
    **{f"blobs {k}": blobs(k) for k in (3, 7, 20, 35, 2, 13)},
    **{f"blobs {k}, few samples": blobs(k, n_samples=max(300, 10 * k)) for k in (3, 20, 35)},
    "blobs 12, unequal": blobs(12, proportions=np.geomspace(1, 12, 12)),
    "blobs 5, overlapping": blobs(5, separation=4.0),
    "blobs 10, overlapping": blobs(10, separation=4.5),
    "blobs 8, two views of noise": blobs(8, widths=(20, 20, 20, 20), noise_views=2),
    "blobs 15, one view": blobs(15, widths=(40,)),
    "blobs 4, two features": blobs(4, widths=(2, 2), separation=12.0),
    "blobs 35, few features": blobs(35, widths=(5, 8), separation=8.0),
    "blobs 9, many features": blobs(9, n_samples=800, widths=(500, 1000, 300), separation=10.0),
    "blobs 6, 30 % of rows missing": blobs(6, missing_rate=0.3),
    "long blobs 6": long_blobs(6),
    "long blobs 14": long_blobs(14),
    "digits": lambda seed: load_digits_views(return_X_y=True),
    "one blob": blobs(1),
    "one blob, few samples": blobs(1, n_samples=150),
    "one long blob": noise(
        lambda rng, d: rng.normal(size=(N, d)) * np.r_[8, 4, np.ones(d - 2)], 20, 30
    ),
    "noise, normal": noise(lambda rng, d: rng.normal(size=(N, d)), 20, 30),
    "noise, uniform": noise(lambda rng, d: rng.random((N, d)), 20, 30),
    "noise, Student's t": noise(lambda rng, d: rng.standard_t(3, size=(N, d)), 20, 30),
    "noise, counts": noise(lambda rng, d: rng.poisson(1.0, size=(N, d)).astype(float), 20, 30),
    "noise, few features": noise(lambda rng, d: rng.normal(size=(N, d)), 2, 3),
    "noise, uniform, two features": noise(lambda rng, d: rng.random((N, d)), 2, 2),
    "noise, more features than samples": noise(lambda rng, d: rng.normal(size=(200, d)), 500, 800),
    "continuum, normal": shared(lambda rng: 2 * rng.normal(size=(N, 3))),
    "continuum, uniform": shared(lambda rng: 6 * rng.random((N, 2))),
}


def classes_of(name: str) -> int:
    """Number of classes of a set of the data folder; 0 if it has none."""
    target = load_benchmark(name).target
    return 0 if target is None else np.unique(target).size


def sources(*, quick: bool) -> dict[str, Source]:
    """All sets by name."""
    files = [name for name in benchmark_files() if not quick or name in QUICK]
    stored: dict[str, Source] = {
        name: lambda seed, name=name: load_benchmark(name, return_X_y=True)
        for name in files
        if 2 <= classes_of(name) <= 40
    }
    drawn = {name: source for name, source in DRAWN.items() if not quick or name in QUICK}
    return stored | drawn


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of a call, and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def measure(name: str, source: Source, seed: int) -> dict[str, Any]:
    """One row."""
    X, target = source(seed)
    data = MultiViewData.of(X)
    order = np.random.default_rng(seed).permutation(data.n_samples)[:SAMPLE_ROWS]
    data = data[order]
    alone_seconds, _ = seconds_of(partial(choose, data, tune=False, random_state=seed))
    spent, choice = seconds_of(partial(choose, data, random_state=seed))
    model = OMVCDR(max(choice.n_clusters, 2), random_state=seed)
    fit_seconds, _ = seconds_of(partial(model.fit, data))
    return {
        "data": name,
        "seed": seed,
        "n_samples": data.n_samples,
        "classes": np.unique(target).size,
        "chosen": choice.n_clusters if choice.has_structure else 1,
        "confidence": round(choice.confidence, 3),
        "scale": scale_name(choice.scale),
        "lam": choice.lam,
        "seconds": round(spent, 3),
        "alone_seconds": round(alone_seconds, 3),
        "fit_seconds": round(fit_seconds, 3),
        **{f"by_{criterion}": alone(choice, criterion) for criterion in CRITERIA},
    }


def alone(choice: Choice, criterion: str) -> int:
    """The number of clusters that one column alone would choose."""
    values = CRITERIA[criterion] * choice.table[criterion]
    return int(choice.table["n_clusters"].iloc[int(values.argmax())])


def is_right(rows: pd.DataFrame, column: str = "chosen") -> pd.Series:
    """Within ± 1 of the number of classes; for data without clusters, exactly 1."""
    allowed = (rows["classes"] > 1).astype(int)
    return (rows[column] - rows["classes"]).abs() <= allowed


def table(rows: pd.DataFrame) -> str:
    """What was chosen on each set, one column per seed."""
    lines = []
    for name, own in rows.groupby("data", sort=False):
        chosen = ["no structure" if k == 1 else str(k) for k in own["chosen"]]
        marked = [
            text if right else f"**{text}**"
            for text, right in zip(chosen, is_right(own), strict=True)
        ]
        classes = own["classes"].iloc[0]
        lines.append(
            [
                str(name) if name in DRAWN else f"`{name}`",
                str(own["n_samples"].iloc[0]),
                "none" if classes == 1 else str(classes),
                *marked,
                f"{own['confidence'].mean():.2f}",
                f"{own['seconds'].mean():.1f}",
                f"{(own['alone_seconds'] / own['fit_seconds']).mean():.1f}",
                f"{(own['seconds'] / own['fit_seconds']).mean():.1f}",
            ]
        )
    seeds = [f"seed {seed}" for seed in sorted(rows["seed"].unique())]
    header = [
        "data",
        "samples",
        "classes",
        *seeds,
        "confidence",
        "seconds",
        "fits, k alone",
        "fits",
    ]
    return markdown(header, lines)


def findings(rows: pd.DataFrame) -> str:
    """Summary of the rows in sentences."""
    right = is_right(rows)
    is_target, empty = rows["data"].isin(TARGETS), rows["classes"] == 1
    per_seed = right[is_target].groupby(rows["seed"]).sum()
    ratio = rows["seconds"] / rows["fit_seconds"]
    alone = rows["alone_seconds"] / rows["fit_seconds"]
    has_more = ~is_target & ~empty
    counted, denied = rows["chosen"] > 1, ~empty & (rows["chosen"] == 1)
    slowest = rows.loc[ratio.idxmax()]

    def mean(which: pd.Series) -> float:
        return float(rows.loc[which, "confidence"].mean())

    return (
        f"On the ten target data sets ({', '.join(TARGETS)}) the number is within ± 1 for "
        f"{', '.join(map(str, per_seed))} of them (seeds {', '.join(map(str, per_seed.index))}; "
        f"target: 7). Data without clusters, recognized as such: {right[empty].sum()} of "
        f"{empty.sum()} runs. All others: within ± 1 in {right[has_more].sum()} of "
        f"{has_more.sum()} runs; {denied.sum()} runs on data sets with classes report no "
        "structure.\n\n"
        f"Mean confidence of a correct number: {mean(right & counted):.2f}; of a wrong one: "
        f'{mean(~right & counted):.2f}; of "no structure", correctly: '
        f"{mean(right & empty):.2f}; wrongly: {mean(denied):.2f}. Time relative to one fit: median "
        f"{ratio.median():.1f}, maximum {ratio.max():.1f} ({slowest['data']}; target: 10); without "
        f"the choice of scaling and λ, median {alone.median():.1f}, maximum {alone.max():.1f}."
    )


def criteria(rows: pd.DataFrame) -> str:
    """How often each column alone is within ± 1."""
    has_classes = rows["classes"] > 1
    is_target = rows["data"].isin(TARGETS)
    n_seeds = rows["seed"].nunique()
    lines = []
    for criterion, sign in CRITERIA.items():
        right = is_right(rows, f"by_{criterion}")
        end = "largest" if sign > 0 else "smallest"
        of_ten = f"{right[is_target].sum() / n_seeds:.1f} of {is_target.sum() / n_seeds:.0f}"
        lines.append([f"{end} {criterion}", of_ten, f"{right[has_classes].mean():.0%}"])
    return markdown(["criterion", "ten target data sets", "all data sets with clusters"], lines)


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true", help="only write the page, from the rows")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--page", type=Path, default=Path("docs/choosing.md"))
    options = parser.parse_args()
    out = options.out or Path("docs/results/choosing.csv")
    if options.again:
        rows = pd.read_csv(out)
    else:
        warnings.simplefilter("ignore")
        found = sources(quick=options.quick)
        collected = []
        with limit_threads(1):
            measure("compile", DRAWN["blobs 3"], 0)
            for name, source in found.items():
                for seed in SEEDS[:1] if options.quick else SEEDS:
                    collected.append(measure(name, source, seed))
                    print(collected[-1], flush=True)
        rows = pd.DataFrame(collected)
        if options.out or not options.quick:
            keep_rows(out, rows)
    if options.quick:
        print(table(rows))
        return
    write_section(options.page, "findings", findings(rows))
    write_section(options.page, "table", table(rows))
    write_section(options.page, "criteria", criteria(rows))


if __name__ == "__main__":
    main()
