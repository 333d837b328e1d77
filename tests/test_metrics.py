import tracemalloc
from fractions import Fraction
from itertools import combinations, permutations
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from manyview import metrics
from manyview.exceptions import ViewError
from manyview.metrics import (
    adjusted_rand_of_counts,
    clustering_accuracy,
    evaluate,
    pairwise_f_score,
    purity,
    right_samples,
    selective_accuracy,
)

MEASURES = [clustering_accuracy, evaluate, pairwise_f_score, purity, right_samples]

quick = settings(max_examples=60, deadline=None)


@st.composite
def labelings(draw, max_groups=6, max_samples=30):
    """Two label lists of one length, with up to `max_groups` values each, not all in use."""
    n = draw(st.integers(1, max_samples))
    k_true, k_found = draw(st.integers(1, max_groups)), draw(st.integers(1, max_groups))
    y_true = draw(st.lists(st.integers(0, k_true - 1), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, k_found - 1), min_size=n, max_size=n))
    return np.array(y_true), np.array(labels)


def best_accuracy(y_true, labels, k=6):
    """Accuracy by its definition: the best renaming of k clusters, tried one by one."""
    return max(np.mean(np.array(renaming)[labels] == y_true) for renaming in permutations(range(k)))


def random_labels(rng, n_samples, n_groups, noise):
    """Random classes, and the same with a share `noise` of the samples drawn again."""
    y_true = rng.integers(n_groups, size=n_samples)
    redrawn = rng.integers(n_groups, size=n_samples)
    return y_true, np.where(rng.random(n_samples) < noise, redrawn, y_true)


def test_a_case_worked_by_hand_comes_out_of_every_measure():
    """Six samples, two classes, three clusters.

    Table        c0  c1  c2 | size
      class a     2   1   0 |  3       best pairing a-c0, b-c1: 2 + 2 = 4 of 6
      class b     0   2   1 |  3       column maxima:       2 + 2 + 1 = 5 of 6
      size        2   3   1 |  6

    Pairs: in a class 3 + 3 = 6, in a cluster 1 + 3 + 0 = 4, in both 1 + 0 + 1 + 0 = 2, all 15.
    Precision 2/4, recall 2/6, F = 2·2/(6 + 4). ARI: chance 6·4/15 = 1.6, mean 5, 0.4/3.4.
    Entropies: log 2 of the classes, (1/3)log 3 + (1/2)log 2 + (1/6)log 6 of the clusters.
    Information: (2/6)log 2 + (1/6)log(2/3) + (2/6)log(4/3) + (1/6)log 2.
    """
    information = log(2) / 3 + log(2 / 3) / 6 + log(4 / 3) / 3 + log(2) / 6
    cluster_entropy = log(3) / 3 + log(2) / 2 + log(6) / 6

    scores = evaluate(["a", "a", "a", "b", "b", "b"], [0, 0, 1, 1, 1, 2])

    assert list(scores) == ["acc", "nmi", "purity", "fscore", "ari", "precision", "recall"]
    assert scores == pytest.approx(
        {
            "acc": 4 / 6,
            "nmi": information / cluster_entropy,
            "purity": 5 / 6,
            "fscore": 0.4,
            "ari": 0.4 / 3.4,
            "precision": 0.5,
            "recall": 1 / 3,
        },
        abs=1e-15,
    )


@quick
@given(labelings())
def test_evaluate_gives_what_the_measures_give_one_by_one(pair):
    scores = evaluate(*pair)
    assert scores["acc"] == clustering_accuracy(*pair)
    assert scores["purity"] == purity(*pair)
    assert scores["fscore"] == pairwise_f_score(*pair)
    assert scores["ari"] == adjusted_rand_score(*pair)
    expected = normalized_mutual_info_score(*pair, average_method="max")
    assert scores["nmi"] == pytest.approx(expected, abs=1e-12)


@quick
@given(labelings(max_groups=8))
def test_the_rand_index_of_counts_is_that_of_the_labels(pair):
    counts = csr_array(contingency_matrix(*pair, sparse=True))
    assert adjusted_rand_of_counts(counts) == adjusted_rand_score(*pair)


