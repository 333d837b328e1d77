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


@pytest.mark.parametrize("way", ["one model", "saved between the batches", "fit first"])
def test_all_batches_have_the_unit_of_the_weights_of_the_first(digits, tmp_path, way):
    data, _ = digits
    first, second, *_ = batches(data, 6)
    rng = np.random.default_rng(0)
    weights = [rng.integers(1, 4, size=len(batch)).astype(float) for batch in (first, second)]

    def taught(factor):
        model = OMVCDR(10, random_state=0, scale=None)
        begin = model.fit if way == "fit first" else model.partial_fit
        begin(first, sample_weight=factor * weights[0])
        if way == "saved between the batches":
            model.save(tmp_path / "model.mv")
            model = OMVCDR.load(tmp_path / "model.mv")
        return model.partial_fit(second, sample_weight=factor * weights[1])

    small, large = taught(1e-6), taught(1e3)
    np.testing.assert_array_equal(small.labels_, large.labels_)
    np.testing.assert_array_equal(small.labels_, small.predict(second))
    share = small._fitted.moments.count.sum() / len(first)
    assert share == pytest.approx(1 + weights[1].sum() / weights[0].sum())
    for own, other in zip(small.cluster_centers_, large.cluster_centers_, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_clusters", 4), ("lam", 1.0), ("scale", "l2"), ("smooth", False), ("max_iter", 7)],
)
@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_a_parameter_that_changes_between_batches_is_refused(digits, name, value, begin):
    data, _ = digits
    first, second, *_ = batches(data, 6)
    model = getattr(OMVCDR(10, random_state=0), begin)(first)
    model.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"^{name}=.* may change. Set {name} back"):
        model.partial_fit(second)
    assert model.n_samples_seen_ == len(first)
    model.set_params(**{name: getattr(OMVCDR(10), name)}).partial_fit(second)
    assert model.n_samples_seen_ == len(first) + len(second)


def test_where_and_how_it_is_computed_may_change_between_batches(digits):
    data, _ = digits
    first, second, *_ = batches(data, 6)
    model = OMVCDR(10, random_state=0).partial_fit(first)
    changed = {
        "engine": "memory",
        "n_jobs": 1,
        "memory_limit": 1e9,
        "random_state": 1,
        "verbose": 1,
    }
    assert model.set_params(**changed).partial_fit(second).n_samples_seen_ == 2 * len(first)
