"""The pages of the methods: one for each, examples that run, tables that the figures give."""

import doctest
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from manyview.baselines import BASELINES

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "methods"
RESULTS = ROOT / "docs" / "results"
METHODS = ["omvcdr", *BASELINES]
EXAMPLE = re.compile(r"```pycon\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def bench_paper():
    """The program that fills the pages."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from benchmarks.paper import bench_paper
    finally:
        sys.path.pop(0)
    return bench_paper


@pytest.fixture(scope="module")
def figures():
    return pd.read_csv(RESULTS / "methods.csv")


def text_of(method):
    return (PAGES / f"{method}.md").read_text(encoding="utf-8")


def test_every_method_has_a_page_and_the_index_links_to_it():
    assert {path.stem for path in PAGES.glob("*.md")} == set(METHODS)
    index = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(methods/(\w+)\.md\)", index)) == set(METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_example_of_a_page_gives_what_it_says(method):
    (source,) = EXAMPLE.findall(text_of(method))
    example = doctest.DocTestParser().get_doctest(source, {}, method, None, 0)
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("method", METHODS)
def test_the_tables_of_a_page_are_what_the_figures_give(method, figures, bench_paper):
    own = figures[figures["method"] == method]
    assert text_of(method) == bench_paper.filled(text_of(method), own)


def test_every_variant_has_figures_on_both_sets_by_all_metrics(figures, bench_paper):
    wanted = {
        (data, variant.method, variant.name, metric)
        for variant in bench_paper.VARIANTS
        for data in bench_paper.SETS
        for metric in bench_paper.METRICS
    }
    keys = ["data", "method", "variant", "metric"]
    assert set(figures[keys].itertuples(index=False, name=None)) == wanted
    assert not figures.duplicated(keys).any()
    assert set(METHODS) <= set(figures.loc[figures["variant"] == "default", "method"])


def test_the_best_point_of_a_grid_is_chosen_by_the_mean_over_seeds_metric_by_metric(bench_paper):
    """λ = 1 has the single best ACC, λ = 2 the best mean ACC; NMI is best at λ = 1."""
    rows = pd.DataFrame(
        {
            "data": "bdgp",
            "method": "lmvsc: a grid",
            "status": "done",
            "parameters": [{"lam": 1}, {"lam": 1}, {"lam": 2}, {"lam": 2}],
            "acc": [0.9, 0.1, 0.6, 0.8],
            "nmi": [0.5, 0.7, 0.2, 0.2],
            "purity": 0.5,
            "fscore": 0.5,
            "seconds": [1.0, 2.0, 3.0, 4.0],
        }
    )
    variant = bench_paper.Variant("lmvsc", "a grid", n_seeds=2)
    summary = bench_paper.summarize(rows, [variant]).set_index("metric")
    assert summary.loc["acc", ["mean", "std"]].tolist() == [0.7, 0.1]
    assert summary.loc["nmi", ["mean", "std"]].tolist() == [0.6, 0.1]
    assert summary.loc["acc", "seconds"] == 2.5
    assert summary.loc["acc", ["paper_mean", "paper_std"]].tolist() == [0.5080, 0.0211]


def test_bold_marks_what_is_within_the_spread_of_the_paper_plus_the_margin(bench_paper):
    def cell(mean, n_seeds=3):
        paper = {"paper_mean": 0.5, "paper_std": 0.01}
        figure = {"mean": mean, "std": 0.0, "n_seeds": n_seeds, **paper}
        return bench_paper._cell(pd.Series(figure))

    assert cell(0.539) == "**0.5390 ± 0.0000**"
    assert cell(0.541) == "0.5410 ± 0.0000"
    assert cell(0.541, n_seeds=1) == "0.5410"
    assert cell(float("nan")) == "–"
