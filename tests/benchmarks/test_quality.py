"""The benchmarks that write into docs: what they compute, by hand."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.page import markdown, parser_for, results_file, write_section
from benchmarks.paper import bench_anchors, bench_growth
from benchmarks.paper.bench_growth import AXES, METHODS, Size
from benchmarks.quality import (
    bench_choose,
    bench_confidence,
    bench_defaults,
    bench_quality,
    bench_rivals,
    bench_settings,
    bench_strangers,
    bench_tables,
)
from benchmarks.speed import bench_estimate, bench_scale
from manyview.baselines import BASELINES
from manyview.datasets import make_multiview_blobs


def test_an_exponent_is_the_slope_of_the_upper_half():
    x = pd.Series([1.0, 2.0, 4.0, 8.0, 16.0])
    assert bench_growth.slope(x, 3 * x**1.5) == pytest.approx(1.5)
    assert bench_growth.slope(x, (3 * x**2).where(x >= 4, 1000)) == pytest.approx(2)


def test_a_statement_is_a_sum_of_products():
    size = Size(n=2, d=3, D=5, k=7)
    assert bench_growth.stated("n d D + d D²", size) == 2 * 3 * 5 + 3 * 25
    assert bench_growth.stated("n k + n min(n,d)", size) == 2 * 7 + 2 * 2


def test_something_is_stated_of_every_method():
    assert {method.name for method in METHODS} == {"omvcdr", *BASELINES}


TIED = [method for method in METHODS if method.is_tied]


@pytest.mark.parametrize("method", TIED, ids=lambda method: method.name)
def test_spaces_of_k_2k_and_so_on_have_the_dimensions_of_the_size(method):
    for size in (size for axis in AXES for size in method.sizes(axis)):
        p = bench_growth.n_spaces(size)
        assert size.k * p * (p + 1) // 2 == size.D


def test_the_latent_spaces_have_the_dimensions_of_the_size():
    ours = METHODS[0]
    for size in (size for axis in AXES for size in ours.sizes(axis)):
        assert sum(ours.make(size).latent_dims) == size.D


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_measurement_has_a_time_a_memory_and_both_statements(method):
    size = Size(n=120, d=60, D=24, k=4)
    data = make_multiview_blobs(120, (30, 30), n_clusters=4, random_state=0).data
    with bench_growth.fixed_steps():
        row = bench_growth.measure(method, size, data, 1)
    assert min(row[column] for column in bench_growth.MEASURED) > 0


def test_reasons_are_given_only_where_the_exponent_differs(monkeypatch):
    cell = {"stated_time": 1.0, "memory": 1.0, "stated_memory": 1.0}
    exponents = pd.DataFrame(
        [
            {"method": "opmc", "axis": "n", "time": 1.1, **cell},
            {"method": "opmc", "axis": "d", "time": 2.0, **cell},
            {"method": "opmc", "axis": "k", "time": 0.5, **cell},
        ]
    )
    monkeypatch.setattr(bench_growth, "REASONS", {("opmc", "d", "time"): "a reason."})
    assert bench_growth.reasons(exponents).splitlines()[2:] == [
        "* time of `opmc` in d: a reason.",
        "* time of `opmc` in k: no reason known.",
    ]
    table = bench_growth.table(exponents, "time").splitlines()
    assert "| `opmc` | O(n d k) | 1.10 (1.00) | **2.00 (1.00)** | – | **0.50 (1.00)** |" in table


def test_the_weights_choose_the_number_of_anchors():
    anchors = [[np.zeros((d, 9))] for d in (4, 8, 12)]
    model = SimpleNamespace(anchors_=anchors, space_weights_=np.array([0.2, 0.5, 0.3]))
    assert bench_anchors.choose_anchors(model) == {"largest": 8, "mean": 8}  # 0.8 + 4 + 3.6 = 8.4


def test_chance_among_the_spaces_is_their_mean():
    rows = pd.DataFrame(
        [
            {"data": "a", "method": "lmvsc", "rule": rule, "acc": acc}
            for rule, acc in [
                ("default", 0.1),
                ("largest", 0.2),
                ("mean", 0.3),
                ("space 0", 0.2),
                ("space 1", 0.6),
            ]
        ]
    )
    scores = bench_anchors.mean_scores(rows, "lmvsc", "acc").loc["a"]
    assert scores.to_dict() == pytest.approx(
        {"largest": 0.2, "mean": 0.3, "default": 0.1, "any": 0.4}
    )


@pytest.mark.slow
def test_a_choice_that_always_gains_is_found_to_help():
    gains = {"largest": 0.2, "mean": -0.2, "default": 0.0, "space 0": 0.0}
    rows = pd.DataFrame(
        [
            {"data": name, "n_clusters": 2, "method": method, "seed": 0, "rule": rule}
            | {"n_anchors": 4 if rule in ("largest", "space 0") else 9, "acc": score, "nmi": score}
            for name in range(12)
            for method in ("lmvsc", "smvsc")
            for rule, gain in gains.items()
            for score in [0.5 + gain + name / 1000]
        ]
    )
    pairs = bench_anchors.compare(rows)
    verdicts = pairs.groupby("first")["verdict"].unique()
    assert list(verdicts["largest"]) == ["helps"]
    assert list(verdicts["mean"]) == ["hurts"]
    text = bench_anchors.findings(rows, pairs)
    assert "in 12 of 12 fits" in text
    assert "8 × helps, 8 × hurts" in text


def test_the_rows_of_a_fit_hold_auroc_and_the_curve():
    """Ten samples, the least and the fourth most confident of them wrong.

    Of the 16 pairs of a right and a wrong sample, 8 + 3 are in order.
    """
    target, labels = np.repeat([0, 1], 5), np.array([0, 0, 0, 1, 0, 1, 1, 1, 1, 0])
    model = SimpleNamespace(labels_=labels, confidence_=np.linspace(1, 0.1, 10), stability_=0.7)
    rows = bench_confidence.measure(target, model)
    assert rows["auroc"].unique() == pytest.approx([(8 + 3) / 16])
    assert rows["stability"].unique() == [0.7]
    curve = rows.set_index("share")["acc"]
    assert curve[[0.3, 0.4, 0.9, 1.0]].tolist() == pytest.approx([1, 3 / 4, 8 / 9, 8 / 10])


def test_where_all_is_right_there_is_no_auroc():
    same = np.array([0, 1, 1])
    model = SimpleNamespace(labels_=same, confidence_=np.ones(3), stability_=1.0)
    assert bench_confidence.measure(same, model)["auroc"].isna().all()


@pytest.fixture
def confidence_rows():
    """Three sets with two seeds, whose accuracy rises, rises and falls with confidence."""
    ends = {"a": (0.9, 0.8, 0.95), "b": (0.7, 0.5, 0.65), "c": (0.2, 0.4, 0.55)}
    return pd.DataFrame(
        {"data": name, "seed": seed, "n_samples": 10, "auroc": auroc + (seed - 0.5) / 50}
        | {"stability": whole + 0.15, "share": share, "acc": first + (whole - first) * share}
        for name, (first, whole, auroc) in ends.items()
        for seed in range(2)
        for share in bench_confidence.SHARES
    )


def test_the_figures_of_a_set_are_means_over_seeds(confidence_rows):
    figures = bench_confidence.summary(confidence_rows)
    assert figures["auroc"].to_dict() == pytest.approx({"a": 0.95, "b": 0.65, "c": 0.55})
    assert figures["half"].to_dict() == pytest.approx({"a": 0.85, "b": 0.6, "c": 0.3})
    assert bench_confidence.correlation(figures, "stability")[0] == pytest.approx(1)
    lines = bench_confidence.table(figures).splitlines()
    assert "| `b` | 0.500 | 0.650 | 0.600 | 0.650 |" in lines
    assert lines[-1] == "| mean | 0.567 | 0.717 | 0.583 | 0.717 |"


def test_sets_where_confidence_misleads_are_named(confidence_rows):
    text = bench_confidence.findings(confidence_rows)
    assert "3 data sets of at most 12000 samples, 2 seeds." in text
    assert "**0.717** (target: 0.7, reached). Data sets that reach 0.7 by themselves: 1." in text
    assert "where confidence is uninformative: `c`; the lowest is 0.550, on `c`." in text
    assert "AUROC correlates with ACC: rank correlation 1.00." in text
    assert "less accurate than the whole: `c`." in text
    weaker = confidence_rows.assign(auroc=confidence_rows["auroc"] - 0.1)
    assert "**0.617** (target: 0.7, missed)" in bench_confidence.findings(weaker)


def test_equal_rows_draw_an_equal_figure(confidence_rows, tmp_path):
    paths = [tmp_path / name for name in ("one.svg", "two.svg")]
    for path in paths:
        bench_confidence.draw(confidence_rows, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.fixture
def chosen_rows():
    """Two sets with clusters and noise, two seeds: of six choices two are wrong."""
    names, classes = ["blobs 3", "digits", "one blob"], [3, 10, 1]
    chosen = {0: [4, 8, 1], 1: [3, 10, 2]}
    return pd.DataFrame(
        {"data": name, "seed": seed, "n_samples": 9, "classes": k, "chosen": found}
        | {"confidence": 0.9 if k == 3 else 0.4, "scale": "auto", "lam": 0.5}
        | {"seconds": 2.0, "alone_seconds": 1.0, "fit_seconds": 1.0 + (k == 10)}
        | {f"by_{criterion}": found for criterion in bench_choose.CRITERIA}
        for seed in (0, 1)
        for name, k, found in zip(names, classes, chosen[seed], strict=True)
    )


def test_a_choice_is_right_within_one_but_noise_has_no_clusters(chosen_rows):
    assert bench_choose.is_right(chosen_rows).tolist() == [True, False, True, True, True, False]
    text = bench_choose.findings(chosen_rows)
    assert "within ± 1 for 1, 1 of them (seeds 0, 1;" in text
    assert "recognized as such: 1 of 2 runs." in text
    assert "All others: within ± 1 in 1 of 2 runs; 0 runs on data sets with classes" in text
    assert "a correct number: 0.73; of a wrong one: 0.40;" in text
    assert 'of "no structure", correctly: 0.40' in text
    assert "median 2.0, maximum 2.0 (blobs 3;" in text
    assert "without the choice of scaling and λ, median 1.0, maximum 1.0." in text
    lines = bench_choose.table(chosen_rows).splitlines()
    assert "| digits | 9 | 10 | **8** | 10 | 0.40 | 2.0 | 0.5 | 1.0 |" in lines
    assert "| one blob | 9 | none | no structure | **2** | 0.40 | 2.0 | 1.0 | 2.0 |" in lines
    assert "| largest score | 1.0 of 1 | 75% |" in bench_choose.criteria(chosen_rows).splitlines()


@pytest.fixture
def setting_rows():
    """Of two sets, one is helped by another scaling; the most stable one harms both."""
    columns = ("data", "n_clusters", "scale", "lam", "gain", "is_taken", "stability", "accuracy")
    rows = [
        ("a", 3, "auto", 0.5, 0.0, False, 0.8, 0.9),
        ("a", 3, "unit", 0.5, 0.1, True, 0.7, 1.0),
        ("a", 3, "z", 0.5, -0.1, False, 0.9, 0.7),
        ("b", 4, "auto", 0.5, 0.0, True, 0.8, 0.6),
        ("b", 4, "unit", 0.5, 0.01, False, 0.7, 0.5),
        ("b", 4, "z", 0.5, -0.2, False, 0.9, 0.4),
    ]
    rows = pd.DataFrame(rows, columns=columns)
    return rows.assign(view_modularity=rows["gain"], starts=rows["stability"])


def test_settings_are_judged_by_the_change_of_accuracy(setting_rows):
    lines = bench_settings.table(setting_rows).splitlines()
    assert "| `a` | 3 | unit, 0.5 | +10.0% | 0.900 | 1.000 | 1.000 |" in lines
    assert "| `b` | 4 | defaults | +1.0% | 0.600 | 0.600 | 0.600 |" in lines
    lines = bench_settings.rules(setting_rows).splitlines()
    assert (
        "| `choose`: view modularity, if 2 % larger | +0.050 | +0.000 | +0.100 | 1 / 0 |" in lines
    )
    assert "| most stable under resampling | -0.200 | -0.200 | -0.200 | 0 / 2 |" in lines
    assert "| unit, 0.5 for all sets | +0.000 | -0.100 | +0.100 | 1 / 1 |" in lines
    text = bench_settings.findings(setting_rows)
    assert (
        "On 2 data sets another setting is recommended 1 times; accuracy changes by +0.050" in text
    )


def test_estimates_are_counted_within_the_factor():
    rows = pd.DataFrame({"time_ratio": [0.6, 0.7, 1.4], "memory_ratio": [1.0, 1.2, 1.6]})
    assert bench_estimate.findings(rows).splitlines() == [
        "time: 2 of 3 within a factor of 1.5; ratios from 0.60 to 1.40",
        "memory: 2 of 3 within a factor of 1.5; ratios from 1.00 to 1.60",
    ]


def test_an_estimate_and_its_fit_make_a_row(monkeypatch):
    """In this process, where the benchmark has one for each."""

    def here(task, folder, engine, k):
        return getattr(bench_estimate, task)(Path(folder), engine, k)

    monkeypatch.setattr(bench_estimate, "apart", here)
    rows = list(bench_estimate.run({"n": (400,), "k": (2,)}))
    assert [row["engine"] for row in rows] == ["memory", "stream"]
    for row in rows:
        assert row["time_ratio"] == row["told_s"] / row["fit_s"] > 0
        assert f"{row['told_s']:.1f} s estimated" in bench_estimate.tell(row)


SCALE_ROW = {
    "dtype": "float16",
    "k": 100,
    "calibrated_on": 40_000,
    "fixed_s": 100.0,
    "computing_s_a_million": 20.0,
    "reads": 10.0,
    "sample_bytes": 2000,
    "gb_a_second": 0.5,
    "memory_bytes_1e9": 3e10,
    "scratch_bytes_a_sample": 2400,
    "machine": "two cores",
    "load": 0.5,
}


def test_the_cost_of_many_samples_is_the_larger_of_reading_and_computing():
    """10⁹ samples: ten readings of 2000 GB at 0.5 GB/s take 40 000 s, computing 100 + 20 000 s."""
    assert bench_scale.cost(SCALE_ROW, 10**9, 0.5) == (20_100, 40_000)
    text = bench_scale.findings(pd.DataFrame([SCALE_ROW]))
    assert "| 10⁹ | float16 | 100 | 2,000 GB | 11.1 h | 5.6 h | **11.1 h** |" in text
    assert "| 10⁶ | float16 | 100 | 2 GB | 40 s | 2.0 min | **2.0 min** |" in text
    assert "scratch files of up to 2,400 GB" in text


def test_the_cost_model_is_measured():
    row = next(bench_scale.run(quick=True))
    assert min(row["fixed_s"], row["computing_s_a_million"], row["gb_a_second"]) > 0
    assert row["reads"] > 5
    assert row["memory_bytes_1e9"] > 20e9


def test_a_section_is_replaced_and_the_rest_of_the_page_stays(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- a -->\nold\n<!-- /a -->\nbelow\n")
    for _ in range(2):
        write_section(page, "a", markdown(["x"], [["1"]]))
    assert page.read_text() == (
        "above\n<!-- a -->\n\n| x |\n| --- |\n| 1 |\n\n<!-- /a -->\nbelow\n"
    )
    with pytest.raises(ValueError, match="has no section"):
        write_section(page, "b", "text")


def test_rows_of_a_quick_run_do_not_replace_those_of_a_full_one():
    parser = parser_for("What is asked.\n\nMore.", "small sizes")
    asked = [parser.parse_args(line.split()) for line in ("", "--quick", "--quick --out a.csv")]
    names = [results_file("bench_x", arguments).name for arguments in asked]
    assert names == ["bench_x.csv", "bench_x_quick.csv", "a.csv"]


def test_strangers_are_compared_with_held_out_samples():
    rng = np.random.default_rng(0)
    data = make_multiview_blobs(200, (30, 30), n_clusters=3, random_state=0).data
    views = [np.asarray(view) for view in data.views]
    seen, held = [view[:150] for view in views], [view[150:] for view in views]
    far = [view + rng.normal(0, 9, view.shape) for view in held]
    new = {"held": held, "strangers": far, "uniform": far, "gaussian": held}
    row = bench_strangers.measure(seen, new, 3)
    assert set(row) == set(bench_strangers.COLUMNS)
    assert min(row["auroc"], row["lof"], row["uniform"]) > 0.9
    assert row["gaussian"] == 0.5  # the same samples
    assert row["alarms"] < 0.2 < row["flagged"]


def test_the_best_scaling_of_a_method_has_the_highest_mean_and_a_failure_counts_as_zero():
    table = pd.DataFrame(
        [
            ("first", "opmc", "l2", 0.6), ("second", "opmc", "l2", 0.4),
            ("first", "opmc", "z", 0.9), ("second", "opmc", "z", ""),
            ("first", "fmr", "None", 0.3), ("second", "fmr", "None", 0.3),
        ],
        columns=["data", "method", "scale", "nmi"],
    )  # fmt: skip
    assert bench_rivals.best_scalings(table) == {"opmc": "l2", "fmr": None}


def test_a_constant_is_changed_for_one_run_only():
    from manyview.solver import fitting

    before = fitting.SIZE_PRIOR
    with bench_defaults._changed("SIZE_PRIOR", 9.0):
        assert fitting.SIZE_PRIOR == 9.0
    assert before == fitting.SIZE_PRIOR
    for name, (module, values) in bench_defaults.CONSTANTS.items():
        low, high = values
        assert low < getattr(importlib.import_module(module), name) < high, name


def test_blobs_are_as_far_apart_as_said():
    views, target = bench_defaults.blobs((1, 1), 0)
    centers = [[view[target == c].mean(axis=0) for c in (0, 1)] for view in views]
    for first, second in centers:
        assert np.linalg.norm(first - second) == pytest.approx(bench_defaults.APART, abs=0.3)


def test_oracles_choose_by_labels():
    rows = pd.DataFrame(
        [
            {"data": data, "method": method, "acc": acc, "nmi": acc / 2, "status": "done"}
            for method, values in {
                "omvcdr": (0.9, 0.2), "opmc": (0.5, 0.6), "fmr": (0.7, 0.1)
            }.items()
            for data, acc in zip(("first", "second"), values, strict=True)
        ]
    )  # fmt: skip
    (text,) = bench_quality._oracles(rows)
    assert "reaches ACC 0.650, NMI 0.325" in text
    assert "ACC 0.750, NMI 0.375" in text


def test_encodings_divide_the_same_indicators():
    codes = np.array([0, 0, 0, 1])
    plain = bench_tables.encode([codes, codes], "indicators")
    assert plain.sum(axis=0).tolist() == [3, 1, 3, 1]
    by_share = bench_tables.encode([codes], "by root of share")
    np.testing.assert_allclose(by_share.max(axis=0), [1 / np.sqrt(0.75), 2])
    np.testing.assert_allclose(bench_tables.encode([codes], "by deviation").var(axis=0).sum(), 1)


def test_the_page_of_tables_has_a_line_per_set_and_share():
    known = {"draw": 0, "acc": 0.5, "nmi": 0.25, "ari": 0.125}
    rows = [{"kind": "missing", "set": "a", "removed": 0.2, "how": "mean", **known}]
    rows += [{"kind": "categories", "set": "0 to 0", "how": "indicators", **known}]
    text = bench_tables.summary(pd.DataFrame(rows))
    assert "| `a` | 20% | – | 0.500 / 0.250 / 0.125 | – | – |" in text
    assert "| indicators | 0.125 | 0.125 |" in text
