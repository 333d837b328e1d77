"""Cross tables and box plots of metadata: by hand, and against their definitions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manyview.inspection.association import associate
from manyview.inspection.cross_tables import box_plots, cross_table


def counts_of(table):
    return pd.DataFrame(table, columns=list("abcdefgh")[: len(table[0])])


def test_residuals_by_hand():
    """30 and 10 against 10 and 30: E = 20 in each; 10 / √(20 · ½ · ½) = √20 = √χ²."""
    table = cross_table(counts_of([[30, 10], [10, 30]]))
    assert table["categories"] == ["a", "b"]
    first, second = table["rows"]
    assert (first["n"], first["counts"], first["n_other"]) == (40, [30, 10], 0)
    assert first["residuals"] == pytest.approx([20**0.5, -(20**0.5)])
    assert second["residuals"] == pytest.approx([-(20**0.5), 20**0.5])


@pytest.mark.slow
def test_residuals_are_standard_normal_where_nothing_depends_on_anything(rng):
    law = stats.random_table([60, 90, 150], [100, 120, 80])
    drawn = law.rvs(size=4000, random_state=rng)
    found = np.array(
        [[row["residuals"] for row in cross_table(counts_of(t))["rows"]] for t in drawn]
    )
    assert found.mean(axis=0) == pytest.approx(np.zeros((3, 3)), abs=0.06)
    assert found.std(axis=0) == pytest.approx(np.ones((3, 3)), abs=0.05)


def test_of_many_categories_the_most_common_have_columns_and_none_is_lost(rng):
    counts = pd.DataFrame(rng.integers(1, 99, (3, 25)), columns=[f"c{j}" for j in range(25)])
    table = cross_table(counts)
    assert (len(table["categories"]), table["n_other"]) == (20, 5)
    for row in table["rows"]:
        assert sum(row["counts"]) + row["n_other"] == row["n"] == counts.loc[row["cluster"]].sum()
    assert (
        counts[table["categories"]].sum().min()
        >= counts.drop(columns=table["categories"]).sum().max()
    )


def test_a_box_by_hand():
    """1 to 9 and 100: quartiles 3.25, 5.5 and 7.75; whiskers within 6.75 of them: 1 and 9."""
    values = pd.Series([*range(1, 10), 100.0])
    boxes = box_plots(values, np.zeros(10, dtype=int))
    (row,) = boxes["rows"]
    assert [row[key] for key in ("low", "q1", "median", "q3", "high")] == [1, 3.25, 5.5, 7.75, 9]
    assert (row["n"], row["n_beyond"], row["mean"]) == (10, 1, 14.5)
    assert (boxes["low"], boxes["high"]) == (1, 9)


def test_each_column_has_its_table_or_its_boxes(rng):
    labels = rng.integers(3, size=90)
    table = pd.DataFrame({"age": rng.normal(size=90), "sex": rng.choice(["f", "m"], 90)})
    table.loc[4, "age"] = np.nan
    rows = {row["column"]: row for row in associate(table, labels).tested}
    assert sum(row["n"] for row in rows["age"]["boxes"]["rows"]) == 89
    own = table["age"][labels == 1].dropna()
    assert rows["age"]["boxes"]["rows"][1]["median"] == own.median()
    counts = pd.crosstab(labels, table["sex"]).to_numpy().tolist()
    assert [row["counts"] for row in rows["sex"]["table"]["rows"]] == counts