@settings(max_examples=25, deadline=None)
@given(labelings(max_groups=6, max_samples=25))
def test_accuracy_is_the_best_over_all_renamings(pair):
    assert clustering_accuracy(*pair) == pytest.approx(best_accuracy(*pair))


@quick
@given(labelings())
def test_right_samples_are_those_that_accuracy_counts(pair):
    y_true, labels = pair
    is_right = right_samples(y_true, labels)
    assert np.mean(is_right) == pytest.approx(clustering_accuracy(y_true, labels))
    pairs = set(zip(y_true[is_right].tolist(), labels[is_right].tolist(), strict=True))
    assert len(pairs) == len({c for c, _ in pairs}) == len({c for _, c in pairs})


@pytest.mark.parametrize(("n_classes", "n_clusters"), [(300, 300), (400, 250), (250, 400)])
def test_right_samples_agree_with_accuracy_beyond_the_dense_limit(n_classes, n_clusters):
    y_true, labels = random_labels(np.random.default_rng(0), 5000, 400, 0.2)
    pair = y_true % n_classes, labels % n_clusters
    assert np.mean(right_samples(*pair)) == clustering_accuracy(*pair)


def test_the_most_confident_samples_are_kept_first():
    """By confidence: right, right, wrong, right, wrong; cluster 7 is paired with class 1."""
    y_true, labels = [1, 0, 0, 0, 1], [7, 7, 5, 5, 5]
    confidence = [0.9, 0.5, 0.8, 0.3, 0.1]
    kept = selective_accuracy(y_true, labels, confidence, [0.2, 0.4, 0.6, 0.8, 1])
    assert kept == pytest.approx([1, 1, 2 / 3, 3 / 4, 3 / 5])
    # 5 · 0.3 is rounded up to two samples
    assert selective_accuracy(y_true, labels, confidence[::-1], [0.3]) == pytest.approx([0.5])


def test_a_share_is_not_moved_by_rounding():
    """0.07 · 100 is a little above 7 in floating point: the eighth sample, wrong, stays out."""
    y_true = [0] * 7 + [1] + [0] * 92
    kept = selective_accuracy(y_true, [0] * 100, -np.arange(100), [0.07, 0.08])
    assert kept.tolist() == [1, 7 / 8]


@pytest.mark.parametrize("shares", [[0], [0.5, 1.1], [float("nan")]])
def test_shares_that_keep_nothing_or_too_much_are_refused(shares):
    with pytest.raises(ValueError, match=r"`shares` must lie in \(0, 1\]"):
        selective_accuracy([0, 1], [0, 1], [0.1, 0.2], shares)


def test_confidence_of_other_samples_is_refused():
    with pytest.raises(ViewError, match=r"one value per sample, 2 in all, but has shape \(3,\)"):
        selective_accuracy([0, 1], [0, 1], [0.1, 0.2, 0.3], [1])


def count_matched(pairing, table):
    rows, columns = pairing
    return int(table.toarray()[rows, columns].sum())


@quick
@given(labelings(max_groups=9, max_samples=40))
def test_sparse_and_dense_matching_count_the_same_samples(pair):
    table = contingency_matrix(*pair, sparse=True)
    sparse, dense = metrics._pair_sparse(table), metrics._pair_dense(table)
    assert count_matched(sparse, table) == count_matched(dense, table)


def test_sparse_matching_is_optimal_where_no_full_matching_exists():
    """Classes 1 and 2 occur in cluster 0 only, so one of the three rows must stay unpaired.

    The heaviest edge, class 0 with cluster 0, is not on the best pairing: 5 < 4 + 3.
    """
    y_true = [0] * 5 + [0] * 4 + [1] * 3 + [2] * 2
    labels = [0] * 5 + [1] * 4 + [0] * 3 + [0] * 2
    table = contingency_matrix(y_true, labels, sparse=True)
    for pairing in (metrics._pair_sparse(table), metrics._pair_dense(table)):
        assert count_matched(pairing, table) == 7


