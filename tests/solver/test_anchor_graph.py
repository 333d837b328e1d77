"""Mixed rows against their definition, and a fit on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from helpers.definitions import materialize, profile_objective, split_bases
from manyview import OMVCDR
from manyview.datasets import load_digits_views, make_multiview_blobs
from manyview.engines import choose_engine
from manyview.kernels import cpu
from manyview.kernels.block import ViewRows
from manyview.metrics import clustering_accuracy
from manyview.solver import fitting
from manyview.solver.anchor_graph import N_NEAREST, count_anchors


def mixes(b, anchors, s):
    """Shares of the nearest anchors, row by row."""
    shares = np.zeros((len(b), len(anchors)))
    for row, point in zip(shares, b, strict=True):
        distance = np.sum((anchors - point) ** 2, axis=1)
        order = np.argsort(distance)
        gap = distance[order[s]] - distance[order[:s]]
        row[order[:s]] = gap / gap.sum()
    return shares


def unit_rows(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_is_mixed_of_its_nearest_anchors(rng, dtype):
    b, anchors = rng.standard_normal((2000, 6)).astype(dtype), rng.standard_normal((40, 6))
    found = cpu.anchor_weights(b, anchors, 4)
    assert found.dtype == dtype
    assert found.nnz == 8000
    tolerance = 1e-10 if dtype == np.float64 else 1e-3
    assert_allclose(found.toarray(), mixes(b.astype(float), anchors, 4), atol=tolerance)


def test_anchors_at_one_place_share_alike():
    found = cpu.anchor_weights(np.ones((3, 2)), np.zeros((5, 2)), 4)
    assert_array_equal(found.data, 0.25)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_with_a_table_equal_those_with_the_rows(rng, dtype):
    shares = sparse.random_array((30, 12), density=0.3, rng=rng, format="csr")
    table, factor = rng.standard_normal((12, 7)), rng.random(30)
    shares_of = sparse.csr_array(shares, dtype=dtype)
    view = ViewRows(shares_of, table=table, factor=factor, gram=table @ table.T)
    X = factor[:, None] * (shares @ table)
    H, Z = rng.standard_normal((7, 4)), rng.standard_normal((30, 4))
    tolerance = {"atol": 1e-12 if dtype == np.float64 else 1e-4}
    assert_allclose(cpu.project([view], [H]), X @ H, **tolerance)
    assert_allclose(cpu.accumulate([view], Z.astype(dtype)).arrays[0], X.T @ Z, **tolerance)
    assert_allclose(factor**2 * cpu.row_squares(view), (X**2).sum(axis=1), **tolerance)
    parts = sparse.csr_array(rng.random((3, 30)))
    assert_allclose(cpu.shared_sums(view, parts), parts @ X, **tolerance)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_F_on_mixed_rows_is_that_of_the_definition_and_never_rises(missing):
    data, y = make_multiview_blobs(
        150, (9, 14), n_clusters=3, missing_rate=missing, random_state=0, return_X_y=True
    )
    steps = []

    def record(progress):
        if progress.model.problem.scalings[0].is_smoothed:
            steps.append((progress.start, progress.model, progress.labels(), progress.objective))

    model = OMVCDR(3, n_init=2, random_state=0).fit(data, callback=record)
    fitted = model._fitted
    engine = choose_engine("memory", "cpu", data)
    fitted.first.label(engine, data)
    B = mixes(engine.gather("projection"), fitted.anchor_graph.anchors, N_NEAREST)
    views, present = materialize(data, fitted.first.model.problem.scalings)
    mixed = []
    for v, X in enumerate(views):
        weight = B * present[:, v, None]
        total = weight.sum(axis=0)[:, None]
        about = weight.T @ X / np.where(total > 0, total, 1)
        means = np.where(total > 0, about, X[present[:, v]].mean(axis=0))
        rows = unit_rows(B @ means)
        mixed.append(rows @ fitted.anchor_graph.lifts[v])
        assert_allclose(unit_rows(B @ fitted.anchor_graph.tables[v]), mixed[v], atol=1e-9)
    F = [
        profile_objective(mixed, split_bases(used), labels, used.coupling)
        for _, used, labels, _ in steps
    ]
    assert_allclose([step[3] for step in steps], F, rtol=1e-9)
    starts = [step[0] for step in steps]
    pairs = zip(F[:-1], F[1:], starts[:-1], starts[1:], strict=True)
    falls = [b <= a + 1e-9 for a, b, i, j in pairs if i == j]
    assert all(falls)
    assert len(falls) > 8
    assert clustering_accuracy(y, model.labels_) > 0.9


def test_neighbors_help_on_digits():
    data, y = load_digits_views(return_X_y=True)
    plain = OMVCDR(10, smooth=False, random_state=0).fit(data)
    mixed = OMVCDR(10, random_state=0).fit(data)
    gain = clustering_accuracy(y, mixed.labels_) - clustering_accuracy(y, plain.labels_)
    assert gain > 0.01


def test_bases_are_given_in_the_features_and_stay_orthonormal(rng):
    views = [rng.random((80, 30)), rng.random((80, 200))]
    model = OMVCDR(3, random_state=0).fit(views)
    for bases in model.bases_:
        for H, d in zip(bases, (30, 200) * 2, strict=True):
            assert H.shape[0] == d
            assert_allclose(H.T @ H, np.eye(H.shape[1]), atol=1e-9)


def test_too_few_samples_or_too_many_clusters_are_not_mixed():
    assert count_anchors(N_NEAREST, 2) == 0
    assert count_anchors(10**6, 10**4) == 0
    assert count_anchors(40, 5) == 40
    assert count_anchors(10**6, 100) == 1000
    model = OMVCDR(2, random_state=0).fit([np.eye(4), 2 * np.eye(4)])
    assert model._fitted.anchor_graph is None


@pytest.mark.parametrize(("scale", "smooth", "expected"), [
    ("auto", "auto", True), ("auto", False, False), (None, "auto", False), ("l2", True, True),
])  # fmt: skip
def test_smooth_follows_scale_unless_it_is_said(rng, scale, smooth, expected):
    views = [rng.random((50, 3)) for _ in range(2)]
    model = OMVCDR(2, scale=scale, smooth=smooth, random_state=0).fit(views)
    assert (model._fitted.anchor_graph is not None) == expected


def test_large_data_are_fitted_on_a_sample_and_polished_on_all_rows(monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 300)
    data, y = make_multiview_blobs(
        1500, (9, 14), n_clusters=4, missing_rate=0.1, random_state=0, return_X_y=True
    )
    weights = np.linspace(0.5, 2, 1500)
    model = OMVCDR(4, random_state=0).fit(data, sample_weight=weights)
    assert clustering_accuracy(y, model.labels_) > 0.95
    assert_array_equal(model.predict(data), model.labels_)
    whole = OMVCDR(4, random_state=0)
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 10_000)
    whole.fit(data, sample_weight=weights)
    assert np.mean(whole.confidence_) == pytest.approx(np.mean(model.confidence_), abs=0.05)
    assert clustering_accuracy(whole.labels_, model.labels_) > 0.95


def test_F_falls_while_a_solution_on_a_sample_is_polished(monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 300)
    data, _ = make_multiview_blobs(
        1500, (9, 14), n_clusters=4, cluster_std=4.0, random_state=0, return_X_y=True
    )
    steps = []
    model = OMVCDR(4, n_init=1, random_state=0).fit(data, callback=steps.append)
    last = [step.objective for step in steps if step.model.problem.weight == 1500]
    assert last[-1] == model.objective_
    assert len(last) > 3
    assert all(b <= a * (1 + 1e-12) for a, b in zip(last[:-1], last[1:], strict=True))
