"""How well `score_samples` of OMVCDR tells strangers: a class that was left out of the fit.

OMVCDR at its defaults, with one cluster fewer than classes, on at most 2000 samples of seven sets;
each class is left out in turn, and a fifth of the other samples. AUROC of strangers versus those
held-out samples; beside it LocalOutlierFactor(novelty=True) at its defaults on the leading 50
principal components of the joined, standardized views. Then the same for random samples: each
feature uniform between its smallest and largest value, and Gaussian with its mean and deviation.
Last, the share of each that is above `outlier_threshold_`; of held-out samples, these are alarms.

    python -m benchmarks.quality.bench_strangers [--quick] [--again]
        [--out docs/results/strangers.csv] [--page docs/quality.md]

The full run also writes the table into the page.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.page import keep_rows, markdown, write_section
from manyview import OMVCDR
from manyview.datasets import load_benchmark
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.utils.threads import limit_threads

SETS = ("handwritten_2v", "handwritten_6v", "mnist_usps5k", "bbcsport", "ngs")
SETS = (*SETS, "tcga_breast", "brca_jive")
QUICK_SETS = ("tcga_breast", "brca_jive")
MOST_SAMPLES = 2000
N_RANDOM = 100
N_COMPONENTS = 50
GOAL = 0.85
COLUMNS = {
    "auroc": "AUROC",
    "lof": "LOF",
    "uniform": "uniform",
    "gaussian": "Gaussian",
    "alarms": "alarms",
    "flagged": "strangers flagged",
    "flagged_uniform": "uniform flagged",
}
NOTE = (
    "`python -m benchmarks.quality.bench_strangers` measures this; its results are in "
    "[strangers.csv](results/strangers.csv)."
)


def run(name: str) -> Iterator[dict[str, object]]:
    """Rows of one data set, one per class."""
    data, target = load_benchmark(name, return_X_y=True)
    rng = np.random.default_rng(0)
    kept = np.sort(rng.permutation(len(target))[:MOST_SAMPLES])
    views = [
        np.asarray(view.toarray() if hasattr(view, "toarray") else view) for view in data.views
    ]
    views, target = [view[kept] for view in views], target[kept]
    for c in np.unique(target):
        normal = rng.permutation(np.flatnonzero(target != c))
        held, fitted = normal[: len(normal) // 5], normal[len(normal) // 5 :]
        seen = [view[fitted] for view in views]
        new = {
            "held": [view[held] for view in views],
            "strangers": [view[target == c] for view in views],
            "uniform": [rng.uniform(*_range(view), (N_RANDOM, view.shape[1])) for view in seen],
            "gaussian": [_gaussian(view, rng) for view in seen],
        }
        yield {"data": name, "left_out": int(c), **measure(seen, new, len(np.unique(target)) - 1)}


def _range(view: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return view.min(axis=0), view.max(axis=0)


def _gaussian(view: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Independent features with the moments of the view; not below zero, if none of it is."""
    noise = rng.normal(view.mean(axis=0), view.std(axis=0), (N_RANDOM, view.shape[1]))
    return np.maximum(noise, 0) if view.min() >= 0 else noise


def measure(
    seen: list[np.ndarray], new: dict[str, list[np.ndarray]], n_clusters: int
) -> dict[str, float]:
    """AUROC of both scores, and shares above the threshold."""
    model = OMVCDR(n_clusters, random_state=0).fit(seen)
    scores = {name: -model.score_samples(views) for name, views in new.items()}
    joined = np.hstack(seen)
    detector = make_pipeline(
        StandardScaler(),
        PCA(min(N_COMPONENTS, *joined.shape), random_state=0),
        LocalOutlierFactor(novelty=True),
    ).fit(joined)
    rival = {name: -detector.score_samples(np.hstack(new[name])) for name in ("held", "strangers")}
    above = {name: float(np.mean(s > model.outlier_threshold_)) for name, s in scores.items()}
    return {
        "auroc": auroc(scores["held"], scores["strangers"]),
        "lof": auroc(rival["held"], rival["strangers"]),
        "uniform": auroc(scores["held"], scores["uniform"]),
        "gaussian": auroc(scores["held"], scores["gaussian"]),
        "alarms": above["held"],
        "flagged": above["strangers"],
        "flagged_uniform": above["uniform"],
    }


def auroc(normal: np.ndarray, strange: np.ndarray) -> float:
    """Chance that a strange sample has the higher score."""
    is_strange = np.repeat([0, 1], [len(normal), len(strange)])
    return float(roc_auc_score(is_strange, np.concatenate([normal, strange])))


def findings(rows: pd.DataFrame) -> str:
    """Summary in sentences."""
    mean, least = rows[list(COLUMNS)].mean(), rows[["uniform", "gaussian"]].min()
    return (
        f"{len(rows)} classes of {rows['data'].nunique()} data sets, each left out of a fit. Mean "
        f"AUROC of `score_samples`, strangers versus held-out samples: **{mean['auroc']:.3f}** "
        f"(target: {GOAL}, {'reached' if mean['auroc'] >= GOAL else 'missed'}); of "
        f"LocalOutlierFactor on {N_COMPONENTS} principal components of the joined views: "
        f"{mean['lof']:.3f}. Uniform random samples: {mean['uniform']:.4f} (at least "
        f"{least['uniform']:.3f}), Gaussian ones: {mean['gaussian']:.4f} (at least "
        f"{least['gaussian']:.3f}). Above `outlier_threshold_` are {mean['alarms']:.1%} of the "
        f"held-out samples, {mean['flagged']:.0%} of the strangers and "
        f"{mean['flagged_uniform']:.1%} of the uniform samples: the threshold marks samples from "
        "nowhere, and by no means every sample of a new class."
    )


def table(rows: pd.DataFrame) -> str:
    """Means of each set."""
    means = rows.groupby("data", sort=False)[list(COLUMNS)].mean()
    lines = [
        [f"`{name}`", *(f"{line[column]:.3f}" for column in COLUMNS)]
        for name, line in means.iterrows()
    ]
    return markdown(["data", *COLUMNS.values()], lines)


def main() -> None:
    """Run, keep the rows, print the figures, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small sets; no page")
    parser.add_argument("--again", action="store_true", help="fill the page from the last rows")
    parser.add_argument("--out", type=Path, default=Path("docs/results/strangers.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/quality.md"))
    arguments = parser.parse_args()
    if arguments.again:
        rows = pd.read_csv(arguments.out)
    else:
        names = QUICK_SETS if arguments.quick else SETS
        names = [name for name in names if name in benchmark_files()]
        with limit_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = [row for name in names for row in run(name)]
        if not found:
            print("no data set; set MANYVIEW_DATA to the folder of the benchmark files")
            return
        rows = pd.DataFrame(found).round(6)
    text = "\n\n".join([findings(rows), NOTE, table(rows)])
    print(text)
    if arguments.quick:
        return
    if not arguments.again:
        keep_rows(arguments.out, rows)
    write_section(arguments.page, "strangers", text)


if __name__ == "__main__":
    main()