@pytest.mark.parametrize(("n_classes", "n_clusters"), [(300, 300), (400, 250), (250, 400)])
@pytest.mark.parametrize("noise", [0.2, 1.0])
def test_tables_beyond_the_dense_limit_get_the_dense_answer(n_classes, n_clusters, noise):
    y_true, labels = random_labels(np.random.default_rng(0), 5000, 400, noise)
    y_true, labels = y_true % n_classes, labels % n_clusters
    assert n_classes * n_clusters > metrics._MAX_DENSE_CELLS
    table = contingency_matrix(y_true, labels, sparse=True)
    expected = count_matched(metrics._pair_dense(table), table) / 5000
    assert clustering_accuracy(y_true, labels) == expected


@quick
@given(labelings())
def test_pairwise_measures_follow_their_definition_over_all_pairs(pair):
    y_true, labels = pair
    pairs = list(combinations(range(len(y_true)), 2))
    in_class = {(i, j) for i, j in pairs if y_true[i] == y_true[j]}
    in_cluster = {(i, j) for i, j in pairs if labels[i] == labels[j]}
    n_both = len(in_class & in_cluster)
    precision = n_both / len(in_cluster) if in_cluster else 1
    recall = n_both / len(in_class) if in_class else 1
    scores = evaluate(*pair)
    assert scores["precision"] == precision
    assert scores["recall"] == recall
    f_score = 2 * precision * recall / (precision + recall) if precision + recall else 0
    assert pairwise_f_score(*pair) == pytest.approx(f_score)


@quick
@given(labelings())
def test_purity_follows_its_definition(pair):
    y_true, labels = pair
    largest = [np.bincount(y_true[labels == c]).max() for c in np.unique(labels)]
    assert purity(*pair) == sum(largest) / len(y_true)


@quick
@given(labelings(), st.permutations(range(6)), st.permutations("uvwxyz"))
def test_renaming_classes_and_clusters_changes_nothing(pair, class_names, cluster_names):
    y_true, labels = pair
    renamed = evaluate(np.array(class_names)[y_true], np.array(cluster_names)[labels])
    assert renamed == pytest.approx(evaluate(y_true, labels), abs=1e-12)


@quick
@given(labelings(), st.randoms(use_true_random=False))
def test_the_order_of_the_samples_changes_nothing(pair, random):
    y_true, labels = pair
    order = list(range(len(y_true)))
    random.shuffle(order)
    shuffled = evaluate(y_true[order], labels[order])
    assert shuffled == pytest.approx(evaluate(y_true, labels), abs=1e-12)


@quick
@given(labelings())
def test_swapping_the_sides_swaps_precision_and_recall_only(pair):
    there, back = evaluate(*pair), evaluate(*pair[::-1])
    assert there["precision"] == back["recall"]
    assert [there[key] for key in ("acc", "fscore", "ari")] == [
        back[key] for key in ("acc", "fscore", "ari")
    ]
    assert there["nmi"] == pytest.approx(back["nmi"], abs=1e-12)


@pytest.mark.parametrize(
    "labels",
    [[7], [7, 7, 7], [0, 1, 2, 3], [0, 0, 1, 1, 2]],
    ids=["one sample", "all in one", "all apart", "some of each"],
)
def test_equal_partitions_score_one_everywhere(labels):
    assert evaluate(labels, labels) == pytest.approx(dict.fromkeys(evaluate([0], [0]), 1.0))


def test_one_cluster_against_several_classes_tells_nothing():
    scores = evaluate([0, 0, 1, 2], [0, 0, 0, 0])
    assert scores["nmi"] == scores["ari"] == 0
    assert scores["acc"] == scores["purity"] == 0.5
    assert scores["recall"] == 1


def test_all_apart_makes_no_wrong_pair_and_finds_none():
    scores = evaluate([0, 0, 1, 1], [0, 1, 2, 3])
    assert scores["precision"] == 1
    assert scores["recall"] == scores["fscore"] == scores["ari"] == 0
    assert scores["purity"] == 1
    assert scores["acc"] == 0.5


