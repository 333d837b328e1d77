"""Sentences follow the numbers: the same table with other values says something else."""

import pandas as pd
import pytest

from manyview.reproduce.findings import find
from manyview.reproduce.scope import PUBLISHED

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


@pytest.mark.parametrize(("reach", "word"), [(0.01, "is insensitive"), (0.3, "is sensitive")])
def test_whether_lambda_matters(reach, word):
    table = pd.DataFrame({"data": "bdgp", "lam": [0.5, 8.0], "acc": [0.5, 0.5 + reach], "nmi": 0.1})
    (text,) = find({"sensitivity": table}, TITLES)["sensitivity"]
    assert word in text
    assert "λ = 8" in text


@pytest.mark.parametrize(("n", "word"), [(39, "holds"), (101, "does not hold by its own")])
def test_whether_it_converges_as_fast_as_claimed(n, word):
    values = [float(n - i) for i in range(n)]
    table = pd.DataFrame(
        {"data": "bdgp", "method": PUBLISHED, "iteration": range(1, n + 1), "objective": values}
    )
    (text,) = find({"objective": table}, TITLES)["objective"]
    assert "never rises" in text
    assert f"after {n} iterations" in text
    assert f"“less than 40” {word}" in text


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


@pytest.mark.parametrize(("other", "word"), [(0.4, "holds here"), (0.6, "does not hold")])
def test_whether_a_part_matters(other, word):
    rows = [("omvc", other, 0.3), ("full", 0.5, 0.6)]
    table = pd.DataFrame(rows, columns=["method", "mean", "paper_mean"])
    table = table.assign(data="bdgp", metric="acc", n_points=1, n_planned=1)
    table["difference"] = table["mean"] - table["paper_mean"]
    (text,) = find({"ablation": table}, TITLES)["ablation"]
    assert text.endswith(f"the claim {word}.")
    assert "the paper: 1 of 1" in text


def test_which_variants_meet_the_paper():
    rows = [("omvc", 0.3, 0.30004), ("full", 0.5, 0.6)]
    table = pd.DataFrame(rows, columns=["method", "mean", "paper_mean"])
    table = table.assign(data="bdgp", metric="acc", n_points=1, n_planned=1)
    table["difference"] = table["mean"] - table["paper_mean"]
    first, _ = find({"ablation": table}, TITLES)["ablation"]
    assert first.endswith("to four digits: OMVC (one space) on BDGP.")
