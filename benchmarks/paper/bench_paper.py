"""Figures of each method and of the paper on handwritten_2v and bdgp, and what explains the gaps.

A variant is a method with some parameters: its default, the published grid (the best point of each
metric by the true labels, as in the papers), or changes that might explain a difference. Rows are
shuffled unless a variant says otherwise. Figures go to docs/results/methods.csv and into the pages
of the methods; earlier runs are not repeated.

    python -m benchmarks.paper.bench_paper [--quick] [--tables] [--only METHOD] [--out FOLDER]

--quick runs the defaults once, on one set, and changes no page. --tables runs nothing: it fills the
pages from the CSV. --only renews the figures of some methods and leaves the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.paper.paper_variants import VARIANTS, Variant
from manyview.datasets.registry import PAPER_SETS
from manyview.persistence.atomic import write_text
from manyview.study import Conditions, Method, find_method, run_benchmark
from manyview.study.grids import at_best_point
from manyview.study.paper import paper_results

SETS = ("handwritten_2v", "bdgp")
METRICS = {"acc": "ACC", "nmi": "NMI", "purity": "purity", "fscore": "F-score"}
DOCS = Path(__file__).parents[2] / "docs"
PAGES, RESULTS = DOCS / "methods", DOCS / "results"
BEGIN, END = "<!-- figures:begin -->\n", "<!-- figures:end -->\n"
EARLIER = ("awmvc", "fpmvs", "opmc", "smvsc")  # whose defaults changed after the scoreboard
MARGIN = 0.03  # beyond the paper's spread, a figure differs from the paper's


def as_method(variant: Variant) -> Method:
    """Method of the benchmark, named after the method and the variant."""
    known = find_method(variant.method)
    return Method(f"{variant.method}: {variant.name}", known.target)


def run_variants(variants: Sequence[Variant], sets: Sequence[str], out: Path) -> pd.DataFrame:
    """Rows of all runs; variants with the same conditions form one benchmark."""
    groups: dict[tuple[str, int, int], list[Variant]] = {}
    for variant in variants:
        key = variant.rows, variant.n_seeds, variant.n_kmeans
        groups.setdefault(key, []).append(variant)
    tables = []
    for (rows, n_seeds, n_kmeans), group in groups.items():
        methods = [as_method(variant) for variant in group]
        names = [method.name for method in methods]
        grids = {name: variant.points for name, variant in zip(names, group, strict=True)}
        conditions = Conditions(range(n_seeds), rows, grids=grids, n_kmeans=n_kmeans)
        tables.append(run_benchmark(sets, methods, out, conditions=conditions, on_row=_note))
    return pd.concat(tables, ignore_index=True)


def _note(row: dict[str, Any], n_done: int, n_all: int) -> None:
    if row:
        score = f"ACC {row['acc']:.4f}" if row["status"] == "done" else row["reason"]
        print(f"{n_done}/{n_all} {row['data']} {row['method']}: {score}", flush=True)


def summarize(rows: pd.DataFrame, variants: Sequence[Variant]) -> pd.DataFrame:
    """Tidy figures: one row per data set, variant and metric, in the order of the variants."""
    published = paper_results().set_index(["data", "method", "metric"])
    titles = {one.file: one.name for one in PAPER_SETS}
    figures = []
    for variant in variants:
        own = rows[rows["method"] == as_method(variant).name]
        for data, group in own.groupby("data", sort=False):
            seconds = group["seconds"].mean()
            for metric in METRICS:
                key = (titles[str(data)], variant.paper_method, metric)
                paper = published.loc[key] if key in published.index else {}
                figure = {
                    "data": data, "method": variant.method, "variant": variant.name,
                    "metric": metric, **_best_point(group, metric),
                    "n_seeds": variant.n_kmeans or variant.n_seeds,
                    "paper_mean": paper.get("mean"), "paper_std": paper.get("std"),
                    "seconds": round(seconds, 2),
                }  # fmt: skip
                figures.append(figure)
    return pd.DataFrame(figures)


def _best_point(group: pd.DataFrame, metric: str) -> dict[str, float]:
    """Mean and standard deviation over the seeds at the best point of a metric."""
    done = group[group["status"] == "done"]
    if done.empty:
        return {"mean": float("nan"), "std": float("nan")}
    best = at_best_point(done, metric)
    spread = best.get(f"{metric}_std", pd.Series(dtype=float)).dropna()
    std = spread.mean() if len(spread) else best[metric].std(ddof=0)
    return {"mean": round(best[metric].mean(), 4), "std": round(std, 4)}


def table(figures: pd.DataFrame) -> str:
    """Markdown tables of one method, one per data set; bold agrees with the paper."""
    parts = []
    for data, group in figures.groupby("data", sort=False):
        lines = [[f"`{data}`", *METRICS.values(), "seconds per run"], ["---"] * (len(METRICS) + 2)]
        paper = group.drop_duplicates("metric").set_index("metric")
        if paper["paper_mean"].notna().any():
            cells = [_spread(paper.loc[metric], "paper_") for metric in METRICS]
            lines.append(["*the paper*", *cells, ""])
        lines += _programs(str(group["method"].iloc[0]), str(data))
        for variant, own in group.groupby("variant", sort=False):
            row = own.set_index("metric")
            cells = [_cell(row.loc[metric]) for metric in METRICS]
            lines.append([str(variant), *cells, f"{row['seconds'].iloc[0]:.1f}"])
        parts.append("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n")
    return "\n".join(parts)


def _programs(method: str, data: str) -> list[list[str]]:
    """What the authors' programs gave on the same file, as far as it was noted."""
    known = pd.read_csv(RESULTS / "programs.csv")
    own = known[(known["method"] == method) & (known["data"] == data)]
    return [
        [f"*{row.variant}*",
         *("" if pd.isna(getattr(row, one)) else f"{getattr(row, one):.4f}" for one in METRICS), ""]
        for row in own.itertuples()
    ]  # fmt: skip


