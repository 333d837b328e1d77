"""Each formula of the solver against the definition it replaces."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.definitions import (
    best_embedding,
    materialize,
    objective_of,
    profile_objective,
    split_bases,
)
from helpers.strategies import problems
from manyview import OMVCDR
from manyview.data.views import MultiViewData
from manyview.engines.memory import InMemory
from manyview.exceptions import DataWarning
from manyview.kernels import choose_kernels
from manyview.solver.model import Model
from manyview.solver.problem import Settings, build_problem
from manyview.solver.updates import (
    accumulate,
    compute_bounds,
    embed,
    objective,
    orthonormalize,
    over_relaxed_step,
    project,
    shrinkage,
    update_alpha,
    update_H,
)

SCALES = [None, "unit", "l2", "sqrt-l2", "z", "z-l2", ["sqrt-l2", "z-l2"], "pca-l2", "auto"]


def posed(
    data,
    k,
    *,
    weights=None,
    labels=None,
    lam=0.3,
    scale=None,
    dims=None,
    gamma=2.0,
    seed=0,
    size_weight=0.0,
    engine=None,
):
    """An engine with random labels and projections, and a random model."""
    rng = np.random.default_rng(seed)
    engine = InMemory(choose_kernels("cpu")) if engine is None else engine
    engine.load(data, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # some views are all zero
        problem = build_problem(engine, Settings(k, lam, 3, dims, scale, gamma), data.view_names)
    widths = [len(mean) for mean in problem.means]
    bases = tuple(
        np.hstack([orthonormalize(rng.standard_normal((d, d_p))) for d_p in problem.dims])
        for d in widths
    )
    alpha = rng.dirichlet(np.ones(len(problem.dims)))
    model = Model(problem, bases, alpha, size_weight)
    if labels is None:
        labels = np.concatenate([np.arange(k), rng.integers(k, size=data.n_samples - k)])
    engine.put_labels(labels.astype(np.int32))
    moments = engine.map_reduce(project, model)
    return engine, model, moments


def scale_of(data, model):
    return len(model.problem.dims) * model.problem.sum_squares + 1e-300


@given(problems(), st.sampled_from(SCALES), st.floats(1e-3, 1e3), st.sampled_from([1.5, 2.0, 4.0]))
def test_the_objective_from_moments_equals_the_definition(case, scale, lam, gamma):
    data, k, weights = case
    how = {"scale": scale, "gamma": gamma, "size_weight": 0.3 * (gamma > 2)}
    engine, model, moments = posed(data, k, weights=weights, lam=lam, **how)
    expected = objective_of(data, model, engine.gather("labels"), weights)
    assert abs(objective(moments, model) - expected) <= 1e-10 * scale_of(data, model)


@given(problems(), st.floats(1e-3, 1e3))
def test_the_embedding_equals_the_minimum_over_Z(case, lam):
    data, k, weights = case
    engine, model, moments = posed(data, k, weights=weights, lam=lam)
    views, present = materialize(data, model.problem.scalings)
    omega = np.ones(data.n_samples) if weights is None else weights
    expected = [
        best_embedding(views, bases, engine.gather("labels"), g, omega, present)
        for bases, g in zip(split_bases(model), model.coupling, strict=True)
    ]
    engine.map_reduce(embed, shrinkage(moments, model))
    Z = engine.gather("projection")
    np.testing.assert_allclose(Z, np.hstack(expected), atol=1e-10 * (1 + np.abs(Z).max()))


def test_the_objective_and_embedding_survive_an_offset_of_a_million_deviations(rng):
    """The definition is taken on data whose offset is removed exactly in the clustering part.

    With g n >> V the clustering term dominates the change between two labelings; both are compared.
    """
    views = [rng.standard_normal((30, 6)), rng.standard_normal((30, 4))]
    shifts = [1e6 * rng.standard_normal(6), 1e6 * rng.standard_normal(4)]
    far = MultiViewData.of([X + s for X, s in zip(views, shifts, strict=True)])
    labels = np.arange(30) % 3
    engine, model, moments = posed(far, 3, labels=labels)
    spread = [np.longdouble(X) for X in far.views]
    exact = [X - X.mean(axis=0) for X in spread]  # extended precision: no digit lost
    for p, (start, d_p) in enumerate(zip(model.problem.starts, model.problem.dims, strict=True)):
        A = sum(X @ H[:, start : start + d_p] for X, H in zip(exact, model.bases, strict=True)) / 2
        for c in range(3):
            own = A[labels == c]
            scatter = np.sum((own - own.mean(axis=0)) ** 2)
            np.testing.assert_allclose(moments.scatter[0, c, p], float(scatter), rtol=1e-9)
    expected = objective_of(far, model, labels)
    assert abs(objective(moments, model) - expected) <= 1e-10 * scale_of(far, model)


@given(problems(), st.sampled_from([1.5, 2.0, 3.0]), st.floats(1e-3, 10))
def test_the_weights_are_on_the_simplex_and_never_raise_F(case, gamma, lam):
    data, k, weights = case
    engine, model, moments = posed(data, k, weights=weights, gamma=gamma, lam=lam)
    updated = update_alpha(moments, model)
    assert np.all(updated.alpha >= 0)
    assert updated.alpha.sum() == pytest.approx(1)
    before = objective_of(data, model, engine.gather("labels"), weights)
    after = objective_of(data, updated, engine.gather("labels"), weights)
    assert after <= before + 1e-12 * scale_of(data, model)


def test_the_weights_minimize_the_clustering_term_at_fixed_Z(rng):
    """Σ α_p^γ r_p over the simplex, against random points of it."""
    data = MultiViewData.of([rng.standard_normal((40, 8)), rng.standard_normal((40, 9))])
    _, model, moments = posed(data, 3, gamma=3.0)
    shrink = shrinkage(moments, model)
    n = moments.count.sum(axis=0)
    spread = moments.scatter[0]  # one group: its mean is the center
    r = 2 * np.sum(n[:, None] * shrink.keep[0] ** 2 * spread, axis=0)
    best = update_alpha(moments, model).alpha
    for alpha in rng.dirichlet(np.ones(3), size=500):
        assert best**3 @ r <= alpha**3 @ r * (1 + 1e-12)


@given(problems(), st.floats(1e-3, 10), st.sampled_from([None, (2,), (1, 5, 20)]))
def test_the_bases_never_raise_F_and_stay_orthonormal(case, lam, dims):
    data, k, weights = case
    engine, model, moments = posed(data, k, weights=weights, lam=lam, dims=dims)
    cross = engine.map_reduce(accumulate, shrinkage(moments, model))
    updated = update_H(cross, model)
    for bases in split_bases(updated):
        for H in bases:
            gram = H.T @ H if H.shape[0] >= H.shape[1] else H @ H.T
            np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-12)
    before = objective_of(data, model, engine.gather("labels"), weights)
    after = objective_of(data, updated, engine.gather("labels"), weights)
    assert after <= before + 1e-12 * scale_of(data, model)


def test_an_over_relaxed_step_turns_twice_as_far(rng):
    data = MultiViewData.of([rng.standard_normal((40, 2))])
    _, model, _ = posed(data, 2, dims=(1,))
    angle = np.arctan2(*model.bases[0][::-1, 0])
    turned = replace(model, bases=(np.array([[np.cos(angle + 0.2)], [np.sin(angle + 0.2)]]),))
    further = np.arctan2(*over_relaxed_step(turned, model).bases[0][::-1, 0])
    assert further - angle == pytest.approx(np.arctan(2 * np.sin(0.2) / (2 * np.cos(0.2) - 1)))
    assert 0.39 < further - angle < 0.42


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("is_bad", [False, True])
def test_an_over_relaxed_step_is_taken_back_where_it_raises_F(rng, monkeypatch, is_bad):
    centers = rng.standard_normal((5, 12))
    labels = rng.integers(5, size=800)
    X = [centers[labels] + rng.standard_normal((800, 12)) for _ in range(2)]
    tried = []

    def step(turned, before):
        tried.append(1)
        if not is_bad:
            return over_relaxed_step(turned, before)
        bases = [orthonormalize(rng.standard_normal(H.shape)) for H in turned.bases]
        return replace(turned, bases=tuple(bases))

    monkeypatch.setattr("manyview.solver.alternation.over_relaxed_step", step)
    model = OMVCDR(5, scale=None, latent_dims=[5], n_init=1, tol=0, max_iter=8, random_state=0)
    model.set_params(check_structure=False).fit(X)
    assert len(tried) == (1 if is_bad else 7)  # one that fails is the last
    assert np.all(np.diff(model.objective_history_) <= 1e-12 * model.objective_)


def test_how_firmly_samples_sit_is_known_where_none_lacks_a_view(rng):
    X = [rng.standard_normal((50, 4)) for _ in range(2)]
    for n_lacking, n_known in ((0, 50), (3, 0)):
        present = np.ones((50, 2), dtype=bool)
        present[:n_lacking, 1] = False
        engine, model, moments = posed(MultiViewData.of(X, present=present), 3)
        assert engine.map_reduce(compute_bounds, model, moments).arrays[0] == n_known


def test_a_zero_cross_product_keeps_the_previous_basis(rng):
    H = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    assert orthonormalize(np.zeros((6, 2)), H) is H


def test_the_polar_factor_is_orthonormal_for_nearly_dependent_columns(rng):
    C = rng.standard_normal((50, 5))
    C[:, 4] = C[:, 0] + 1e-14 * C[:, 4]
    H = orthonormalize(1e-200 * C)
    np.testing.assert_allclose(H.T @ H, np.eye(5), atol=1e-13)


def test_four_samples_by_hand():
    """Two views of one feature each, one space of dimension 1, H = 1.

    x = (0, 2, 10, 12) and (0, 0, 2, 2); labels (0, 0, 1, 1); g = 1, V = 2.
    a = x1 + x2 = (0, 2, 12, 14); t = (2, 26); z = (a + t/2) / 4 = (0.25, 0.75, 6.25, 6.75).
    J: residuals (x1 - z)² + (x2 - z)²: 0.125, 1.5625 + 0.5625, 14.0625 + 18.0625, 27.5625 + 22.5625
    = 84.5; pairs: g/2 · 2 · 0.5² · 2 clusters = 0.5. F = 85.
    """
    data = MultiViewData.of([np.array([[0.0], [2], [10], [12]]), np.array([[0.0], [0], [2], [2]])])
    engine, model, _ = posed(data, 2, labels=np.array([0, 0, 1, 1]), dims=(1,))
    model = replace(
        model,
        bases=(np.ones((1, 1)), np.ones((1, 1))),
        alpha=np.ones(1),
        problem=replace(model.problem, lam=1.0),
    )
    moments = engine.map_reduce(project, model)
    assert objective(moments, model) == pytest.approx(85)
    bases = [[np.ones((1, 1)), np.ones((1, 1))]]
    assert profile_objective(
        list(data.views), bases, engine.gather("labels"), [1.0]
    ) == pytest.approx(85)
    engine.map_reduce(embed, shrinkage(moments, model))
    np.testing.assert_allclose(engine.gather("projection")[:, 0], [0.25, 0.75, 6.25, 6.75])
