"""The scoreboard of docs/quality.md: all methods at their defaults, and OMVCDR without its parts.

    python -m benchmarks.quality.bench_quality           # all sets of MANYVIEW_DATA; resumes
    python -m benchmarks.quality.bench_quality --ours    # OMVCDR and its variants alone
    python -m benchmarks.quality.bench_quality --rivals  # the others under their best scaling
    python -m benchmarks.quality.bench_quality --quick   # three small sets, one seed, no page
    python -m benchmarks.quality.bench_quality --again   # the page from the rows of the last run

It compares defaults on shuffled rows, without labels, and shows the sets where OMVCDR loses. Beside
its default, every other method is shown under the scaling that suits it best over all sets, found
by `bench_rivals`. Methods that were not run here have the values of docs/results.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.page import markdown, write_section
from benchmarks.quality.bench_rivals import TABLE, best_scalings
from manyview.study.ablation import VARIANTS
from manyview.study.benchmark import BenchmarkRequest, benchmark_session
from manyview.study.methods import find_method, known_methods
from manyview.study.scoreboard import (
    EVEN,
    METRICS,
    scoreboard,
    short_title,
    write_scoreboard,
)
from manyview.study.statistics import friedman_ranks, mean_scores

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "scoreboard"
DOCS = ROOT / "docs"
QUICK_SETS = ("nutrimouse", "synthetic3d", "msrcv1_5v")
SAME_SCALING = "concat_kmeans(scale='auto')"
BASE = "sqrt-l2 + z-l2, lam 0.5"
KINDS = {
    "images": ("flower17_derived_7v", "handwritten_2v", "handwritten_6v", "hdigit", "mnist_usps5k",
               "msrcv1_5v", "orl", "scene15", "yaleA_3v"),
    "text and graphs": ("bbcsport", "citeseer", "cora", "movies", "ngs", "reuters1200", "webkb"),
    "omics and biology": ("bdgp", "brca_jive", "nutrimouse", "proteinfold", "tcga_breast"),
    "other": ("ccv", "synthetic3d"),
}  # fmt: skip
BEHIND = 0.05  # of ACC: a set with a larger loss to k-means is named
SHORT = 1.0  # seconds: no fit below this is slow


def main() -> None:
    """Run, or use the rows of an earlier run, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets, no page")
    parser.add_argument("--ours", action="store_true", help="only OMVCDR and its variants")
    parser.add_argument("--rivals", action="store_true", help="only others, best scaling")
    parser.add_argument("--seeds", type=int, default=5, help="of others under their best scaling")
    parser.add_argument("--again", action="store_true", help="only write the page")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the rows")
    options = parser.parse_args()
    if options.quick:
        request = BenchmarkRequest(
            sets=QUICK_SETS, n_seeds=1, n_jobs=options.jobs, has_variants=True
        )
        rows = benchmark_session(request, options.out / "quick", Console())
        print(summary(rows, scoreboard(rows)))
        return
    if not options.again:
        run(options)
    rows = latest(options.out / "rows.jsonl")
    board = with_spread(scoreboard(rows))
    write_scoreboard(rows, options.out)
    board.to_csv(options.out / "scoreboard.csv", float_format="%.6g")
    for name in ("scoreboard.html", "scoreboard.csv", "scoreboard_sets.csv"):
        shutil.copy(options.out / name, DOCS / "results" / name)
    write_section(DOCS / "quality.md", "scoreboard", summary(rows, board))
    write_section(DOCS / "quality.md", "tried", tried(pd.read_csv(DOCS / "results" / "tried.csv")))


def run(options: argparse.Namespace) -> None:
    """Run all methods, or the kinds that were asked for."""
    given = {"n_jobs": options.jobs, "memory_limit": 8e9}
    everything = not (options.ours or options.rivals)
    if everything:
        benchmark_session(BenchmarkRequest(**given), options.out, Console())
    if options.ours or everything:
        benchmark_session(BenchmarkRequest(methods=("omvcdr",), **given), options.out, Console())
        benchmark_session(
            BenchmarkRequest(methods=list(VARIANTS), n_seeds=1, **given), options.out, Console()
        )
    if options.rivals or everything:
        request = BenchmarkRequest(methods=rivals(), n_seeds=options.seeds, **given)
        benchmark_session(request, options.out, Console())


def rivals() -> list[str]:
    """Names of the other methods under the scaling that suits each best."""
    if not TABLE.exists():
        return []
    best = best_scalings(pd.read_csv(TABLE, keep_default_na=False))
    target = "manyview.study.prescaled:Prescaled"
    return [f"{target}(method={method!r}, scale={scale!r})" for method, scale in best.items()]


