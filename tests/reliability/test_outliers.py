"""Outlier scores: planted strangers, whatever the views are and wherever they are kept."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.reliability import outliers
from manyview.reliability.outliers import describe_outliers

N_NEW = 40


@pytest.fixture(scope="module")
def views():
    """300 samples of three clusters, in two views."""
    data = make_multiview_blobs(300, n_features=(40, 30), random_state=0).data
    return [np.asarray(view) for view in data.views]


@pytest.fixture(scope="module")
def model(views):
    return OMVCDR(n_clusters=3, n_init=2, random_state=0).fit([view[:200] for view in views])


def uniform(views, rng):
    """Samples from nowhere: each feature between its smallest and largest value."""
    return [
        rng.uniform(view.min(axis=0), view.max(axis=0), (N_NEW, view.shape[1])) for view in views
    ]


def auroc(model, normal, strange):
    scores = -np.concatenate([model.score_samples(normal), model.score_samples(strange)])
    is_strange = np.arange(len(scores)) >= len(normal[0])
    return roc_auc_score(is_strange, scores)


def test_samples_from_nowhere_are_flagged_and_new_samples_of_the_clusters_are_not(
    model, views, rng
):
    new = [view[200:] for view in views]
    strange = uniform(views, rng)
    assert auroc(model, new, strange) >= 0.99
    assert (model.score_samples(strange) < -model.outlier_threshold_).mean() >= 0.95
    assert (model.score_samples(new) < -model.outlier_threshold_).mean() <= 0.05


def test_the_finding_confidence_does_not_tell_but_the_score_does(model, views, rng):
    strange = uniform(views, rng)
    assert np.median(model.assign(strange).confidence) > 0  # of a label that means nothing
    assert (-model.score_samples(strange) > model.outlier_threshold_).mean() >= 0.95


def test_strangers_among_the_samples_of_the_fit_are_among_the_highest_scores(views, rng):
    strange = [part[:3] for part in uniform(views, rng)]
    joined = [np.concatenate([view, part]) for view, part in zip(views, strange, strict=True)]
    model = OMVCDR(n_clusters=3, n_init=2, random_state=0).fit(joined)
    assert {300, 301, 302} <= set(np.argsort(model.outlier_score_)[-8:])


def test_a_cluster_that_was_left_out_is_told(rng):
    data, target = make_multiview_blobs(
        400, n_features=(20, 12), n_clusters=4, random_state=1, return_X_y=True
    )
    views = [np.asarray(view) for view in data.views]
    seen, held = np.flatnonzero(target != 0)[::2], np.flatnonzero(target != 0)[1::2]
    model = OMVCDR(n_clusters=3, n_init=2, random_state=0).fit([view[seen] for view in views])
    left_out = [view[target == 0] for view in views]
    assert auroc(model, [view[held] for view in views], left_out) >= 0.95


def test_scores_are_opposite_of_one_another_and_finite(model, views):
    scores = model.score_samples(views)
    assert scores.shape == (300,)
    assert (scores <= 0).all()
    assert np.isfinite(model.outlier_score_).all()
    assert model.outlier_score_.shape == (200,)
    # about one of a hundred samples of the fit is above the quantile, fewer above the threshold
    assert (model.outlier_score_ > model.outlier_threshold_).mean() <= 0.01


def test_only_the_views_present_count(model, views, rng):
    one = [views[0][200:], np.full((100, 30), np.nan)]
    strange = [uniform(views, rng)[0], np.full((N_NEW, 30), np.nan)]
    assert np.isfinite(model.score_samples(one)).all()
    assert (model.score_samples(one) < -model.outlier_threshold_).mean() <= 0.05
    assert auroc(model, one, strange) >= 0.95


def test_the_fit_itself_may_lack_views(views, rng):
    gaps = [view.copy() for view in views]
    gaps[0][:40], gaps[1][60:90] = np.nan, np.nan
    model = OMVCDR(n_clusters=3, n_init=2, random_state=0).fit([view[:200] for view in gaps])
    assert np.isfinite(model.outlier_score_).all()
    assert auroc(model, [view[200:] for view in views], uniform(views, rng)) >= 0.99


def test_samples_of_weight_zero_are_scored_and_do_not_count(views, rng):
    strange = uniform(views, rng)
    joined = [np.concatenate([view, part]) for view, part in zip(views, strange, strict=True)]
    weights = np.repeat([1.0, 0.0], [300, N_NEW])
    weighted = OMVCDR(n_clusters=3, n_init=2, random_state=0).fit(joined, sample_weight=weights)
    plain = OMVCDR(n_clusters=3, n_init=2, random_state=0).fit(views)
    np.testing.assert_allclose(weighted.outlier_score_[:300], plain.outlier_score_)
    assert (weighted.outlier_score_[300:] > weighted.outlier_threshold_).mean() >= 0.95


def test_more_samples_than_the_subset_are_scored_in_a_pass(views, rng, monkeypatch):
    monkeypatch.setattr(outliers, "SUBSET_ROWS", 120)
    model = OMVCDR(n_clusters=3, n_init=2, random_state=0).fit(views)
    others = -model.score_samples(views)
    is_equal = np.isclose(model.outlier_score_, others)
    assert 180 <= is_equal.sum() < 300  # the subset is compared with its other folds
    assert auroc(model, views, uniform(views, rng)) >= 0.99


def test_streamed_views_have_the_scores_of_views_in_memory(views, tmp_path, monkeypatch):
    monkeypatch.setattr(outliers, "SUBSET_ROWS", 120)
    for v, view in enumerate(views):
        np.save(tmp_path / f"{v}.npy", view)
    make = partial(OMVCDR, n_clusters=3, n_init=2, random_state=0)
    memory = make().fit(views)
    paths = [tmp_path / f"{v}.npy" for v in range(2)]
    stream = make(engine="stream", memory_limit=1e8).fit(paths)
    np.testing.assert_allclose(stream.outlier_score_, memory.outlier_score_, rtol=1e-6)
    np.testing.assert_allclose(stream.score_samples(paths), memory.score_samples(views), rtol=1e-6)


def test_a_model_file_holds_what_scores_need(model, views, tmp_path):
    model.save(tmp_path / "model.mv")
    loaded = OMVCDR.load(tmp_path / "model.mv")
    np.testing.assert_array_equal(loaded.score_samples(views), model.score_samples(views))
    np.testing.assert_array_equal(loaded.outlier_score_, model.outlier_score_)
    assert loaded.outlier_threshold_ == model.outlier_threshold_


@pytest.mark.parametrize("options", [{"scale": None}, {"scale": "z"}, {"scale": ["z", "l2", "z"]}])
def test_any_scaling_without_smoothing(views, rng, options):
    seen = [view[:200] for view in views]
    model = OMVCDR(n_clusters=3, n_init=2, random_state=0, **options).fit(seen)
    assert auroc(model, [view[200:] for view in views], uniform(views, rng)) >= 0.95


def test_one_cluster(views, rng):
    blob = [rng.standard_normal((150, d)) for d in (20, 12)]
    model = OMVCDR(n_clusters=1, random_state=0).fit(blob)
    far = [8 * rng.standard_normal((N_NEW, d)) for d in (20, 12)]
    assert (-model.score_samples(far) > model.outlier_threshold_).mean() >= 0.95


@pytest.mark.filterwarnings("ignore::manyview.exceptions.DataWarning")
def test_a_constant_view_changes_little(views, rng):
    constant = np.ones((300, 5))
    seen = [view[:200] for view in (*views, constant)]
    model = OMVCDR(n_clusters=3, n_init=2, random_state=0).fit(seen)
    strange = [*uniform(views, rng), np.ones((N_NEW, 5))]
    assert np.isfinite(model.outlier_score_).all()
    assert auroc(model, [view[200:] for view in (*views, constant)], strange) >= 0.99


def test_sparse_views_have_the_scores_of_dense_ones(rng):
    counts = rng.poisson(rng.gamma(0.3, 1.0, (3, 60))[np.arange(240) % 3]).astype(np.float64)
    dense = [counts[:, :35], counts[:, 35:]]
    make = partial(OMVCDR, n_clusters=3, n_init=2, random_state=0)
    model = make().fit([sparse.csr_array(view) for view in dense])
    np.testing.assert_allclose(model.outlier_score_, make().fit(dense).outlier_score_, rtol=1e-4)


def test_negative_counts_are_stranger_than_all_samples_of_the_fit(rng):
    counts = rng.poisson(5.0, (120, 20)).astype(np.float64)
    model = OMVCDR(n_clusters=2, n_init=1, random_state=0).fit(counts)
    strange = model.score_samples(-counts[:5] - 1)
    assert strange.max() < 1.5 * model.score_samples(counts).min()


@pytest.mark.filterwarnings("ignore:n_clusters=")
@pytest.mark.parametrize("n_samples", [2, 5, 12])
def test_fewer_samples_than_folds_or_directions(rng, n_samples):
    tiny = [rng.standard_normal((n_samples, d)) for d in (4, 3)]
    model = OMVCDR(n_clusters=2, n_init=1, random_state=0).fit(tiny)
    assert np.isfinite(model.outlier_score_).all()
    assert np.isfinite(model.score_samples(tiny)).all()


def test_views_far_from_the_origin(views, rng):
    far = [view + 1e5 for view in views]
    near = OMVCDR(n_clusters=3, n_init=1, random_state=0, scale="z").fit(views)
    model = OMVCDR(n_clusters=3, n_init=1, random_state=0, scale="z").fit(far)
    np.testing.assert_allclose(model.outlier_score_, near.outlier_score_, rtol=1e-3, atol=1e-3)


def test_the_summary_names_the_most_unusual_samples(model, views):
    data = MultiViewData.of([view[:200] for view in views])
    summary = describe_outliers(model, data)
    assert summary["n_outliers"] == (model.outlier_score_ > model.outlier_threshold_).sum()
    assert sum(row["n_outliers"] for row in summary["clusters"]) == summary["n_outliers"]
    first = summary["samples"][0]
    assert first["score"] == model.outlier_score_.max()
    assert first["cluster"] == model.labels_[np.argmax(model.outlier_score_)]


def test_batches_are_scored(views):
    model = OMVCDR(n_clusters=3, n_init=1, random_state=0)
    model.partial_fit([view[:200] for view in views]).partial_fit([view[200:] for view in views])
    assert model.outlier_score_.shape == (100,)


def test_many_equal_rows_are_not_alarms(rng):
    """All-zero rows, in effect a missing view: bases explain each of them nearly fully."""
    bags = [rng.poisson(rng.gamma(0.5, 1.0, (3, d))[np.arange(600) % 3]) for d in (60, 40)]
    views = [bag.astype(np.float64) for bag in bags]
    views[1][rng.random(600) < 0.7] = 0
    model = OMVCDR(n_clusters=3, n_init=1, random_state=0).fit([view[:400] for view in views])
    new = -model.score_samples([view[400:] for view in views])
    assert (new > model.outlier_threshold_).mean() <= 0.05
