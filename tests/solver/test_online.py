"""Samples that come in batches."""

import numpy as np
import pytest

from manyview import OMVCDR, MultiViewData
from manyview.datasets import load_digits_views, make_multiview_blobs
from manyview.exceptions import ViewError
from manyview.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def digits():
    data, target = load_digits_views(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(target))
    return data[rows], target[rows]


def batches(data, n):
    return [data[rows] for rows in np.array_split(np.arange(len(data)), n)]


@pytest.mark.parametrize("settings", [{}, {"scale": None}, {"scale": "l2"}], ids=str)
def test_later_batches_bring_the_model_nearer_to_that_of_all_samples(digits, settings):
    data, target = digits
    first, *others = batches(data, 6)
    model = OMVCDR(10, random_state=0, **settings).fit(first)
    before, acc_before = model.score(data), clustering_accuracy(target, model.predict(data))
    for batch in others:
        model.partial_fit(batch)
    assert model.n_samples_seen_ == len(data)
    assert model.score(data) > before
    assert clustering_accuracy(target, model.predict(data)) > acc_before - 0.02
    whole = OMVCDR(10, random_state=0, **settings).fit(data)
    if settings:  # without mixes of the first batch, F is about the same samples
        gap = (model.score(data) - before) / (whole.score(data) - before)
        assert gap > 0.5


def test_the_first_batch_is_a_fit(digits):
    data, _ = digits
    first = batches(data, 6)[0]
    fitted = OMVCDR(10, random_state=0).fit(first)
    taught = OMVCDR(10, random_state=0).partial_fit(first)
    np.testing.assert_array_equal(taught.labels_, fitted.labels_)
    assert taught.objective_ == fitted.objective_
    assert taught.n_samples_seen_ == fitted.n_samples_seen_ == len(first)


def test_labels_are_those_of_the_batch_and_centers_those_of_all():
    data, target = make_multiview_blobs(
        900,
        (5, 8),
        n_clusters=3,
        cluster_std=0.5,
        missing_rate=0.2,
        random_state=0,
        return_X_y=True,
    )
    model, found = OMVCDR(3, random_state=0, scale=None), []
    for batch in batches(data, 3):
        found.append(model.partial_fit(batch).labels_)
        assert len(model.labels_) == len(model.confidence_) == len(batch)
        np.testing.assert_array_equal(model.labels_, model.predict(batch))
    labels = np.concatenate(found)
    whole = OMVCDR(3, random_state=0, scale=None).fit_predict(data)
    assert clustering_accuracy(target, labels) > clustering_accuracy(target, whole) - 0.01
    present = data.present[:, 0]
    for c in range(3):
        expected = data.views[0][(labels == c) & present].mean(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[0][c], expected, atol=0.05)
    assert model.view_weights_.sum() == pytest.approx(1)


def test_a_weight_of_two_is_two_rows_and_a_weight_of_zero_none(digits):
    data, _ = digits
    first, second, *_ = batches(data, 6)
    settings = {"scale": None, "random_state": 0}
    weights = np.ones(len(second))
    weights[:50], weights[50:60] = 2, 0
    heavy = OMVCDR(10, **settings).partial_fit(first).partial_fit(second, sample_weight=weights)
    assert len(heavy.labels_) == len(second)
    assert heavy._fitted.moments.count.sum() == pytest.approx(len(first) + weights.sum())


def test_a_loaded_model_goes_on(digits, tmp_path):
    data, _ = digits
    first, second, *_ = batches(data, 6)
    model = OMVCDR(10, random_state=0).partial_fit(first)
    model.save(tmp_path / "model.mv")
    loaded = OMVCDR.load(tmp_path / "model.mv")
    model.partial_fit(second)
    loaded.partial_fit(second)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert loaded.n_samples_seen_ == len(first) + len(second)


def test_fit_begins_anew(digits):
    data, _ = digits
    first, second, *_ = batches(data, 6)
    model = OMVCDR(10, random_state=0).partial_fit(first).partial_fit(second).fit(first)
    assert model.n_samples_seen_ == len(first)
    fresh = OMVCDR(10, random_state=0).fit(first)
    np.testing.assert_array_equal(model.labels_, fresh.labels_)


def test_a_batch_with_other_views_is_refused_and_nothing_is_lost(digits):
    data, _ = digits
    first, second, *_ = batches(data, 6)
    model = OMVCDR(10, random_state=0).partial_fit(first)
    labels = model.labels_
    with pytest.raises(ViewError, match="the fit had"):
        model.partial_fit(MultiViewData.of([second.views[0][:, :3], second.views[1]]))
    np.testing.assert_array_equal(model.labels_, labels)
    model.partial_fit(second)
