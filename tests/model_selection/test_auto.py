"""OMVCDR that finds its own number of clusters."""

import numpy as np
import pytest

from manyview import OMVCDR
from manyview.baselines import BASELINES
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import DataWarning


def test_auto_takes_the_number_that_is_recommended(tmp_path):
    data = make_multiview_blobs(300, n_clusters=4, random_state=0).data
    model = OMVCDR("auto", random_state=0).fit(data)
    given = OMVCDR(4, random_state=0).fit(data)
    assert (model.n_clusters, model.n_clusters_, given.n_clusters_) == ("auto", 4, 4)
    np.testing.assert_array_equal(model.labels_, given.labels_)
    model.save(tmp_path / "model.mv")
    loaded = OMVCDR.load(tmp_path / "model.mv")
    assert (loaded.n_clusters, loaded.n_clusters_) == ("auto", 4)
    np.testing.assert_array_equal(loaded.predict(data), model.labels_)


def test_without_structure_the_steadiest_split_is_taken_with_a_warning():
    data = make_multiview_blobs(200, n_clusters=1, random_state=0).data
    with pytest.warns(DataWarning, match=r"no clear structure.*steadiest split.*set n_clusters=1"):
        model = OMVCDR("auto", random_state=0).fit(data)
    assert model.n_clusters_ == model.choice_.n_clusters >= 2
    assert len(np.unique(model.labels_)) == model.n_clusters_


def test_samples_without_weight_are_not_counted():
    """Weights leave three of five clusters."""
    data, target = make_multiview_blobs(400, n_clusters=5, random_state=0, return_X_y=True)
    model = OMVCDR("auto", random_state=0).fit(data, sample_weight=(target < 3).astype(float))
    assert model.n_clusters_ == 3


@pytest.mark.parametrize("value", ["four", 0, 2.5])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match="expected an integer >= 1 or 'auto'"):
        OMVCDR(value).fit(np.eye(9))


def test_methods_that_cannot_count_refuse_auto():
    with pytest.raises(ValueError, match="n_clusters='auto' is not usable; expected an integer"):
        BASELINES["concat_kmeans"]("auto").fit([np.eye(9), np.eye(9)])
