"""Whether clusters come back if the samples are drawn again."""

import numpy as np
import pytest

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.reliability.stability import RETURNS


def test_separate_clusters_come_back():
    data = make_multiview_blobs(300, n_clusters=4, random_state=0).data
    assert (OMVCDR(4, random_state=0).fit(data).cluster_stability() > 0.9).all()


def test_clusters_of_noise_do_not_come_back():
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((500, 50)), rng.standard_normal((500, 30))]
    assert (OMVCDR(4, random_state=0).fit(X).cluster_stability() < RETURNS).all()


def test_a_needless_cut_is_told_from_a_real_one():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 1], 150)
    centers = [8 * rng.standard_normal((2, d)) for d in (10, 8)]
    X = [C[y] + rng.standard_normal((450, C.shape[1])) for C in centers]
    model = OMVCDR(3, random_state=0).fit(X)
    stability = model.cluster_stability()
    whole = model.labels_[0]  # the samples of the group of 150 are not divided
    assert stability[whole] > 0.95
    assert (np.delete(stability, whole) < stability[whole] - 0.1).all()


@pytest.mark.parametrize("k", [1, 10])
def test_too_few_samples_for_another_fit(k):
    X = [np.random.default_rng(0).standard_normal((12, 3))] * 2
    model = OMVCDR(k, random_state=0).fit([X[0], X[1] + 1])
    assert np.isnan(model.cluster_stability()).all()
