"""Number of anchors of LMVSC and SMVSC chosen by the space weights of OMVCDR.

The paper interprets H_pv as anchors and Z_p as anchor graph, and suggests that its weights might
choose the number of anchors without labels. Two rules are tried: the dimension of the space of
largest weight (*largest*), and the mean dimension under the weights (*mean*). They are compared
with the default of the method (50 anchors per view for LMVSC, k for SMVSC) and with *any*, the mean
score over the dimensions of all spaces, that is the expected score of a random choice. Rows are
shuffled by the seed. Scores are means over seeds, compared over the data sets by Wilcoxon's
signed-rank test, with Holm's correction for the six pairs of one method and metric.

    python -m benchmarks.paper.bench_anchors [--quick] [--again]
        [--out benchmarks/results/bench_anchors.csv] [--page docs/theory.md]

The full run also writes its tables into the page, and those that a claim is judged by into the
package.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from benchmarks.page import PACKAGED, keep_rows, markdown, write_section
from manyview import OMVCDR
from manyview.baselines import LMVSC, SMVSC
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.metrics import evaluate
from manyview.study.statistics import wilcoxon_holm
from manyview.utils.threads import limit_threads

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
        for method, cls in METHODS.items():
            for row in scores_of(cls, data[order], target[order], k, numbers, seed):
                yield {"data": name, "n_clusters": k, "method": method, "seed": seed, **row}


def mean_scores(rows: pd.DataFrame, method: str, metric: str) -> pd.DataFrame:
    """Data sets × rules, means over seeds."""
    own = rows[rows["method"] == method]
    is_space = own["rule"].str.startswith("space")
    named = own.assign(rule=own["rule"].where(~is_space, "any"))
    scores = named.pivot_table(index="data", columns="rule", values=metric, aggfunc="mean")
    return scores[list(RULES)]


def verdict(difference: float, p: float) -> str:
    """Outcome of a test in words."""
    if p >= SIGNIFICANT:
        return "not significant"
    return "helps" if difference > 0 else "hurts"


def compare(rows: pd.DataFrame) -> pd.DataFrame:
    """Each choice against the default and against chance, over the data sets."""
    tables = []
    for method in METHODS:
        for metric in METRICS:
            scores = mean_scores(rows, method, metric)
            pairs = wilcoxon_holm(scores)
            asked = pairs[pairs["first"].isin(CHOICES) & ~pairs["second"].isin(CHOICES)]
            gaps = [scores[one] - scores[two] for one, two in asked[["first", "second"]].to_numpy()]
            tables.append(
                asked.assign(
                    method=method,
                    metric=metric,
                    counts=[f"{(g > 0).sum()} / {(g == 0).sum()} / {(g < 0).sum()}" for g in gaps],
                    verdict=list(map(verdict, asked["difference"], asked["p_holm"])),
                )
            )
    return pd.concat(tables, ignore_index=True)


def comparison_table(pairs: pd.DataFrame) -> str:
    """The tests, one line each."""
    lines = [
        [
            f"`{pair.method}`",
            pair.metric.upper(),
            f"{pair.first} vs. {pair.second}",
            f"{pair.difference:+.3f}",
            pair.counts,
            f"{pair.p:.3f}",
            f"{pair.p_holm:.3f}",
            pair.verdict,
        ]
        for pair in pairs.itertuples()
    ]
    header = ["method", "metric", "choice", "mean gain", "better / same / worse", "p", "p (Holm)"]
    return markdown([*header, "outcome"], lines)


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
    return markdown(["data", "k", "anchors: largest", "anchors: mean", *header], lines)


def smallest(rows: pd.DataFrame) -> tuple[int, int]:
    """In how many fits the smallest space had the largest weight, and all fits."""
    fits = rows.drop_duplicates(["data", "seed", "rule"])
    chosen = fits.pivot_table(index=["data", "seed"], columns="rule", values="n_anchors")
    return int((chosen["largest"] == chosen["space 0"]).sum()), len(chosen)


def keep_tests(rows: pd.DataFrame, pairs: pd.DataFrame) -> None:
    """Write the tests for the claims."""
    n_smallest, n_fits = smallest(rows)
    tests = pairs.rename(columns={"difference": "gain"})
    tests = tests[["method", "metric", "first", "second", "gain", "p", "p_holm"]].assign(
        n_sets=rows["data"].nunique(), n_smallest=n_smallest, n_fits=n_fits
    )
    keep_rows(PACKAGED / "anchors.csv", tests)


def findings(rows: pd.DataFrame, pairs: pd.DataFrame) -> str:
    """How the weights chose, and whether that helped."""
    n_smallest, n_fits = smallest(rows)
    verdicts = [f"{int(count)} × {text}" for text, count in pairs["verdict"].value_counts().items()]
    return (
        f"{rows['data'].nunique()} data sets of at most {MAX_SAMPLES} samples and "
        f"{MAX_VALUES / 1e6:g} million values, {rows['seed'].nunique()} seeds. The smallest space "
        f"had the largest weight in {n_smallest} of {n_fits} fits. Outcomes of the "
        f"{len(pairs)} tests: {', '.join(verdicts)}."
    )


def weights_on_noise() -> str:
    """Weights on data without clusters, with the spaces in both orders."""
    k = 6
    noise = make_multiview_blobs(600, (60, 60), n_clusters=k, separation=0, random_state=0).data
    texts = []
    for dims in ([k, 2 * k, 3 * k], [3 * k, 2 * k, k]):
        model = OMVCDR(k, latent_dims=dims, random_state=0).fit(noise)
        weights = ", ".join(f"{weight:.2f}" for weight in model.space_weights_)
        texts.append(f"{weights} for dimensions {', '.join(map(str, dims))}")
    return f"On noise without clusters the weights are {' and '.join(texts)}."


def set_names(*, quick: bool) -> list[str]:
    """Sets of the data folder that are small enough."""
    if quick:
        return [name for name in benchmark_files() if name in QUICK_SETS]
    shapes = {name: load_benchmark(name, return_X_y=True)[0].shape for name in benchmark_files()}
    return [name for name, (n, d) in shapes.items() if n <= MAX_SAMPLES and n * d <= MAX_VALUES]


def main() -> None:
    """Run, keep the rows, print the comparisons, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets; no page")
    parser.add_argument("--again", action="store_true", help="compare the rows of the last run")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_anchors.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/theory.md"))
    arguments = parser.parse_args()
    if arguments.again:
        table = pd.read_csv(arguments.out)
    else:
        names = set_names(quick=arguments.quick)
        with limit_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            table = pd.DataFrame(row for name in names for row in run(name))
        if table.empty:
            print("no data set; set MANYVIEW_DATA to the folder of the benchmark files")
            return
        keep_rows(arguments.out, table)
    pairs = compare(table)
    found = f"{findings(table, pairs)} {weights_on_noise()}"
    text = "\n\n".join([found, comparison_table(pairs), accuracies(table)])
    print(text)
    if not arguments.quick:
        write_section(arguments.page, "anchors", text)
        keep_tests(table, pairs)


if __name__ == "__main__":
    main()
