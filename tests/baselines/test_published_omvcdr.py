"""The published OMVCDR: steps against their definitions, figures against the paper."""

import os
import subprocess
import sys
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans

from manyview.baselines import published_omvcdr as module
from manyview.baselines._published_kernels import sweep_embedding, sweep_labels
from manyview.baselines.published_omvcdr import PublishedOMVCDR
from manyview.data.views import MultiViewData
from manyview.exceptions import ConvergenceWarning, ViewError
from manyview.metrics import evaluate

RELEASED = module._Rule(lam=9 * 0.1, weight_power=0.5, n_sweeps=1000)
PAPER = module._Rule(lam=0.1, weight_power=1.0, n_sweeps=1)


def make_views(seed, n=40, k=3, widths=(9, 12)):
    rng = np.random.default_rng(seed)
    classes = rng.integers(k, size=n)
    return [rng.normal(size=(n, d)) + 3 * rng.normal(size=(k, d))[classes] for d in widths]


def objective(views, state, alpha, lam, dims):
    """J from its definition: explicit residuals, all pairs."""
    together = state.labels[:, None] == state.labels
    value = 0.0
    starts = np.cumsum([0, *dims])
    for p, (start, end) in enumerate(pairwise(starts)):
        Z = state.embedding[:, start:end]
        for X, H in zip(views, state.bases, strict=True):
            value += np.sum((X - Z @ H[:, start:end].T) ** 2)
        value += lam / 2 * alpha[p] ** 2 * cdist(Z, Z, "sqeuclidean")[together].sum()
    return value


@pytest.mark.parametrize("rule", [RELEASED, PAPER])
@pytest.mark.parametrize("widths", [(9, 12), (4, 9)])
def test_objective_is_that_of_the_definition(rule, widths):
    views, dims = make_views(0, widths=widths), [3, 6, 9]
    for state in islice(module._states(views, module._start_labels(views, 3), rule, dims), 5):
        expected = objective(views, state, state.alpha, rule.lam, dims)
        assert state.objective == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("rule", [RELEASED, PAPER])
@pytest.mark.parametrize("seed", range(5))
def test_no_step_raises_the_objective(rule, seed):
    """Neither do Z, H and Y at the α before, nor the α of the paper.

    The program's α is no minimiser: it may raise J, so only the former holds for it.
    """
    views, dims = make_views(seed), [3, 6, 9]
    alpha, before = None, np.inf
    for state in islice(module._states(views, module._start_labels(views, 3), rule, dims), 20):
        if alpha is not None:
            assert objective(views, state, alpha, rule.lam, dims) <= before * (1 + 1e-12)
        after = objective(views, state, state.alpha, rule.lam, dims)
        if rule is PAPER:
            assert after <= before * (1 + 1e-12)
        alpha, before = state.alpha, after


def test_seeds_by_hand():
    """Scores 4, 2, 1 give s = 1, 1/2, 1/4; then 0, 1/4, 3/16; then 1 → 0 and 3/4 → 3/16."""
    views = [np.array([[1.0], [3.0], [1.0]]), np.array([[0.0], [1.0], [1.0]])]
    assert module._seed_rows(views, 3) == [1, 2, 0]


def test_seeds_are_defined_without_a_positive_score():
    assert module._seed_rows([np.zeros((4, 2))], 3) == [0, 0, 0]


def test_start_is_lloyd_from_the_seeds():
    views = make_views(1, n=200)
    joined = np.hstack(views)
    seeds = joined[module._seed_rows(views, 3)]
    expected = KMeans(3, init=seeds, n_init=1, max_iter=100, tol=0).fit(joined).labels_
    assert np.array_equal(module._start_labels(views, 3), expected)


def test_an_empty_cluster_takes_the_farthest_sample():
    labels, distances = module._fill_empty(
        [np.array([[0.0], [1.0], [9.0]])], np.zeros(3, np.int32), 2
    )
    assert labels.tolist() == [0, 0, 1]
    assert distances == pytest.approx(np.array([[0.25, 81], [0.25, 64], [72.25, 0]]))


def test_embedding_sweep_by_hand():
    """V = 1, g = 1, both in one cluster: z_0 = (4 + 0)/2, then z_1 = (6 + 2)/2."""
    Z, total = np.zeros((2, 1)), np.zeros((1, 1))
    A, shrink = np.array([[4.0], [6.0]]), np.array([[0.5]])
    sweep_embedding(Z, A, np.zeros(2, np.int32), total, np.ones(1), shrink)
    assert Z.ravel().tolist() == [2.0, 4.0]
    assert total.item() == 6.0


def test_labels_settle_where_no_single_move_helps():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    labels = module._update_Y(rows, (np.arange(50) % 4).astype(np.int32), 4, 1000)
    to_cluster = cdist(rows, rows, "sqeuclidean") @ np.eye(4)[labels]
    assert np.array_equal(labels, to_cluster.argmin(axis=1))


def test_ties_go_to_the_smallest_cluster_then_to_the_first():
    """Equal rows cost the same everywhere.

    Sample 0 goes to cluster 2, which is empty. Without sample 1, and then without 2, the clusters
    are of one size: the first takes them. Sample 3 returns to the cluster that it leaves empty.
    """
    labels = np.array([0, 0, 0, 1], np.int32)
    rows, norms = np.zeros((4, 1)), np.zeros(4)
    count, sums = np.array([3.0, 1, 0]), np.zeros(3)
    assert sweep_labels(labels, rows, norms, count, np.zeros((1, 3)), sums) == 1
    assert labels.tolist() == [2, 0, 0, 1]