def latest(path: Path) -> pd.DataFrame:
    """Rows of the newest version of each method, of the seeds that it was run with on all sets.

    Methods without rows have those of `recorded`.
    """
    rows = pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    known = scoreboard_names()
    versions = {name: find_method(name).version for name in known}
    rows = rows[rows["version"] == rows["method"].map(versions)].drop_duplicates(
        ["data", "method", "seed", "rows", "missing_rate"], keep="last"
    )
    n_sets = rows.groupby(["method", "seed"])["data"].transform("nunique")
    rows = rows[n_sets == rows["data"].nunique()]
    rows = pd.concat([rows, recorded(set(known) - set(rows["method"]))], ignore_index=True)
    return rows.sort_values("method", key=lambda names: names.map(known.index), kind="stable")


def recorded(methods: set[str]) -> pd.DataFrame:
    """Means of methods that have not changed, from an earlier run: one row per set."""
    table = pd.read_csv(DOCS / "results" / "scoreboard_sets.csv")
    own = table[table["method"].isin(methods)]
    means = {name: own[f"{name}_mean"] for name in (*METRICS, "seconds")}
    fixed = {"rows": "shuffled", "time_limit": 120.0, "status": "done", "seed": 0}
    return own[["data", "method"]].assign(**means, **fixed)


def with_spread(board: pd.DataFrame) -> pd.DataFrame:
    """The board with the spread over seeds of methods that were run before, not here."""
    before = pd.read_csv(DOCS / "results" / "scoreboard.csv", index_col=0)
    for metric in METRICS:
        column = f"{metric}_spread"
        earlier = before[column].reindex(board.index)
        board[column] = board[column].where(board[column] > 0, earlier)
    return board


def scoreboard_names() -> list[str]:
    """Methods of the package, then the variants, then the others under their best scaling."""
    return [*known_methods(), *VARIANTS, *rivals()]


def summary(rows: pd.DataFrame, board: pd.DataFrame) -> str:
    """Text of the page."""
    ours = board.loc["omvcdr"]
    is_rival = board.index.isin(rivals())
    text = [
        f"{rows['data'].nunique()} data sets, shuffled rows, five seeds.",
        f"OMVCDR: mean ACC {ours['acc']:.3f}, NMI {ours['nmi']:.3f}; mean rank "
        f"{ours['rank_acc']:.2f} by ACC and {ours['rank_nmi']:.2f} by NMI.",
        "",
        _table(board[~board["is_variant"] & ~is_rival]),
        "",
        *_oracles(rows),
        "",
        *_under_best_scaling(rows, board[is_rival]),
        "",
        *_by_kind(rows),
        "",
        *_against_kmeans(rows, board),
        "",
        "OMVCDR without its parts, and k-means on the concatenated views under every scaling (one "
        "seed; times of OMVCDR on this page were taken on a busy machine):",
        "",
        _table(board[board["is_variant"] & ~is_rival]),
    ]
    return "\n".join(text)


def _oracles(rows: pd.DataFrame) -> list[str]:
    """What somebody with labels would reach by choosing a method for every single set."""
    acc, nmi = mean_scores(rows, "acc"), mean_scores(rows, "nmi")
    others = [name for name in known_methods() if name != "omvcdr" and name in acc]

    def best_of(names: list[str]) -> str:
        chosen = acc[names].idxmax(axis=1)
        reached = [nmi.loc[data, name] for data, name in chosen.items()]
        return f"ACC {acc[names].max(axis=1).mean():.3f}, NMI {np.mean(reached):.3f}"

    return [
        "For comparison, choices that need the labels: the best of the other methods for every "
        f"single set reaches {best_of(others)}; the best of all methods, variants and scalings "
        f"{best_of(list(acc.columns))}.",
    ]


def _under_best_scaling(rows: pd.DataFrame, board: pd.DataFrame) -> list[str]:
    """Every other method under its best fixed scaling, and the ranks among these."""
    if board.empty:
        return []
    names = ["omvcdr", *board.index]
    n_seeds = rows[rows["method"].isin(board.index)]["seed"].nunique()
    ranks = {m: friedman_ranks(mean_scores(rows, m)[names]) for m in ("acc", "nmi")}
    lines = [
        [
            short_title(str(name)),
            *(f"{mean_scores(rows, m)[name].mean():.3f}" for m in ("acc", "nmi")),
            *(f"{ranks[m][name]:.2f}" for m in ("acc", "nmi")),
        ]
        for name in ranks["nmi"].index
    ]
    return [
        "The same methods, each under the one scaling of our list that suits it best over all "
        "sets ([rival_scalings.csv](results/rival_scalings.csv), chosen by NMI on at most 1000 "
        f"samples of each set, so with the labels); seeds: {n_seeds}.",
        "",
        markdown(["method, scaling", "ACC", "NMI", "rank ACC", "rank NMI"], lines),
    ]


