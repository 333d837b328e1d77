from itertools import islice

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from manyview.baselines import _unified_anchors as model_of
from manyview.baselines._anchors import scale_view
from manyview.baselines._unified_anchors import Rule
from manyview.baselines.smvsc import SMVSC
from manyview.exceptions import DeclinedError
from manyview.metrics import clustering_accuracy
from manyview.study.execution import kmeans_scores
from manyview.study.paper import paper_results


def make_views(seed, n=120, k=3, widths=(9, 12)):
    rng = np.random.default_rng(seed)
    classes = rng.integers(k, size=n)
    views = [rng.normal(size=(n, d)) + 3 * rng.normal(size=(k, d))[classes] for d in widths]
    return views, classes


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def objective(views, bases, A, Z, a, lam):
    """J from its definition: explicit residuals."""
    parts = zip(views, bases, a, strict=True)
    residual = sum(w**2 * np.sum((X - Z @ A.T @ W.T) ** 2) for X, W, w in parts)
    return residual + lam * np.sum(Z**2)


@pytest.mark.parametrize("quirks", [False, True])
@pytest.mark.parametrize(("m", "d"), [(3, 3), (6, 3), (3, 6)])
def test_objective_is_that_of_the_definition(m, d, quirks):
    views, _ = make_views(0)
    rule = Rule(m, d, lam=0.5, has_quirks=quirks)
    given = [scale_view(X, "z") for X in views]
    for state in islice(model_of.states(given, rule), 5):
        args = state.bases, state.anchors, state.graph, state.weights
        expected = objective([scaled(X) for X in views], *args, lam=0.5)
        assert state.objective == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("lam", [0.0, 1.0, 50.0])
