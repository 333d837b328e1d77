"""KSums: costs by definition, descent, balance, limits."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

from manyview.baselines import ksums as module
from manyview.baselines._ksums_kernels import BLOCK_ROWS, sweep
from manyview.baselines.ksums import KSums
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.exceptions import DeclinedError
from manyview.metrics import clustering_accuracy


@pytest.fixture
def blobs():
    return make_multiview_blobs(
        300, (12, 20), n_clusters=4, cluster_std=1.5, random_state=0, return_X_y=True
    )


def objective(X, labels):
    """tr(YᵀDY) from all pairs."""
    return cdist(X, X, "sqeuclidean")[labels[:, None] == labels].sum()


def slow_sweep(X, labels, k):
    """One sweep with every cost summed over the members of the cluster."""
    D, labels, n_moved = cdist(X, X, "sqeuclidean"), labels.copy(), 0
    for i in range(len(X)):
        cost = D[i] @ np.eye(k)[labels]
        if cost.min() < cost[labels[i]] * (1 - 1e-12):
            labels[i] = cost.argmin()
            n_moved += 1
    return labels, n_moved


def test_a_sweep_by_hand():
    """Rows 0, 1, 9 in {0, 2}, {1}: sample 0 costs 81 at home and 1 away; then 9 is alone, stays."""
    X = np.array([[0.0], [1.0], [9.0]])
    labels = np.array([0, 1, 0], np.int32)
    clusters = module._Clusters.of(X, X[:, 0] ** 2, labels, 2)
    assert clusters.objective == 162
    assert module._sweep(X, X[:, 0] ** 2, labels, clusters) == 1
    assert labels.tolist() == [1, 1, 0]
    assert module._Clusters.of(X, X[:, 0] ** 2, labels, 2).objective == 2


@pytest.mark.parametrize("n", [5, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS - 7])
@pytest.mark.parametrize("d", [1, 6])
def test_incremental_costs_give_the_moves_of_the_definition(n, d):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    labels = (rng.permutation(n) % 4).astype(np.int32)
    sqnorm = (X**2).sum(axis=1)
    for _ in range(4):
        expected, n_expected = slow_sweep(X, labels, 4)
        clusters = module._Clusters.of(X, sqnorm, labels, 4)
        count, total, sum_squares = clusters.count, clusters.total, clusters.sum_squares
        n_moved = sweep(X, sqnorm, labels, count, total, sum_squares, 1e-12)
        assert np.array_equal(labels, expected)
        assert n_moved == n_expected
        kept = module._Clusters.of(X, sqnorm, labels, 4)
        np.testing.assert_allclose(count, kept.count)
        np.testing.assert_allclose(total, kept.total, atol=1e-10)
        np.testing.assert_allclose(sum_squares, kept.sum_squares)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_objective_never_rises_and_is_that_of_the_definition(rng, dtype):
    X = (rng.normal(size=(200, 7)) + 100).astype(dtype)
    model = KSums(5, n_init=1, tol=0, random_state=0)
    for max_iter in (1, 2, 100):
        fit = clone(model).set_params(max_iter=max_iter).fit(X)
        expected = objective(X.astype(np.float64), fit.labels_)
        assert fit.objective_history_[-1] == pytest.approx(expected, rel=1e-5)
        assert np.diff(fit.objective_history_).max(initial=-1) <= 1e-6 * expected
    to_cluster = cdist(X, X, "sqeuclidean") @ np.eye(5)[fit.labels_]
    own = to_cluster[np.arange(200), fit.labels_]
    assert np.all(own <= to_cluster.min(axis=1) * (1 + 1e-3))


def test_it_finds_the_blobs(blobs):
    data, y = blobs
    model = KSums(4, random_state=0).fit(data)
    assert clustering_accuracy(y, model.labels_) > 0.95
    assert model.labels_.dtype == np.int32
    assert model.n_iter_ == len(model.objective_history_)
    assert np.array_equal(clone(model).fit(data).labels_, model.labels_)
    one = KSums(4, view=1, random_state=0).fit(data)
    alone = KSums(4, random_state=0).fit(np.asarray(data.views[1]))
    assert np.array_equal(one.labels_, alone.labels_)


def test_clusters_are_balanced_where_the_data_have_none(rng):
    count = np.bincount(KSums(4, random_state=0).fit_predict(rng.uniform(size=(400, 2))))
    assert count.min() > 80


@pytest.mark.filterwarnings("ignore::manyview.exceptions.DataWarning")  # constant views
def test_identical_rows_leave_no_cluster_empty():
    assert len(np.unique(KSums(3, random_state=0).fit_predict(np.ones((9, 2))))) == 3


@pytest.mark.parametrize("limit", [{"memory_limit": 100}, {"time_limit": 1e-9}])
def test_it_declines_with_a_sentence_that_names_the_limit(blobs, limit):
    with pytest.raises(DeclinedError, match=f"KSums .*{next(iter(limit))}"):
        KSums(4, **limit).fit(blobs[0])


@pytest.mark.parametrize(
    "wrong",
    [{"view": -1}, {"view": 2}, {"view": "a"}, {"scale": []}, {"n_init": 0}, {"tol": -1}],
)
def test_parameters_are_checked(blobs, wrong):
    with pytest.raises(ValueError, match="is not usable; expected"):
        KSums(4, **wrong).fit(blobs[0])


@pytest.mark.slow
def test_import_does_not_bring_numba():
    code = "import sys, manyview.baselines.ksums; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.data
def test_it_finds_the_digits(data_home):
    bunch = load_benchmark("handwritten_2v", data_home=data_home)
    model = KSums(10, n_init=3, random_state=0).fit(bunch.data)
    assert clustering_accuracy(bunch.target, model.labels_) > 0.8
    assert np.diff(model.objective_history_).max() <= 1e-6 * model.objective_history_[-1]
