"""How well `confidence_` and `stability_` of OMVCDR separate correct labels from wrong ones.

OMVCDR at its defaults, given only the number of classes, on every set of the data folder with at
most 12 000 samples; rows are shuffled by the seed. A label is correct if its cluster is matched
with its class by the best one-to-one matching. Three questions: does confidence rank correct labels
above wrong ones (AUROC; 0.5 is chance), how accurate are the most confident samples, and are sets
with a high stability those with a high accuracy (Spearman's rank correlation)?

    python -m benchmarks.quality.bench_confidence [--quick] [--again]
        [--out docs/results/confidence.csv] [--page docs/quality.md]

The full run also draws the figure and writes the tables into the page.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from benchmarks.page import keep_rows, markdown, write_section
from manyview import OMVCDR, MultiViewData
from manyview.datasets import load_benchmark
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.metrics import right_samples, selective_accuracy
from manyview.persistence.atomic import atomic_path
from manyview.utils.threads import limit_threads

SHARES = tuple(tenth / 10 for tenth in range(1, 11))
MAX_SAMPLES = 12_000
N_SEEDS = 2
QUICK_SETS = ("yaleA_3v", "msrcv1_5v", "synthetic3d")
GOAL, WEAK = 0.7, 0.6  # target of the mean AUROC; AUROC below which a set is named
STEADY = 0.9  # stability above which the starts are said to agree
IMAGE = Path("images", "confidence.svg")  # relative to the page
ROOM = (0.16, 0.03)  # of a name on the left of its point, in stability and in ACC
PICTURE = (
    f"![Accuracy against the share of samples kept; stability against ACC]({IMAGE.as_posix()})\n\n"
    "`python -m benchmarks.quality.bench_confidence` measures and draws this; its results are in "
    "[confidence.csv](results/confidence.csv). `manyview.inspection.plots.confidence_curve` draws "
    "the left curve for your own data."
)


def measure(target: np.ndarray, model: OMVCDR) -> pd.DataFrame:
    """Rows of one fit, one per share of samples kept."""
    is_right = right_samples(target, model.labels_)  # (n,)
    is_smoothed = 0 < is_right.sum() < len(is_right)
    curve = selective_accuracy(target, model.labels_, model.confidence_, SHARES)
    auroc = roc_auc_score(is_right, model.confidence_) if is_smoothed else np.nan
    row = {"n_samples": len(target), "auroc": auroc, "stability": model.stability_}
    return pd.DataFrame({**row, "share": SHARES, "acc": curve})


def run(name: str, n_seeds: int) -> Iterator[pd.DataFrame]:
    """Rows of one data set."""
    data, target = load_benchmark(name, return_X_y=True)
    k = len(np.unique(target))
    for seed in range(n_seeds):
        order = np.random.default_rng(seed).permutation(len(target))
        model = OMVCDR(k, random_state=seed).fit(data[order])
        rows = measure(target[order], model)
        rows.insert(0, "data", name)
        rows.insert(1, "seed", seed)
        yield rows


def set_names(*, quick: bool) -> list[str]:
    """Sets of the data folder that have classes and are small enough."""
    if quick:
        return [name for name in benchmark_files() if name in QUICK_SETS]
    return [name for name in benchmark_files() if is_asked(*load_benchmark(name, return_X_y=True))]


def is_asked(data: MultiViewData, target: np.ndarray | None) -> bool:
    """Whether a set has classes and is small enough."""
    return target is not None and data.n_samples <= MAX_SAMPLES


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy, sets × shares kept, means over seeds."""
    return rows.pivot_table(index="data", columns="share", values="acc")


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Figures of each set, means over seeds, the best AUROC first."""
    kept = curves(rows)
    means = rows.groupby("data")[["auroc", "stability"]].mean()
    return means.assign(acc=kept[1.0], half=kept[0.5]).sort_values("auroc", ascending=False)


def correlation(figures: pd.DataFrame, column: str) -> tuple[float, float]:
    """Spearman's rank correlation of a column and ACC over the sets, and its p."""
    found = spearmanr(figures[column], figures["acc"], nan_policy="omit")
    return float(found.statistic), float(found.pvalue)


def named(names: pd.Index) -> str:
    """Names in a sentence."""
    return ", ".join(f"`{name}`" for name in names) or "none"


def findings(rows: pd.DataFrame) -> str:
    """Summary of confidence in sentences."""
    figures = summary(rows)
    auroc, acc, half = figures[["auroc", "acc", "half"]].mean()
    lowest = figures["auroc"].idxmin()
    return (
        f"{len(figures)} data sets of at most {MAX_SAMPLES} samples, {rows['seed'].nunique()} "
        f"seeds. Mean AUROC of confidence, correct versus wrong labels: **{auroc:.3f}** (target: "
        f"{GOAL}, {'reached' if auroc >= GOAL else 'missed'}). Data sets that reach {GOAL} by "
        f"themselves: {(figures['auroc'] >= GOAL).sum()}. Data sets below {WEAK}, where confidence "
        f"is uninformative: {named(figures.index[figures['auroc'] < WEAK])}; the lowest is "
        f"{figures.loc[lowest, 'auroc']:.3f}, on `{lowest}`. AUROC correlates with ACC: rank "
        f"correlation {correlation(figures, 'auroc')[0]:.2f}. The most confident half of the "
        f"samples has a mean accuracy of {half:.3f}, all samples {acc:.3f}. Data sets where that "
        f"half is less accurate than the whole: "
        f"{named(figures.index[figures['half'] < figures['acc']])}."
    )


