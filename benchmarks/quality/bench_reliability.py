"""What OMVCDR says about its own result: structure, confidence and memberships.

Noise of twenty shapes, where there is nothing to find: the verdict should be "none" and the
confidence near zero. Then every set of the data folder with at most 12 000 samples, rows shuffled
by the seed: the verdict next to the agreement with the classes (NMI), and whether memberships are
calibrated. The expected calibration error is the mean difference, over ten bins of the probability
of the label, between that probability and the share of correct labels; a label is correct if its
cluster is matched with its class by the best one-to-one matching.

    python -m benchmarks.quality.bench_reliability [--quick] [--again]
        [--out docs/results/reliability.csv] [--page docs/reliability.md]

The full run also draws the figure and writes the tables into the page.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score, roc_auc_score

from benchmarks.page import keep_rows, markdown, write_section
from benchmarks.quality.bench_confidence import set_names
from manyview import OMVCDR
from manyview.datasets import load_benchmark
from manyview.metrics import right_samples
from manyview.persistence.atomic import atomic_path
from manyview.utils.threads import limit_threads

N_SEEDS = 2
N_BINS = 10
IMAGE = Path("images", "reliability.svg")  # relative to the page
FEW_NMI, CLEAR_NMI = 0.4, 0.8  # agreement above which "none", and from which on not "clear", errs


def normal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Independent normal features."""
    return rng.normal(size=(n, d))


