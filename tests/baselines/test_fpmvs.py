import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from manyview.baselines.fpmvs import FPMVS
from manyview.exceptions import DeclinedError
from manyview.metrics import clustering_accuracy, evaluate
from manyview.study.execution import kmeans_scores


def make_views(seed, n=120, k=3, widths=(9, 12)):
    rng = np.random.default_rng(seed)
    classes = rng.integers(k, size=n)
    views = [rng.normal(size=(n, d)) + 3 * rng.normal(size=(k, d))[classes] for d in widths]
    return views, classes


def residuals(views, model):
    """‖X_v − Z Aᵀ W_vᵀ‖² of each view, from the definition."""
    scaled = [(X - X.mean(axis=0)) / X.std(axis=0, ddof=1) for X in views]
    Z, anchors = model.anchor_graph_, model.anchors_
    pairs = zip(scaled, model.bases_, strict=True)
    return np.array([np.sum((X - Z @ anchors @ W.T) ** 2) for X, W in pairs])


@pytest.mark.parametrize("seed", range(5))
def test_objective_never_rises_and_is_that_of_the_definition(seed):
    views, _ = make_views(seed)
    model = FPMVS(3, max_iter=40, random_state=0).fit(views)
    expected = model.view_weights_**2 @ residuals(views, model)
    assert model.objective_history_[-1] == pytest.approx(expected, rel=1e-10)
    assert np.diff(model.objective_history_).max() <= 1e-12 * expected
    assert model.n_iter_ == 40


@pytest.mark.parametrize(("quirks", "power"), [(False, 1.0), (True, 0.5)])
def test_weights_are_the_inverse_residuals(quirks, power):
    """Of the squared norms, which minimises J; the program takes the norms."""
    views, _ = make_views(1)
    model = FPMVS(3, quirks=quirks, random_state=0).fit(views)
    inverse = residuals(views, model) ** -power
    assert model.view_weights_ == pytest.approx(inverse / inverse.sum())


@pytest.mark.parametrize("quirks", [False, True])
def test_blobs_are_found_and_the_constraints_hold(quirks):
    views, classes = make_views(2)
    model = FPMVS(3, quirks=quirks, random_state=0).fit(views)
    assert clustering_accuracy(classes, model.labels_) > 0.9
    assert model.n_iter_ == len(model.objective_history_) == 20
    assert model.anchors_ @ model.anchors_.T == pytest.approx(np.eye(3), abs=1e-10)
    for W in model.bases_:
        assert np.allclose(W.T @ W, np.eye(3), atol=1e-10)
    assert model.anchor_graph_.min() >= 0
    assert model.anchor_graph_.sum(axis=1) == pytest.approx(1)
    assert model.n_features_in_ == 21


def test_tolerance_stops_it_from_the_tenth_iteration_on():
    views, _ = make_views(3)
    assert FPMVS(3, tol=1.0, random_state=0).fit(views).n_iter_ == 10


def test_same_seed_same_labels():
    views, _ = make_views(4)
    model = FPMVS(3, random_state=5)
    assert np.array_equal(clone(model).fit(views).embedding_, model.fit(views).embedding_)


def test_csr_and_float32_views_give_the_objective_of_dense_ones():
    views = [np.maximum(X, 0) for X in make_views(5)[0]]
    model = FPMVS(3, random_state=0)
    expected = clone(model).fit(views).objective_history_
    for other in ([sparse.csr_array(X) for X in views], [X.astype(np.float32) for X in views]):
        assert clone(model).fit(other).objective_history_ == pytest.approx(expected, rel=1e-4)


def test_a_view_narrower_than_the_clusters_is_taken():
    """AᵀA = I cannot hold: the graph solves a singular program, and J still does not rise."""
    views, _ = make_views(6, k=4, widths=(2, 9))
    model = FPMVS(4, quirks=False, random_state=0).fit(views)
    assert [W.shape for W in model.bases_] == [(2, 2), (9, 2)]
    assert np.diff(model.objective_history_).max() <= 1e-8 * model.objective_history_[0]


def test_limits_decline_with_a_sentence():
    views, _ = make_views(7)
    with pytest.raises(DeclinedError, match=r"FPMVS needs .* the anchor graph .* memory_limit"):
        FPMVS(3, memory_limit=1000).fit(views)
    with pytest.raises(DeclinedError, match=r"within time_limit=1e-09 s \(1 iterations done\)"):
        FPMVS(3, time_limit=1e-9).fit(views)


@pytest.mark.parametrize("wrong", [{"scale": "max"}, {"max_iter": 0}, {"tol": -1}, {"n_init": 0}])
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match="is not usable; expected"):
        FPMVS(3, **wrong).fit(make_views(0)[0])


def read(data_home, name):
    with np.load(data_home / f"{name}.npz") as file:
        views = [file[key] for key in ("view_0", "view_1", "view_2") if key in file]
        return views, file["y"]


@pytest.mark.data
def test_the_program_is_met(data_home):
    """Its mean over 50 single k-means runs on bdgp is 0.4238, the paper's 0.4242."""
    views, y = read(data_home, "bdgp")
    model = FPMVS(5, n_init=1, random_state=0).fit(views)
    assert kmeans_scores(model.embedding_, y, 50)["acc"] == pytest.approx(0.4238, abs=0.01)


@pytest.mark.data
def test_without_quirks_the_objective_falls_on_real_views(data_home):
    """On handwritten_2v the program's ACC is 0.73 or 0.64, by the driver of its SVD."""
    views, y = read(data_home, "handwritten_2v")
    assert evaluate(y, FPMVS(10, n_init=1, random_state=0).fit_predict(views))["acc"] > 0.6
    history = FPMVS(10, quirks=False, n_init=1, random_state=0).fit(views).objective_history_
    assert np.diff(history).max() <= 1e-12 * history[0]
