"""Accuracy on rows in file order and on shuffled rows, for OMVCDR and the published program.

The public files are sorted by class, and the published program sweeps in file order: a method whose
result depends on the order can learn the classes from it. Ours runs with its defaults and ten seeds
in both orders; the published algorithm, which has no seed, once in file order and on ten shuffles.

    python -m benchmarks.paper.bench_order [--quick] [--out benchmarks/results/bench_order.csv]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from manyview import OMVCDR
from manyview.baselines import PublishedOMVCDR
from manyview.datasets import load_benchmark
from manyview.metrics import clustering_accuracy
from manyview.persistence import atomic as durable

SETS = ("handwritten_2v", "bdgp", "hdigit")


def accuracies(name: str, n_repeats: int) -> list[dict[str, object]]:
    """Rows of one data set."""
    data, target = load_benchmark(name, return_X_y=True)
    k = len(np.unique(target))
    rows: list[dict[str, object]] = []

    def note(method: str, order: str, seed: int, labels: object, truth: object) -> None:
        score = clustering_accuracy(truth, labels)
        rows.append({"data": name, "method": method, "rows": order, "seed": seed, "acc": score})

    note("published", "file", 0, PublishedOMVCDR(k, lam=8).fit_predict(data), target)
    for seed in range(n_repeats):
        shuffle = np.random.default_rng(seed).permutation(len(target))
        ours, published = OMVCDR(k, random_state=seed), PublishedOMVCDR(k, lam=8)
        note("omvcdr", "file", seed, ours.fit_predict(data), target)
        note("omvcdr", "shuffled", seed, ours.fit_predict(data[shuffle]), target[shuffle])
        note("published", "shuffled", seed, published.fit_predict(data[shuffle]), target[shuffle])
    return rows


def main() -> None:
    """Run, print the table, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small set, three repeats")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_order.csv"))
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in SETS[:1] if arguments.quick else SETS:
        rows += accuracies(name, 3 if arguments.quick else 10)
        table = pd.DataFrame(rows).query("data == @name").groupby(["method", "rows"])["acc"]
        for (method, order), group in table:
            spread = f"{group.mean():.4f} ± {group.std(ddof=0):.4f}"
            print(f"{name}, {method}, rows in {order} order: {spread}", flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    durable.write_text(arguments.out, pd.DataFrame(rows).to_csv(index=False))
    print(f"rows: {arguments.out}")


if __name__ == "__main__":
    main()
