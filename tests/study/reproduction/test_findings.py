"""Sentences follow the numbers: the same table with other values says something else."""

import pandas as pd
import pytest

from manyview.study.reproduction.findings import find
from manyview.study.reproduction.scope import PUBLISHED

TITLES = {"bdgp": "BDGP"}


def order(file, shuffled, std):
    gain = file - shuffled
    row = {"data": "bdgp", "metric": "acc", "file": file, "shuffled": shuffled}
    return pd.DataFrame(
        [{**row, "shuffled_std": std, "n_shuffles": 3, "gain": gain, "is_complete": True}]
    )


@pytest.mark.parametrize(
    ("values", "verdict", "n"),
    [
        ((0.9, 0.8, 0.01), "sorted rows help", 1),
        ((0.8, 0.9, 0.01), "sorted rows hurt", 0),
        ((0.9, 0.8, 0.2), "no clear difference", 0),
        ((0.901, 0.9, 0.0), "no clear difference", 0),
    ],
)
def test_whether_order_matters(values, verdict, n):
    text = find({"order": order(*values)}, TITLES)["order"]
    assert f"on {n} of 1 sets" in text[0]
    assert text[1].endswith(f"{verdict}.")
    assert f"{values[0]:.4f}" in text[1]


def test_how_much_lambda_matters():
    table = pd.DataFrame({"data": "bdgp", "lam": [0.5, 8.0], "acc": [0.5, 0.8], "nmi": 0.1})
    (text,) = find({"sensitivity": table}, TITLES)["sensitivity"]
    assert text == (
        "BDGP: ACC ranges from 0.5000 (λ = 0.5) to 0.8000 (λ = 8), a difference of 0.3000."
    )


@pytest.mark.parametrize(("last", "path"), [(0.5, "never increases"), (3.0, "increases at times")])
def test_how_the_objective_falls(last, path):
    table = pd.DataFrame(
        {"data": "bdgp", "method": PUBLISHED, "iteration": [1, 2, 3], "objective": [3.0, 2.0, last]}
    )
    (text,) = find({"objective": table}, TITLES)["objective"]
    assert text.endswith(f"the objective {path}, and the fit ends after 3 iterations.")


def oracle(difference, n_points=3):
    cell = {"data": "bdgp", "method": PUBLISHED, "mean": 0.5 + difference, "paper_mean": 0.5}
    extra = {"paper_std": 0.0, "difference": difference, "place": 1.0, "status": "done"}
    points = {"n_points": n_points, "n_planned": 3}
    return pd.DataFrame([{**cell, **extra, **points, "metric": one} for one in ("acc", "nmi")])


def test_whether_the_paper_is_met():
    assert "to four digits" in find({"oracle": oracle(1e-5)}, TITLES)["oracle"][0]
    text = find({"oracle": oracle(-0.02)}, TITLES)["oracle"][0]
    assert "does not give" in text
    assert "-0.0200" in text


def test_the_best_of_a_part_of_the_grid_is_not_judged():
    text = find({"oracle": oracle(-0.2, n_points=2)}, TITLES)["oracle"]
    assert not any("paper" in sentence for sentence in text)
    assert text[-1] == (
        "Not all points of the grid have a result: OMVCDR, published on BDGP (2 of 3)."
    )


@pytest.mark.parametrize(("other", "n"), [(0.4, 1), (0.6, 0)])
def test_whether_a_part_matters(other, n):
    rows = [("omvc", other, 0.3), ("full", 0.5, 0.6)]
    table = pd.DataFrame(rows, columns=["method", "mean", "paper_mean"])
    table = table.assign(data="bdgp", metric="acc", n_points=1, n_planned=1)
    table["difference"] = table["mean"] - table["paper_mean"]
    (text,) = find({"ablation": table}, TITLES)["ablation"]
    assert f"on {n} of 1 set by ACC" in text
    assert "the paper: 1 of 1" in text


def test_which_variants_meet_the_paper():
    rows = [("omvc", 0.3, 0.30004), ("full", 0.5, 0.6)]
    table = pd.DataFrame(rows, columns=["method", "mean", "paper_mean"])
    table = table.assign(data="bdgp", metric="acc", n_points=1, n_planned=1)
    table["difference"] = table["mean"] - table["paper_mean"]
    first, _ = find({"ablation": table}, TITLES)["ablation"]
    assert first.endswith("to four digits: OMVC (one space) on BDGP.")
