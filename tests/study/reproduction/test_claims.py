"""Verdicts follow the numbers: the same claim on other tables is judged otherwise."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview.datasets.registry import PAPER_SETS
from manyview.study.paper import paper_results
from manyview.study.reproduction import evidence, judges, timing
from manyview.study.reproduction.claims import (
    CLAIMED_GAINS,
    CLAIMS,
    VERDICTS,
    judge_claims,
    tell_undecided,
)
from manyview.study.reproduction.coverage import COLUMNS
from manyview.study.reproduction.judges import (
    FAILS,
    HOLDS,
    NOT_EMPIRICAL,
    ONLY_SORTED,
    UNCHECKED,
    Study,
    ahead,
    to_verdict,
)
from manyview.study.reproduction.scope import PUBLISHED
from manyview.study.reproduction.tables import METRICS

CELL = ["data", "method", "metric", "mean", "std", "n_runs", "n_points", "n_planned", "status",
        "difference"]  # fmt: skip
ORDER = ["data", "method", "metric", "shuffled", "shuffled_std", "n_shuffles", "is_complete"]
TIME = ["data", "method", "seconds", "low", "high", "status"]


def cells(scores, data="bdgp", difference=math.nan, status="done", n_points=1):
    """Cells of methods that have the same score by all metrics."""
    value = {"done": 1.0}.get(status, math.nan)
    return [
        (data, method, metric, value * score, 0.0, 1, value * n_points, 1, status, difference)
        for method, score in scores.items()
        for metric in METRICS
    ]


def shuffles(scores, data="bdgp", std=0.01):
    return [
        (data, method, metric, score, std, 5, True)
        for method, score in scores.items()
        for metric in METRICS
    ]


def study(oracle=(), order=(), ablation=(), ablation_order=(), **others):
    tables = {
        "oracle": pd.DataFrame(list(oracle), columns=CELL),
        "ablation": pd.DataFrame(list(ablation), columns=CELL),
        "order": pd.DataFrame(list(order), columns=ORDER),
        "ablation_order": pd.DataFrame(list(ablation_order), columns=ORDER),
        "sets": pd.DataFrame(columns=["file", "samples", "features", "classes"]),
        "time": pd.DataFrame(columns=TIME),
        "objective": pd.DataFrame(columns=["data", "method", "objective"]),
        "weights": pd.DataFrame(columns=["data", "space", "weight"]),
        "sensitivity": pd.DataFrame(columns=["data", "lam", "acc"]),
        "coverage": pd.DataFrame(columns=COLUMNS),
        **others,
    }
    return Study(tables, {"bdgp": "BDGP", "hdigit": "Hdigit", "mine": "mine"})


@pytest.mark.parametrize(
    ("file", "shuffled", "verdict"),
    [
        ([True, True], [True, True], HOLDS),
        ([True, True], [True, False], ONLY_SORTED),
        ([True, False], [True, True], FAILS),
        ([None, False], [None, None], FAILS),
        ([True, None], [True, True], UNCHECKED),
        ([True, True], [True, None], UNCHECKED),
        ([True, True], [False, None], ONLY_SORTED),
        ([], [], UNCHECKED),
    ],
)
def test_one_counterexample_is_enough_and_a_gap_leaves_it_open(file, shuffled, verdict):
    assert to_verdict(file, shuffled) == verdict


@pytest.mark.parametrize(
    ("ours", "mixed", "verdict"),
    [(0.6, 0.6, HOLDS), (0.6, 0.4, ONLY_SORTED), (0.4, 0.6, FAILS), (0.50004, 0.6, FAILS)],
)
def test_ahead_of_a_rival(ours, mixed, verdict):
    one = study(
        [*cells({PUBLISHED: ours, "lmvsc": 0.5}), *cells({PUBLISHED: 0.1, "lmvsc": 0.2}, "mine")],
        shuffles({PUBLISHED: mixed}),
    )
    one.titles.pop("hdigit")
    found = ahead(["lmvsc"])(one)
    assert found.verdict == verdict
    assert f"{ours:.4f} in file order, {mixed:.4f} shuffled, against 0.5000" in found.evidence
    assert "In file order, without a say: behind on mine." in found.evidence
    assert "In the paper's tables: ahead on 7 of 7 sets." in found.evidence


@pytest.mark.parametrize(
    ("status", "n_points", "verdict"),
    [("declined", 1, HOLDS), ("not run", 1, UNCHECKED), ("done", 0, UNCHECKED)],
)
def test_who_declined_is_not_waited_for_and_who_has_not_run_is(status, n_points, verdict):
    oracle = [
        *cells({PUBLISHED: 0.6, "lmvsc": 0.5}),
        *cells({"fmr": 0.1}, status=status, n_points=n_points),
    ]
    one = study(oracle, shuffles({PUBLISHED: 0.6}))
    judge = ahead(["lmvsc", "fmr"], only=["bdgp"])
    assert judge(one).verdict == verdict
    behind = study([*oracle, *cells({"sfmc": 0.7})], shuffles({PUBLISHED: 0.6}))
    judge = ahead(["lmvsc", "fmr", "sfmc"], only=["bdgp"])
    assert judge(behind).verdict == FAILS  # whatever the one that is missing gives


def test_variants_are_shuffled_too():
    """In file order 0.9 against 0.5; both fall when shuffled, and stay in that order."""
    parts = {"oracle": cells({PUBLISHED: 0.9}), "ablation": cells({"omvc": 0.5})}
    order = shuffles({PUBLISHED: 0.45})
    judge = ahead(["omvc"], only=["bdgp"])
    found = judge(study(order=order, **parts))
    assert found.verdict == UNCHECKED
    assert found.evidence.endswith("(+80.00 %, not all shuffled).")
    mixed = shuffles({"omvc": 0.4})
    assert judge(study(order=order, ablation_order=mixed, **parts)).verdict == HOLDS


def test_the_best_variant_may_be_another_one_on_shuffled_rows():
    one = study(
        cells({PUBLISHED: 0.9}),
        shuffles({PUBLISHED: 0.8}),
        cells({"omvcdr_2": 0.7, "two_step": 0.6}),
        shuffles({"omvcdr_2": 0.5}),
    )
    text = ahead(["omvcdr_2", "two_step"], only=["bdgp"])(one).evidence
    assert "against 0.7000 of OMVCDR-2 (two spaces) and 0.6000 of two steps" in text


def test_the_percent_gains_are_those_of_the_papers_own_table():
    wide = (
        paper_results()
        .query("metric == 'acc'")
        .pivot(index="data", columns="method", values="mean")
    )
    gain = 100 * (wide["omvcdr"] / wide.drop(columns="omvcdr").max(axis=1) - 1)
    assert {one.name: round(gain[one.name], 2) for one in PAPER_SETS} == CLAIMED_GAINS


@pytest.mark.parametrize(("ours", "verdict"), [(0.55, HOLDS), (0.54, FAILS)])
def test_a_gain_must_be_as_large_as_claimed(ours, verdict):
    one = study(cells({PUBLISHED: ours, "opmc": 0.5}), shuffles({PUBLISHED: 0.6}))
    assert ahead(["opmc"], only=["bdgp"], percent=10.0)(one).verdict == verdict
    waiting = ahead(["opmc"], only=["awa"], percent=10.0)(one)
    assert waiting.verdict == UNCHECKED
    assert "A file awa.npz, AwA_fea.mat or AwA_6Views.mat" in waiting.evidence
    assert "`manyview reproduce --data FOLDER`" in waiting.evidence


def test_derived_features_decide_a_claim_about_their_set_alone_and_say_so():
    scores = {PUBLISHED: 0.4, "opmc": 0.5}
    one = study(cells(scores, "flower17_derived_7v"), shuffles(scores, "flower17_derived_7v"))
    one.titles.update(flower17_derived_7v="Flower17 (derived features)")
    found = ahead(["opmc"], only=["flower17"])(one)
    assert found.verdict == FAILS
    assert found.evidence.startswith("On derived features, which are not the paper's. Flower17")
    assert ahead(["opmc"])(one).verdict == UNCHECKED  # the paper's sets have no values here
    both = Study(one.tables, {**one.titles, "flower17": "Flower17"})
    assert ahead(["opmc"], only=["flower17"])(both).verdict == UNCHECKED


def test_the_row_of_smvsc_is_not_compared_by_a_metric_that_it_does_not_have():
    one = study(cells({PUBLISHED: 0.6, "smvsc": 0.5}), shuffles({PUBLISHED: 0.6}))
    assert "The paper has no ACC of it" in ahead(["smvsc"])(one).evidence


@pytest.mark.parametrize(("n_ahead", "verdict"), [(1, HOLDS), (2, FAILS)])
def test_comparable_is_first_or_second(n_ahead, verdict):
    scores = {name: 0.6 if i < n_ahead else 0.4 for i, name in enumerate(judges.RIVALS)}
    one = study(cells({PUBLISHED: 0.5, **scores}), shuffles({PUBLISHED: 0.5}))
    found = judges.comparable_scores(one)
    assert found.verdict == verdict
    assert f"BDGP NMI {1 + n_ahead} ({1 + n_ahead})" in found.evidence


@pytest.mark.parametrize(("std", "verdict"), [(0.0, HOLDS), (0.01, ONLY_SORTED)])
def test_variance_is_that_over_orders_of_the_rows(std, verdict):
    one = study(order=shuffles({PUBLISHED: 0.5}, std=std))
    assert judges.unchanged_by_shuffling(one).verdict == verdict


@pytest.mark.parametrize(("gap", "verdict"), [(1e-5, HOLDS), (0.01, FAILS)])
def test_the_papers_values(gap, verdict):
    one = study(cells({PUBLISHED: 0.5}, difference=-gap))
    assert judges.values_met(one).verdict == (FAILS if verdict == FAILS else UNCHECKED)  # no Hdigit
    one = study(cells({PUBLISHED: 0.5}, difference=-gap))
    one.titles.pop("hdigit")
    assert judges.values_met(one).verdict == verdict


@pytest.mark.parametrize(("gap", "is_told"), [(1e-5, True), (0.01, False)])
def test_where_only_the_full_method_misses_the_papers_values_the_file_is_not_to_blame(gap, is_told):
    variants = cells(dict.fromkeys(("omvc", "omvcdr_2", "omvcdr_alpha"), 0.5), difference=gap)
    one = study(cells({PUBLISHED: 0.5}, difference=-0.1), ablation=variants)
    told = "although all 12 values of the ablation come out to four digits"
    assert (told in judges.values_met(one).evidence) == is_told


@pytest.mark.parametrize(
    ("gap", "features", "verdict"),
    [(0.0, "784, 256", FAILS), (0.0, "240, 76", HOLDS), (0.1, "784, 256", UNCHECKED)],
)
def test_which_set_handwritten_is(gap, features, verdict):
    sets = pd.DataFrame([("handwritten_2v", features)], columns=["file", "features"])
    one = study(cells({PUBLISHED: 0.5}, "handwritten_2v", difference=gap), sets=sets)
    assert judges.handwritten_is_uci(one).verdict == verdict


@pytest.mark.parametrize(
    ("weights", "verdict"), [((0.99, 0.98), FAILS), ((0.99, 0.6), HOLDS), ((0.1, 0.99), HOLDS)]
)
def test_weights_that_always_end_on_the_first_space_choose_nothing(weights, verdict):
    rows = [
        (data, p, share)
        for data, weight in zip(("bdgp", "hdigit"), weights, strict=True)
        for p, share in ((1, weight), (2, 1 - weight))
    ]
    table = pd.DataFrame(rows, columns=["data", "space", "weight"])
    assert judges.weights_choose(study(weights=table)).verdict == verdict


@pytest.mark.parametrize(("n", "last", "soon", "falls"), [
    (39, 0.0, HOLDS, HOLDS), (40, 0.0, FAILS, HOLDS), (10, 99.0, HOLDS, FAILS),
])  # fmt: skip
def test_convergence(n, last, soon, falls):
    values = [*np.linspace(2, 1, n - 1), last]
    table = pd.DataFrame({"data": "bdgp", "method": PUBLISHED, "objective": values})
    one = study(objective=table)
    assert judges.converges_soon(one).verdict == soon
    assert judges.never_rises(one).verdict == falls


@pytest.mark.parametrize(("acc", "stays", "same"), [
    ((0.5, 0.6, 0.9, 0.88), HOLDS, FAILS),
    ((0.5, 0.4, 0.9, 0.88), FAILS, FAILS),
    ((0.5, 0.6, 0.9, 0.7), FAILS, FAILS),
    ((0.88, 0.89, 0.9, 0.88), HOLDS, HOLDS),
])  # fmt: skip
def test_sensitivity(acc, stays, same):
    table = pd.DataFrame({"data": "bdgp", "lam": [1, 2, 4, 8], "acc": acc})
    one = study(cells({PUBLISHED: 0.5}), sensitivity=table)
    assert judges.rises_then_stays(one).verdict == stays
    assert judges.insensitive(one).verdict == same
    part = study(cells({PUBLISHED: 0.5}, n_points=0), sensitivity=table)
    assert judges.insensitive(part).verdict == UNCHECKED


def times(**seconds):
    rows = [
        ("bdgp", name, value, 0.8 * value, 1.2 * value, "done") for name, value in seconds.items()
    ]
    return pd.DataFrame(rows, columns=TIME)


@pytest.mark.parametrize(("seconds", "verdicts"), [
    ({"fmr": 9.0, "lmvsc": 1.0, "opmc": 1.0, PUBLISHED: 3.0}, (HOLDS, HOLDS, HOLDS)),
    ({"fmr": 2.0, "lmvsc": 1.0, "opmc": 90.0, PUBLISHED: 30.0}, (FAILS, FAILS, FAILS)),
    ({"fmr": 3.1, "lmvsc": 1.0, "opmc": 2.5, PUBLISHED: 3.0}, (FAILS, FAILS, HOLDS)),
])  # fmt: skip
def test_times_whose_ranges_overlap_are_not_less(seconds, verdicts):
    one = study(time=times(**seconds))
    judged = (timing.fmr_is_slowest, timing.takes_less_time(["opmc", "lmvsc"]),
              timing.comparable_time)  # fmt: skip
    assert tuple(judge(one).verdict for judge in judged) == verdicts


def test_times_are_medians_of_what_was_done_or_those_of_the_package():
    rows = [("bdgp", m, s, "done", "") for m, n in ((PUBLISHED, 2), ("opmc", 1)) for s in (n, 9, n)]
    rows += [("bdgp", "sfmc", math.nan, "declined", "too long")]
    columns = ["data", "method", "seconds", "status", "reason"]
    table = timing.time_table(pd.DataFrame(rows, columns=columns)).set_index("method")
    own = table.loc["opmc", ["seconds", "low", "high", "n_runs", "relative"]]
    assert own.tolist() == [1, 1, 9, 3, 0.5]
    assert table.loc["sfmc", "status"] == "declined"
    shipped = timing.time_table(pd.DataFrame(columns=columns))
    assert PUBLISHED in set(shipped["method"])
    assert (shipped["low"] <= shipped["seconds"]).all()


@pytest.mark.parametrize(("power", "verdict"), [(1.1, HOLDS), (2.0, FAILS)])
@pytest.mark.parametrize("quantity", ["time", "memory"])
def test_growth_is_judged_by_the_exponents_of_the_benchmark(quantity, power, verdict, monkeypatch):
    rows = [(name, "n", power, power, 1000, 16000) for name in (PUBLISHED, "omvcdr")]
    columns = ["method", "axis", "time", "memory", "smallest", "largest"]
    monkeypatch.setattr(evidence, "measured", lambda _: pd.DataFrame(rows, columns=columns))
    found = evidence.grows_linearly(quantity)(study())
    assert found.verdict == verdict
    assert f"the {quantity} of a fit is ~ n^{power:.2f}" in found.evidence


@pytest.mark.parametrize(("p", "gain", "verdict"), [
    (0.5, 0.1, FAILS), (0.01, -0.1, FAILS), (0.01, 0.1, HOLDS),
])  # fmt: skip
def test_anchors_are_chosen_if_a_test_says_so(p, gain, verdict, monkeypatch):
    table = pd.DataFrame({"gain": [gain], "p_holm": p, "n_sets": 15, "n_smallest": 3, "n_fits": 3})
    monkeypatch.setattr(evidence, "measured", lambda _: table)
    assert evidence.chooses_anchors(study()).verdict == verdict


def test_the_results_of_the_benchmarks_come_with_the_package():
    by_name = {claim.text: claim for claim in CLAIMS}
    table = judge_claims(study().tables, study().titles).set_index("claim")
    grows = ["Time grows linearly with the number of samples.",
             "Memory grows linearly with the number of samples."]  # fmt: skip
    assert set(table.loc[grows, "verdict"]) == {HOLDS}
    chooses, reads = "The idea can choose the number of anchors.", "Anchor learning is a special"
    assert table.loc[chooses, "verdict"] == FAILS
    (reading,) = (text for text in by_name if text.startswith(reads))
    assert table.loc[reading, "verdict"] == NOT_EMPIRICAL
    identity = re.search(r"`(test_\w+)`", table.loc[reading, "evidence"])[1]
    tests = Path(__file__).parents[2] / "test_omvcdr.py"
    assert f"def {identity}(" in tests.read_text()


def test_without_runs_no_claim_is_judged():
    empty = study()
    table = judge_claims(empty.tables, empty.titles)
    needy = [bool(claim.needs.runs) for claim in CLAIMS]
    assert set(table.loc[needy, "verdict"]) == {UNCHECKED}
    assert len(table) == len({claim.text for claim in CLAIMS})


@pytest.mark.parametrize(
    ("n_done", "verdicts", "lead"),
    [
        (11, [FAILS, HOLDS], "BDGP: "),
        (2, [FAILS, UNCHECKED], "BDGP: "),
    ],
)
def test_a_part_of_the_runs_decides_only_what_the_others_cannot_change(n_done, verdicts, lead):
    """A set on which OMVCDR is behind is enough; a range of ACC over λ can only grow."""
    coverage = [
        ("oracle", "bdgp", PUBLISHED, n_done, 11),
        ("oracle", "bdgp", "lmvsc", 8, 8),
        ("order", "bdgp", PUBLISHED, 5, 5),
        ("label-free", "bdgp", PUBLISHED, 0, 10),  # no claim needs these
    ]
    one = study(
        cells({PUBLISHED: 0.4, "lmvsc": 0.5}),
        shuffles({PUBLISHED: 0.4}),
        sensitivity=pd.DataFrame({"data": "bdgp", "lam": [1, 2], "acc": [0.4, 0.4]}),
        coverage=pd.DataFrame(coverage, columns=COLUMNS),
    )
    one.titles.pop("hdigit")
    table = judge_claims(one.tables, one.titles).set_index("claim")
    named = ["OMVCDR is better than LMVSC.", "It is insensitive to λ."]
    assert table.loc[named, "verdict"].tolist() == verdicts
    assert table.loc[named[0], "evidence"].startswith(lead)
    assert table.loc[named[0], ["n_done", "n_needed"]].tolist() == [n_done + 13, 24]
    undecided = tell_undecided(table, one.tables["coverage"])
    assert undecided.endswith("15 of the 34 runs of the whole study were done.") == (n_done == 2)
    assert (undecided == "") == (n_done == 11)


def test_the_page_in_the_documentation_has_all_claims():
    page = (Path(__file__).parents[3] / "docs" / "claims.md").read_text()
    rows = [line.split(" | ")[1:4:2] for line in page.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [claim for claim, _ in rows] == [claim.text for claim in CLAIMS]
    assert {verdict.strip("*") for _, verdict in rows} <= set(VERDICTS)