def uniform(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Independent uniform features."""
    return rng.random((n, d))


def heavy(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Features with the tails of Student's t with three degrees of freedom."""
    return rng.standard_t(3, (n, d))


def correlated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Five factors and noise."""
    return rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + rng.normal(size=(n, d)) / 2


def counts(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Poisson counts whose rates differ between features and, by depth, between samples."""
    depth = rng.lognormal(0, 0.3, (n, 1))
    return rng.poisson(depth * rng.gamma(2, 2, d), (n, d)).astype(float)


KINDS: tuple[Callable[[np.random.Generator, int, int], np.ndarray], ...] = (
    *(normal, uniform, heavy, correlated, counts),
)
SHAPES = ((60, (20, 30), 3), (150, (500, 200, 40), 4), (800, (50, 30), 5), (5000, (30, 20), 8))


def noise() -> Iterator[tuple[str, list[np.ndarray], int]]:
    """Name, views and number of clusters of each shape."""
    for j, kind in enumerate(KINDS):
        for i, (n, widths, k) in enumerate(SHAPES):
            rng = np.random.default_rng((j, i))
            shape = " + ".join(map(str, widths))
            views = [kind(rng, n, d) for d in (*widths, *widths[: j % 2])]
            yield f"{kind.__name__}, {n} × {shape}", views, k


def row_of(model: OMVCDR) -> dict[str, Any]:
    """What a fit says about itself."""
    found = model.structure_
    return {
        "verdict": found.verdict,
        "excess": found.excess,
        "p": found.p_value,
        "stability": found.stability,
        "confidence": float(np.median(model.confidence_)),
    }


def bins_of(probability: np.ndarray, is_right: np.ndarray) -> pd.DataFrame:
    """Number of labels, mean probability and share of correct labels in each bin."""
    place = np.minimum((probability * N_BINS).astype(int), N_BINS - 1)
    table = pd.DataFrame({"bin": place, "probability": probability, "right": is_right})
    grouped = table.groupby("bin").agg(["size", "mean"])
    return pd.DataFrame(
        {
            "n": grouped["right"]["size"],
            "probability": grouped["probability"]["mean"],
            "right": grouped["right"]["mean"],
        }
    ).reset_index()


def calibration_error(bins: pd.DataFrame) -> float:
    """Expected calibration error."""
    return float(np.average((bins["probability"] - bins["right"]).abs(), weights=bins["n"]))


def run_set(name: str, seed: int) -> tuple[dict[str, Any], pd.DataFrame]:
    """Row and bins of one fit to a set with classes."""
    data, target = load_benchmark(name, return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(target))
    data, target = data[order], target[order]
    model = OMVCDR(len(np.unique(target)), random_state=seed).fit(data)
    is_right = right_samples(target, model.labels_)
    probability = model.predict_proba(data)[np.arange(len(target)), model.labels_]
    bins = bins_of(probability, is_right).assign(data=name, seed=seed)
    is_mixed = 0 < is_right.sum() < len(is_right)
    return {
        "data": name,
        "kind": "classes",
        "seed": seed,
        **row_of(model),
        "nmi": normalized_mutual_info_score(target, model.labels_),
        "acc": is_right.mean(),
        "auroc": roc_auc_score(is_right, model.confidence_) if is_mixed else np.nan,
        "error": calibration_error(bins),
    }, bins


def run_noise(*, quick: bool) -> Iterator[dict[str, Any]]:
    """One row per shape of noise."""
    for name, views, k in noise():
        if not quick or len(views[0]) <= 150:
            model = OMVCDR(k, random_state=0).fit(views)
            yield {"data": name, "kind": "noise", "seed": 0, **row_of(model)}


def findings(rows: pd.DataFrame) -> str:
    """The figures in sentences."""
    empty, sets = rows[rows["kind"] == "noise"], rows[rows["kind"] == "classes"]
    wrong = sets[(sets["verdict"] == "none") & (sets["nmi"] > FEW_NMI)]
    unclear = sets[(sets["verdict"] != "clear") & (sets["nmi"] >= CLEAR_NMI)]
    return (
        f"Noise of {len(empty)} shapes: none in {(empty['verdict'] == 'none').sum()}, weak in "
        f"{(empty['verdict'] == 'weak').sum()}, clear in {(empty['verdict'] == 'clear').sum()}; "
        f"largest median confidence {empty['confidence'].max():.2f}. {sets['data'].nunique()} data "
        f"sets, {sets['seed'].nunique()} seeds: {len(wrong)} fits with an NMI above {FEW_NMI} are "
        f"called none, {len(unclear)} with an NMI of at least {CLEAR_NMI} are not called clear. "
        f"Mean AUROC of confidence {sets['auroc'].mean():.3f}; mean expected calibration error of "
        f"the memberships {sets['error'].mean():.3f}, from {sets['error'].min():.3f} to "
        f"{sets['error'].max():.3f}."
    )


def tables(rows: pd.DataFrame) -> str:
    """One line per set, by NMI, and one per shape of noise; worst verdict of the seeds."""
    sets = rows[rows["kind"] == "classes"]
    figures = ["nmi", "excess", "stability", "confidence", "auroc", "error"]
    lines = []
    for name, of in sets.groupby("data"):
        verdicts = " / ".join(dict.fromkeys(of["verdict"]))
        means = of[figures].mean()
        lines.append((-means["nmi"], [f"`{name}`", verdicts, *(f"{x:.2f}" for x in means)]))
    titles = ["NMI", "excess", "stability", "confidence", "AUROC", "calibration error"]
    first = markdown(["data", "verdict", *titles], [line for _, line in sorted(lines)])
    empty = rows[rows["kind"] == "noise"]
    of_noise = [
        [
            *(row["data"], row["verdict"], f"{row['excess']:.2f}", f"{row['p']:.2g}"),
            *(f"{row['stability']:.2f}", f"{row['confidence']:.2f}"),
        ]
        for _, row in empty.iterrows()
    ]
    titles = ["noise", "verdict", "excess", "p", "stability", "median confidence"]
    return f"{first}\n\n{markdown(titles, of_noise)}"


def draw(bins: pd.DataFrame, path: Path) -> None:
    """Share of correct labels against their probability: sets thin, all labels thick."""
    figure = Figure(figsize=(5.5, 4.6), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="0.4", lw=1, ls=":", label="calibrated")
    for _, of in bins.groupby("data"):
        ax.plot(*_curve(of), color="0.75", lw=0.8)
    ax.plot(*_curve(bins), color="C0", lw=3, marker="o", label="all sets, each with equal weight")
    ax.plot([], [], color="0.75", lw=0.8, label="one data set")
    ax.set(xlabel="probability of the label", ylabel="share of correct labels")
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(loc="upper left", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "manyview"}), atomic_path(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    print(f"figure: {path}")


def _curve(bins: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Means over the bins, each set with equal weight."""
    share = bins["n"] / bins.groupby("data")["n"].transform("sum")
    weighted = bins.assign(share=share, x=bins["probability"] * share, y=bins["right"] * share)
    sums = weighted.groupby("bin")[["share", "x", "y"]].sum()
    return sums["x"] / sums["share"], sums["y"] / sums["share"]


def main() -> None:
    """Run, keep the rows, print the figures, draw them, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small noise, three sets; no page")
    parser.add_argument("--again", action="store_true", help="fill the page from the last rows")
    parser.add_argument("--out", type=Path, default=Path("docs/results/reliability.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/reliability.md"))
    arguments = parser.parse_args()
    binned = arguments.out.with_stem(f"{arguments.out.stem}_bins")
    if arguments.again:
        rows, bins = pd.read_csv(arguments.out), pd.read_csv(binned)
    else:
        with limit_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            empty = list(run_noise(quick=arguments.quick))
            runs = [
                run_set(name, seed)
                for name in set_names(quick=arguments.quick)
                for seed in range(1 if arguments.quick else N_SEEDS)
            ]
        rows = pd.DataFrame([*empty, *(row for row, _ in runs)]).round(4)
        bins = pd.concat([of for _, of in runs], ignore_index=True).round(4)
    print(findings(rows), tables(rows), sep="\n\n")
    if arguments.quick:
        return
    if not arguments.again:
        keep_rows(arguments.out, rows)
        keep_rows(binned, bins)
    draw(bins, arguments.page.parent / IMAGE)
    picture = f"![Share of correct labels against the probability of the label]({IMAGE.as_posix()})"
    source = (
        "`python -m benchmarks.quality.bench_reliability` measures and draws this; its results are "
        "in [reliability.csv](results/reliability.csv)."
    )
    text = "\n\n".join([findings(rows), picture, source, tables(rows)])
    write_section(arguments.page, "reliability", text)


if __name__ == "__main__":
    main()