def test_the_rand_index_stays_exact_for_a_hundred_million_samples():
    """Two classes and two clusters, whose pairs pass 2⁵³ and whose products pass 2⁶³."""
    count = np.array([[50_000_001, 7], [3, 49_999_989]])

    def n_pairs(size):
        return Fraction(sum(int(n) * (int(n) - 1) for n in size), 2)

    in_class, in_cluster = n_pairs(count.sum(axis=1)), n_pairs(count.sum(axis=0))
    chance = in_class * in_cluster / n_pairs([10**8])
    expected = (n_pairs(count.ravel()) - chance) / ((in_class + in_cluster) / 2 - chance)
    assert adjusted_rand_of_counts(csr_array(count)) == float(expected)


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_ten_thousand_classes_and_clusters_take_little_memory(noise):
    y_true, labels = random_labels(np.random.default_rng(0), 200_000, 10_000, noise)
    tracemalloc.start()
    scores = evaluate(y_true, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8  # a dense table would be 800 MB
    assert scores["acc"] <= scores["purity"]
    assert scores["acc"] >= np.mean(y_true == labels)
    assert scores["ari"] == pytest.approx(adjusted_rand_score(y_true, labels), abs=1e-12)


@pytest.mark.parametrize(
    "labels",
    [
        ["x", "x", "y", "z"],
        (1, 1, "1", ("a", "tuple")),
        np.array(["x", "x", "y", "z"]),
        np.array([b"x", b"x", b"y", b"z"]),
        np.array([0.5, 0.5, -1.0, 2.0], dtype=np.float32),
        np.array([3, 3, 1, 2], dtype=">i4"),
        np.array([3, 3, 1, 2], dtype=np.uint8),
        pd.Series(["x", "x", "y", "z"], index=[3, 2, 1, 0]),
        pd.Series(["x", "x", "y", "z"], dtype="category"),
        pd.Series([3, 3, 1, 2], dtype="Int64"),
        pd.Index([3, 3, 1, 2]),
    ],
    ids=lambda labels: f"{type(labels).__name__} {getattr(labels, 'dtype', '')}",
)
def test_labels_may_be_of_any_hashable_type(labels):
    assert evaluate([0, 0, 1, 2], labels) == evaluate([0, 0, 1, 2], [0, 0, 1, 2])


def test_read_only_labels_are_accepted_and_left_alone():
    labels = np.array([1, 0, 1])
    labels.flags.writeable = False
    assert clustering_accuracy(labels, labels) == 1


@pytest.mark.parametrize("measure", MEASURES)
def test_labels_of_unequal_length_are_refused(measure):
    message = "`y_true` has 3 entries and `labels` has 2, but .* pass two arrays of equal length"
    with pytest.raises(ViewError, match=message):
        measure([0, 1, 1], [0, 1])


@pytest.mark.parametrize("measure", MEASURES)
def test_labels_with_a_second_axis_are_refused(measure):
    message = r"`labels` must hold one label per sample, but has shape \(2, 1\): pass .*np.ravel"
    with pytest.raises(ViewError, match=message):
        measure([0, 1], np.array([[0], [1]]))


@pytest.mark.parametrize(("labels", "shape"), [([], r"\(0,\)"), (3, r"\(\)")])
def test_labels_of_no_sample_are_refused(labels, shape):
    message = f"`y_true` must hold one label per sample, but has shape {shape}: pass a non-empty"
    with pytest.raises(ViewError, match=message):
        evaluate(labels, labels)


@pytest.mark.parametrize(
    "labels",
    [
        [0, float("nan"), None],
        ["x", float("nan"), float("nan")],
        np.array([0, np.nan, np.nan]),
        np.array(["2024-01-01", "NaT", "NaT"], dtype="datetime64[D]"),
        pd.Series([0, None, None], dtype="Int64"),
        pd.Series(["x", None, None], dtype="category"),
    ],
    ids=["list", "list of str", "float", "date", "nullable", "category"],
)
def test_missing_labels_are_refused(labels):
    message = "`labels` must label every sample, but has 2 missing values, the first at position 1"
    with pytest.raises(ViewError, match=message):
        evaluate([0, 1, 1], labels)


def test_every_score_is_a_plain_float():
    assert {type(score) for score in evaluate(np.array([0, 1]), np.array([0, 0])).values()} == {
        float
    }
