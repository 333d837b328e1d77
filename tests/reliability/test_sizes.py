"""Unequal groups: where the preference of the model for equal sizes is told, and where not."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.reliability.sizes import _merge, _n_effective, advise_sizes

CELL_TYPES = np.geomspace(30, 2, 8)  # weights of the groups


def balanced(seed):
    """Weak coupling, and no neighbors: the preference for equal sizes is strongest."""
    return OMVCDR(8, lam=0.1, scale=["sqrt-l2", "z-l2"], n_init=3, random_state=seed)


def advice(seed, separation=6.0, **how):
    data = make_multiview_blobs(600, (50, 30), separation=separation, random_state=seed, **how).data
    return advise_sizes(data, balanced(seed).fit_predict(data))


def test_the_defaults_find_eight_unequal_cell_types():
    for seed in range(3):
        data, target = make_multiview_blobs(
            600,
            (50, 30),
            n_clusters=8,
            separation=8.0,
            proportions=CELL_TYPES,
            random_state=seed,
            return_X_y=True,
        )
        labels = OMVCDR(8, random_state=seed).fit_predict(data)
        assert adjusted_rand_score(target, labels) > 0.99
        assert advise_sizes(data, labels) is None


@pytest.mark.parametrize("separation", [5.0, 8.0])
def test_eight_unequal_cell_types_are_told(separation):
    told = [advice(seed, separation, n_clusters=8, proportions=CELL_TYPES) for seed in range(10)]
    assert sum(text is not None for text in told) >= 8


def test_the_sentence_has_the_sizes_and_a_remedy_that_works():
    data, target = make_multiview_blobs(
        600, (50, 30), n_clusters=8, proportions=CELL_TYPES, random_state=0, return_X_y=True
    )
    model = balanced(0).fit(data)
    text = advise_sizes(data, model.labels_)
    assert "The model prefers clusters of equal size" in text
    assert re.search(r"the clusters have \d+% to \d+% of the samples", text)
    assert re.search(r"without that preference has \d% to 3\d%", text)
    assert "Try twice as many clusters" in text
    assert adjusted_rand_score(target, model.labels_) < 0.9
    assert advise_sizes(data, target) is None
    pieces = OMVCDR(16, random_state=0).fit_predict(data)
    group_of = {c: np.bincount(target[pieces == c]).argmax() for c in np.unique(pieces)}
    assert adjusted_rand_score(target, [group_of[c] for c in pieces]) > 0.95


@pytest.mark.parametrize("separation", [4.0, 8.0])
def test_equal_groups_are_not(separation):
    assert [advice(seed, separation, n_clusters=8) for seed in range(10)] == [None] * 10


def test_noise_is_not():
    assert [advice(seed, n_clusters=1) for seed in range(5)] == [None] * 5


def test_one_long_blob_is_not():
    for seed in (1, 5, 7):
        rng = np.random.default_rng(seed)
        views = [rng.normal(size=(300, 15)) * np.r_[8, 4, np.ones(13)] for _ in range(2)]
        assert advise_sizes(views, OMVCDR(8, random_state=seed).fit_predict(views)) is None


@pytest.mark.parametrize("labels", [np.zeros(60, int), np.arange(60) % 20])
def test_one_cluster_and_very_small_ones_are_not(labels):
    data = make_multiview_blobs(60, random_state=0).data
    assert advise_sizes(data, labels) is None


def test_missing_views_and_other_names_of_clusters_change_nothing():
    blobs = make_multiview_blobs(
        600, (50, 30), n_clusters=8, proportions=CELL_TYPES, missing_rate=0.1, random_state=0
    )
    labels = balanced(0).fit_predict(blobs.data)
    text = advise_sizes(blobs.data, labels)
    assert text is not None
    assert advise_sizes(blobs.data, 10 * labels + 5) == text


def test_pieces_with_links_are_merged():
    """Four pieces in a row of two pairs; only those of a pair are linked."""
    links = np.kron(np.eye(2), np.array([[4.0, 1.0], [1.0, 4.0]]))
    merged = _merge(sparse.csr_array(links), np.arange(4), 2)
    assert merged.tolist() == [0, 0, 1, 1]


def test_effective_clusters_by_hand():
    assert _n_effective(np.repeat([0, 1, 2], 5)) == pytest.approx(3)
    assert _n_effective(np.array([0, 0, 0, 2])) == pytest.approx(
        np.exp(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))
    )


def test_copies_of_few_samples_say_nothing_on_sizes(rng):
    which = rng.integers(2, size=60)
    assert advise_sizes([rng.random((2, 3))[which], rng.random((2, 4))[which]], which) is None
