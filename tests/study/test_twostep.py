"""The model without labels: that of the published program at a vanishing λ."""

import numpy as np
import pytest

from manyview.baselines import PublishedOMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.study.twostep import factorize, two_step_scores


@pytest.fixture
def blobs():
    return make_multiview_blobs(50, (14, 16), n_clusters=3, random_state=0, return_X_y=True)


def test_the_factors_are_those_of_the_published_model_without_its_pull(blobs):
    data, _ = blobs
    _, history = factorize(data.views, [3, 6, 9])
    model = PublishedOMVCDR(3, lam=1e-14).fit(data)
    factor = 9  # the released program has the reconstruction over m²
    assert history == pytest.approx(factor * model.objective_history_, rel=1e-9)


def test_the_objective_is_that_of_the_definition_and_never_rises(blobs):
    data, _ = blobs
    Z, history = factorize(data.views, [3])
    bases = []
    for X in data.views:
        U, _, Wt = np.linalg.svd(X.T @ Z, full_matrices=False)
        bases.append(U @ Wt)
    pairs = zip(data.views, bases, strict=True)
    assert history[-1] == pytest.approx(sum(((X - Z @ H.T) ** 2).sum() for X, H in pairs))
    assert np.diff(history).max() <= 1e-9 * history[0]


def test_every_run_of_k_means_is_scored(blobs):
    data, target = blobs
    scores = two_step_scores(data, target, n_runs=4)
    assert len(scores) == 4
    assert all(0 <= score["acc"] <= 1 for score in scores)


def test_equal_weights_can_be_kept(blobs):
    data, _ = blobs
    model = PublishedOMVCDR(3, learn_weights=False).fit(data)
    assert model.space_weights_ == pytest.approx(np.full(3, 1 / 3))
    assert PublishedOMVCDR(3).fit(data).space_weights_.max() > 0.34