def _by_kind(rows: pd.DataFrame) -> list[str]:
    """Means of OMVCDR by kind of data, beside the best other method of that kind."""
    acc, nmi = mean_scores(rows, "acc"), mean_scores(rows, "nmi")
    others = [name for name in known_methods() if name != "omvcdr" and name in acc]
    lines = []
    for kind, sets in KINDS.items():
        own = [name for name in sets if name in acc.index]
        if not own:
            continue
        rival = nmi.loc[own, others].mean().idxmax()
        values = [
            f"{acc.loc[own, name].mean():.3f} / {nmi.loc[own, name].mean():.3f}"
            for name in ("omvcdr", rival)
        ]
        lines.append([kind, str(len(own)), *values, rival])
    header = ["kind", "sets", "OMVCDR", "best other method", "which"]
    return ["ACC / NMI by kind of data:", "", markdown(header, lines)]


def tried(rows: pd.DataFrame) -> str:
    """What was tried, by kind: means over the sets, and NMI wins and losses against `BASE`."""
    lines = []
    base = rows[rows["variant"] == BASE].set_index("data")["nmi"]
    for (group, name), own in rows.groupby(["group", "variant"], sort=False):
        ahead = own.set_index("data")["nmi"] - base
        played = f"{(ahead > EVEN).sum()} : {(ahead < -EVEN).sum()}"
        means = [f"{own[metric].mean():.3f}" for metric in ("acc", "nmi")]
        lines.append([group, name, *means, "" if name == BASE else played])
    return markdown(["kind", "tried", "ACC", "NMI", f"wins : losses against {BASE}"], lines)


def _table(board: pd.DataFrame) -> str:
    """One line per method; wins and losses are the method's own."""
    header = ["method", "ACC", "NMI", "ARI", "F-score", "rank ACC", "rank NMI",
              "wins : losses against OMVCDR", "time / k-means", "data sets"]  # fmt: skip
    lines = []
    for name, row in board.iterrows():
        spreads = [row[f"{m}_spread"] for m in ("acc", "nmi")]
        means = [f"{row[m]:.3f}" + (f" ± {spread:.3f}" if spread > 0 else "")
                 for m, spread in zip(("acc", "nmi"), spreads, strict=True)]  # fmt: skip
        means += [f"{row[m]:.3f}" for m in ("ari", "fscore")]
        ranks = ["" if pd.isna(row[f"rank_{m}"]) else f"{row[f'rank_{m}']:.2f}"
                 for m in ("acc", "nmi")]  # fmt: skip
        played = "" if name == "omvcdr" else f"{row['wins']:.0f} : {row['losses']:.0f}"
        title = short_title(str(name))
        lines.append([title, *means, *ranks, played, f"{row['relative_time']:.2f}",
                      str(row["n_sets"])])  # fmt: skip
    return markdown(header, lines)


def _against_kmeans(rows: pd.DataFrame, board: pd.DataFrame) -> list[str]:
    """OMVCDR compared with k-means: on average, per set, and in time."""
    scaled = [name for name in board.index if str(name).startswith("concat_kmeans")]
    best = board.loc[scaled].sort_values("nmi").iloc[-1]
    ours = board.loc["omvcdr"]
    title = VARIANTS.get(str(best.name), "k-means, z")
    text = [
        f"Ahead of k-means under its best fixed scaling ({title}) by "
        f"{ours['acc'] - board.loc[scaled, 'acc'].max():+.3f} ACC and "
        f"{ours['nmi'] - best['nmi']:+.3f} NMI on average.",
    ]
    acc, seconds = mean_scores(rows, "acc"), mean_scores(rows, "seconds")
    gap = (acc["omvcdr"] - acc[SAME_SCALING]).sort_values()
    behind = [f"{name} ({value:+.3f})" for name, value in gap.items() if value < -BEHIND]
    text.append(
        f"More than {BEHIND} ACC below k-means with the same scaling: {', '.join(behind)}."
        if behind
        else f"On no data set more than {BEHIND} ACC below k-means with the same scaling."
    )
    ratio = seconds["omvcdr"] / seconds[SAME_SCALING]
    slow = ratio[(seconds["omvcdr"] > SHORT)].sort_values()
    text.append(
        f"Time relative to ten starts of k-means with the same scaling: median "
        f"{ratio.median():.2f}, maximum {slow.iloc[-1]:.2f} ({slow.index[-1]}) among the data sets "
        f"that take more than a second."
        if len(slow)
        else f"Time relative to ten starts of k-means with the same scaling: median "
        f"{ratio.median():.2f}; no data set takes more than a second."
    )
    return text


if __name__ == "__main__":
    main()
