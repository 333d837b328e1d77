"""Accuracy of the scaling and λ that `choose` recommends, compared with the defaults.

On at most 1000 rows of each set of the data folder, given the number of classes, `choose` tries its
settings; each is then fitted in full, and its accuracy measured by the labels, which `choose` never
sees. Its rule is compared with others: the most stable fit under resampling (adjusted Rand index
with a fit of 70 % of the rows), the highest agreement of starts, and each setting for all sets.

    python -m benchmarks.quality.bench_settings [--quick] [--again]
        [--out docs/results/settings.csv] [--page docs/choosing.md]

The full run also writes the tables into the page; `--again` only does that, from the rows.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from benchmarks.page import keep_rows, markdown, write_section
from benchmarks.quality.bench_choose import classes_of
from manyview import OMVCDR, MultiViewData
from manyview.data.scaling import scale_name
from manyview.datasets import load_benchmark
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.metrics import clustering_accuracy
from manyview.model_selection import choose
from manyview.utils.threads import limit_threads

QUICK = ("synthetic3d", "tcga_breast")
SEED = 10
MOST_ROWS = 1000
SHARE = 0.7  # of the rows, in a resample
RULES = {
    "largest view modularity": "view_modularity",
    "most stable under resampling": "stability",
    "highest agreement of starts": "starts",
}


def measure(name: str) -> list[dict[str, Any]]:
    """One row per setting."""
    X, target = load_benchmark(name, return_X_y=True)
    data = MultiViewData.of(X)
    rng = np.random.default_rng(SEED)
    order = rng.permutation(data.n_samples)[:MOST_ROWS]
    data, target = data[order], np.asarray(target)[order]
    k = np.unique(target).size
    n = data.n_samples
    some = rng.choice(n, round(SHARE * n), replace=False)
    choice = choose(data, [k], random_state=SEED)
    taken = (scale_name(choice.scale), choice.lam)
    rows = []
    for row in choice.settings.to_dict("records"):
        scale = None if row["scale"] == "none" else row["scale"]
        model = OMVCDR(k, scale=scale, lam=row["lam"], random_state=SEED)
        labels = model.fit(data).labels_
        starts = model.stability_
        again = model.fit(data[some]).labels_
        rows.append(
            {"data": name, "n_samples": n, **row, "is_taken": (row["scale"], row["lam"]) == taken}
            | {"stability": adjusted_rand_score(labels[some], again), "starts": starts}
            | {"accuracy": clustering_accuracy(target, labels)}
        )
    return rows


def changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy minus that of the defaults, sets × settings; defaults first."""
    named = rows.assign(setting=rows["scale"] + ", " + rows["lam"].map("{:g}".format))
    names = named["setting"].unique()
    accuracy = named.pivot(index="data", columns="setting", values="accuracy")[names]
    return accuracy.sub(accuracy.iloc[:, 0], axis=0)


def changes_by(rows: pd.DataFrame, column: str) -> pd.Series:
    """The change on each set if the setting with the largest value of a column is taken."""
    sets = rows.groupby("data", sort=False)
    best = rows.loc[[part[column].astype(float).idxmax() for _, part in sets]]
    return best.set_index("data")["accuracy"] - sets["accuracy"].first()


def table(rows: pd.DataFrame) -> str:
    """The recommendation for each set, and its accuracy."""
    lines = []
    for name, own in rows.groupby("data", sort=False):
        taken, first = own[own["is_taken"]].iloc[0], own.iloc[0]
        lines.append(
            [
                f"`{name}`",
                str(first["n_clusters"]),
                f"{taken['scale']}, {taken['lam']:g}" if taken["gain"] else "defaults",
                f"{own['gain'].max():+.1%}",
                f"{first['accuracy']:.3f}",
                f"{taken['accuracy']:.3f}",
                f"{own['accuracy'].max():.3f}",
            ]
        )
    header = ["data", "classes", "recommended", "best gain"]
    return markdown([*header, "ACC, defaults", "ACC, recommended", "ACC, best"], lines)


def rules(rows: pd.DataFrame) -> str:
    """Changes of the accuracy of the defaults under each rule, over all sets."""
    judged = {
        "`choose`: view modularity, if 2 % larger": changes_by(rows, "is_taken"),
        **{name: changes_by(rows, column) for name, column in RULES.items()},
        **{f"{name} for all sets": change for name, change in list(changes(rows).items())[1:]},
        "oracle (true labels)": changes_by(rows, "accuracy"),
    }
    lines = [
        [
            name,
            f"{change.mean():+.3f}",
            f"{change.min():+.3f}",
            f"{change.max():+.3f}",
            f"{(change > 0).sum()} / {(change < 0).sum()}",
        ]
        for name, change in judged.items()
    ]
    return markdown(["rule", "mean change", "worst", "best", "data sets better / worse"], lines)


def findings(rows: pd.DataFrame) -> str:
    """Summary of the rows in sentences."""
    change = changes_by(rows, "is_taken")
    n_taken = int((rows["is_taken"] & (rows["gain"] != 0)).sum())
    stable = changes_by(rows, "stability")
    return (
        f"On {len(change)} data sets another setting is recommended {n_taken} times; accuracy "
        f"changes by {change.mean():+.3f} on average, by {change.min():+.3f} at worst and "
        f"{change.max():+.3f} at best. The best setting for each data set, chosen with the true "
        f"labels, would gain {changes_by(rows, 'accuracy').mean():+.3f} on average; the most "
        f"stable one {stable.mean():+.3f}."
    )


def main() -> None:
    """Run the sets, keep the rows, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true", help="only write the page, from the rows")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--page", type=Path, default=Path("docs/choosing.md"))
    options = parser.parse_args()
    out = options.out or Path("docs/results/settings.csv")
    if options.again:
        rows = pd.read_csv(out)
    else:
        warnings.simplefilter("ignore")
        names = [name for name in benchmark_files() if 2 <= classes_of(name) <= 40]
        collected = []
        with limit_threads(1):
            for name in names:
                if not options.quick or name in QUICK:
                    collected += measure(name)
                    print(pd.DataFrame(collected[-7:]).to_string(), flush=True)
        rows = pd.DataFrame(collected).round(4)
        if options.out or not options.quick:
            keep_rows(out, rows)
    if options.quick:
        print(table(rows), rules(rows), findings(rows), sep="\n\n")
        return
    write_section(options.page, "settings findings", findings(rows))
    write_section(options.page, "settings", table(rows))
    write_section(options.page, "settings rules", rules(rows))


if __name__ == "__main__":
    main()
