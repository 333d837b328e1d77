"""Tables: the best point of a grid by metric, places, and the paper's values in the right cells."""

import math

import pandas as pd
import pytest

from manyview.datasets.registry import PAPER_SETS
from manyview.study.paper import paper_ablation, paper_results
from manyview.study.reproduction.scope import PUBLISHED, FoundSet
from manyview.study.reproduction.tables import (
    METRICS,
    ablation_table,
    label_free_table,
    oracle_table,
    order_table,
    sensitivity_table,
    sets_table,
)

BY_NAME = {one.name: one for one in PAPER_SETS}


def row(method, acc, *, data="handwritten_2v", status="done", seconds=1.0, nmi=None, **point):
    scores = dict.fromkeys(METRICS, acc) | {"nmi": acc if nmi is None else nmi}
    if status != "done":
        scores = dict.fromkeys(METRICS, math.nan)
    return {
        "data": data,
        "method": method,
        "status": status,
        "reason": "" if status == "done" else "too long",
        "parameters": point,
        "seconds": seconds,
        **scores,
    }


def cell(table, method, metric="acc", data="handwritten_2v"):
    found = table[
        (table["data"] == data) & (table["method"] == method) & (table["metric"] == metric)
    ]
    assert len(found) == 1
    return found.iloc[0]


def test_the_oracle_takes_the_best_mean_of_each_metric_over_the_grid():
    """λ = 1: ACC 0.4 and 0.6; λ = 2: ACC 0.1 and 0.8. NMI is better at λ = 2."""
    rows = pd.DataFrame(
        [
            row("x", 0.4, nmi=0.1, lam=1.0),
            row("x", 0.6, nmi=0.1, lam=1.0),
            row("x", 0.1, nmi=0.3, lam=2.0),
            row("x", 0.8, nmi=0.3, lam=2.0),
        ]
    )
    acc, nmi = cell(oracle_table(rows), "x"), cell(oracle_table(rows), "x", "nmi")
    assert (acc["mean"], acc["std"], acc["n_runs"]) == pytest.approx((0.5, 0.1, 2))
    assert acc["parameters"] == '{"lam": 1.0}'
    assert (nmi["mean"], nmi["parameters"]) == (pytest.approx(0.3), '{"lam": 2.0}')


@pytest.mark.parametrize(("name", "metric"), [("HandWritten", "acc"), ("BDGP", "nmi")])
def test_the_papers_values_stand_beside_the_same_method_set_and_metric(name, metric):
    file = BY_NAME[name].file
    rows = pd.DataFrame([row(m, 0.5, data=file) for m in ("lmvsc", PUBLISHED, "omvcdr")])
    table = oracle_table(rows)
    paper = paper_results().set_index(["data", "method", "metric"])
    for ours, theirs in {"lmvsc": "lmvsc", PUBLISHED: "omvcdr"}.items():
        value = paper.loc[(name, theirs, metric)]
        found = cell(table, ours, metric, file)
        assert found["paper_mean"] == value["mean"]
        assert found["paper_std"] == value["std"]
        assert found["difference"] == pytest.approx(0.5 - value["mean"])
    assert math.isnan(cell(table, "omvcdr", metric, file)["paper_mean"])  # ours is not in the paper


def test_the_papers_ablation_stands_beside_its_variants():
    names = ("omvc", "omvcdr_2", "omvcdr_alpha")
    rows = pd.DataFrame([row(name, 0.4) for name in names])
    oracle = pd.DataFrame([row(PUBLISHED, 0.9), row("omvcdr", 0.95)])
    two_step = pd.DataFrame([row("two_step", 0.3), row("two_step", 0.5)])[
        ["data", "method", *METRICS]
    ]
    table = ablation_table(rows, oracle, two_step)
    assert list(pd.unique(table["method"])) == [*names, "two_step", "full"]
    paper = paper_ablation().set_index(["data", "method", "metric"])["mean"]
    for ours, theirs in dict(zip(names, names, strict=True), full="omvcdr").items():
        assert cell(table, ours)["paper_mean"] == paper["HandWritten", theirs, "acc"]
    assert cell(table, "full")["mean"] == 0.9
    two = cell(table, "two_step")
    assert (two["mean"], two["std"], two["n_runs"]) == pytest.approx((0.4, 0.1, 2))
    assert math.isnan(two["paper_mean"])


def test_places_count_the_digits_that_are_shown():
    values = {"a": 0.50001, "b": 0.50004, "c": 0.4, "d": 0.3}
    rows = [row(name, value) for name, value in values.items()]
    table = label_free_table(pd.DataFrame([*rows, row("e", 0.0, status="declined")]))
    places = {name: cell(table, name)["place"] for name in "abcde"}
    assert places == {"a": 1, "b": 1, "c": 3, "d": 4, "e": pytest.approx(math.nan, nan_ok=True)}
    assert (cell(table, "e")["status"], cell(table, "e")["reason"]) == ("declined", "too long")


def test_the_protocols_share_no_table_and_the_label_free_one_has_nothing_of_the_paper():
    rows = pd.DataFrame([row("lmvsc", 0.5), row(PUBLISHED, 0.6, lam=8.0)])
    oracle, free = oracle_table(rows), label_free_table(rows)
    assert set(oracle["protocol"]) == {"oracle"}
    assert set(free["protocol"]) == {"label-free"}
    assert not any("paper" in column or column == "difference" for column in free.columns)


def test_file_order_and_shuffled_rows_are_compared_each_at_its_best():
    oracle = pd.DataFrame([row(PUBLISHED, 0.9, lam=8.0), row(PUBLISHED, 0.7, lam=1.0)])
    shuffled = pd.DataFrame([row(PUBLISHED, value, lam=8.0) for value in (0.7, 0.9)])
    oracle = pd.concat([oracle, pd.DataFrame([row("x", 0.2)])])  # not shuffled, so not compared
    table = order_table(oracle, shuffled)
    assert set(table["method"]) == {PUBLISHED}
    own = table.set_index("metric").loc["acc"]
    assert own["file"] == 0.9
    assert (own["shuffled"], own["shuffled_std"]) == pytest.approx((0.8, 0.1))
    assert own["gain"] == pytest.approx(0.1)
    assert own["n_shuffles"] == 2


def test_sensitivity_is_that_of_the_published_method_alone():
    rows = pd.DataFrame([row(PUBLISHED, 0.5, lam=0.5), row("omvcdr", 0.9)])
    table = sensitivity_table(rows)
    assert table.to_dict("records") == [
        {"data": "handwritten_2v", "lam": 0.5, "acc": 0.5, "nmi": 0.5}
    ]


def test_table_one_has_all_of_the_papers_sets_and_ours_beside():
    found = [
        FoundSet("bdgp", 2500, (1000, 500, 250), 5, BY_NAME["BDGP"]),
        FoundSet("handwritten_2v", 1999, (784, 256), 10, BY_NAME["HandWritten"]),
        FoundSet("mine", 10, (3, 4), 2),
    ]
    table = sets_table(found).set_index("file")
    assert len(table) == len(PAPER_SETS) + 1
    assert table["is_same"].to_dict() == {one.file: one.file == "bdgp" for one in PAPER_SETS} | {
        "mine": False
    }
    assert not table["is_found"]["awa"]
    assert table.loc["bdgp", "paper_samples"] == table.loc["bdgp", "samples"] == 2500