def findings_of_stability(figures: pd.DataFrame) -> str:
    """Summary of stability in sentences."""
    rho, p = correlation(figures, "stability")
    steady = figures.loc[figures["stability"] >= STEADY, "acc"]
    span = f", with an ACC of {steady.min():.3f} to {steady.max():.3f}" if len(steady) else ""
    return (
        f"Rank correlation of stability and ACC over the data sets: {rho:.2f} (Spearman, "
        f"p = {p:.2g}). Data sets with a stability of at least {STEADY}: {len(steady)}{span}. "
        "Stability measures that the starts agree with one another, not with the classes."
    )


def table(figures: pd.DataFrame) -> str:
    """The figures, one line per set."""
    columns = {"acc": "ACC", "auroc": "AUROC", "half": "ACC, most confident half"}
    columns["stability"] = "stability"
    lines = [
        [name if name == "mean" else f"`{name}`", *(f"{line[column]:.3f}" for column in columns)]
        for name, line in [*figures.iterrows(), ("mean", figures.mean())]
    ]
    return markdown(["data", *columns.values()], lines)


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Left: accuracy against the share kept. Right: stability against ACC."""
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_curves(left, curves(rows))
    draw_stability(right, summary(rows))
    path.parent.mkdir(parents=True, exist_ok=True)
    # no date and no random names, so that equal rows give an equal file
    with rc_context({"svg.hashsalt": "manyview"}), atomic_path(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    print(f"figure: {path}")


def draw_curves(ax: Any, kept: pd.DataFrame) -> None:
    """A thin line per set, a thick line for the mean."""
    percent = 100 * kept.columns.to_numpy(dtype=float)
    ax.plot(percent, kept.T, color="0.7", lw=0.8)
    ax.plot(percent, kept.mean(), color="C0", lw=3, label=f"mean of {len(kept)} data sets")
    ax.plot([], [], color="0.7", lw=0.8, label="one data set")
    ax.set(xlabel="most confident samples kept (%)", ylabel="accuracy among them", ylim=(0, 1.02))
    ax.set_title("Are confident labels correct?", fontsize=11)
    ax.legend(loc="lower right", frameon=False)


def draw_stability(ax: Any, figures: pd.DataFrame) -> None:
    """One point per set, named where there is room; the table has all names."""
    places = figures[["stability", "acc"]]
    ax.scatter(*places.T.to_numpy(), color="C0", s=18, alpha=0.7)
    for name, place in places.iterrows():
        ahead, above = (place - places).T.to_numpy()  # (n_sets,), (n_sets,)
        is_in_the_way = (ahead >= 0) & (ahead < ROOM[0]) & (np.abs(above) < ROOM[1])
        if is_in_the_way.sum() == 1:  # itself
            style = {"textcoords": "offset points", "ha": "right", "va": "center", "fontsize": 8}
            ax.annotate(name, place, (-5, 0), **style)
    rho, _ = correlation(figures, "stability")
    ax.set(xlabel="stability (agreement of the starts)", ylabel="accuracy of all samples")
    ax.set(xlim=(places["stability"].min() - ROOM[0], 1.02), ylim=(0, 1.02))
    ax.set_title(f"Are stable solutions correct? Rank correlation {rho:.2f}", fontsize=11)


def main() -> None:
    """Run, keep the rows, print the figures, draw them, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets, one seed; no page")
    parser.add_argument("--again", action="store_true", help="fill the page from the last rows")
    parser.add_argument("--out", type=Path, default=Path("docs/results/confidence.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/quality.md"))
    arguments = parser.parse_args()
    if arguments.again:
        rows = pd.read_csv(arguments.out)
    else:
        n_seeds = 1 if arguments.quick else N_SEEDS
        with limit_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fits = [fit for name in set_names(quick=arguments.quick) for fit in run(name, n_seeds)]
        if not fits:
            print("no data set; set MANYVIEW_DATA to the folder of the benchmark files")
            return
        rows = pd.concat(fits, ignore_index=True).round(6)
    figures = summary(rows)
    text = "\n\n".join([findings(rows), PICTURE, findings_of_stability(figures), table(figures)])
    print(text)
    if arguments.quick:
        return
    if not arguments.again:
        keep_rows(arguments.out, rows)
    draw(rows, arguments.page.parent / IMAGE)
    write_section(arguments.page, "confidence", text)


if __name__ == "__main__":
    main()
