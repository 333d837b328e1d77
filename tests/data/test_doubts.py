"""Constant views, copies and as many clusters as samples are pointed out."""

import numpy as np
import pytest
from scipy import sparse

from manyview import OMVCDR, MultiViewData, open_rows
from manyview.baselines import ConcatKMeans
from manyview.data.doubts import find_doubts
from manyview.exceptions import DataWarning

CONSTANT = "View 'b' has the same values in every sample"
SAME = "Views 'a' and 'b' hold the same values"


def forms(X, folder):
    np.save(folder / "rows.npy", X)
    return {"dense": X, "sparse": sparse.csr_array(X), "disk": open_rows(folder / "rows.npy")}


@pytest.mark.parametrize("form", ["dense", "sparse", "disk"])
def test_a_constant_view_and_a_copy_are_found(rng, tmp_path, form):
    X = rng.random((30, 3))
    constant = forms(np.tile(X[:1], (30, 1)), tmp_path)[form]
    assert CONSTANT in find_doubts(MultiViewData.of({"a": X, "b": constant}))[0]
    (tmp_path / "copy").mkdir()
    one, two = forms(X, tmp_path)[form], forms(X.copy(), tmp_path / "copy")[form]
    (doubt,) = find_doubts(MultiViewData.of({"a": one, "b": two}))
    assert SAME in doubt


def test_rows_that_differ_late_are_no_doubt(rng):
    X = rng.random((100, 3))
    late = X.copy()
    late[90, 1] += 1
    nearly = np.ones((100, 2))
    nearly[95] = 2
    assert find_doubts(MultiViewData.of({"a": X, "b": late, "c": nearly})) == []


def test_missing_rows_do_not_count(rng):
    X = np.ones((20, 3))
    X[::2] = np.nan
    data = MultiViewData.of({"a": rng.random((20, 3)), "b": X})
    assert CONSTANT in find_doubts(data)[0]


@pytest.mark.parametrize("estimator", [OMVCDR(3, random_state=0), ConcatKMeans(3, random_state=0)])
def test_estimators_warn(rng, estimator):
    X = rng.random((30, 3))
    with pytest.warns(DataWarning, match=CONSTANT):
        estimator.fit({"a": X, "b": np.ones((30, 2))})
    with pytest.warns(DataWarning, match=SAME):
        estimator.fit({"a": X, "b": X.copy()})


def test_as_many_clusters_as_samples(rng):
    with pytest.warns(DataWarning, match="n_clusters=8 is the number of samples"):
        OMVCDR(8, random_state=0).fit([rng.random((8, 3)), rng.random((8, 4))])
