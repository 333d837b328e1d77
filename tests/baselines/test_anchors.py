import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import ortho_group

from manyview.baselines import _anchors as module
from manyview.baselines._anchors import (
    scale_view,
    spectral_embedding,
)
from manyview.baselines._base import Budget
from manyview.baselines._finish import best_kmeans, polar, unit_rows
from manyview.baselines._simplex import project_rows, solve_simplex_qp


def by_slsqp(G, c):
    """Minimise zᵀGz − 2 zᵀc over the simplex with a generic solver."""
    m = len(c)
    found = minimize(
        lambda z: z @ G @ z - 2 * z @ c,
        np.full(m, 1 / m),
        jac=lambda z: 2 * (G @ z - c),
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda z: z.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    return found.x


def qp(seed, n=5):
    """Anchors in few or many dimensions, large or small beside the ridge."""
    rng = np.random.default_rng(seed)
    m, d = rng.integers(1, 9), rng.integers(1, 9)
    A = rng.normal(size=(m, d)) * 10 ** rng.uniform(-1, 1)
    G = A @ A.T + 10 ** rng.uniform(-2, 1) * np.eye(m)
    return G, 2 * rng.normal(size=(n, d)) @ A.T


def test_projection_by_hand():
    """(2, 0) is cut at θ = 1; (1, 1, −5) keeps two halves; a point of the simplex stays."""
    assert project_rows(np.array([[2.0, 0.0]])).tolist() == [[1.0, 0.0]]
    assert project_rows(np.array([[1.0, 1.0, -5.0]])).tolist() == [[0.5, 0.5, 0.0]]
    assert project_rows(np.array([[0.25, 0.75]])).tolist() == [[0.25, 0.75]]


@given(st.integers(0, 10_000))
def test_projection_is_that_of_a_generic_solver(seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(4, rng.integers(1, 8))) * 10 ** rng.uniform(-2, 1)
    Z = project_rows(Y)
    assert Z.min() >= 0
    assert Z.sum(axis=1) == pytest.approx(1, abs=1e-12)
    for y, z in zip(Y, Z, strict=True):
        assert z == pytest.approx(by_slsqp(np.eye(len(y)), y), abs=1e-6)


def test_projection_of_huge_numbers_is_on_the_simplex():
    assert project_rows(np.array([[1e20, 0.0], [-1e20, -1e20]])).tolist() == [[1, 0], [0.5, 0.5]]


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_quadratic_program_is_that_of_a_generic_solver(seed):
    G, C = qp(seed)
    Z = solve_simplex_qp(G, C)
    assert Z.min() >= 0
    assert Z.sum(axis=1) == pytest.approx(1, abs=1e-9)
    for c, z in zip(C, Z, strict=True):
        expected = by_slsqp(G, c)
        value, best = z @ G @ z - 2 * z @ c, expected @ G @ expected - 2 * expected @ c
        assert value <= best + 1e-8 * (abs(best) + G.max())


@given(st.integers(0, 10_000))
def test_no_vertex_improves_the_quadratic_program(seed):
    """First-order optimality: the gradient is lowest on the support."""
    G, C = qp(seed, n=50)
    Z = solve_simplex_qp(G, C)
    gradient = Z @ G - C
    gap = (gradient * Z).sum(axis=1) - gradient.min(axis=1)
    assert gap.max() <= 1e-8 * (np.abs(C).max() + G.max())


def test_quadratic_program_with_equal_anchors():
    """A singular Hessian: any split between the two equal anchors will do, its value is exact."""
    A = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 0.0]])
    Z = solve_simplex_qp(A @ A.T, np.array([[1.0, 0.0], [9.0, 0.0], [-3.0, 0.0]]) @ A.T)
    assert np.allclose(Z @ A, [[1, 0], [4, 0], [0, 0]], atol=1e-6)


@pytest.mark.parametrize("shape", [(9, 3), (3, 9), (4, 4)])
def test_polar_factor_beats_random_orthogonal_matrices(shape):
    B = np.random.default_rng(0).normal(size=shape)
    best = polar(B)
    small = min(shape)
    gram = best.T @ best if shape[0] >= shape[1] else best @ best.T
    assert gram == pytest.approx(np.eye(small), abs=1e-12)
    for rotation in ortho_group.rvs(max(shape), size=200, random_state=0):
        other = rotation[:, :small] if shape[0] >= shape[1] else rotation[:small]
        assert (B * other).sum() <= (B * best).sum()


def test_embedding_is_the_left_singular_vectors():
    S = np.abs(np.random.default_rng(0).normal(size=(30, 6)))
    U, values, _ = np.linalg.svd(S, full_matrices=False)
    found = spectral_embedding(S, 4)
    assert np.abs(found.T @ U[:, :4]) == pytest.approx(np.eye(4), abs=1e-8)


def test_embedding_drops_directions_without_data():
    S = np.zeros((5, 3))
    S[:, 0] = 1
    assert spectral_embedding(S, 3).shape == (5, 1)


def test_zero_rows_stay_when_rows_are_normalised():
    assert unit_rows(np.array([[3.0, 4.0], [0, 0]])).tolist() == [[0.6, 0.8], [0, 0]]


@pytest.mark.parametrize("as_view", [np.asarray, sparse.csr_array])
def test_scaled_rows_have_mean_zero_and_deviation_one(as_view, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 4 * 64)  # several blocks
    X = np.random.default_rng(0).normal(7, 3, size=(200, 4)).astype(np.float32)
    X[:, 2] = 5
    view = scale_view(as_view(X), "z")
    found = np.vstack([view.rows(part) for part in module.row_blocks(200, 4)])
    expected = (X - X.mean(0, dtype=float)) / X.std(0, ddof=1, dtype=float).clip(1e-9)
    assert found == pytest.approx(expected, abs=1e-5)
    assert not found[:, 2].any()
    assert view.whole() == pytest.approx(found, abs=1e-5)
    assert view.whole().dtype == np.float32


def test_a_view_taken_as_given_is_not_copied():
    X = np.ones((3, 2))
    assert scale_view(X, None).whole() is X


def test_blocks_cover_all_rows_once():
    parts = list(module.row_blocks(100_000, 1600))
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, 100_000)
    assert len(parts) > 10


def test_kmeans_keeps_the_run_of_lowest_inertia():
    X = np.random.default_rng(0).normal(size=(60, 2))
    budget = Budget("Any", None, None)
    one, many = (
        best_kmeans(X, 7, n_init, np.random.default_rng(1), budget).inertia_ for n_init in (1, 20)
    )
    assert many < one
