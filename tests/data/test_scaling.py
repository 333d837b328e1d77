"""Scalings do to a view what their names say."""

import numpy as np
import pytest
from scipy import sparse

from helpers.definitions import scale_view
from manyview import OMVCDR
from manyview.data.scaling import (
    FEWEST_COUNTS,
    MAPS,
    SPARSE,
    apply_map,
    fit_scalings,
    n_scalings,
)
from manyview.kernels import cpu
from manyview.kernels.block import ViewRows


def scaling_of(X, scale):
    (scaling,) = fit_scalings(scale, [cpu.columns(ViewRows(X), np.ones(X.shape[0]))])
    return scaling


def apply_scalings(X, scale):
    return scale_view(X, scaling_of(X, scale), np.ones(len(X), dtype=bool))


@pytest.fixture
def X(rng):
    X = rng.random((50, 6)) * [1, 10, 100, 1, 1, 1]
    X[:, 5] = 7.0
    X[3] = 0
    return X


def test_unit_gives_rows_of_unit_mean_square_norm(X):
    assert np.mean(np.sum(apply_scalings(X, "unit") ** 2, axis=1)) == pytest.approx(1)


def test_l2_gives_rows_of_unit_norm_and_leaves_zero_rows(X):
    norms = np.linalg.norm(apply_scalings(X, "l2"), axis=1)
    np.testing.assert_allclose(np.delete(norms, 3), 1)
    assert norms[3] == 0


def test_the_square_root_is_taken_where_a_view_is_not_negative(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    expected = np.sqrt(X / X.sum(axis=1, keepdims=True).clip(1e-300))
    np.testing.assert_allclose(apply_scalings(X, "sqrt-l2"), expected)
    X[0, 0] = -1
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(apply_scalings(X, "sqrt-l2"), X / np.where(norms > 0, norms, 1))


@pytest.mark.parametrize("name", ["sqrt-l2", "log-pca-l2"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_negative_values_that_the_fit_did_not_count_are_mapped_as_their_opposites(
    rng, name, as_sparse
):
    X = rng.poisson(60, (40, 6)).astype(float)
    weights = np.ones(40)
    weights[0] = 0  # the fit leaves it out, and labels it
    X[0] *= -1
    given = sparse.csr_array(X) if as_sparse else X
    model = OMVCDR(2, scale=name, smooth=False, random_state=0).fit(given, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(given), model.labels_)
    assert np.isfinite(model.transform(given)).all()


@pytest.mark.parametrize("name", MAPS)
def test_maps_are_odd_and_keep_zeros(name):
    values = np.array([-4.0, -1e-300, 0.0, 1e-300, 4.0])
    found = apply_map(name, values)
    np.testing.assert_array_equal(found, -apply_map(name, -values))
    np.testing.assert_array_equal(found[2:], MAPS[name](values[2:]))


def test_z_scores_have_mean_zero_and_deviation_one_and_constant_columns_vanish(X):
    X[3, 5] = 7
    Z = apply_scalings(X, "z")
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), [1, 1, 1, 1, 1, 0], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(apply_scalings(X, "z-l2"), axis=1), 1)


def test_rounding_noise_of_a_constant_column_is_not_blown_up(rng):
    X = np.full((100, 1), 0.1) * (1 + 1e-16 * rng.standard_normal((100, 1)))
    assert np.all(scaling_of(X, "z").scale == 0)


def test_sparse_and_dense_views_get_the_same_reading(X):
    for scale in ("unit", "sqrt-l2", "z-l2"):
        dense, csr = scaling_of(X, scale), scaling_of(sparse.csr_array(X), scale)
        assert dense.map == csr.map
        for one, other in ((dense.scale, csr.scale), (dense.offset, csr.offset)):
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def names_of(views):
    columns = [cpu.columns(ViewRows(X), np.ones(X.shape[0])) for X in views]
    return [(scaling.view, scaling.name) for scaling in fit_scalings("auto", columns)]


def test_auto_scales_each_view_twice(X, rng):
    assert [n_scalings(scale) for scale in ("auto", "l2", ["l2", "z"], None)] == [2, 1, 2, 1]
    empty = np.where(rng.random((50, 40)) < SPARSE + 0.1, 0, rng.random((50, 40)))
    counts = rng.poisson(FEWEST_COUNTS / 20, size=(50, 30)).astype(float)
    few = rng.poisson(FEWEST_COUNTS / 40, size=(50, 30)).astype(float)
    found = names_of([X, empty, counts, few, sparse.csr_array(counts), counts + 0.5, -counts])
    assert found[:7] == [(v, "sqrt-l2") for v in range(7)]
    suited = ["pca-l2", "z-l2", "log-pca-l2", "pca-l2", "log-pca-l2", "pca-l2", "pca-l2"]
    assert found[7:] == list(enumerate(suited))


def test_moments_of_parts_add_up(X):
    whole = cpu.columns(ViewRows(X), np.ones(50))
    parts = cpu.columns(ViewRows(X[:20]), np.ones(20)) + cpu.columns(ViewRows(X[20:]), np.ones(30))
    assert parts.zeros == pytest.approx(whole.zeros) == pytest.approx((X == 0).mean())
    assert parts.is_integer == whole.is_integer == False  # noqa: E712
    assert cpu.columns(ViewRows(np.rint(X)), np.ones(50)).is_integer
