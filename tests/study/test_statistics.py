"""Ranks and tests, by hand and against scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manyview.study import compare_methods, friedman_ranks, to_latex, to_markdown, wilcoxon_holm
from manyview.study.plots import critical_difference
from manyview.study.statistics import _holm, _nemenyi, needed


@pytest.fixture
def rows():
    """Two sets, three methods, two seeds; method z declines on set b."""
    values = {"x": (0.9, 0.7), "y": (0.5, 0.8), "z": (0.4, None)}
    return pd.DataFrame(
        [
            {
                "data": data,
                "method": method,
                "seed": seed,
                "status": "declined" if value is None else "done",
                "nmi": np.nan if value is None else value + 0.01 * seed,
            }
            for s, data in enumerate("ab")
            for method in values
            for seed in (0, 1)
            for value in [values[method][s]]
        ]
    )


def test_mean_ranks_count_no_result_as_the_worst(rows):
    """Set a: x 1, y 2, z 3; set b: y 1, x 2, z 3."""
    comparison = compare_methods(rows, "nmi")
    assert comparison.ranks.to_dict() == {"x": 1.5, "y": 1.5, "z": 3.0}
    assert friedman_ranks(comparison.scores)["z"] == 3


def test_holm_by_hand():
    """Sorted 0.01, 0.03, 0.04 times 3, 2, 1 is 0.03, 0.06, 0.04; made monotone 0.03, 0.06, 0.06."""
    np.testing.assert_allclose(_holm(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])


def test_pairs_agree_with_scipy(rng):
    scores = pd.DataFrame(rng.random((12, 3)), columns=list("xyz"))
    pairs = wilcoxon_holm(scores).set_index(["first", "second"])
    assert pairs.loc[("x", "z"), "p"] == stats.wilcoxon(scores["x"], scores["z"]).pvalue
    assert (pairs["p_holm"] >= pairs["p"]).all()


def test_the_critical_difference_is_the_tabled_one():
    """Demšar 2006: q = 2.343 for three methods at 5 %."""
    assert _nemenyi(3, 10) == pytest.approx(2.343 * np.sqrt(3 * 4 / 60), rel=1e-3)


@pytest.fixture
def one_set(rng):
    """One set, three methods, twelve seeds; x is better than y with each, y and z are alike."""
    base = {"x": 0.9, "y": 0.7, "z": 0.7}
    return pd.DataFrame(
        [
            {"data": "a", "method": method, "seed": seed, "status": "done"}
            | {"nmi": base[method] + rng.normal(scale=0.01)}
            for seed in range(12)
            for method in base
        ]
    )


def test_on_one_set_methods_are_compared_over_seeds(one_set):
    comparison = compare_methods(one_set, "nmi")
    assert (comparison.over, comparison.scores.shape) == ("seeds", (12, 3))
    pairs = comparison.pairs.set_index(["first", "second"])
    wide = one_set.pivot_table(index="seed", columns="method", values="nmi")
    for first, second in pairs.index:
        expected = stats.wilcoxon(wide[first], wide[second]).pvalue
        assert pairs.loc[(first, second), "p"] == pytest.approx(expected)
    assert pairs.loc[("x", "y"), "p_holm"] < 0.01 < pairs.loc[("y", "z"), "p_holm"]
    assert comparison.friedman_p < 1e-3


def test_how_many_seeds_a_test_needs_by_hand():
    """With n pairs p is 2 / 2ⁿ at least: 0.0625 for 5, 0.03125 for 6; three tests need 7."""
    assert needed(1, 0.05) == 6
    assert needed(3, 0.05) == 7
    for n_tests in (1, 3, 6, 45):
        n = needed(n_tests, 0.05)
        assert n_tests * 2.0 ** (1 - n) < 0.05 <= n_tests * 2.0 ** (2 - n)
    assert stats.wilcoxon(np.arange(1.0, 7)).pvalue == pytest.approx(2 / 2**6)


def test_tables_mark_the_best_and_the_second(rows):
    markdown = to_markdown(rows, "nmi")
    assert "| a | **0.9050 ± 0.0050** | *0.5050 ± 0.0050* | 0.4050 ± 0.0050 |" in markdown
    assert "| b | *0.7050 ± 0.0050* | **0.8050 ± 0.0050** | declined |" in markdown
    latex = to_latex(rows, "nmi")
    assert r"a & \textbf{0.9050 $\pm$ 0.0050} & \underline{0.5050" in latex


def test_the_diagram_joins_what_chance_could_separate(rows):
    axes = critical_difference(compare_methods(rows, "nmi"))
    texts = [text.get_text() for text in axes.texts]
    assert " x (1.50) " in texts
    bars = [line for line in axes.lines if line.get_linewidth() == 3]
    assert len(bars) == 1
