"""Whether clusters are more than a partition of one blob, and what a label is worth then."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from manyview import OMVCDR
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.exceptions import DataWarning
from manyview.metrics import right_samples

R = np.random.default_rng


def gaussian(n, widths, seed):
    rng = R(seed)
    return [rng.standard_normal((n, d)) for d in widths]


def uniform(n, widths, seed):
    rng = R(seed)
    return [rng.random((n, d)) for d in widths]


def heavy_tails(n, widths, seed):
    rng = R(seed)
    return [rng.standard_t(3, (n, d)) for d in widths]


def correlated(n, widths, seed):
    rng = R(seed)
    return [
        rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + rng.standard_normal((n, d)) / 2
        for d in widths
    ]


def counts(n, widths, seed):
    rng = R(seed)
    return [rng.poisson(rng.gamma(2, 2, d), (n, d)).astype(float) for d in widths]


NOISE = [gaussian, uniform, heavy_tails, correlated, counts]
SHAPES = [(60, (20, 30), 3), (150, (500, 200), 4), (500, (50, 30), 4)]


@pytest.mark.parametrize("make", NOISE)
@pytest.mark.parametrize(("n", "widths", "k"), SHAPES)
def test_noise_has_no_structure_and_no_confidence(make, n, widths, k):
    model = OMVCDR(k, random_state=0).fit(make(n, widths, 1))
    assert model.structure_.verdict == "none"
    assert np.median(model.confidence_) <= 0.2
    assert "should not be interpreted" in model.structure_.sentence


@pytest.mark.parametrize("seed", range(3))
def test_separate_clusters_are_clear(seed):
    data = make_multiview_blobs(400, n_clusters=4, random_state=seed).data
    model = OMVCDR(4, random_state=seed).fit(data)
    assert model.structure_.verdict == "clear"
    assert model.structure_.p_value < 0.001
    assert np.median(model.confidence_) > 0.8


def test_the_check_does_not_change_the_labels_and_can_be_left_out():
    data = make_multiview_blobs(200, random_state=0).data
    model = OMVCDR(3, random_state=0).fit(data)
    without = OMVCDR(3, random_state=0, check_structure=False).fit(data)
    assert np.array_equal(model.labels_, without.labels_)
    assert not hasattr(without, "structure_")
    # the confidence is a rising function of the margin
    order = np.argsort(without.confidence_)
    assert (np.diff(model.confidence_[order]) >= -1e-12).all()
    model.set_params(check_structure=False).fit(data)
    assert not hasattr(model, "structure_")


@pytest.mark.parametrize("k", [1, 12])
def test_too_few_samples_for_a_verdict(k):
    model = OMVCDR(k, random_state=0).fit(gaussian(19, (4, 3), 0))
    assert model.structure_.verdict == "unknown"
    assert np.isnan(model.structure_.p_value)


def test_constant_rows_are_no_structure():
    X = [np.ones((40, 3)), np.zeros((40, 2))]
    with pytest.warns(DataWarning):
        model = OMVCDR(2, random_state=0).fit(X)
    assert model.structure_.verdict in ("none", "unknown")


def test_new_samples_get_the_confidence_of_the_fit():
    data = make_multiview_blobs(300, n_clusters=4, random_state=1).data
    model = OMVCDR(4, random_state=0).fit(data)
    found = model.assign(data)
    assert np.array_equal(found.labels, model.labels_)
    assert found.confidence == pytest.approx(model.confidence_, abs=1e-9)


def test_memberships_sum_to_one_and_agree_with_the_labels():
    data = make_multiview_blobs(300, n_clusters=4, random_state=1).data
    model = OMVCDR(4, random_state=0).fit(data)
    P = model.predict_proba(data)
    assert P.shape == (300, 4)
    assert P.sum(axis=1) == pytest.approx(1)
    assert (P >= 0).all()
    assert (P.argmax(axis=1) == model.predict(data)).all()
    own = P[np.arange(300), model.labels_]
    assert (own >= model.confidence_ - 1e-12).all()


def test_memberships_in_noise_are_shared():
    X = gaussian(500, (50, 30), 0)
    P = OMVCDR(4, random_state=0).fit(X).predict_proba(X)
    assert np.median(P.max(axis=1)) < 0.6


def test_one_cluster_has_all_members():
    X = gaussian(30, (4, 3), 0)
    assert OMVCDR(1).fit(X).predict_proba(X) == pytest.approx(np.ones((30, 1)))


def test_structure_and_confidence_survive_a_file(tmp_path):
    data = make_multiview_blobs(200, random_state=0).data
    model = OMVCDR(3, random_state=0).fit(data)
    model.save(tmp_path / "model.mv")
    again = OMVCDR.load(tmp_path / "model.mv")
    assert again.structure_ == model.structure_
    assert np.array_equal(again.assign(data).confidence, model.assign(data).confidence)


def test_structure_with_missing_views_and_weights():
    data = make_multiview_blobs(300, n_clusters=3, random_state=2).data
    present = R(0).random((300, 2)) > 0.2
    present[~present.any(axis=1), 0] = True
    weights = R(1).integers(0, 3, 300)
    model = OMVCDR(3, random_state=0).fit(data, sample_weight=weights, present=present)
    assert model.structure_.verdict in ("clear", "weak")


@pytest.mark.data
def test_confidence_tells_right_labels_from_wrong(data_home):
    data, target = load_benchmark("handwritten_6v", data_home=data_home, return_X_y=True)
    model = OMVCDR(10, random_state=0).fit(data)
    is_right = right_samples(target, model.labels_)
    assert roc_auc_score(is_right, model.confidence_) > 0.9
    assert model.structure_.verdict == "clear"


def test_many_clusters_of_samples_that_mostly_lack_a_view(rng):
    X = [rng.standard_normal((200, 10)) for _ in range(2)]
    present = np.ones((200, 2), dtype=bool)
    present[:130, 0] = False
    model = OMVCDR(100, random_state=0).fit(X, present=present)
    assert model.structure_.verdict in ("none", "weak", "clear", "unknown")
    assert np.all(np.isfinite(model.confidence_))
