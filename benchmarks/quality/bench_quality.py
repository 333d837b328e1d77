"""The scoreboard of docs/quality.md: all methods at their defaults, and OMVCDR without its parts.

    python -m benchmarks.quality.bench_quality           # all sets of MANYVIEW_DATA; resumes
    python -m benchmarks.quality.bench_quality --quick   # three small sets, one seed, no page
    python -m benchmarks.quality.bench_quality --again   # the page from the rows of the last run

It compares defaults on shuffled rows, without labels, and shows the sets where OMVCDR loses.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import pandas as pd
from rich.console import Console

from benchmarks.page import markdown, write_section
from manyview.study.ablation import VARIANTS
from manyview.study.benchmark import BenchmarkRequest, benchmark_session
from manyview.study.scoreboard import EVEN, scoreboard, write_scoreboard
from manyview.study.statistics import mean_scores

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "scoreboard"
DOCS = ROOT / "docs"
QUICK_SETS = ("nutrimouse", "synthetic3d", "msrcv1_5v")
SAME_SCALING = "concat_kmeans(scale='auto')"
BASE = "sqrt-l2 + z-l2, lam 0.5"
BEHIND = 0.05  # of ACC: a set with a larger loss to k-means is named
SHORT = 1.0  # seconds: no fit below this is slow


def main() -> None:
    """Run, or use the rows of an earlier run, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets, no page")
    parser.add_argument("--again", action="store_true", help="only write the page")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the rows")
    options = parser.parse_args()
    if options.quick:
        request = BenchmarkRequest(
            sets=QUICK_SETS, n_seeds=1, n_jobs=options.jobs, has_variants=True
        )
        rows = benchmark_session(request, options.out / "quick", Console())
        print(summary(rows))
        return
    if not options.again:
        request = BenchmarkRequest(n_jobs=options.jobs, memory_limit=8e9, has_variants=True)
        benchmark_session(request, options.out, Console())
    rows = latest(options.out / "rows.jsonl")
    write_scoreboard(rows, options.out)
    for name in ("scoreboard.html", "scoreboard.csv", "scoreboard_sets.csv"):
        shutil.copy(options.out / name, DOCS / "results" / name)
    write_section(DOCS / "quality.md", "scoreboard", summary(rows))
    write_section(DOCS / "quality.md", "tried", tried(pd.read_csv(DOCS / "results" / "tried.csv")))


def latest(path: Path) -> pd.DataFrame:
    """Rows of the newest version of each method, of the seeds that it was run with on all sets."""
    rows = pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    known = list(scoreboard_names())
    rows = rows[rows["method"].isin(known)].drop_duplicates(
        ["data", "method", "seed", "rows", "missing_rate"], keep="last"
    )
    n_sets = rows.groupby(["method", "seed"])["data"].transform("nunique")
    rows = rows[n_sets == rows["data"].nunique()]
    return rows.sort_values("method", key=lambda names: names.map(known.index), kind="stable")


def scoreboard_names() -> list[str]:
    """Methods of the package, then the variants."""
    from manyview.study import known_methods

    return [*known_methods(), *VARIANTS]


def summary(rows: pd.DataFrame) -> str:
    """Text of the page."""
    board = scoreboard(rows)
    n_seeds = rows.groupby("method")["seed"].nunique()
    ours = board.loc["omvcdr"]
    text = [
        f"{rows['data'].nunique()} data sets, shuffled rows, up to {n_seeds.max()} seeds.",
        f"OMVCDR: mean ACC {ours['acc']:.3f}, NMI {ours['nmi']:.3f}; mean rank "
        f"{ours['rank_acc']:.2f} by ACC and {ours['rank_nmi']:.2f} by NMI.",
        "",
        _table(board[~board["is_variant"]], n_seeds),
        "",
        *_against_kmeans(rows, board),
        "",
        "Ablation, and k-means on the concatenated views under every scaling:",
        "",
        _table(board[board["is_variant"]], n_seeds),
    ]
    return "\n".join(text)


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


def _table(board: pd.DataFrame, n_seeds: pd.Series) -> str:
    """One line per method; wins and losses are the method's own."""
    header = ["method", "ACC", "NMI", "ARI", "F-score", "rank ACC", "rank NMI",
              "wins : losses against OMVCDR", "time / k-means", "data sets", "seeds"]  # fmt: skip
    lines = []
    for name, row in board.iterrows():
        means = [f"{row[m]:.3f} ± {row[m + '_spread']:.3f}" for m in ("acc", "nmi")]
        means += [f"{row[m]:.3f}" for m in ("ari", "fscore")]
        ranks = ["" if pd.isna(row[f"rank_{m}"]) else f"{row[f'rank_{m}']:.2f}"
                 for m in ("acc", "nmi")]  # fmt: skip
        played = "" if name == "omvcdr" else f"{row['wins']:.0f} : {row['losses']:.0f}"
        title = VARIANTS.get(str(name), str(name))
        lines.append([title, *means, *ranks, played, f"{row['relative_time']:.2f}",
                      str(row["n_sets"]), str(n_seeds[name])])  # fmt: skip
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
