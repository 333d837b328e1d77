"""Whether the space weights of OMVCDR choose a good number of anchors for LMVSC and SMVSC.

The paper reads H_pv as anchors and Z_p as anchor graph, and hopes that its weights can choose the
number of anchors without labels. Two rules are tried: the dimension of the space of largest weight
(*largest*), and the mean dimension under the weights (*mean*). They stand beside the default of the
method (50 anchors a view for LMVSC, k for SMVSC) and beside *any*, the mean score of the dimensions
of all spaces: what a choice by chance among them gives. Rows are shuffled by the seed. Scores are
means over seeds, compared over the data sets by Wilcoxon's signed-rank test, with Holm's correction
for the six pairs of one method and metric.

    python benchmarks/bench_anchors.py [--quick] [--out benchmarks/results/bench_anchors.csv]
                                       [--page docs/theory.md]

The full run also writes its tables into the page.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from manyview import OMVCDR
from manyview.baselines import LMVSC, SMVSC
from manyview.benchmark.statistics import wilcoxon_holm
from manyview.datasets import load_benchmark
from manyview.datasets.benchmarks import benchmark_files
from manyview.metrics import evaluate
from manyview.threads import limit_threads
from page import keep_rows, markdown, write_section

METHODS = {"lmvsc": LMVSC, "smvsc": SMVSC}
CHOICES = ("largest", "mean")
RULES = (*CHOICES, "default", "any")
METRICS = ("acc", "nmi")
MAX_SAMPLES, MAX_VALUES = 3000, 6_000_000
N_SEEDS = 2
QUICK_SETS = ("yaleA_3v", "msrcv1_5v", "synthetic3d")
SIGNIFICANT = 0.05


def choose_anchors(model: OMVCDR) -> dict[str, int]:
    """Number of anchors by each rule, from a fitted model."""
    dims = np.array([len(anchors[0]) for anchors in model.anchors_])  # (m,): d_p
    weights = model.space_weights_
    return {"largest": int(dims[np.argmax(weights)]), "mean": round(float(weights @ dims))}


def scores_of(
    cls: type, data: object, target: object, k: int, numbers: Mapping[str, int | None], seed: int
) -> Iterator[dict[str, object]]:
    """Scores at each number of anchors; None is the default of the method."""
    known: dict[int | None, dict[str, float]] = {}
    for rule, number in numbers.items():
        if number not in known:
            chosen = {} if number is None else {"n_anchors": number}
            labels = cls(k, random_state=seed, **chosen).fit_predict(data)
            scores = evaluate(target, labels)
            known[number] = {metric: scores[metric] for metric in METRICS}
        yield {"rule": rule, "n_anchors": number, **known[number]}


def run(name: str) -> Iterator[dict[str, object]]:
    """Rows of one data set."""
    data, target = load_benchmark(name, return_X_y=True)
    k = len(np.unique(target))
    for seed in range(N_SEEDS):
        order = np.random.default_rng(seed).permutation(len(target))
        model = OMVCDR(k, random_state=seed).fit(data[order])
        spaces = {f"space {p}": len(anchors[0]) for p, anchors in enumerate(model.anchors_)}
        numbers = {"default": None, **choose_anchors(model), **spaces}
        trait = {"n_clusters": k, "weights_fall": bool((np.diff(model.space_weights_) < 0).all())}
        for method, cls in METHODS.items():
            for row in scores_of(cls, data[order], target[order], k, numbers, seed):
                yield {"data": name, "method": method, "seed": seed, **trait, **row}


def mean_scores(rows: pd.DataFrame, method: str, metric: str) -> pd.DataFrame:
    """Data sets × rules, means over seeds."""
    own = rows[rows["method"] == method]
    is_space = own["rule"].str.startswith("space")
    named = own.assign(rule=own["rule"].where(~is_space, "any"))
    scores = named.pivot_table(index="data", columns="rule", values=metric, aggfunc="mean")
    return scores[list(RULES)]


def verdict(difference: float, p: float) -> str:
    """What a test says of a choice."""
    if p >= SIGNIFICANT:
        return "no difference shown"
    return "helps" if difference > 0 else "hurts"


def comparisons(rows: pd.DataFrame) -> str:
    """Each rule against the default and against chance, over the data sets."""
    lines = []
    for method in METHODS:
        for metric in METRICS:
            scores = mean_scores(rows, method, metric)
            for pair in wilcoxon_holm(scores).itertuples():
                if pair.first not in CHOICES or pair.second in CHOICES:
                    continue
                gap = scores[pair.first] - scores[pair.second]
                lines.append(
                    [
                        f"`{method}`",
                        metric.upper(),
                        f"{pair.first} against {pair.second}",
                        f"{pair.difference:+.3f}",
                        f"{(gap > 0).sum()} / {(gap == 0).sum()} / {(gap < 0).sum()}",
                        f"{pair.p:.3f}",
                        f"{pair.p_holm:.3f}",
                        verdict(pair.difference, pair.p_holm),
                    ]
                )
    header = ["method", "metric", "choice", "mean gain", "better / same / worse", "p", "p (Holm)"]
    return markdown([*header, "verdict"], lines)


def accuracies(rows: pd.DataFrame) -> str:
    """ACC of each rule on each set, and the numbers of anchors that were chosen."""
    tables = {method: mean_scores(rows, method, "acc") for method in METHODS}
    chosen = rows.pivot_table(index="data", columns="rule", values="n_anchors", aggfunc="mean")
    lines = []
    for name, numbers in chosen.iterrows():
        counts = [f"{numbers[rule]:.0f}" for rule in CHOICES]
        k = rows.loc[rows["data"] == name, "n_clusters"].iloc[0]
        scores = [f"{tables[m].loc[name, rule]:.3f}" for m in METHODS for rule in RULES]
        lines.append([f"`{name}`", str(k), *counts, *scores])
    header = [f"{method} {rule}" for method in METHODS for rule in RULES]
    return markdown(["set", "k", "anchors: largest", "anchors: mean", *header], lines)


def findings(rows: pd.DataFrame) -> str:
    """How the weights chose."""
    runs = rows.drop_duplicates(["data", "seed"])
    return (
        f"{runs['data'].nunique()} sets of at most {MAX_SAMPLES} samples and "
        f"{MAX_VALUES / 1e6:g} million values, {runs['seed'].nunique()} seeds. The weights fell from each space to the next larger one "
        f"in {runs['weights_fall'].sum()} of {len(runs)} fits."
    )


def set_names(*, quick: bool) -> list[str]:
    """Sets that are small enough, by what the folder holds."""
    if quick:
        return [name for name in benchmark_files() if name in QUICK_SETS]
    shapes = {name: load_benchmark(name, return_X_y=True)[0].shape for name in benchmark_files()}
    return [name for name, (n, d) in shapes.items() if n <= MAX_SAMPLES and n * d <= MAX_VALUES]


def main() -> None:
    """Run, keep the rows, print the comparisons, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets; no page")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_anchors.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/theory.md"))
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in set_names(quick=arguments.quick):
            rows += run(name)
            print(f"{name}: done", flush=True)
    if not rows:
        print("no data set; set MANYVIEW_DATA to the folder of the benchmark files")
        return
    table = pd.DataFrame(rows)
    text = "\n\n".join([findings(table), comparisons(table), accuracies(table)])
    print(text)
    keep_rows(arguments.out, table)
    if not arguments.quick:
        write_section(arguments.page, "anchors", text)


if __name__ == "__main__":
    main()
