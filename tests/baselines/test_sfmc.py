"""SFMC: steps against their definitions and a generic solver, components, limits, real data."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import clone

from manyview.baselines import _structured_graph as graphs
from manyview.baselines import sfmc as module
from manyview.baselines._anchor_graph import anchor_graph, joint_support
from manyview.baselines._base import Budget
from manyview.baselines._das import alternate_rows
from manyview.baselines._structured_graph import Edges, project_groups, structure_graph
from manyview.baselines.sfmc import SFMC
from manyview.exceptions import ConvergenceWarning, DeclinedError
from manyview.metrics import evaluate

NO_LIMIT = Budget("SFMC", None, None)


def make_views(seed=0, n=90, k=3, widths=(6, 9), distance=6.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    views = [rng.normal(size=(n, d)) + distance * rng.normal(size=(k, d))[y] for d in widths]
    return views, y


def nearest_on_simplex(target):
    """argmin ‖x − target‖² on the simplex, by a generic solver."""
    found = minimize(
        lambda x: np.sum((x - target) ** 2),
        np.full(len(target), 1 / len(target)),
        jac=lambda x: 2 * (x - target),
        bounds=[(0, 1)] * len(target),
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


@pytest.mark.parametrize("seed", range(5))
def test_projection_of_groups_is_that_of_a_generic_solver(seed):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(6), [1, 2, 3, 5, 8, 12]))
    values = rng.normal(scale=rng.choice([0.1, 1.0, 5.0]), size=len(groups))
    found = project_groups(values, groups, 7)  # the seventh group is empty
    for group in range(6):
        expected = nearest_on_simplex(values[groups == group])
        assert found[groups == group] == pytest.approx(expected, abs=1e-5)
    assert np.bincount(groups, found) == pytest.approx(np.ones(6), abs=1e-12)
    assert found.min() >= 0


def test_projection_by_hand():
    """(1, 0.6): shift by 0.3. (2, −1): the second falls out, the first becomes 1."""
    found = project_groups(np.array([1.0, 2.0, 0.6, -1.0]), np.array([0, 1, 0, 1]), 2)
    assert found == pytest.approx([0.7, 1.0, 0.3, 0.0])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_anchor_graph_by_definition(container):
    X = np.random.default_rng(0).normal(size=(60, 4))
    anchors = np.arange(0, 60, 2)
    graph = anchor_graph(container(X), anchors, 10, NO_LIMIT)
    assert np.diff(graph.indptr).max() <= 10
    assert graph.sum(axis=1) == pytest.approx(np.ones(60))
    for i, distances in enumerate(cdist(X, X[anchors], "sqeuclidean")):
        d = np.sort(distances)
        expected = np.maximum(d[10] - distances, 0) / (10 * d[10] - d[:10].sum())
        assert graph[[i]].toarray().ravel() == pytest.approx(expected, abs=1e-9)


def test_equally_far_anchors_share_a_sample():
    graph = anchor_graph(np.ones((6, 2)), np.arange(4), 3, NO_LIMIT)
    assert graph.data == pytest.approx(np.full(18, 1 / 3))


def test_blocks_of_rows_do_not_change_the_graph(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3))
    expected = anchor_graph(X, np.arange(20), 5, NO_LIMIT)
    monkeypatch.setattr("manyview.baselines._anchor_graph.BLOCK", 60)
    found = anchor_graph(X, np.arange(20), 5, NO_LIMIT)
    assert np.allclose(found.toarray(), expected.toarray())


def test_joint_support_holds_every_graph():
    views, _ = make_views()
    single = [anchor_graph(X, np.arange(0, 90, 3), 4, NO_LIMIT) for X in views]
    edges, B = joint_support(single)
    for graph, values in zip(single, B, strict=True):
        again = sparse.csr_array((values, (edges.rows, edges.cols)), shape=edges.shape)
        assert np.array_equal(again.toarray(), graph.toarray())


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_those_of_a_generic_solver(seed):
    rng = np.random.default_rng(seed)
    B = rng.random((4, 30)) * rng.choice([0.1, 1, 3], size=(4, 1))
    P = rng.dirichlet(np.ones(4)) @ B + rng.normal(scale=0.3, size=30)
    found = module._update_alpha(B - P)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    expected = minimize(
        lambda a: np.sum((a @ B - P) ** 2),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-13},
    )
    assert np.sum((found @ B - P) ** 2) <= expected.fun * (1 + 1e-8)
    assert found == pytest.approx(expected.x, abs=1e-3)


def test_weights_are_equal_where_every_graph_fits():
    assert module._update_alpha(np.zeros((3, 5))).tolist() == [1 / 3] * 3


def test_alternate_rows_by_hand():
    """4, 2, 1 → 1, ½, ¼ → 0, ¼, 3/16 → 1 → 0, and ¾ → 3/16."""
    assert alternate_rows(np.array([4.0, 2.0, 1.0]), 1).tolist() == [0]
    assert alternate_rows(np.array([4.0, 2.0, 1.0]), 2).tolist() == [0, 1]
    assert alternate_rows(np.array([2.0, 1.0, 4.0, 0.0]), 3).tolist() == [0, 1, 2]


def test_rounding_of_the_scores_does_not_choose_the_rows():
    score = np.random.default_rng(0).random(200)
    noisy = score * (1 + 1e-15 * np.random.default_rng(1).normal(size=200))
    assert np.array_equal(alternate_rows(noisy, 100), alternate_rows(score, 100))


def test_where_scores_run_out_rows_are_evenly_spaced():
    assert alternate_rows(np.ones(9), 4).tolist() == [0, 1, 3, 6]
    assert alternate_rows(np.zeros(4), 4).tolist() == [0, 1, 2, 3]


def random_graph(n, m, n_blocks, seed=0):
    """Blocks of a bipartite graph, five edges a sample, so that it has that many components."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), 5)
    block = rows % n_blocks
    cols = rng.integers(m // n_blocks, size=5 * n) * n_blocks + block
    keys = np.unique(rows * m + cols)
    return Edges(keys // m, keys % m, (n, m)), rng.random(len(keys)) + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("m", [60, 300])  # dense, and by Lanczos' iterations
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_spectrum_is_that_of_the_dense_matrix(m, n_blocks):
    edges, values = random_graph(600, m, n_blocks)
    start = np.random.default_rng(1).normal(size=m)
    found = graphs._spectrum(edges, values, 4, start, lambda: None)
    P = np.zeros(edges.shape)
    P[edges.rows, edges.cols] = values
    P = P[:, P.any(axis=0)]
    hat = P / np.sqrt(P.sum(axis=1, keepdims=True)) / np.sqrt(P.sum(axis=0))
    U, sigma, _ = np.linalg.svd(hat, full_matrices=False)
    assert found.n_components == n_blocks
    assert found.eigenvalues == pytest.approx(sigma[:5] ** 2, abs=1e-9)
    projector = 2 * found.left @ found.left.T
    assert projector == pytest.approx(U[:, :4] @ U[:, :4].T, abs=1e-6)


@pytest.mark.parametrize("is_released", [False, True])
def test_structured_graph_falls_into_k_components(is_released):
    views, _ = make_views(distance=2.0)
    edges, B = joint_support([anchor_graph(X, np.arange(0, 90, 2), 10, NO_LIMIT) for X in views])
    graph = structure_graph(
        edges, B.mean(axis=0), 3, start=np.ones(edges.shape[1]), is_released=is_released
    )
    assert graph.n_components == 3
    assert len(np.unique(graph.labels)) == 3
    assert graph.n_passes > 1
    assert graph.values.min() >= 0
    joined = graph.values > 0
    anchor_labels = np.full(edges.shape[1], -1)
    anchor_labels[edges.cols[joined]] = graph.labels[edges.rows[joined]]
    assert np.array_equal(anchor_labels[edges.cols[joined]], graph.labels[edges.rows[joined]])


@pytest.mark.parametrize("options", [{}, {"quirks": True}, {"finish": "kmeans"}])
def test_blobs_are_found(options):
    views, y = make_views()
    model = SFMC(3, random_state=0, **options).fit(views)
    assert evaluate(y, model.labels_)["acc"] == 1
    assert model.labels_.dtype == np.int32
    assert model.n_components_ == 3
    assert len(model.anchor_rows_) == 45
    assert model.view_weights_.sum() == pytest.approx(1)
    assert len(model.objective_history_) == model.n_iter_ <= 10
    assert model.n_features_in_ == 15


def test_a_seed_gives_the_same_labels():
    views, _ = make_views(distance=2.0, n=120)
    model = SFMC(3, random_state=3, finish="kmeans")
    assert np.array_equal(clone(model).fit(views).labels_, model.fit(views).labels_)


def test_csr_views_give_the_labels_of_dense_ones():
    views = [np.maximum(X, 0) for X in make_views()[0]]
    expected = SFMC(3).fit(views)
    found = SFMC(3).fit([sparse.csr_array(X) for X in views])
    assert np.array_equal(found.anchor_rows_, expected.anchor_rows_)
    assert np.array_equal(found.labels_, expected.labels_)


def test_scaling_a_view_does_not_change_the_labels():
    views, _ = make_views(distance=2.0)
    expected = SFMC(3, n_anchors=20).fit(views)
    found = SFMC(3, n_anchors=20).fit([8 * views[0], views[1] / 4])
    assert np.array_equal(found.labels_, expected.labels_)


def test_anchors_are_bounded_unless_asked_for(monkeypatch):
    monkeypatch.setattr(module, "_MAX_ANCHORS", 12)
    views, _ = make_views()
    assert len(SFMC(3).fit(views).anchor_rows_) == 12
    assert len(SFMC(3, n_anchors=30).fit(views).anchor_rows_) == 30
    assert len(SFMC(3, anchor_rate=0.1).fit(views).anchor_rows_) == 9


def test_more_components_than_clusters_are_told():
    views, y = make_views(n=400, k=4, distance=60.0)
    with pytest.warns(ConvergenceWarning, match="fell into 4 components, not into n_clusters=2"):
        model = SFMC(2).fit(views)
    assert model.n_components_ == 4
    assert evaluate(y, model.labels_)["acc"] == 1
    model = SFMC(2, finish="kmeans", random_state=0).fit(views)
    assert model.n_components_ == 4
    assert len(np.unique(model.labels_)) == 2


@pytest.mark.filterwarnings("ignore::manyview.exceptions.DataWarning")  # constant views
def test_identical_rows_are_one_component():
    with pytest.warns(ConvergenceWarning, match="components, not into n_clusters=2"):
        model = SFMC(2).fit([np.ones((30, 3)), np.zeros((30, 2))])
    assert np.isfinite(model.view_weights_).all()


def test_it_declines_by_name_of_the_limit():
    views, _ = make_views()
    with pytest.raises(DeclinedError, match="memory_limit allows"):
        SFMC(3, memory_limit=1e6).fit(views)
    with pytest.raises(DeclinedError, match="time_limit=1e-09 s"):
        SFMC(3, time_limit=1e-9).fit(views)


@pytest.mark.parametrize(
    "wrong",
    [
        {"anchor_rate": 0},
        {"anchor_rate": 1.5},
        {"n_anchors": 0},
        {"n_neighbors": 0},
        {"max_iter": 0},
        {"finish": "other"},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match="is not usable; expected"):
        SFMC(3, **wrong).fit(make_views()[0])


def load(folder, name):
    with np.load(folder / f"{name}.npz") as file:
        n_views = sum(key.removeprefix("view_").isdigit() for key in file.files)
        return [file[f"view_{v}"] for v in range(n_views)], file["y"]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "least"), [("msrcv1_5v", 0.75), ("yaleA_3v", 0.65), ("handwritten_2v", 0.95)]
)
def test_small_real_data(data_home, name, least):
    """The bounds leave room: which anchors DAS takes hangs on the last digits of the scores."""
    views, y = load(data_home, name)
    model = SFMC(len(np.unique(y))).fit(views)
    assert model.n_components_ == model.n_clusters
    assert evaluate(y, model.labels_)["acc"] >= least


@pytest.mark.data
def test_bdgp_is_one_component_and_single_samples(data_home):
    """The table of the paper has no figure for it; the graph sheds outliers."""
    views, _ = load(data_home, "bdgp")
    labels = SFMC(5).fit(views).labels_
    assert np.bincount(labels).max() > 0.99 * len(labels)


@pytest.mark.data
def test_the_program_is_met(data_home):
    """The authors' program gives 0.9790 on handwritten_2v, where the paper has 0.4115."""
    views, y = load(data_home, "handwritten_2v")
    model = SFMC(10, quirks=True).fit(views)
    assert evaluate(y, model.labels_)["acc"] == pytest.approx(0.979, abs=0.01)
