"""Every feature against every cluster: against scikit-learn, and what is left out is told."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.inspection import ranking
from manyview.inspection.ranking import area_under_curve, rank_features

N = 120


@pytest.fixture(scope="module")
def data():
    blobs = make_multiview_blobs(N, (5, 7), random_state=0).data
    present = np.ones((N, 2), dtype=bool)
    present[::9, 1] = False
    rounded = np.asarray(blobs.views[0]).round()  # with ties
    return MultiViewData.of({"rna": rounded, "protein": blobs.views[1]}, present=present)


@pytest.fixture(scope="module")
def model(data):
    return OMVCDR(n_clusters=3, random_state=0).fit(data)


def test_areas_are_those_of_scikit_learn(model, data):
    table = model.rank_features()
    for row in table.sample(12, random_state=0).itertuples():
        v = data.view_names.index(row.view)
        has_it = slice(None) if data.present is None else data.present[:, v]
        j = list(model.explain().profiles[row.view].names).index(row.feature)
        values = np.asarray(data.views[v])[has_it, j]
        expected = roc_auc_score(model.labels_[has_it] == row.cluster, values)
        assert row.auroc == pytest.approx(expected)


def test_ranks_are_by_the_size_of_the_effect_over_all_views(model):
    table = model.rank_features()
    assert len(table) == 3 * 12
    for _, own in table.groupby("cluster"):
        assert own["rank"].tolist() == list(range(1, 13))
        assert own["effect"].abs().is_monotonic_decreasing
        assert set(own["view"]) == {"rna", "protein"}


def test_the_strongest_are_those_of_the_explanation(model):
    top = model.explain().features
    table = model.rank_features().set_index(["cluster", "view", "feature"])
    for row in top.itertuples():
        own = table.loc[(row.cluster, row.view, row.feature)]
        found = (own.effect, own["mean"], own.rest, own.n)
        assert found == pytest.approx((row.effect, row.mean, row.rest, row.n))


def test_sparse_views_have_the_areas_of_dense_ones(rng):
    dense = rng.poisson(0.5, (60, 8)).astype(float)
    labels = rng.integers(3, size=60)
    rows = np.arange(60)
    areas = [
        area_under_curve(MultiViewData.of([view, dense]), 0, rows, labels, 3)
        for view in (dense, sparse.csr_array(dense))
    ]
    np.testing.assert_array_equal(*areas)


def test_pieces_of_the_features_change_nothing(model, data, monkeypatch):
    whole = model.rank_features()
    monkeypatch.setattr(ranking, "PIECE_CELLS", 2 * N)
    pd.testing.assert_frame_equal(model.rank_features(), whole)


def test_what_is_left_out_is_told(model, data, monkeypatch):
    profiles = model.explain().profiles
    monkeypatch.setattr(ranking, "MOST_ROWS", 15)
    monkeypatch.setattr(ranking, "LEAST_SAMPLES", 60)
    monkeypatch.setattr(ranking, "CELLS", 60)
    table, notes = rank_features(profiles, data, model.labels_)
    assert (len(table), table["rank"].max()) == (15, 5)
    assert notes == [
        "features.csv has the 5 strongest of 12 features of each cluster.",
        "AUROC in features.csv is from 60 of the 120 samples, drawn at random.",
    ]


def test_one_cluster_has_no_others_to_compare_with(data):
    table = OMVCDR(n_clusters=1, random_state=0).fit(data).rank_features()
    assert table["auroc"].isna().all()
    assert table["effect"].isna().all()
