"""Sample weights: ratios count, the unit does not, and labels are those of `predict`."""

import numpy as np
import pytest

from manyview import OMVCDR
from manyview.base import checked_weights
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError

SETTINGS = [{}, {"scale": None}, {"smooth": False}, {"scale": "z", "smooth": True}]


def overlapping(seed, **options):
    return make_multiview_blobs(
        150, (6, 4), n_clusters=4, cluster_std=4.0, random_state=seed, **options
    ).data


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_equal_weights_of_any_size_are_no_weights(seed, settings):
    data = overlapping(seed)
    labels = OMVCDR(4, random_state=0, n_init=2, **settings).fit(data).labels_
    for weight in (1 / 150, 1e-300, 0.1, 1e6, 1e308):
        model = OMVCDR(4, random_state=0, n_init=2, **settings)
        model.fit(data, sample_weight=np.full(150, weight))
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_array_equal(model.predict(data), labels)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_predict_returns_the_labels_for_weights_that_differ_by_twelve_orders(
    seed, missing, settings
):
    data = overlapping(seed, missing_rate=missing)
    weights = 10 ** np.random.default_rng(seed).uniform(-6, 6, size=150)
    model = OMVCDR(4, random_state=0, n_init=2, **settings).fit(data, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    other = OMVCDR(4, random_state=0, n_init=2, **settings).fit(data, sample_weight=1000 * weights)
    np.testing.assert_array_equal(other.labels_, model.labels_)


def test_small_weights_leave_labels_at_a_minimum_of_F():
    """The labels that a fit ends with are those of its sweeps, not only those of `predict`."""
    data = overlapping(0)
    weights = 10 ** np.random.default_rng(0).uniform(-6, 6, size=150)
    model = OMVCDR(4, random_state=0, smooth=False, scale=None).fit(data, sample_weight=weights)
    relative = weights / weights.mean()
    sums = np.bincount(model.labels_, relative, minlength=4)
    np.testing.assert_allclose(sums, model._fitted.moments.count[0], rtol=1e-6)


def test_samples_of_no_weight_do_not_enter_the_mean():
    weights = checked_weights([0.0, 2.0, 4.0, 0.0], 4, 2)
    np.testing.assert_allclose(weights.values, [0, 2 / 3, 4 / 3, 0], rtol=1e-9)
    assert (weights.unit, weights.least) == (3.0, weights.values[1])


def test_later_batches_keep_the_unit():
    assert checked_weights(None, 2, 1, 1.0).values is None
    np.testing.assert_array_equal(checked_weights(None, 2, 1, 0.5).values, [2, 2])
    np.testing.assert_array_equal(checked_weights([1.0, 3.0], 2, 1, 2.0).values, [0.5, 1.5])


@pytest.mark.parametrize("weights", [[1e-10, 1.0, 1e10], [5e-324, 1.0, 1e308]])
def test_weights_that_sums_would_lose_are_refused(weights):
    with pytest.raises(ViewError, match=r"ranges from .* to .* raise the smallest weights"):
        checked_weights(weights, 3, 2)
