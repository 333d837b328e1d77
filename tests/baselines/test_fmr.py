"""FMR: proximal steps and shortcuts against their definitions, constraints, limits, real data."""

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.optimize import minimize
from sklearn.base import clone

from manyview.baselines._base import Budget
from manyview.baselines._low_rank import RowSums, largest_norm, shrink_columns, threshold
from manyview.baselines._spectral import kernel_spectrum, spectral_rows
from manyview.baselines.fmr import FMR
from manyview.exceptions import ConvergenceWarning, DeclinedError
from manyview.metrics import evaluate

NO_LIMIT = Budget("FMR", None, None)


def make_views(seed=0, n=60, k=3, widths=(6, 9), distance=6.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    views = [rng.normal(size=(n, d)) + distance * rng.normal(size=(k, d))[y] for d in widths]
    return views, y


def kernel_of(views):
    """Σ_v L X_v X_vᵀ L from its definition."""
    n = len(views[0])
    L = np.eye(n) - 1 / n
    units = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in views]
    return L @ sum(X @ X.T for X in units) @ L


def shrink(A, by):
    """Columns of A shortened."""
    norms = np.linalg.norm(A, axis=0)
    return A * np.maximum(1 - by / np.maximum(norms, 1e-300), 0)


def augmented_lagrangian(H, kernel, model, n_iter):
    """The published iterations, on n × n matrices, by gradient steps in H; Z, and steps in each."""
    n = H.shape[1]
    identity, K, mu = np.eye(n), kernel / (n - 1) ** 2, 1e-5
    Z = J = Y2 = np.zeros((n, n))
    E = Y1 = np.zeros_like(H)
    lowest = -model.epsilon * np.trace(H @ K @ H.T)
    steps = []
    for _ in range(n_iter):
        steps.append(0)
        while True:
            rest = H - H @ Z - E
            value = -np.trace(H @ K @ H.T) + np.sum(Y1 * rest) + mu / 2 * np.sum(rest**2)
            if value < lowest:
                break
            H = H - model.step * (-2 * H @ K + (Y1 + mu * rest) @ (identity - Z).T)
            steps[-1] += 1
        U, sigma, Vt = np.linalg.svd(Z + Y2 / mu)
        J = (U * np.maximum(sigma - model.lam1 / mu, 0)) @ Vt
        right = J + H.T @ H - H.T @ E + (H.T @ Y1 - Y2) / mu
        Z = linalg.solve(H.T @ H + identity, right, assume_a="pos")
        E = shrink(H - H @ Z + Y1 / mu, model.lam2 / mu)
        Y1 = Y1 + mu * (H - H @ Z - E)
        Y2 = Y2 + mu * (Z - J)
        mu *= 1.1
    return Z, steps


@pytest.mark.filterwarnings("ignore:The row sums:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("lam2", [1e-6, 1e-3])
def test_shortcuts_give_the_published_iterations(lam2):
    """Powers for steps, H at rest after the first iteration, Z = WC: the same Z to the end."""
    views, _ = make_views(n=30)
    H = np.random.default_rng(1).random((8, 30))
    model = FMR(3, lam2=lam2, epsilon=1e4, step=10.0, max_iter=40, tol=1e-12)
    expected, steps = augmented_lagrangian(H, kernel_of(views), model, 40)
    kernel = kernel_spectrum(views, NO_LIMIT)
    grown = model._grow(H, kernel.values / 29**2, kernel.vectors)
    U, s, Wt = linalg.svd(grown, full_matrices=False)
    found = Wt.T @ model._express(s[:, None], Wt, RowSums(U, Wt.T), NO_LIMIT)
    assert steps == [model.n_steps_] + [0] * 39
    assert model.n_steps_ > 5
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("by", [0.1, 1.0, 3.0])
def test_thresholding_is_the_proximal_step_of_the_nuclear_norm(by):
    """J is optimal where (A − J)/by is a subgradient: norm ≤ 1, and inner product ‖J‖_*."""
    A = np.random.default_rng(0).normal(size=(5, 9))
    J, nuclear = threshold(A, by)
    assert nuclear == pytest.approx(np.linalg.norm(J, "nuc"), abs=1e-9)
    slope = (A - J) / by
    assert np.linalg.norm(slope, 2) <= 1 + 1e-9
    assert np.sum(slope * J) == pytest.approx(nuclear, abs=1e-9)
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    assert pytest.approx((U * np.maximum(sigma - by, 0)) @ Vt, abs=1e-9) == J


def test_shrinking_is_the_proximal_step_of_the_column_norms():
    A = np.random.default_rng(0).normal(size=(3, 4)) * [1, 2, 0.1, 0]
    found = shrink_columns(A, 0.8)

    def cost(E):
        E = E.reshape(A.shape)
        return 0.8 * np.linalg.norm(E, axis=0).sum() + 0.5 * np.sum((E - A) ** 2)

    options = {"maxiter": 50_000, "maxfev": 100_000, "xatol": 1e-9, "fatol": 1e-12}
    generic = minimize(cost, A.ravel(), method="Nelder-Mead", options=options)
    assert cost(found) <= generic.fun + 1e-9
    for column, a in zip(found.T, A.T, strict=True):
        length = np.linalg.norm(column)
        if length > 0:
            assert column * (1 + 0.8 / length) == pytest.approx(a)
        else:
            assert np.linalg.norm(a) <= 0.8


def test_coefficients_solve_their_problem():
    """No perturbation lowers λ₁‖C‖_* + λ₂‖s(A − C)‖_{2,1}."""
    rng = np.random.default_rng(0)
    s = np.array([[40.0], [9.0], [2.0], [0.5]])
    A = np.linalg.qr(rng.normal(size=(20, 4)))[0].T
    model = FMR(3, lam1=1e-3, lam2=2e-4, tol=1e-9)
    C = model._express(s, A, RowSums(np.eye(4), A.T), NO_LIMIT)

    def cost(C):
        errors = np.linalg.norm(s * (A - C), axis=0).sum()
        return 1e-3 * np.linalg.norm(C, "nuc") + 2e-4 * errors

    assert 0 < np.linalg.norm(C) < np.linalg.norm(A)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(100):
            assert cost(C) <= cost(C + size * rng.normal(size=C.shape)) + 1e-10
    for other in (np.zeros_like(A), A, 0.99 * C, 1.01 * C):
        assert cost(C) <= cost(other) + 1e-10


@pytest.mark.parametrize("widths", [(6, 9), (30, 50)])  # fewer features than samples, and more
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_kernel_is_that_of_the_definition(widths, container):
    views, _ = make_views(widths=widths, n=40)
    found = kernel_spectrum([container(X) for X in views], NO_LIMIT)
    assert (found.vectors * found.values) @ found.vectors.T == pytest.approx(kernel_of(views))
    gram = found.vectors.T @ found.vectors
    assert gram == pytest.approx(np.eye(len(gram)), abs=1e-6)


@pytest.mark.parametrize("n", [40, 600])  # dense, and by Lanczos' iterations
def test_spectral_rows_by_definition(n):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, n)) * (1 + 5 * (np.arange(n)[:, None] % 3 == np.arange(n) % 3))
    W = np.abs(Z) + np.abs(Z).T
    degree = W.sum(axis=1)
    U = np.linalg.eigh(W / np.sqrt(np.outer(degree, degree)))[1][:, -3:]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    rows = spectral_rows(Z.copy(), 3, rng, NO_LIMIT)
    assert rows @ rows.T == pytest.approx(U @ U.T, abs=1e-6)


