"""Columns against clusters: by hand, against scipy, and p that are uniform under chance."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manyview.exceptions import ViewError
from manyview.inspection.association import associate


def one_column(values, labels, **options):
    (row,) = associate(pd.DataFrame({"it": values}), labels, **options).tested
    return row


def test_a_table_by_hand():
    """30 and 10 against 10 and 30: expected 20 each, χ² = 4 · 100 / 20 = 20, φ² = 20 / 80.

    φ̃² = 0.25 − 1/79, r̃ = c̃ = 2 − 1/79; V = √(φ̃² / (1 − 1/79)).
    """
    labels = np.repeat([0, 1], 40)
    values = ["a"] * 30 + ["b"] * 10 + ["a"] * 10 + ["b"] * 30
    row = one_column(values, labels)
    assert (row["kind"], row["test"], row["n"], row["n_missing"]) == (
        "categorical",
        "chi-square",
        80,
        0,
    )
    assert row["effect"] == pytest.approx(np.sqrt((0.25 - 1 / 79) / (1 - 1 / 79)))
    assert row["p"] == pytest.approx(stats.chi2.sf(20, 1))
    assert row["by_cluster"] == [
        {"cluster": 0, "text": "a 75%, b 25%"},
        {"cluster": 1, "text": "b 75%, a 25%"},
    ]


def test_numbers_by_hand():
    """Ranks 1 to 3 against 4 to 6: H = 12 / (6 · 7) · (6² + 15²) / 3 − 3 · 7 = 27/7."""
    row = one_column([1.5, 2, 3, 10, 20, 30], [0, 0, 0, 1, 1, 1])
    assert row["kind"] == "numeric"
    assert row["effect"] == pytest.approx(27 / 7 / 5)
    assert row["p"] == pytest.approx(stats.chi2.sf(27 / 7, 1))
    assert row["by_cluster"][1]["text"] == "median 20 (15 to 25)"


def test_numbers_are_tested_as_scipy_does(rng):
    labels, values = rng.integers(4, size=200), rng.normal(size=200).round(1)  # with ties
    values[:7] = np.nan
    expected = stats.kruskal(*(values[7:][labels[7:] == c] for c in range(4)))
    row = one_column(values, labels)
    assert (row["p"], row["n"], row["n_missing"]) == (pytest.approx(expected.pvalue), 193, 7)


def test_categories_are_tested_as_scipy_does(rng):
    labels, values = rng.integers(3, size=300), rng.choice(["x", "y", "z"], size=300)
    expected = stats.chi2_contingency(pd.crosstab(labels, values), correction=False)
    assert one_column(values, labels)["p"] == pytest.approx(expected.pvalue)


def test_few_counts_of_two_by_two_are_tested_exactly():
    """3 and 0 against 0 and 3: 2 of 20 tables are as extreme, p = 0.1."""
    row = one_column(list("aaabbb"), [0, 0, 0, 1, 1, 1])
    assert (row["test"], row["p"]) == ("Fisher's exact", pytest.approx(0.1))


def test_few_counts_of_more_categories_are_tested_by_permutation():
    """Two of each of three kinds, all apart: 6 of the 90 arrangements are, p = 1/15."""
    row = one_column(list("aabbcc"), [0, 0, 1, 1, 2, 2])
    assert row["test"] == "chi-square by permutation"
    assert row["p"] == pytest.approx(1 / 15, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numeric", "categorical", "few"])
def test_p_is_uniform_where_labels_are_random(rng, kind, monkeypatch):
    monkeypatch.setattr("manyview.inspection.association.N_TABLES", 399)
    n, m = (60, 200) if kind == "few" else (300, 200)
    labels = rng.integers(3, size=n)
    if kind == "numeric":
        values = rng.normal(size=(n, m))
    elif kind == "categorical":
        values = rng.choice(list("abcd"), size=(n, m))
    else:
        values = rng.choice(
            list("abcdefgh"), size=(n, m), p=[0.3, 0.3, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05]
        )
    rows = associate(pd.DataFrame(values), labels).tested
    assert len(rows) == m
    assert stats.kstest([row["p"] for row in rows], "uniform").pvalue > 0.01
    assert min(row["p_adjusted"] for row in rows) > 0.01


def test_p_are_adjusted_over_the_columns_and_the_strongest_comes_first(rng):
    labels = np.repeat([0, 1], 50)
    table = pd.DataFrame(rng.normal(size=(100, 9)), columns=list("abcdefghi"))
    table["near"] = labels + rng.normal(scale=0.5, size=100)
    rows = associate(table, labels).tested
    p = np.array([row["p"] for row in rows])
    assert rows[0]["column"] == "near"
    assert rows[0]["p_adjusted"] == pytest.approx(10 * p[0])
    assert [row["p_adjusted"] for row in rows] == pytest.approx(stats.false_discovery_control(p))


def test_what_cannot_be_tested_is_listed_with_the_reason():
    labels = np.repeat([0, 1], 20)
    table = pd.DataFrame(
        {
            "patient": [f"p{i}" for i in range(40)],
            "number": np.arange(40) + 7,
            "note": [f"n{i // 1.5}" for i in range(40)],
            "site": "here",
            "void": np.nan,
            "late": [np.nan] * 20 + [1, 2] * 10,
            "grade": [1, 2] * 20,
        }
    )
    result = associate(table, labels)
    assert {row["column"]: row["reason"] for row in result.set_aside} == {
        "patient": "all different, as names are",
        "number": "all different, as names are",
        "note": "nearly all different",
        "site": "constant",
        "void": "empty",
        "late": "known in one cluster only",
    }
    assert [(row["column"], row["kind"]) for row in result.tested] == [("grade", "categorical")]


def test_one_cluster_is_the_reason_where_there_is_but_one():
    table = pd.DataFrame({"grade": [1, 2] * 20})
    (row,) = associate(table, np.zeros(40, dtype=int)).set_aside
    assert row == {"column": "grade", "reason": "there is one cluster"}


def test_codes_with_gaps_are_told_as_whole_numbers():
    row = one_column([1, 2, np.nan, 2] * 10, [0, 1, 0, 1] * 10)
    assert [part["text"] for part in row["by_cluster"]] == ["1 100%", "2 100%"]


def test_a_column_does_not_depend_on_its_neighbors(rng):
    labels, values = rng.integers(3, size=30), rng.choice(list("abcdef"), size=30)
    one = associate(pd.DataFrame({"x": values}), labels).tested[0]
    two = associate(pd.DataFrame({"x": values, "y": rng.normal(size=30)}), labels).tested
    assert one["p"] == next(row["p"] for row in two if row["column"] == "x")


def test_tables_of_another_length_are_refused():
    with pytest.raises(ViewError, match="has 2 rows; expected 3"):
        associate(pd.DataFrame({"x": [1, 2]}), [0, 1, 0])
