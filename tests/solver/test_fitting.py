"""Starts, sizes and settings of a fit: what is compared, and which is taken."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_citeseq, make_multiview_blobs
from manyview.engines import choose_engine
from manyview.kernels.statistics import ArraySums, ClusterMoments
from manyview.solver import fitting
from manyview.solver.anchor_graph import assortativity, cut_anchors
from manyview.solver.problem import Settings, build_problem
from manyview.solver.updates import log_likelihood, project, scatter_rows, stash_labels
from solver.test_updates import posed


def joined_blobs(proportions, seed, n=2000, apart=4.0):
    """Two views of 20 features, centers some standard deviations apart in each."""
    rng = np.random.default_rng(seed)
    k = len(proportions)
    target = rng.choice(k, n, p=np.array(proportions) / np.sum(proportions))
    views = []
    for _ in range(2):
        axes = np.linalg.qr(rng.standard_normal((20, 20)))[0][:k]
        views.append(apart / np.sqrt(2) * axes[target] + rng.standard_normal((n, 20)))
    return views, target


@pytest.mark.parametrize("proportions", [(50, 1), (10, 3, 1), (30, 1, 1)])
def test_small_clusters_are_found_as_a_mixture_finds_them(proportions):
    ours, theirs = [], []
    for seed in range(3):
        views, target = joined_blobs(proportions, seed)
        k = len(proportions)
        model = OMVCDR(k, random_state=0).fit(views)
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        ours.append(adjusted_rand_score(target, model.labels_))
        mixture = GaussianMixture(k, covariance_type="spherical", n_init=3, random_state=0)
        theirs.append(adjusted_rand_score(target, mixture.fit_predict(np.hstack(views))))
    assert np.mean(ours) >= np.mean(theirs) - 0.02
    assert min(ours) > 0.9


def test_more_samples_than_the_subset_keep_the_small_cluster(monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 1000)
    views, target = joined_blobs((30, 1), 1)
    model = OMVCDR(2, random_state=0).fit(views)
    assert model._fitted.anchor_graph is None  # clusters of any size are not smoothed
    assert model._fitted.model.size_weight > 0
    assert adjusted_rand_score(target, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(views), model.labels_)


def test_equal_clusters_have_no_prior_on_sizes():
    data, target = make_multiview_blobs(300, n_clusters=4, random_state=0, return_X_y=True)
    model = OMVCDR(4, random_state=0).fit(data)
    assert model._fitted.model.size_weight == 0
    assert adjusted_rand_score(target, model.labels_) > 0.98


@pytest.mark.slow
def test_cell_types_of_unequal_frequency_are_found_in_counts():
    data, target = make_citeseq(2000, random_state=0, return_X_y=True)
    model = OMVCDR(8, random_state=0).fit(data)
    assert adjusted_rand_score(target, model.labels_) > 0.95
    assert dict(model.scalings_[2:]) == {"rna": "log-pca-l2", "protein": "log-pca-l2"}
    np.testing.assert_array_equal(model.predict(data), model.labels_)


def test_the_cut_separates_anchors_without_links():
    rng = np.random.default_rng(0)
    blocks = [rng.random((size, size)) + 0.1 for size in (5, 9, 3)]
    links = np.zeros((17, 17))
    start = 0
    for block in blocks:
        end = start + len(block)
        links[start:end, start:end] = block + block.T
        start = end
    found = np.abs(cut_anchors(links, 3)).argmax(axis=1)
    assert adjusted_rand_score(np.repeat([0, 1, 2], [5, 9, 3]), found) == 1


def test_anchors_without_samples_do_not_disturb_the_cut():
    links = np.kron(np.eye(2), np.ones((4, 4)))
    links = np.pad(links, (0, 2))
    found = np.abs(cut_anchors(links, 2)).argmax(axis=1)
    assert len(set(found[:4])) == len(set(found[4:8])) == 1
    assert found[0] != found[4]


def test_the_likelihood_is_that_of_gaussians_with_one_covariance(rng):
    data = MultiViewData.of([rng.standard_normal((60, 9)), rng.standard_normal((60, 7))])
    engine, model, moments = posed(data, 3, dims=(2, 4))
    found = log_likelihood(moments, engine.map_reduce(scatter_rows, model))
    b, labels = engine.gather("projection")[:, 2:], engine.gather("labels")
    within = sum(np.cov(b[labels == c].T, bias=True) * np.mean(labels == c) for c in range(3))
    shares = np.bincount(labels) / 60
    expected = -np.linalg.slogdet(within)[1] / 2 + np.sum(shares * np.log(shares))
    assert found == pytest.approx(expected, abs=1e-3)


def test_the_likelihood_of_rows_that_are_all_equal_is_finite():
    """What rounding leaves of their covariance may be singular."""
    n, mean = np.array([[3.0, 1.0]]), np.array([2.0**-50, 0, 0])
    dust = np.array([0, 2.0**-130, 2.0**-180])
    moments = ClusterMoments(
        starts=np.array([0]),
        rows=n.astype(np.int64),
        count=n,
        mean=np.tile(mean, (1, 2, 1)),
        scatter=np.zeros((1, 2, 1)),
    )
    square = 4 * (np.outer(mean, mean) + np.outer(dust, dust))
    assert np.isfinite(log_likelihood(moments, ArraySums((4 * mean, square))))


def test_a_twin_has_the_same_rows_and_labels_and_leaves_the_first_alone(rng):
    data = MultiViewData.of([rng.standard_normal((50, 4)), rng.standard_normal((50, 3))])
    engine, model, _ = posed(data, 3)
    engine.map_reduce(stash_labels)
    before = engine.gather("projection").copy()
    twin = engine.twin()
    np.testing.assert_array_equal(twin.gather("labels"), engine.gather("labels"))
    build_problem(twin, Settings(3, 1.0, 2, None, "z", 2.0), data.view_names)
    twin.map_reduce(project, model)
    twin._blocks[0].labels[:] = 0
    assert engine.gather("labels").max() == 2
    np.testing.assert_array_equal(engine.gather("projection"), before)


def test_assortativity_of_smoothed_rows_is_high_for_clusters_and_low_for_chance():
    data, target = make_multiview_blobs(300, n_clusters=3, random_state=0, return_X_y=True)
    model = OMVCDR(3, random_state=0).fit(data)
    engine = choose_engine("memory", "cpu", data)
    model._fitted.label(engine, data)
    assert assortativity(engine, 3) > 0.9
    engine.put_labels(np.random.default_rng(0).permutation(target).astype(np.int32))
    assert assortativity(engine, 3) < 0.5
