"""Findings in words: each range of a measure says what it should."""

import pytest

from manyview.report.wording import (
    as_percent,
    count_clusters,
    tell_confidence,
    tell_findings,
    tell_stability,
    tell_views,
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
    ("n_doubtful", "text"),
    [
        (0, "No sample is doubtful"),
        (50, "50 samples (5%) are doubtful: their second-best cluster"),
        (50, "The others are clear"),
        (300, "The clusters overlap."),
        (700, "most of them"),
    ],
)
def test_confidence_in_words(n_doubtful, text):
    assert text in tell_confidence({"n_doubtful": n_doubtful}, 1000)


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
