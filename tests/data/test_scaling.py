"""Scalings do to a view what their names say."""

import numpy as np
import pytest
from scipy import sparse

from helpers.definitions import scale_view
from manyview.data.scaling import fit_scalings, scaling_names
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


def test_auto_scales_each_view_twice():
    assert scaling_names("auto") == ("sqrt-l2", "z-l2")
    assert scaling_names("l2") == ("l2",)
    assert scaling_names(["l2", "z"]) == ("l2", "z")
