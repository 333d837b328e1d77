"""Survival by cluster: by hand, against scipy, and against figures of lifelines."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manyview.exceptions import ViewError
from manyview.inspection import survival
from manyview.inspection.association import associate
from manyview.inspection.survival import KaplanMeier, compare_survival, log_rank
from manyview.inspection.survival_columns import find_survival, read_events

# of lifelines on 20 random sets, as tools/make_survival_figures.py writes them
REFERENCE = json.loads((Path(__file__).parent / "lifelines.json").read_text(encoding="utf-8"))
SETS = REFERENCE["sets"]


def arrays(case):
    return (
        np.array(case["time"]),
        np.array(case["event"], dtype=bool),
        np.array(case["group"]),
    )


@pytest.mark.parametrize("case", SETS, ids=range(len(SETS)))
def test_the_log_rank_test_is_that_of_lifelines(case):
    time, event, group = arrays(case)
    test = log_rank(time, event, group)
    assert test.statistic == pytest.approx(case["statistic"], abs=1e-6)
    assert test.p_chi_square == pytest.approx(case["p"], abs=1e-6)


@pytest.mark.parametrize("case", SETS, ids=range(len(SETS)))
def test_the_log_rank_test_of_pairs_is_that_of_lifelines(case):
    time, event, group = arrays(case)
    for a, b, statistic, p in case["pairs"]:
        rows = np.isin(group, [a, b])
        test = log_rank(time[rows], event[rows], group[rows])
        if test is None:  # one of them is never at risk
            assert (statistic, p) == (0, 1)
        else:
            assert (test.statistic, test.p_chi_square) == pytest.approx((statistic, p), abs=1e-6)


@pytest.mark.parametrize("case", SETS, ids=range(len(SETS)))
def test_curves_are_those_of_lifelines(case):
    time, event, group = arrays(case)
    for name, expected in case["curves"].items():
        own = group == int(name)
        curve = KaplanMeier.of(time[own], event[own])
        assert curve.time == pytest.approx(expected["time"])
        assert curve.survival == pytest.approx(expected["survival"], abs=1e-6)
        for bound in ("low", "high"):
            known = curve.survival > 0
            ours, theirs = getattr(curve, bound)[known], np.array(expected[bound])[known]
            assert ours == pytest.approx(theirs, abs=1e-6)
        at_risk = [(time[own] >= moment).sum() for moment in curve.time]
        assert at_risk == expected["at_risk"]


def test_a_curve_by_hand():
    """Of 5, one has the event at 1; of 4, one at 2, where one is censored; of 2, one at 4."""
    curve = KaplanMeier.of(np.array([1.0, 2, 2, 4, 5]), np.array([1, 1, 0, 1, 0], bool))
    assert curve.survival == pytest.approx([4 / 5, 4 / 5 * 3 / 4, 0.6 / 2, 0.3])
    assert curve.median()[0] == 4
    assert curve.at(np.array([0, 1, 3.9, 9])) == pytest.approx([1, 0.8, 0.6, 0.3])


def test_a_median_that_is_not_reached_is_none():
    curve = KaplanMeier.of(np.array([1.0, 2, 3, 4]), np.array([1, 0, 0, 0], bool))
    assert curve.median()[0] is None


def test_two_groups_are_tested_as_scipy_does(rng):
    time, event = rng.exponential(size=80).round(1), rng.random(80) < 0.7
    group = rng.integers(2, size=80)
    x, y = (stats.CensoredData.right_censored(time[group == g], ~event[group == g]) for g in (0, 1))
    expected = stats.logrank(x, y)
    test = log_rank(time, event, group)
    assert test.statistic == pytest.approx(expected.statistic**2)
    assert (test.p, test.is_permuted) == (pytest.approx(expected.pvalue), False)


def test_expected_events_add_up_to_those_seen(rng):
    time, event, group = rng.exponential(size=90), rng.random(90) < 0.5, rng.integers(4, size=90)
    assert log_rank(time, event, group).expected.sum() == pytest.approx(event.sum())


def test_small_groups_are_tested_by_permutation():
    """Three early and three late events: 2 of the 20 arrangements are as extreme, p = 0.1."""
    test = log_rank(np.arange(6.0), np.ones(6, bool), np.repeat([0, 1], 3))
    assert test.is_permuted
    assert test.p == pytest.approx(0.1, abs=0.015)
    assert test.p_chi_square < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("n", [24, 150])
def test_p_is_uniform_where_groups_are_random(rng, n, monkeypatch):
    monkeypatch.setattr(survival, "N_PERMUTED", 399)
    p = [
        log_rank(rng.exponential(size=n), rng.random(n) < 0.6, rng.integers(3, size=n)).p
        for _ in range(200)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01


@pytest.mark.parametrize(
    ("time", "event", "group"),
    [
        ([1.0, 2, 3], [0, 0, 0], [0, 1, 1]),  # nobody had the event
        ([1.0, 2, 3], [1, 1, 1], [0, 0, 0]),  # one group
        ([1.0, 1, 5, 6], [0, 0, 1, 1], [0, 0, 1, 1]),  # one group has left before the first event
    ],
)
def test_what_cannot_be_compared_is_none(time, event, group):
    assert log_rank(np.array(time), np.array(event, bool), np.array(group)) is None


@pytest.fixture
def clinical(rng):
    n = 120
    labels = np.repeat([0, 1, 2], n // 3)
    time = rng.exponential(np.array([100, 100, 900])[labels]).round(1)
    status = np.where(rng.random(n) < 0.8, "1:DECEASED", "0:LIVING")
    table = pd.DataFrame({"OS_days": time, "OS_status": status, "age": rng.normal(60, 9, n)})
    table.loc[4, "OS_status"] = "[Not Available]"
    return table, labels


def test_survival_is_compared_and_its_columns_are_not_tested_otherwise(clinical):
    table, labels = clinical
    result = associate(table, labels, time="OS_days", event="OS_status")
    found = result.survival
    assert (found["n"], found["n_missing"]) == (119, 1)
    assert [part["n"] for part in found["clusters"]] == [39, 40, 40]
    assert found["n_events"] == sum(part["n_events"] for part in found["clusters"])
    assert found["test"]["p"] < 1e-6
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]][-1] == (0, 1)
    p = [pair["p"] for pair in found["pairs"]]
    adjusted = [pair["p_adjusted"] for pair in found["pairs"]]
    assert adjusted == pytest.approx(stats.false_discovery_control(p))
    assert [row["column"] for row in result.tested] == ["age"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for part in found["clusters"]:
        assert part["at_risk"][0] == part["n"]
        assert len(part["at_risk"]) == len(found["ticks"])


def test_without_the_option_there_is_a_hint_and_no_test_of_censored_times(clinical):
    table, labels = clinical
    result = associate(table, labels)
    assert result.survival is None
    assert {row["column"] for row in result.tested} == {"age", "OS_status"}
    (row,) = result.set_aside
    assert row == {"column": "OS_days", "reason": "survival times, which are censored"}
    assert "--time OS_days --event OS_status" in result.hints[0]


@pytest.mark.parametrize(
    ("time", "event"),
    [
        ("OS.time", "OS"),
        ("OS_MONTHS", "OS_STATUS"),
        ("time", "status"),
        ("days_to_death", "vital_status"),
        ("overall_survival_months", "deceased"),
        ("daysToLastFollowUp", "vitalStatus"),
        ("survival", "event"),
    ],
)
def test_the_usual_names_look_like_survival(rng, time, event):
    table = pd.DataFrame({"sex": list("fm") * 20, event: [0, 1] * 20, time: rng.random(40) * 99})
    (found,) = find_survival(table)
    assert (found.time, found.event) == (time, event)


@pytest.mark.parametrize(
    "name",
    [*("age", "age_at_death_years", "year_of_birth", "bmi", "dose_mg", "score_os", "cost")],
)
def test_other_numbers_do_not(rng, name):
    table = pd.DataFrame({name: rng.random(40) * 99, "OS_status": [0, 1] * 20})
    assert find_survival(table) == []


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 1, None],
        [False, True, True, None],
        ["alive", "Dead", "DECEASED", ""],
        ["0:DiseaseFree", "1:Recurred/Progressed", "1:Recurred", "NA"],
        ["no", "yes", "Yes", "'--"],
        ["0.0", "1.0", "1", "[Unknown]"],
        [1.0, 2.0, 2.0, None],
    ],
)
def test_events_are_read_however_they_are_written(values):
    events, notes = read_events(pd.DataFrame({"event": values}), "event")
    np.testing.assert_array_equal(events, [0, 1, 1, np.nan])
    assert bool(notes) == (values[0] == 1.0 and values[1] == 2.0)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"time": "OS_days"}, "time is given without event"),
        ({}, {"time": "OS_day", "event": "OS_status"}, "no column 'OS_day'; expected one of OS"),
        ({"OS_days": -1.0}, {"time": "OS_days", "event": "OS_status"}, "holds -1; expected times"),
        ({"OS_days": "x"}, {"time": "OS_days", "event": "OS_status"}, "holds 'x'; expected times"),
        ({"OS_status": "II"}, {"time": "OS_days", "event": "OS_status"}, "holds 'II'; expected 1"),
    ],
)
def test_what_is_no_survival_is_refused_with_a_remedy(clinical, change, options, message):
    table, labels = clinical
    with pytest.raises(ViewError, match=message):
        associate(table.assign(**change), labels, **options)


def test_of_very_many_clusters_pairs_are_not_tested(rng):
    n = 21 * 8
    table = pd.DataFrame({"t": rng.exponential(size=n), "e": rng.random(n) < 0.9})
    found = compare_survival(table, np.arange(n) % 21, "t", "e")
    assert (len(found["clusters"]), found["pairs"]) == (21, [])