@pytest.mark.parametrize("quirks", [False, True])
def test_blobs_are_found_and_constraints_hold(quirks):
    views, y = make_views()
    model = FMR(3, quirks=quirks, random_state=0).fit(views)
    assert evaluate(y, model.labels_)["acc"] == 1
    assert model.labels_.dtype == np.int32
    assert model.residual_history_[-1] < model.tol
    assert model.n_iter_ == len(model.residual_history_) == len(model.objective_history_) < 500
    assert model.dependence_ >= model.epsilon
    assert model.n_features_in_ == 15


def test_the_stop_is_by_row_sums_as_in_the_program(rng):
    """Of n × n arrays whose largest entry is far below what their rows add up to."""
    U, W = (np.linalg.qr(rng.normal(size=(n, 4)))[0] for n in (4, 50))
    rests = rng.normal(size=(4, 50)), rng.normal(size=(4, 50))
    exact = max(np.abs(A @ rest).sum(axis=1).max() for A, rest in zip((U, W), rests, strict=True))
    assert exact > 5 * largest_norm(rests)
    assert not RowSums(U, W).are_below(rests, 0.999 * exact)
    assert RowSums(U, W).are_below(rests, 1.001 * exact)


def test_reaching_the_cap_is_told():
    with pytest.warns(ConvergenceWarning, match="not below tol=0.0001 after max_iter=5 iterations"):
        model = FMR(3, max_iter=5, random_state=0).fit(make_views()[0])
    assert model.residual_history_[-1] > model.tol


@pytest.mark.filterwarnings("ignore::manyview.exceptions.DataWarning")  # constant views
def test_a_kernel_of_nothing_is_told():
    with pytest.warns(ConvergenceWarning, match="No direction of the kernel"):
        model = FMR(2, random_state=0).fit([np.ones((12, 3)), np.ones((12, 2))])
    assert model.n_steps_ == 0
    assert model.dependence_ == 1


def test_a_seed_gives_the_same_labels():
    views, _ = make_views(distance=1.0)
    model = FMR(3, random_state=3)
    again = clone(model).fit(views)
    assert np.array_equal(again.labels_, model.fit(views).labels_)
    assert np.array_equal(again.residual_history_, model.residual_history_)


def test_csr_views_give_the_labels_of_dense_ones():
    views = [np.maximum(X, 0) for X in make_views()[0]]
    expected = FMR(3, random_state=0).fit(views)
    found = FMR(3, random_state=0).fit([sparse.csr_array(X) for X in views])
    assert evaluate(expected.labels_, found.labels_)["acc"] == 1


def test_it_declines_by_name_of_the_limit():
    views, _ = make_views()
    with pytest.raises(DeclinedError, match="affinities of 60 x 60; memory_limit allows"):
        FMR(3, memory_limit=1e5).fit(views)
    with pytest.raises(DeclinedError, match="time_limit=1e-09 s"):
        FMR(3, time_limit=1e-9).fit(views)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam1": 0},
        {"lam2": -1},
        {"epsilon": 0},
        {"step": 0},
        {"tol": 0},
        {"n_latent": 0},
        {"max_iter": 0},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match="is not usable; expected"):
        FMR(3, **wrong).fit(make_views()[0])


@pytest.mark.data
@pytest.mark.parametrize(("name", "least"), [("msrcv1_5v", 0.7), ("yaleA_3v", 0.65)])
def test_small_real_data(data_home, name, least):
    with np.load(data_home / f"{name}.npz") as file:
        n_views = sum(key.removeprefix("view_").isdigit() for key in file.files)
        views, y = [file[f"view_{v}"] for v in range(n_views)], file["y"]
    model = FMR(len(np.unique(y)), random_state=0).fit(views)
    assert model.residual_history_[-1] < model.tol
    assert evaluate(y, model.labels_)["acc"] >= least
