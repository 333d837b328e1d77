"""Metadata routing: weights and missing views reach `fit` through pipelines and splitters."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs


class Witness(OMVCDR):
    """Notes what `fit` and `score` are given."""

    seen = []

    def fit(self, X, y=None, sample_weight=None, *, present=None, callback=None):
        self.seen.append(("fit", len(X), sample_weight, present))
        return super().fit(X, y, sample_weight, present=present, callback=callback)

    def score(self, X, y=None, *, present=None):
        self.seen.append(("score", len(X), None, present))
        return super().score(X, y, present=present)


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        Witness.seen = []
        yield


@pytest.fixture
def samples():
    """X, and by row what the test can tell apart: the weights, and which views are there."""
    data, _ = make_multiview_blobs(60, (6, 5), n_clusters=3, random_state=0, return_X_y=True)
    present = np.ones((60, 2), dtype=bool)
    present[::4, 0] = False
    return data, 1.0 + np.arange(60), present


def witness(**parameters):
    model = Witness(3, random_state=0, n_init=1, **parameters)
    return model.set_fit_request(sample_weight=True, present=True).set_score_request(present=True)


def test_a_pipeline_hands_them_on(samples):
    data, weights, present = samples
    wide = np.hstack(data.views)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = make_pipeline(scaler, witness(view_sizes=[6, 5]))
    pipeline.fit(wide, sample_weight=weights, present=present)
    [(_, _, got_weights, got_present)] = Witness.seen
    np.testing.assert_array_equal(got_weights, weights)
    np.testing.assert_array_equal(got_present, present)
    direct = OMVCDR(3, random_state=0, n_init=1, view_sizes=[6, 5])
    direct.fit(StandardScaler().fit_transform(wide), sample_weight=weights, present=present)
    np.testing.assert_array_equal(pipeline[-1].labels_, direct.labels_)


def check_folds(samples, cv, n_fits):
    _, weights, present = samples
    fits = [seen for seen in Witness.seen if seen[0] == "fit"]
    scores = [seen for seen in Witness.seen if seen[0] == "score"]
    assert len(fits) == n_fits
    for seen, (train, _) in zip(fits, cv.split(weights), strict=False):
        assert seen[1] == len(train)
        np.testing.assert_array_equal(seen[2], weights[train])
        np.testing.assert_array_equal(seen[3], present[train])
    for seen, (_, test) in zip(scores, cv.split(weights), strict=True):
        np.testing.assert_array_equal(seen[3], present[test])


def test_cross_validation_cuts_them_as_it_cuts_samples(samples):
    data, weights, present = samples
    cv = KFold(3)
    params = {"sample_weight": weights, "present": present}
    scores = cross_validate(witness(), data, cv=cv, params=params, error_score="raise")
    assert np.all(np.isfinite(scores["test_score"]))
    check_folds(samples, cv, n_fits=3)


def test_so_does_a_grid_search(samples):
    data, weights, present = samples
    cv = KFold(3)
    search = GridSearchCV(witness(), {"lam": [0.5]}, cv=cv, error_score="raise")
    search.fit(data, sample_weight=weights, present=present)
    check_folds(samples, cv, n_fits=4)
    np.testing.assert_array_equal(Witness.seen[-1][2], weights)  # the last fit is on all samples


def test_what_is_not_requested_is_refused_by_name(samples):
    data, weights, _ = samples
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(OMVCDR(3), data, params={"sample_weight": weights}, error_score="raise")


def test_requests_are_cloned():
    request = clone(witness()).get_metadata_routing().fit.requests
    assert request["sample_weight"] is True
    assert request["present"] is True
