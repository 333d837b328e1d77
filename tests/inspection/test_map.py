"""Pictures in the plane: who is drawn, and where."""

import numpy as np
import pytest

from manyview import MultiViewData
from manyview.inspection.features import profile_view
from manyview.inspection.map import draw_rows, embed_rows, place_samples, place_view


def test_few_samples_are_all_drawn():
    assert draw_rows(np.zeros(7, dtype=int), 10).tolist() == list(range(7))


def test_of_many_some_are_drawn_and_of_each_cluster():
    labels = np.repeat([0, 1, 2], [100_000, 20, 3000])
    rows = draw_rows(labels, 5000)
    assert len(rows) == len(set(rows)) == 5000
    assert (np.diff(rows) > 0).all()
    sizes = np.bincount(labels[rows])
    assert sizes[1] == 20
    assert 0.9 < sizes[0] / 5000 < 1


@pytest.mark.parametrize("rows", [np.arange(40), np.arange(1, 40, 3)])
def test_rows_are_embedded_in_pieces_and_in_order(rng, monkeypatch, rows):
    monkeypatch.setattr("manyview.inspection.map.PIECE_ROWS", 7)
    data = MultiViewData.of([rng.normal(size=(40, 3)), rng.normal(size=(40, 2))])
    sizes = []

    def transform(part):
        sizes.append(len(part))
        return part.views[0]

    np.testing.assert_array_equal(embed_rows(transform, data, rows), data.views[0][rows])
    assert max(sizes) <= 7


def test_clear_clusters_lie_apart_and_a_sample_in_between_lies_between(rng):
    means = 10 * np.eye(6)
    labels = np.repeat(np.arange(6), 30)
    Z = means[labels] + 0.1 * rng.normal(size=(180, 6))
    Z[0] = (means[0] + means[1]) / 2
    xy = place_samples(Z, labels, 6)
    middles = np.stack([np.median(xy[labels == c], axis=0) for c in range(6)])
    apart = np.linalg.norm(middles[:, None] - middles, axis=2)[~np.eye(6, dtype=bool)].min()
    spread = np.linalg.norm(xy - middles[labels], axis=1)[1:].max()
    assert spread < apart / 3
    np.testing.assert_allclose(xy[0], (middles[0] + middles[1]) / 2, atol=apart / 4)


def test_distances_between_two_and_three_clusters_are_kept():
    means = np.array([[0.0, 0, 0, 0], [3, 0, 0, 0], [0, 4, 0, 0]])
    xy = place_samples(np.repeat(means, 2, axis=0), np.repeat([0, 1, 2], 2), 3)
    distance = np.linalg.norm(xy[::2][:, None] - xy[::2], axis=2)
    np.testing.assert_allclose(distance[[0, 0, 1], [1, 2, 2]], [3, 4, 5], rtol=1e-6)


@pytest.mark.parametrize(("n", "D", "k"), [(5, 1, 1), (5, 3, 1), (6, 1, 2), (4, 2, 4)])
def test_any_shape_gets_a_finite_place(rng, n, D, k):
    xy = place_samples(rng.normal(size=(n, D)).astype(np.float32), np.arange(n) % k, k)
    assert xy.shape == (n, 2)
    assert np.isfinite(xy).all()


def test_equal_samples_are_placed(rng):
    assert np.isfinite(place_samples(np.ones((6, 3)), np.repeat([0, 1], 3), 2)).all()


def test_a_view_is_placed_along_the_axes_of_its_cluster_means(rng):
    """One feature carries the clusters: x is its z-score up to the sign; NaN where it lacks."""
    labels = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 3))
    X[:, 1] = 100 * labels + rng.normal(size=100)
    present = np.ones((100, 1), dtype=bool)
    present[3] = False
    data = MultiViewData(
        views=(X,), view_names=("a",), sample_names=None, feature_names=(None,), present=present
    )
    centers = np.stack([X[labels == c].mean(axis=0) for c in (0, 1)])
    profile = profile_view(X, present[:, 0], labels, centers, None)
    xy = place_view(data, 0, np.arange(100), profile)
    assert np.isnan(xy[3]).all()
    kept = present[:, 0]
    assert abs(np.corrcoef(xy[kept, 0], X[kept, 1])[0, 1]) > 0.95
