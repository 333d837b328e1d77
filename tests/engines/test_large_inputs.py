"""Inputs that must not grow inside a fit: sparse views, half precision, many clusters."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from manyview import OMVCDR, MultiViewData
from manyview.engines import choose_engine


@pytest.fixture(scope="module")
def sparse_views():
    """Two CSR views of 3000 samples in three groups, each with its own columns."""
    rng = np.random.default_rng(0)
    views = []
    for third in (2000, 1000):
        rows = np.repeat(np.arange(3000), 60)
        columns = rng.integers(third, size=rows.size) + rows % 3 * third
        values = rng.random(rows.size, dtype=np.float32)
        views.append(sparse.csr_array((values, (rows, columns)), shape=(3000, 3 * third)))
    return views


def peak_of(action):
    """Bytes that an action allocates at most."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_rows_of_a_sparse_view_are_not_copied(sparse_views):
    data = MultiViewData.of(sparse_views)
    stored = sum(X.data.nbytes + X.indices.nbytes for X in data.views)
    assert all(
        np.shares_memory(a.data, b.data) for a, b in zip(data.views, sparse_views, strict=True)
    )
    engine = choose_engine("memory", "cpu", data)
    assert peak_of(lambda: engine.load(data, None)) < stored / 2


@pytest.mark.parametrize("scale", [None, "z-l2"])
def test_a_sparse_view_is_never_made_dense(sparse_views, scale):
    dense = sum(4 * X.shape[0] * X.shape[1] for X in sparse_views)
    model = OMVCDR(3, scale=scale, n_init=1, max_iter=5, random_state=0)
    model.fit([X[:200] for X in sparse_views])  # compile
    assert peak_of(lambda: model.fit(sparse_views)) < 0.4 * dense  # the check has 60 coordinates
    model.set_params(check_structure=False)
    assert peak_of(lambda: model.fit(sparse_views)) < 0.3 * dense
    expected = OMVCDR(3, scale=scale, n_init=1, max_iter=5, random_state=0)
    expected.fit([X.toarray() for X in sparse_views])
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-3)


def test_half_precision_is_read_as_float32(rng):
    views = [(rng.standard_normal((300, d)) + 4 * (np.arange(300) % 3)[:, None]) for d in (5, 8)]
    half = [X.astype(np.float16) for X in views]
    model = OMVCDR(3, n_init=1, random_state=0).fit(half)
    expected = OMVCDR(3, n_init=1, random_state=0).fit([X.astype(np.float32) for X in half])
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.transform(half).dtype == np.float32
    assert all(H.dtype == np.float64 for bases in model.bases_ for H in bases)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The best of 1 starts")
def test_many_clusters_need_no_array_of_samples_and_clusters(rng):
    n, k = 6000, 2000
    views = [rng.standard_normal((n, 8)).astype(np.float32) for _ in range(2)]
    model = OMVCDR(k, scale=None, n_init=1, max_iter=2, random_state=0)
    OMVCDR(3, scale=None, n_init=1).fit([X[:100] for X in views])  # compile
    assert peak_of(lambda: model.fit(views)) < 4 * n * k / 2
    assert len(np.unique(model.labels_)) == k