def _spread(figure: pd.Series[Any], prefix: str = "") -> str:
    mean, std = figure[prefix + "mean"], figure[prefix + "std"]
    return "–" if pd.isna(mean) else f"{mean:.4f} ± {std:.4f}"


def _cell(figure: pd.Series[Any]) -> str:
    """Mean ± standard deviation, bold near the paper's; a single run has no deviation."""
    gap = abs(figure["mean"] - figure["paper_mean"])
    mark = "**" if gap <= figure["paper_std"] + MARGIN else ""
    is_single = figure["n_seeds"] == 1 and pd.notna(figure["mean"])
    return f"{mark}{figure['mean']:.4f}{mark}" if is_single else f"{mark}{_spread(figure)}{mark}"


def standing(method: str) -> str:
    """The line of a method on the scoreboard, which uses no labels, in a sentence."""
    board = pd.read_csv(RESULTS / "scoreboard.csv", index_col="method")
    row = board.loc[method]
    which = "its defaults before 0.2" if method in EARLIER else "the defaults"
    rivals = board[~board["is_variant"]]["rank_acc"].rank()
    return (
        f"\nOn the scoreboard of {row['n_sets']:.0f} data sets, at {which}: mean ACC "
        f"{row['acc']:.3f}, NMI {row['nmi']:.3f}, mean rank {row['rank_acc']:.2f} by ACC, which is "
        f"place {rivals[method]:.0f} of {len(rivals)}.\n"
    )


def filled(page: str, figures: pd.DataFrame) -> str:
    """The page of a method with the tables between its markers."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    text = table(figures) + standing(str(figures["method"].iloc[0]))
    return before + BEGIN + text + END + after


def fill_pages(figures: pd.DataFrame) -> None:
    """Put the tables into all pages."""
    for method, own in figures.groupby("method", sort=False):
        page = PAGES / f"{method}.md"
        write_text(page, filled(page.read_text(encoding="utf-8"), own))


def main() -> None:
    """Run the variants, keep the figures, fill the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="defaults, one set, one seed")
    parser.add_argument("--tables", action="store_true", help="only fill the pages from the CSV")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/paper"))
    parser.add_argument("--only", action="append", metavar="METHOD", help="may be repeated")
    arguments = parser.parse_args()
    if arguments.quick:
        quick = [variant.once() for variant in VARIANTS if variant.name == "default"]
        print(summarize(run_variants(quick, SETS[:1], arguments.out), quick).to_string())
        return
    if not arguments.tables:
        wanted = [one for one in VARIANTS if one.method in (arguments.only or [one.method])]
        figures = summarize(run_variants(wanted, SETS, arguments.out), wanted)
        if arguments.only:
            known = pd.read_csv(RESULTS / "methods.csv")
            others = known[~known["method"].isin(arguments.only)]
            figures = pd.concat([others, figures], ignore_index=True)
        write_text(RESULTS / "methods.csv", figures.to_csv(index=False))
    fill_pages(pd.read_csv(RESULTS / "methods.csv"))


if __name__ == "__main__":
    main()
