"""Coordinates of rows with missing views: exact where the others determine them."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from manyview import MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.model_selection.imputation import _learn
from manyview.model_selection.sample import locate


def hide(views, lost):
    """The views without the rows whose number in `lost` is that of the view."""
    return MultiViewData.of(
        [np.where((lost == v)[:, None], np.nan, view) for v, view in enumerate(views)]
    )


@pytest.mark.parametrize("n_lost", [10, 60])
def test_rows_of_low_rank_are_recovered(n_lost):
    """Three factors behind all views: any view determines them, and thereby the others."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(100, 3))
    views = [1 + factors @ rng.normal(size=(3, d)) for d in (8, 9, 10)]
    lost = np.where(np.arange(100) < n_lost, rng.integers(3, size=100), -1)
    found = pairwise_distances(locate(hide(views, lost), None, rng).points)
    expected = pairwise_distances(np.hstack(views))
    assert np.abs(found - expected).max() < 0.03 * expected.max()


def test_the_matrices_are_the_definition_row_by_row():
    """p = b (S + ρ Λ⁻¹)⁻¹ with b = Σ_present (x_v − m_v) W_v; a missing view is m_v + p W_vᵀ."""
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(30, d)) + 1 for d in (4, 5, 6)]
    joint, _ = np.linalg.qr(rng.normal(size=(15, 3)))
    bases = np.split(joint, [4, 9])
    means = [view.mean(axis=0) for view in views]
    prior = np.diag([0.1, 0.2, 0.3])
    absent = rng.random((30, 3)) < 0.3
    absent[absent.all(axis=1)] = False
    expected = []
    for i, gone in enumerate(absent):
        there = [v for v in range(3) if not gone[v]]
        b = sum((views[v][i] - means[v]) @ bases[v] for v in there)
        p = b @ np.linalg.inv(sum(bases[v].T @ bases[v] for v in there) + prior)
        filled = [means[v] + p @ bases[v].T if gone[v] else views[v][i] for v in range(3)]
        expected.append(np.concatenate(filled) @ joint)
    seen = sum(
        view @ W * ~gone[:, None] for view, W, gone in zip(views, bases, absent.T, strict=True)
    )
    shares = np.array([W.T @ W for W in bases])
    shifts = np.array([mean @ W for mean, W in zip(means, bases, strict=True)])
    found = _learn(absent, shares, shifts, prior).apply(seen)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_missing_rows_stay_with_their_cluster():
    """A row with one view missing is nearer to the mean of its own cluster than to all others."""
    data, target = make_multiview_blobs(
        200, (20, 30), n_clusters=4, separation=8.0, random_state=0, return_X_y=True
    )
    lost = np.random.default_rng(0).integers(4, size=200)  # half of them have all views
    points = locate(hide(data.views, lost), "auto", np.random.default_rng(0)).points
    means = np.array([points[(target == c) & (lost > 1)].mean(axis=0) for c in range(4)])
    nearest = pairwise_distances(points, means).argmin(axis=1)
    assert (nearest == target)[lost < 2].mean() > 0.98


def test_a_blob_lacks_the_views_that_its_rows_lack():
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(200, 20)), rng.normal(size=(200, 30))]
    lost = np.where(np.arange(200) < 100, 1, -1)
    found = locate(hide(views, lost), None, rng)
    spread = [np.square(points[:100] @ found.shares[1]).sum(axis=1).mean()
              for points in (found.points, found.one_blob(rng))]  # fmt: skip
    whole = np.square(found.points[100:] @ found.shares[1]).sum(axis=1).mean()
    assert spread[0] < 0.5 * whole  # independent views say nothing about each other
    assert spread[1] < 0.5 * whole