@pytest.mark.parametrize(("m", "d"), [(3, 3), (9, 3), (3, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_no_iteration_raises_the_objective(seed, m, d, lam):
    """Also with more anchors than dimensions, where AᵀA = I cannot hold."""
    given = [scale_view(X, "z") for X in make_views(seed)[0]]
    states = islice(model_of.states(given, Rule(m, d, lam)), 25)
    history = [state.objective for state in states]
    assert np.diff(history).max() <= 1e-9 * history[0]


def test_the_quirks_can_raise_the_objective():
    given = [scale_view(X, None) for X in make_views(0, widths=(9, 12, 7))[0]]
    states = islice(model_of.states(given, Rule(3, 3, 1.0, has_quirks=True)), 25)
    assert np.diff([state.objective for state in states]).max() > 0


@pytest.mark.parametrize(("m", "d"), [(4, 4), (9, 4)])
def test_each_update_is_a_minimum_of_its_block(m, d):
    """No other graph, basis or weights lower J; nor do other anchors where AᵀA = I."""
    views, _ = make_views(1)
    rng = np.random.default_rng(0)
    rule = Rule(m, d, lam=1.0)
    X = [scaled(view) for view in views]
    *_, state = islice(model_of.states([scale_view(view, "z") for view in views], rule), 3)
    W, A, Z, a = state.bases, state.anchors, state.graph, state.weights
    new_W = [model_of.polar(Xv.T @ Z @ A.T) for Xv in X]
    at_W = objective(X, new_W, A, Z, a, 1.0)
    new_Z = np.empty_like(Z)
    cross = model_of._update_Z(new_Z, [scale_view(view, "z") for view in views], new_W, A, a, rule)
    assert cross[1] == pytest.approx(X[1].T @ new_Z)
    at_Z = objective(X, new_W, A, new_Z, a, 1.0)
    for _ in range(50):
        frames = [np.linalg.qr(Wv + 0.1 * rng.normal(size=Wv.shape))[0] for Wv in new_W]
        assert at_W <= objective(X, frames, A, Z, a, 1.0)
        other = 0.9 * new_Z + 0.1 * rng.dirichlet(np.full(m, 0.3), size=len(Z))
        assert at_Z <= objective(X, new_W, A, other, a, 1.0)
        weights = rng.dirichlet([1, 1])
        assert state.objective <= objective(X, W, A, Z, weights, 1.0)
        if m <= d:
            new_A = model_of._update_A(new_W, cross, a, A, new_Z.T @ new_Z)
            frame = np.linalg.qr(new_A + 0.1 * rng.normal(size=A.shape))[0]
            at_A = objective(X, new_W, new_A, new_Z, a, 1.0)
            assert at_A <= objective(X, new_W, frame, new_Z, a, 1.0)


@pytest.mark.parametrize("quirks", [False, True])
@pytest.mark.parametrize("n_anchors", [None, 6])
def test_blobs_are_found_and_the_constraints_hold(quirks, n_anchors):
    views, classes = make_views(2)
    model = SMVSC(3, n_anchors=n_anchors, quirks=quirks, random_state=0).fit(views)
    assert clustering_accuracy(classes, model.labels_) > 0.9
    assert model.anchors_.shape == (n_anchors or 3, 3)
    assert model.anchors_.T @ model.anchors_ == pytest.approx(np.eye(3), abs=1e-10)
    for W in model.bases_:
        assert np.allclose(W.T @ W, np.eye(3), atol=1e-10)
    assert model.anchor_graph_.min() >= 0
    assert model.anchor_graph_.sum(axis=1) == pytest.approx(1)
    assert model.view_weights_.sum() == pytest.approx(1)
    assert np.linalg.norm(model.embedding_, axis=1) == pytest.approx(1)
    assert 10 <= model.n_iter_ == len(model.objective_history_) <= 51


def test_the_start_is_the_first_features_unless_all_of_them_are_blank():
    views, classes = make_views(3)
    given = [scale_view(X, "z") for X in views]
    assert [W.tolist() for W in model_of._first_bases(given, Rule(3, 3, 1.0))] == [
        np.eye(9, 3).tolist(),
        np.eye(12, 3).tolist(),
    ]
    blank = [np.hstack([np.zeros((120, 3)), X]) for X in views]
    for W, X in zip(
        model_of._first_bases([scale_view(X, "z") for X in blank], Rule(3, 3, 1.0)),
        views,
        strict=True,
    ):
        assert W[3:] == pytest.approx(model_of.polar(scaled(X)[:3].T), abs=1e-10)
    assert clustering_accuracy(classes, SMVSC(3, random_state=0).fit_predict(blank)) > 0.9


def test_same_seed_same_labels():
    views, _ = make_views(4)
    model = SMVSC(3, random_state=5)
    first = clone(model).fit(views)
    assert np.array_equal(first.labels_, model.fit(views).labels_)
    assert np.array_equal(first.objective_history_, model.objective_history_)


def test_csr_and_float32_views_give_the_objective_of_dense_ones():
    views = [np.maximum(X, 0) for X in make_views(5)[0]]
    model = SMVSC(3, random_state=0)
    expected = clone(model).fit(views).objective_history_
    for other in ([sparse.csr_array(X) for X in views], [X.astype(np.float32) for X in views]):
        assert clone(model).fit(other).objective_history_ == pytest.approx(expected, rel=1e-4)


def test_partition_into_blocks_does_not_matter(monkeypatch):
    views, _ = make_views(6, n=200)
    expected = SMVSC(3, random_state=0).fit(views)
    monkeypatch.setattr("manyview.baselines._anchors._BLOCK_ENTRIES", 64 * 21)
    found = SMVSC(3, random_state=0).fit(views)
    assert found.objective_history_ == pytest.approx(expected.objective_history_, rel=1e-10)


def test_views_narrower_than_the_clusters_are_taken():
    views, _ = make_views(7, k=4, widths=(2, 9))
    model = SMVSC(4, quirks=False, random_state=0).fit(views)
    assert [W.shape for W in model.bases_] == [(2, 2), (9, 2)]
    assert np.diff(model.objective_history_).max() <= 1e-9 * model.objective_history_[0]


def test_limits_decline_with_a_sentence():
    views, _ = make_views(8)
    with pytest.raises(DeclinedError, match=r"SMVSC needs .* the anchor graph .* memory_limit"):
        SMVSC(3, memory_limit=1000).fit(views)
    with pytest.raises(DeclinedError, match=r"within time_limit=1e-09 s \(1 iterations done\)"):
        SMVSC(3, time_limit=1e-9).fit(views)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_anchors": 0},
        {"n_dims": 0},
        {"lam": -1},
        {"scale": "max"},
        {"max_iter": 0},
        {"tol": -1},
        {"n_init": 0},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match="is not usable; expected"):
        SMVSC(3, **wrong).fit(make_views(0)[0])


def read(data_home, name):
    with np.load(data_home / f"{name}.npz") as file:
        views = [file[key] for key in ("view_0", "view_1", "view_2") if key in file]
        return views, file["y"]


# Means of 50 single k-means runs of the authors' program on bdgp, with k, 2k and 3k anchors.
@pytest.mark.data
@pytest.mark.parametrize(("times", "mean"), [(1, 0.4007), (2, 0.4540), (3, 0.4732)])
def test_the_program_is_met(times, mean, data_home):
    views, y = read(data_home, "bdgp")
    model = SMVSC(5, n_anchors=5 * times, n_init=1, random_state=0).fit(views)
    assert kmeans_scores(model.embedding_, y, 50)["acc"] == pytest.approx(mean, abs=0.02)


@pytest.mark.data
def test_its_first_release_gives_the_papers_row_once_its_heads_are_right(data_home):
    """The paper prints the F-score, precision and recall under ACC, NMI and purity."""
    views, y = read(data_home, "bdgp")
    model = SMVSC(5, n_anchors=15, weight_power=0.5, n_init=1, random_state=0).fit(views)
    found = kmeans_scores(model.embedding_, y, 50)
    paper = paper_results().query("data == 'BDGP' and method == 'smvsc'").set_index("metric")
    assert set(paper.index) == {"fscore", "precision", "recall", "nmi"}
    for metric in ("fscore", "precision", "recall"):
        assert found[metric] == pytest.approx(paper["mean"][metric], abs=0.02)
    assert found["acc"] > paper["mean"]["fscore"] + 0.1


@pytest.mark.data
def test_without_quirks_the_objective_falls_on_real_views(data_home):
    views, _ = read(data_home, "handwritten_2v")
    model = SMVSC(10, n_anchors=20, quirks=False, n_init=1, random_state=0).fit(views)
    assert np.diff(model.objective_history_).max() <= 1e-9 * model.objective_history_[0]
