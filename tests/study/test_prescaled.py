"""Baselines on scaled views: the same as with their own scaling, where they have one."""

import numpy as np
import pytest

from manyview.baselines import BASELINES
from manyview.datasets import make_multiview_blobs
from manyview.metrics import clustering_accuracy
from manyview.study.methods import find_method
from manyview.study.prescaled import Prescaled


@pytest.fixture(scope="module")
def blobs():
    return make_multiview_blobs(90, (12, 8), n_clusters=3, random_state=0, return_X_y=True)


@pytest.mark.parametrize("scale", ["l2", "z", None])
def test_a_scaling_that_the_method_knows_gives_its_own_labels(blobs, scale):
    data, _ = blobs
    own = BASELINES["concat_kmeans"](3, scale=scale, random_state=0).fit_predict(data)
    ours = Prescaled(3, method="concat_kmeans", scale=scale, random_state=0).fit_predict(data)
    np.testing.assert_array_equal(ours, own)


@pytest.mark.parametrize("method", sorted(BASELINES))
def test_every_baseline_takes_scaled_views(blobs, method):
    data, target = blobs
    model = Prescaled(3, method=method, scale="pca-l2", random_state=0, time_limit=60.0)
    assert clustering_accuracy(target, model.fit_predict(data)) > 0.5


def test_it_is_a_method_of_the_benchmark():
    name = "manyview.study.prescaled:Prescaled(method='opmc', scale='l2')"
    model = find_method(name).make(n_clusters=4, random_state=1)
    assert (model.method, model.scale, model.n_clusters) == ("opmc", "l2", 4)
