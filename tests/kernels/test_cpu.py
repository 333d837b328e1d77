"""The CPU kernels against dense definitions, on every kind of block."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from helpers.definitions import objective_of, profile_objective, scale_view, split_bases
from helpers.strategies import problems
from manyview.data.scaling import ViewScaling
from manyview.data.views import MultiViewData
from manyview.kernels import cpu, sweep
from manyview.kernels import rows as compiled_rows
from manyview.kernels.block import Block, ViewRows
from manyview.kernels.statistics import ClusterMoments, Clusters
from manyview.solver.updates import objective
from solver.test_updates import SCALES, posed


def view_rows(rng, *, n=30, d=7, kind="dense", dtype=np.float64, **parts):
    """One block of a reading, and the same rows materialized in float64."""
    X = rng.random((n, d)).astype(dtype) * (rng.random((n, d)) < 0.6)
    factor = parts.pop("factor", None)
    has = np.ones(n, dtype=bool) if factor is None else factor > 0
    expected = scale_view(X, ViewScaling(0, **parts), has) * (
        1 if factor is None else factor[:, None]
    )
    if factor is not None:
        X[~has] = np.nan
    values = sparse.csr_array(np.nan_to_num(X)) if kind == "csr" else X
    absent = None if has.all() else np.flatnonzero(~has)
    return ViewRows(values, **parts, factor=factor, absent=absent), expected


PARTS = {
    "as given": lambda rng: {},
    "root": lambda rng: {"map": "sqrt"},
    "affine": lambda rng: {"scale": rng.random(7), "offset": rng.random(7)},
    "factor": lambda rng: {"factor": rng.random(30) * (rng.random(30) < 0.7)},
    "all": lambda rng: {
        "map": "sqrt",
        "scale": rng.random(7),
        "offset": rng.random(7),
        "factor": rng.random(30) * (rng.random(30) < 0.7),
    },
}


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("parts", PARTS)
def test_products_with_a_reading_equal_those_with_the_materialized_rows(rng, kind, dtype, parts):
    view, X = view_rows(rng, kind=kind, dtype=dtype, **PARTS[parts](rng))
    H, Z = rng.standard_normal((7, 4)), rng.standard_normal((30, 4))
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    projection = cpu.project([view, view], [H, 2 * H])
    assert projection.dtype == dtype
    np.testing.assert_allclose(projection, 3 * X @ H, atol=tolerance)
    (C,) = cpu.accumulate([view], Z.astype(dtype)).arrays
    assert C.dtype == np.float64
    np.testing.assert_allclose(C, X.T @ Z, atol=10 * tolerance)
    labels, weights = rng.integers(3, size=30), rng.random(30)
    shares = sparse.csr_array((weights, (labels, np.arange(30))), shape=(3, 30))
    sums = cpu.shared_sums(view, shares)
    expected = [(weights[labels == c, None] * X[labels == c]).sum(axis=0) for c in range(3)]
    np.testing.assert_allclose(sums, expected, atol=10 * tolerance)
    squares = cpu.row_squares(view) * (1 if view.factor is None else view.factor**2)
    np.testing.assert_allclose(squares, (X**2).sum(axis=1), atol=10 * tolerance)
    relative = replace(view, baseline=rng.random(7))
    expected = (X - relative.baseline) @ H
    np.testing.assert_allclose(cpu.project([relative], [H]), expected, atol=tolerance)
    (again,) = cpu.accumulate([relative], Z.astype(dtype)).arrays
    np.testing.assert_allclose(again, C, atol=20 * tolerance)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_column_moments_equal_the_definition_far_from_the_origin(rng, kind, offset):
    X = rng.standard_normal((200, 5)) + offset
    weights = rng.integers(0, 3, size=200).astype(float)
    view = ViewRows(sparse.csr_array(X) if kind == "csr" else X)
    moments = cpu.columns(view, weights)
    repeated = np.repeat(X, weights.astype(int), axis=0)
    np.testing.assert_allclose(moments.mean, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.deviation, repeated.std(axis=0), rtol=1e-9)
    assert moments.smallest == (repeated.min() if kind == "dense" else min(repeated.min(), 0))


@given(
    problems(max_samples=20),
    st.floats(1e-3, 1e3),
    st.sampled_from(SCALES),
    st.sampled_from([0.0, 0.01, 1.0]),
)
def test_add_and_rem_equal_the_change_of_F_by_definition(case, lam, scale, tau):
    data, k, weights = case
    engine, model, moments = posed(data, k, weights=weights, lam=lam, scale=scale, size_weight=tau)
    labels = engine.gather("labels")
    b, block = engine.gather("projection"), engine.sample(data.n_samples, None)[0]
    omega = block.weights
    clusters = cpu.cluster_arrays(clusters_of(moments, model))
    spaces = list(zip(clusters.starts, clusters.ends, strict=True))
    before = objective_of(data, model, labels, weights)
    tolerance = 1e-10 * (1 + tau * omega.sum() + len(spaces) * model.problem.sum_squares)
    for i in range(0, data.n_samples, 5):
        c, u, w = labels[i], block.group[i], omega[i]
        if np.sum(labels == c) == 1 or k == 1:
            continue
        target = (c + 1) % k
        moved = labels.copy()
        moved[i] = target
        change = objective_of(data, model, moved, weights) - before
        costs = sweep.prepare_all(clusters, w)
        add = costs.grow[target] + sum(
            costs.slope[u, target, p] * np.sum((b[i] - costs.center[target])[start:end] ** 2)
            for p, (start, end) in enumerate(spaces)
        )
        spare = np.zeros((2, 1, b.shape[1]))
        rem = sweep.removal(clusters, b, i, c, u, w, *spare)
        assert add >= 0
        assert rem >= 0
        assert abs(add - rem - change) <= tolerance


@given(problems(), st.floats(1e-3, 1e2), st.sampled_from([0.0, 0.01, 1.0]))
def test_a_sweep_never_raises_F_keeps_every_cluster_and_leaves_exact_moments(case, lam, tau):
    data, k, weights = case
    engine, model, moments = posed(data, k, weights=weights, lam=lam, size_weight=tau)
    block = engine.sample(data.n_samples, None)[0]
    before = objective_of(data, model, block.labels, weights)
    swept, labels = moments.copy(), block.labels.copy()
    order = np.random.default_rng(0).permutation(data.n_samples)
    moving = replace(block, labels=labels)
    cpu.assign(moving, order, clusters_of(swept, model))
    assert np.all(np.bincount(labels, minlength=k) > 0)
    scale = len(model.problem.dims) * model.problem.sum_squares + tau * moments.count.sum()
    assert objective_of(data, model, labels, weights) <= before + 1e-12 * scale
    exact = cpu.moments(moving, like=moments)
    np.testing.assert_array_equal(swept.rows, exact.rows)
    np.testing.assert_allclose(swept.count, exact.count, atol=1e-12)
    np.testing.assert_allclose(swept.mean, exact.mean, atol=1e-9 * (1 + np.abs(exact.mean).max()))
    assert objective(swept, model) == pytest.approx(
        objective(exact, model), abs=1e-12 * (1 + scale)
    )


@given(problems(), st.integers(1, 39))
def test_moments_of_parts_add_up_to_those_of_the_whole(case, cut):
    data, k, weights = case
    engine, model, moments = posed(data, k, weights=weights)
    block = engine.sample(data.n_samples, None)[0]
    parts = [
        cpu.moments(
            Block(
                (),
                block.weights[rows],
                block.group[rows],
                block.labels[rows],
                block.projection[rows],
            ),
            moments,
        )
        for rows in (slice(0, cut), slice(cut, None))
    ]
    total = parts[0] + parts[1]
    np.testing.assert_array_equal(total.rows, moments.rows)
    np.testing.assert_allclose(total.count, moments.count, atol=1e-12)
    magnitude = 1 + np.abs(moments.mean).max()
    np.testing.assert_allclose(total.mean, moments.mean, atol=1e-12 * magnitude)
    np.testing.assert_allclose(total.scatter, moments.scatter, atol=1e-10 * magnitude**2)


def test_read_only_arrays_are_enough_for_everything_but_the_sweep(rng):
    """A block whose arrays refuse writes: kernels must not change what they are given."""
    view, _ = view_rows(rng, **PARTS["all"](rng))
    view.values.flags.writeable = False
    H, Z = rng.standard_normal((7, 4)), rng.standard_normal((30, 4))
    for array in (H, Z):
        array.flags.writeable = False
    cpu.project([view], [H])
    cpu.accumulate([view], Z)
    cpu.columns(replace(view, scale=None, offset=None), np.ones(30))


@pytest.mark.parametrize("offset", [0.0, 2.0**10, 2.0**20])
@pytest.mark.parametrize("scale", [None, "z"])
def test_add_and_rem_do_not_see_an_offset(rng, offset, scale):
    """Moves cost the same wherever the data lie; the definition is taken at the origin.

    Values and offsets are multiples of 2^-20 or of 1, so that adding them is exact.
    """
    views = [np.round(rng.standard_normal((30, d)) * 2**20) / 2**20 for d in (6, 40)]
    far = MultiViewData.of([X + offset * rng.integers(-3, 4, X.shape[1]) for X in views])
    labels = np.arange(30) % 3
    engine, model, moments = posed(far, 3, labels=labels, scale=scale)
    if scale == "z":
        views = [(X - X.mean(axis=0)) / X.std(axis=0) for X in views]
    clusters = cpu.cluster_arrays(clusters_of(moments, model))
    costs, b = sweep.prepare_all(clusters, 1.0), engine.gather("projection")
    before = profile_objective(views, split_bases(model), labels, model.coupling)
    for i in range(30):
        c, target = labels[i], (labels[i] + 1) % 3
        moved = labels.copy()
        moved[i] = target
        change = profile_objective(views, split_bases(model), moved, model.coupling) - before
        spaces = zip(clusters.starts, clusters.ends, strict=True)
        add = costs.grow[target] + sum(
            costs.slope[0, target, p] * np.sum((b[i] - costs.center[target])[start:end] ** 2)
            for p, (start, end) in enumerate(spaces)
        )
        rem = sweep.removal(clusters, b, i, c, 0, 1.0, *np.zeros((2, 1, b.shape[1])))
        assert abs(add - rem - change) <= 1e-10 * max(add, rem)


@given(case=problems(), lam=st.sampled_from([0.01, 0.3, 10.0]))
def test_margins_compare_what_a_copy_of_the_sample_would_cost(case, lam):
    data, k, weights = case
    engine, model, moments = posed(data, k, weights=weights, lam=lam)
    labels, block = engine.gather("labels"), engine.sample(data.n_samples, None)[0]
    margins = cpu.margins(replace(block, labels=labels), clusters_of(moments, model))
    without = objective_of(data, model, labels, weights)
    scale = 1 + len(model.problem.dims) * model.problem.sum_squares
    for i in range(0, len(labels), 7):
        copied, omega = data[np.append(np.arange(len(labels)), i)], np.append(block.weights, 1.0)
        alone = objective_of(data[[i]], model, np.zeros(1, dtype=int))
        add = [objective_of(copied, model, np.append(labels, c), omega) for c in range(k)]
        add = np.array(add) - without - alone
        least = np.delete(add, labels[i]).min(initial=np.inf)
        if least > 1e-6 * scale:
            assert margins[i, 0] == pytest.approx(max(1 - add[labels[i]] / least, 0), abs=1e-5)
            following = int(margins[i, 1])
            assert (following == labels[i]) == (k == 1)
            assert k == 1 or add[following] == pytest.approx(least, abs=1e-6 * scale)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_equal_sums_in_principal_components(rng, kind, dtype):
    """Every part of a scaling at once, lazily and stored."""
    X = (rng.random((30, 7)) * (rng.random((30, 7)) < 0.6)).astype(dtype)
    level, factor = rng.random(30), rng.random(30)
    W, scale, offset = rng.standard_normal((7, 3)), rng.random(7), rng.random(7)
    values = sparse.csr_array(X) if kind == "csr" else X
    view = ViewRows(values, "log1p", scale, offset, factor, table=W, level=level)
    expected = factor[:, None] * ((np.log1p(X * level[:, None]) * scale - offset) @ W)
    H, Z = rng.standard_normal((3, 4)), rng.standard_normal((30, 4)).astype(dtype)
    tolerance = {"atol": 1e-11 if dtype == np.float64 else 1e-4}
    shares = sparse.csr_array(rng.random((2, 30)))
    for rows in (view, cpu.store_scaled(view), replace(view, baseline=np.zeros(3))):
        np.testing.assert_allclose(cpu.project([rows], [H]), expected @ H, **tolerance)
        (C,) = cpu.accumulate([rows], Z).arrays
        np.testing.assert_allclose(C, expected.T @ Z, **tolerance)
        squares = factor**2 * cpu.row_squares(rows)
        np.testing.assert_allclose(squares, (expected**2).sum(axis=1), **tolerance)
        np.testing.assert_allclose(cpu.shared_sums(rows, shares), shares @ expected, **tolerance)
    levels = cpu.sum_factors(ViewRows(values), 5.0)
    np.testing.assert_allclose(levels, 5.0 / X.sum(axis=1), rtol=1e-5)


def test_a_cluster_without_weight_has_bounds(rng):
    """The weight of a sample equals that at which u + g (n − w) would be zero."""
    block, moments = label_case(rng, 4, np.float64, n=50)
    moments.count[:, 0] = moments.rows[:, 0] = 0
    clusters = Clusters(moments, np.array([2.0]), np.full(3, 2.0))
    assert cpu.nearest(block, clusters).shape == (50,)


def clusters_of(moments, model):
    return Clusters(moments, model.problem.n_present, model.coupling, model.size_weight)


def coupled(moments, n):
    """Clusters of two scaled views and three spaces, with a coupling for n samples."""
    return Clusters(moments, np.array([2.0]), np.array([0.3, 0.1, 0.02]) / n)


def label_case(rng, k, dtype, *, n=1000, weight=1.0):
    """Rows in three spaces about k centers, labels that are half wrong, and their moments."""
    starts = np.array([0, 4, 12])
    b = 3 * rng.standard_normal((k, 24))[rng.integers(k, size=n)] + rng.standard_normal((n, 24))
    labels = np.where(rng.random(n) < 0.5, rng.integers(k, size=n), rng.integers(min(k, 3), size=n))
    labels[:k] = np.arange(k)
    group, weights = np.zeros(n, dtype=np.int64), np.full(n, weight)
    empty = ClusterMoments(
        starts,
        np.zeros((1, k), dtype=np.int64),
        np.zeros((1, k)),
        np.zeros((1, k, 24)),
        np.zeros((1, k, 3)),
    )
    block = Block((), weights, group, labels.astype(np.int32), b.astype(dtype))
    return block, cpu.moments(block, like=empty)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("k", "weight"), [(1, 1.0), (2, 1.0), (9, 2.5), (60, 1.0), (1100, 1.0)])
def test_bounds_decide_nothing(rng, monkeypatch, k, weight, dtype):
    """Labels, moves and margins are those of sums taken term by term."""
    block, moments = label_case(rng, k, dtype, n=max(1000, 3 * k), weight=weight)
    n = len(block.labels)

    def all_results():
        moving, clusters = replace(block, labels=block.labels.copy()), coupled(moments.copy(), n)
        counts = []
        for seed in range(4):
            order = np.random.default_rng(seed).permutation(n)
            counts.append(cpu.assign(moving, order, clusters))
        nearest = cpu.nearest(moving, clusters)
        return moving.labels, counts, nearest, cpu.margins(moving, clusters)

    found = all_results()
    bounds = cpu._bounds
    monkeypatch.setattr(cpu, "_bounds", lambda *some: bounds(*some[:3], None))
    expected = all_results()
    assert k == 1 or expected[1][0] > 100
    for result, value in zip(found, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-6 if dtype == np.float32 else 1e-12)


def test_bounds_stay_below_the_costs_while_clusters_move(rng):
    block, moments = label_case(rng, 12, np.float64)
    clusters, b = cpu.cluster_arrays(coupled(moments, 1000)), block.projection
    costs = sweep.prepare_all(clusters, 1.0)
    bounds = cpu._bounds(b, clusters, costs, 1.0)
    order = np.arange(300)
    rows = (b, block.labels, block.group, block.weights)
    moved = sweep.sweep(clusters, costs, bounds, *rows, order, 1e-12)
    assert moved > 50
    assert np.all(bounds.center_shift > 0)
    for i in range(0, 1000, 7):
        for c in range(12):
            exact = sweep.added(clusters, costs, b, i, 0, c, np.inf)
            moving = (bounds.least[i, c], bounds.center_shift[c], bounds.shrunk[c])
            assert costs.grow[c] + sweep.at_least(*moving) <= exact * (1 + 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("k", "weight"), [(1, 1.0), (9, 2.5), (60, 1.0)])
def test_rows_that_cannot_move_do_not(rng, k, weight, dtype):
    block, moments = label_case(rng, k, dtype, n=3000, weight=weight)
    for _ in range(6):  # nearly converged
        cpu.assign(block, rng.permutation(3000), coupled(moments, 3000))
    bounds, since = cpu.distance_bounds(block, coupled(moments, 3000)), moments.copy()
    block = replace(block, distance_bounds=bounds)
    for n_forced in (0, 3, 30, 300):
        for i in rng.integers(3000, size=n_forced):  # clusters move, against all reason
            block.labels[i] = rng.integers(k)
        clusters = coupled(cpu.moments(block, like=moments), 3000)
        bound_violated = cpu.bound_violated(block, clusters, since)
        held = np.flatnonzero(~bound_violated)
        assert n_forced == 300 or len(held) > (1000 if k < 60 else 100)
        n_moved = cpu.assign(block, held, clusters) if held.size else 0
        assert n_moved == 0
    assert k == 1 or np.any(bound_violated)


def test_nothing_is_known_of_rows_where_weights_or_views_vary(rng):
    block, moments = label_case(rng, 9, np.float64)
    uneven = replace(block, weights=block.weights + np.arange(1000))
    bounds = cpu.distance_bounds(uneven, coupled(moments, 1000))
    assert bounds.shape == (1000, 0)
    block = replace(block, distance_bounds=bounds)
    assert np.all(cpu.bound_violated(block, coupled(moments, 1000), moments))


def test_squares_of_smoothed_rows_are_never_negative(rng):
    """Anchors that cancel leave what rounding does, on either side of zero."""
    share = rng.uniform(0.1, 0.9, 50)
    first = rng.standard_normal((50, 4))
    table = np.vstack([first, -first * (share / (1 - share))[:, None]])
    shares = sparse.csr_array(np.hstack([np.diag(share), np.diag(1 - share)]))
    gram = table @ table.T
    parts = (shares.indptr, shares.indices, shares.data)
    assert (compiled_rows.smoothed_squares(*parts, gram) < 0).any()
    assert (cpu.row_squares(ViewRows(shares, table=table, gram=gram)) >= 0).all()
