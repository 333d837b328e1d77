"""Findings in words: each range of a measure says what it should."""

import pytest

from manyview.report.wording import (
    as_percent,
    count_clusters,
    tell_confidence,
    tell_findings,
    tell_outliers,
    tell_return,
    tell_stability,
    tell_views,
    title_of,
)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (0.001, "<1%"),
        (0.126, "13%"),
        (0.999, ">99%"),
        (1 - 2e-16, "100%"),
        (1, "100%"),
        (-0.001, "0%"),
    ],
)
def test_percent_does_not_round_to_nothing_or_all(share, text):
    assert as_percent(share) == text


@pytest.mark.parametrize(
    ("n_doubtful", "verdict", "text"),
    [
        (0, "clear", "No sample is doubtful"),
        (50, None, "50 samples (5%) are doubtful: their second-best cluster"),
        (50, "clear", "50 samples (5%) are doubtful: in one blob, labels as distinct"),
        (50, "clear", "The others are clear"),
        (300, "weak", "The clusters overlap."),
        (700, "weak", "most of them"),
        (0, "none", "No label can be relied on"),
    ],
)
def test_confidence_in_words(n_doubtful, verdict, text):
    assert text in tell_confidence({"n_doubtful": n_doubtful}, 1000, verdict)


@pytest.mark.parametrize("verdict", ["weak", "none", "unknown", None])
def test_only_clear_clusters_have_clear_samples(verdict):
    assert "are clear" not in tell_confidence({"n_doubtful": 50}, 1000, verdict)


@pytest.mark.parametrize(
    ("verdict", "title"),
    [
        ("clear", "1,000 samples in 4 clear clusters"),
        ("weak", "1,000 samples in 4 weak clusters"),
        ("none", "No cluster structure in 1,000 samples"),
        ("unknown", "1,000 samples in 4 clusters"),
        (None, "1,000 samples in 4 clusters"),
    ],
)
def test_the_headline_says_what_was_found(verdict, title):
    structure = None if verdict is None else {"verdict": verdict}
    data = {"n_samples": 1000, "n_clusters": 4}
    assert title_of({"data": data, "structure": structure}) == title


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "No sample is unlike all clusters."),
        (1, "1 sample is unlike all clusters (outlier score above 7.0): a."),
        (9, "9 samples are unlike all clusters (outlier score above 7.0), most of all a, b, c."),
    ],
)
def test_outliers_in_words(n, text):
    samples = [{"sample": name, "is_outlier": i < n} for i, name in enumerate("abcd")]
    assert tell_outliers({"n_outliers": n, "threshold": 7.0, "samples": samples}) == text


def test_clusters_that_do_not_come_back_are_named():
    clusters = [{"cluster": c, "comes_back": c != 2} for c in range(4)]
    assert tell_return(clusters).startswith("One cluster does not come back")
    assert tell_return(clusters[2:3]) == "No cluster comes back if the samples are drawn again."
    assert tell_return(clusters[:2]) == ""
    many = [{"cluster": c, "comes_back": c < 5} for c in range(30)]
    assert "25 of 30 clusters do not" in tell_return(many)
    assert "and others" in tell_return(many)


@pytest.mark.parametrize(
    ("stability", "text"),
    [
        (None, "unknown"),
        (1.0, "nearly the same"),
        (0.85, "much the same"),
        (0.6, "in part"),
        (-0.1, "disagree"),
    ],
)
def test_stability_in_words(stability, text):
    assert text in tell_stability({"stability": stability, "n_starts": 5})


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([1.0], "one view, v0"),
        ([0.5, 0.5], "about equally"),
        ([0.2, 0.7, 0.1], "The view v1 contributed most (70%), v2 least (10%)"),
    ],
)
def test_views_in_words(weights, text):
    views = [{"name": f"v{v}", "weight": weight} for v, weight in enumerate(weights)]
    assert text in tell_views(views)


def test_one_cluster_is_not_compared_with_others():
    assert count_clusters(1) == "1 cluster"
    assert count_clusters(1200) == "1,200 clusters"
    found = tell_findings({"data": {"n_samples": 9, "n_clusters": 1}, "confidence": {}})
    assert found["stability"] == ""
    assert found["confidence"].startswith("All samples are in one cluster")
