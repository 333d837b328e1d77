"""ConcatKMeans and BestSingleView, and the scaled views that all baselines read."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler, normalize

from manyview.baselines._base import Budget
from manyview.baselines._scaling import joined_views, scaled_views
from manyview.baselines.best_single_view import BestSingleView
from manyview.baselines.concat_kmeans import ConcatKMeans
from manyview.data.views import MultiViewData
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.exceptions import DeclinedError
from manyview.metrics import clustering_accuracy

UNLIMITED = Budget("test", None, None)
SCALES = [None, "unit", "l2", "sqrt-l2", "z", "z-l2", ["unit", "l2"]]
METHODS = [ConcatKMeans, BestSingleView]


@pytest.fixture
def blobs():
    return make_multiview_blobs(
        300, (12, 20, 7), n_clusters=4, cluster_std=1.5, random_state=0, return_X_y=True
    )


@pytest.fixture
def data(rng):
    views = [rng.uniform(size=(20, 4)), 5 * rng.normal(size=(20, 3)) + 2]
    views[0][:, 2] = 3.0
    views[1][4] = 0.0
    return MultiViewData.of(views)


def expected_views(data, scale):
    """The same by scikit-learn and plain numpy."""
    if isinstance(scale, list):
        return [X for name in scale for X in expected_views(data, name)]
    maps = {
        None: lambda X: X,
        "unit": lambda X: X / np.sqrt((X**2).sum(axis=1).mean()),
        "l2": normalize,
        "sqrt-l2": lambda X: normalize(np.sqrt(X) if X.min() >= 0 else X),
        "z": lambda X: StandardScaler().fit_transform(X),
        "z-l2": lambda X: normalize(StandardScaler().fit_transform(X)),
    }
    return [maps[scale](X) for X in data.views]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scaled_views_are_those_of_the_definition(data, scale, container):
    given = MultiViewData.of([container(X) for X in data.views])
    copies = [X.copy() for X in given.views]
    found = scaled_views(given, scale, UNLIMITED)
    for X, expected in zip(found, expected_views(data, scale), strict=True):
        np.testing.assert_allclose(X, expected, atol=1e-12)
    for X, copy in zip(given.views, copies, strict=True):  # the user's arrays stay as they are
        assert abs(X - copy).max() == 0


def test_joined_views_are_one_view_or_all(data):
    assert joined_views(data, ["l2", "z"], None, UNLIMITED).shape == (20, 14)
    np.testing.assert_array_equal(joined_views(data, None, 1, UNLIMITED), data.views[1])


def test_concat_kmeans_is_kmeans_on_the_joined_views(blobs):
    data, y = blobs
    model = ConcatKMeans(4, random_state=0).fit(data)
    X = np.hstack([StandardScaler().fit_transform(view) for view in data.views])
    assert model.inertia_ <= KMeans(4, n_init=3, random_state=0).fit(X).inertia_ * (1 + 1e-6)
    means = [X[model.labels_ == c].mean(axis=0) for c in range(4)]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-6)
    assert clustering_accuracy(y, model.labels_) > 0.95


def test_the_view_that_the_others_confirm_is_chosen(rng, blobs):
    data, y = blobs
    noise = [rng.normal(size=(300, 9)) for _ in range(2)]
    model = BestSingleView(4, random_state=0).fit([noise[0], *data.views[:2], noise[1]])
    assert model.best_view_ in (1, 2)
    assert clustering_accuracy(y, model.labels_) > 0.8
    assert model.view_scores_[[1, 2]].min() > model.view_scores_[[0, 3]].max()


def test_scores_are_mean_agreements(blobs):
    data, _ = blobs
    model = BestSingleView(4, n_init=1, random_state=0).fit(data)
    others = [v for v in range(3) if v != model.best_view_]
    alone = [BestSingleView(4, random_state=0).fit(np.asarray(data.views[v])) for v in others]
    expected = np.mean([normalized_mutual_info_score(model.labels_, a.labels_) for a in alone])
    assert model.view_scores_[model.best_view_] == pytest.approx(expected, abs=0.1)


def test_of_two_views_the_silhouette_decides(rng, blobs):
    data, y = blobs
    model = BestSingleView(4, random_state=0).fit([rng.normal(size=(300, 9)), data.views[1]])
    assert model.view_scores_[0] == model.view_scores_[1]
    assert model.best_view_ == 1
    assert np.argmax(model.view_silhouettes_) == 1


def test_one_view_is_the_best(blobs):
    model = BestSingleView(4, random_state=0).fit(np.asarray(blobs[0].views[0]))
    assert model.best_view_ == 0
    assert model.view_scores_.tolist() == [1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", SCALES)
def test_labels_depend_on_the_seed_alone(method, scale, blobs):
    model = method(4, scale=scale, n_init=2, random_state=3).fit(blobs[0])
    assert model.labels_.dtype == np.int32
    assert np.array_equal(clone(model).fit(blobs[0]).labels_, model.labels_)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [{"memory_limit": 100}, {"time_limit": 1e-9}])
def test_they_decline_with_a_sentence_that_names_the_limit(method, limit, blobs):
    with pytest.raises(DeclinedError, match=f"{method.__name__} .*{next(iter(limit))}"):
        method(4, **limit).fit(blobs[0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", [{"scale": "row-z"}, {"scale": ["z", "auto"]}, {"n_init": 0}])
def test_parameters_are_checked(method, wrong, blobs):
    with pytest.raises(ValueError, match="is not usable; expected"):
        method(4, **wrong).fit(blobs[0])


@pytest.mark.data
@pytest.mark.parametrize("method", METHODS)
def test_they_find_the_digits(method, data_home):
    bunch = load_benchmark("handwritten_6v", data_home=data_home)
    labels = method(10, n_init=3, random_state=0).fit_predict(bunch.data)
    assert clustering_accuracy(bunch.target, labels) > 0.6


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_principal_components_are_half_whitened(rng, container):
    """z-scores, their components with standard deviations s divided by √s, rows of unit norm."""
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 3.0
    Z = StandardScaler().fit_transform(X)
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    expected = normalize(U * np.sqrt(s))
    (found,) = scaled_views(MultiViewData.of(container(X)), "pca-l2", UNLIMITED)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_counts_get_equal_sums_and_logarithms_first(rng, container):
    X = rng.poisson(rng.gamma(2.0, 5.0, size=(60, 8)) * rng.uniform(0.5, 2, (60, 1))).astype(float)
    X[7] = 0
    sums = X.sum(axis=1, keepdims=True)
    logs = np.log1p(X / np.where(sums > 0, sums, 1) * sums.mean())
    (found,) = scaled_views(MultiViewData.of(container(X)), "log-pca-l2", UNLIMITED)
    (expected,) = scaled_views(MultiViewData.of(logs), "pca-l2", UNLIMITED)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


def test_components_of_wide_views_are_those_of_a_singular_value_decomposition(rng):
    signal = rng.normal(size=(300, 6)) * np.arange(6, 0, -1)
    X = signal @ rng.normal(size=(6, 400)) + 0.01 * rng.normal(size=(300, 400))
    U, s, _ = np.linalg.svd(StandardScaler().fit_transform(X), full_matrices=False)
    expected = normalize((U * np.sqrt(s))[:, :50])
    (found,) = scaled_views(MultiViewData.of(X), "pca-l2", UNLIMITED)
    assert found.shape == (300, 50)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=0.02)


def test_components_far_from_the_origin_keep_their_digits(rng):
    X = rng.normal(size=(80, 70)).astype(np.float32)
    (near,) = scaled_views(MultiViewData.of(X), "pca-l2", UNLIMITED)
    (far,) = scaled_views(MultiViewData.of(X + np.float32(4096)), "pca-l2", UNLIMITED)
    np.testing.assert_allclose(far @ far.T, near @ near.T, atol=0.02)