@pytest.mark.parametrize("variant", ["released", "paper"])
def test_fitted_attributes(variant):
    views = make_views(2)
    model = PublishedOMVCDR(3, lam=0.1, variant=variant, max_iter=7, tol=0).fit(views)
    assert model.labels_.shape == (40,)
    assert len(np.unique(model.labels_)) == 3
    assert model.n_iter_ == len(model.objective_history_) == 7
    assert model.n_features_in_ == 21
    assert model.space_weights_.sum() == pytest.approx(1)
    for p, bases in enumerate(model.bases_):
        for H, X in zip(bases, views, strict=True):
            assert H.shape == (X.shape[1], 3 * (p + 1))
            assert np.allclose(H.T @ H, np.eye(H.shape[1]), atol=1e-10)
    again = clone(model).fit(views)
    assert np.array_equal(again.objective_history_, model.objective_history_)


def test_csr_views_give_the_labels_of_dense_ones():
    views = [np.maximum(X, 0) for X in make_views(3)]
    model = PublishedOMVCDR(3, lam=0.1, max_iter=10)
    expected = clone(model).fit(views)
    found = model.fit([sparse.csr_array(X) for X in views])
    assert np.array_equal(found.labels_, expected.labels_)
    assert found.objective_history_ == pytest.approx(expected.objective_history_, rel=1e-10)


@pytest.mark.filterwarnings("ignore::manyview.exceptions.DataWarning")  # constant views
def test_identical_rows_do_not_break_it():
    model = PublishedOMVCDR(2).fit([np.ones((6, 3)), np.zeros((6, 2))])
    assert np.isfinite(model.objective_history_).all()
    assert model.space_weights_.sum() == pytest.approx(1)


def test_a_rise_ends_the_fit_with_the_iteration_before():
    """Two features cannot hold nine dimensions: the published update of Z is then no minimiser."""
    views = make_views(2, widths=(2, 12))
    with pytest.warns(ConvergenceWarning, match="objective rose"):
        model = PublishedOMVCDR(3, lam=0.01, variant="paper", tol=0).fit(views)
    assert model.n_iter_ < 101
    assert np.diff(model.objective_history_[1:]).max(initial=-1) <= 0


def test_missing_rows_are_refused():
    first, second = make_views(0)
    first[3] = np.nan
    with pytest.raises(ViewError, match=r"1 row\(s\) of the views are missing"):
        PublishedOMVCDR(3).fit(MultiViewData.of([first, second]))


@pytest.mark.parametrize(
    "wrong", [{"lam": 0}, {"n_spaces": 0}, {"variant": "other"}, {"max_iter": 0}, {"tol": -1}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match="is not usable; expected"):
        PublishedOMVCDR(3, **wrong).fit(make_views(0))


@pytest.mark.slow
def test_import_does_not_bring_numba():
    code = "import sys, manyview.baselines.published_omvcdr; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# The figures of the paper's table and, for the letter of the paper, those of the same formulas
# measured apart from this code. Labels are counts, so four digits are exact.
PUBLISHED = {
    "handwritten_2v": (10, (0.9250, 0.8507, 0.9250, 0.8561), 0.6295, 0.9005),
    "bdgp": (5, (0.5696, 0.3558, 0.5936, 0.4610), 0.5260, 0.5656),
}


def load(name):
    folder = os.environ.get("MANYVIEW_DATA")
    if not folder:
        pytest.skip("MANYVIEW_DATA is not set: the benchmark files are needed")
    with np.load(Path(folder) / f"{name}.npz") as file:
        n_views = sum(key.removeprefix("view_").isdigit() for key in file.files)
        return [file[f"view_{v}"].astype(np.float64) for v in range(n_views)], file["y"]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", PUBLISHED)
def test_released_program_gives_the_table_of_the_paper(name):
    views, y = load(name)
    n_clusters, expected, *_ = PUBLISHED[name]
    model = PublishedOMVCDR(n_clusters, lam=8).fit(views)
    scores = evaluate(y, model.labels_)
    found = [scores[key] for key in ("acc", "nmi", "purity", "fscore")]
    assert [f"{score:.4f}" for score in found] == [f"{score:.4f}" for score in expected]
    assert np.diff(model.objective_history_).max() <= 0
    assert model.n_iter_ == 101


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_letter_of_the_paper_falls_short_of_its_table(name):
    views, y = load(name)
    n_clusters, _, expected, _ = PUBLISHED[name]
    model = PublishedOMVCDR(n_clusters, lam=72, variant="paper").fit(views)
    assert evaluate(y, model.labels_)["acc"] == pytest.approx(expected, abs=5e-5)
    assert np.diff(model.objective_history_).max() <= 0


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", PUBLISHED)
def test_labels_depend_on_the_order_of_the_rows(name):
    """The files are sorted by class, and both sweeps run in file order.

    ACC of seeds 0, 1, 2: 0.9005, 0.9040, 0.8965 (handwritten_2v), 0.5656, 0.5616, 0.5708 (bdgp).
    The start is the same in any order, so the sweeps make the difference.
    """
    views, y = load(name)
    n_clusters, _, _, expected = PUBLISHED[name]
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = [X[order] for X in views]
    start = module._start_labels(views, n_clusters)
    assert np.array_equal(module._start_labels(shuffled, n_clusters), start[order])
    labels = PublishedOMVCDR(n_clusters, lam=8).fit_predict(shuffled)
    assert evaluate(y[order], labels)["acc"] == pytest.approx(expected, abs=5e-5)
