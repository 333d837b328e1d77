"""MatrixFactorizationClustering: the factors are the minimum; limits."""

import numpy as np
import pytest
from sklearn.base import clone

from manyview.baselines.matrix_factorization import MatrixFactorizationClustering
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.exceptions import DeclinedError
from manyview.metrics import clustering_accuracy


@pytest.fixture
def blobs():
    return make_multiview_blobs(
        300, (12, 20), n_clusters=4, cluster_std=1.5, random_state=0, return_X_y=True
    )


@pytest.mark.parametrize("shape", [(60, 30), (30, 60), (40, 5), (9, 40)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factors_are_the_minimum(rng, shape, dtype):
    """No random orthonormal basis does better, and the loss is that of the singular values."""
    X = rng.normal(size=shape).astype(dtype)
    model = MatrixFactorizationClustering(4, n_init=1, random_state=0).fit(X)
    H, Z = model.basis_, model.embedding_
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(H.T @ H, np.eye(4), atol=tolerance)
    loss = np.sum((X - Z @ H.T) ** 2)
    assert model.objective_ == pytest.approx(loss, rel=tolerance)
    expected = (np.linalg.svd(X, compute_uv=False)[4:] ** 2).sum()
    assert loss == pytest.approx(expected, rel=tolerance)
    for _ in range(50):
        other = np.linalg.qr(rng.normal(size=H.shape))[0]
        assert loss <= np.sum((X - X @ other @ other.T) ** 2)


def test_the_basis_is_no_wider_than_the_data(rng):
    model = MatrixFactorizationClustering(4, random_state=0).fit(rng.normal(size=(30, 2)))
    assert model.basis_.shape == (2, 2)


def test_it_finds_the_blobs(blobs):
    data, y = blobs
    model = MatrixFactorizationClustering(4, random_state=0).fit(data)
    assert clustering_accuracy(y, model.labels_) > 0.95
    assert model.embedding_.shape == (300, 4)
    again = clone(model).fit(data)
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(again.embedding_, model.embedding_)
    one = MatrixFactorizationClustering(4, view=1, n_components=3, random_state=0).fit(data)
    assert one.basis_.shape == (20, 3)


@pytest.mark.parametrize("limit", [{"memory_limit": 100}, {"time_limit": 1e-9}])
def test_it_declines_with_a_sentence_that_names_the_limit(blobs, limit):
    name = next(iter(limit))
    with pytest.raises(DeclinedError, match=f"MatrixFactorizationClustering .*{name}"):
        MatrixFactorizationClustering(4, **limit).fit(blobs[0])


@pytest.mark.parametrize("wrong", [{"view": 2}, {"scale": "other"}, {"n_components": 0}])
def test_parameters_are_checked(blobs, wrong):
    with pytest.raises(ValueError, match="is not usable; expected"):
        MatrixFactorizationClustering(4, **wrong).fit(blobs[0])


@pytest.mark.data
def test_it_finds_the_digits(data_home):
    bunch = load_benchmark("handwritten_2v", data_home=data_home)
    labels = MatrixFactorizationClustering(10, random_state=0).fit_predict(bunch.data)
    assert clustering_accuracy(bunch.target, labels) > 0.6
