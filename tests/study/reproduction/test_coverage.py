"""Which runs of the whole study are there."""

import pandas as pd
import pytest

from manyview.study.methods import Method
from manyview.study.reproduction.coverage import TRACE, Needs, coverage_table
from manyview.study.reproduction.runs import Part
from manyview.study.reproduction.scope import PUBLISHED, FoundSet
from manyview.study.runner import Conditions

ONE = FoundSet("bdgp", 100, (3, 4), 2)
METHODS = [Method(name, "module:Class", {}) for name in ("first", "second")]
TRACES = {
    "objective": pd.DataFrame({"data": ["bdgp"], "method": [PUBLISHED]}),
    "two_step": pd.DataFrame({"data": [], "method": []}),
}


def covered(statuses, *, is_quick):
    """Of a grid of two points and three seeds, the runs of the first method are `statuses`."""
    conditions = Conditions(seeds=range(3), grids={"first": [{"lam": 1}, {"lam": 2}]})
    parts = [
        Part("oracle", "", [ONE], METHODS, conditions),
        Part("ablation", "", [ONE], [], conditions),
    ]
    rows = pd.DataFrame({"data": "bdgp", "method": "first", "status": statuses})
    table = coverage_table(parts, {"oracle": rows}, TRACES, is_quick=is_quick)
    return table.set_index(["stage", "method"])[["n_done", "n_needed"]]


@pytest.mark.parametrize(
    ("statuses", "is_quick", "counts"),
    [
        (["done"] * 6, False, [6, 6]),
        (["done"] * 4 + ["failed"] * 2, False, [6, 6]),  # they would fail again
        (["done"] * 4 + ["not run"] * 2, False, [4, 6]),
        (["done"] * 2, True, [2, 6]),
        (["declined"] * 2, False, [2, 2]),  # other seeds are not asked
        (["declined"] * 2, True, [0, 6]),  # the whole study has larger limits
    ],
)
def test_runs_that_ended_are_counted(statuses, is_quick, counts):
    table = covered(statuses, is_quick=is_quick)
    assert table.loc[("oracle", "first")].tolist() == counts
    assert table.loc[("oracle", "second")].tolist() == [0, 3]


def test_traces_are_counted_and_only_a_quick_study_lacks_some():
    quick, whole = (covered([], is_quick=is_quick).loc[TRACE] for is_quick in (True, False))
    assert quick.to_dict("index") == {
        PUBLISHED: {"n_done": 1, "n_needed": 1},
        "two_step": {"n_done": 0, "n_needed": 1},
    }
    assert (whole["n_done"] == 1).all()


def test_needs_are_counted_on_the_sets_that_they_name():
    rows = [("oracle", data, "first", 1, 5) for data in ("bdgp", "hdigit", "mine")]
    table = pd.DataFrame(rows, columns=["stage", "data", "method", "n_done", "n_needed"])
    runs = {"oracle": ["first"], "order": ["first"]}
    assert Needs(runs).count(table, ["bdgp", "hdigit"]) == (2, 10)
    assert Needs(runs, ["bdgp"]).count(table, ["bdgp", "hdigit"]) == (1, 5)
    assert Needs(runs, ["mine"]).count(table, ["bdgp"]) == (1, 5)
