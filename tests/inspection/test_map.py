"""The map of the samples: who is drawn, and where. It must show clusters as they are.

Islands are counted without labels: what is left of the minimum spanning tree of the points once
edges longer than four median edges are cut. Whether clusters look purer than they are is judged by
the neighbors: the share of a sample's ten nearest that have its label, on the map and in the space.
"""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from sklearn.neighbors import NearestNeighbors

from manyview import OMVCDR, MultiViewData
from manyview.data import open_rows
from manyview.datasets import load_digits_views, make_multiview_blobs
from manyview.inspection.coordinates import joint_coordinates
from manyview.inspection.layout import lay_out
from manyview.inspection.map import distances_to_means, draw_rows, place_view

LONG = 4.0  # median edges: longer ones are gaps
SHARES = (0.30, 0.22, 0.16, 0.12, 0.09, 0.06, 0.03, 0.02)


def islands(points, share=0.02):
    """Number of the island of each sample; -1 on those of few samples, at most a `share` of all."""
    tree = minimum_spanning_tree(squareform(pdist(points)))
    tree.data[tree.data > LONG * np.median(tree.data)] = 0
    tree.eliminate_zeros()
    _, found = connected_components(tree, directed=False)
    is_large = np.bincount(found) > max(share * len(points), 3)
    return np.where(is_large, np.cumsum(is_large) - 1, -1)[found]


def n_islands(points):
    return islands(points).max() + 1


def purity(points, labels):
    """Share of the ten nearest samples that have the label of a sample."""
    search = NearestNeighbors(n_neighbors=min(10, len(points) // 6)).fit(points)
    return float(np.mean(labels[search.kneighbors(return_distance=False)] == labels[:, None]))


def fitted(views, k, scale="auto"):
    data = MultiViewData.of(views)
    return OMVCDR(n_clusters=k, n_init=1, scale=scale, random_state=0).fit(data)


def mapped(model):
    """The map, the space that it shows, and the explanation."""
    explanation = model.explain()
    space = joint_coordinates(model._fitted, model._data, np.arange(len(model.labels_)))
    return explanation.map[["x", "y"]].to_numpy(), space, explanation


def noise(shape, kind, rng):
    views = [rng.normal(size=(shape[0], d)) for d in shape[1:]]
    if kind == "correlated":
        return [view @ np.diag(1 / np.arange(1, view.shape[1] + 1)) for view in views]
    if kind == "heavy tails":
        return [rng.standard_t(3, size=view.shape) for view in views]
    if kind == "counts":
        return [rng.poisson(3, size=view.shape).astype(float) for view in views]
    return views


def touching(rng, gap):
    """Two blobs; their centers are `gap` standard deviations apart."""
    target = np.arange(600) % 2
    views = [rng.normal(size=(600, d)) for d in (20, 30)]
    for view in views:
        view[:, 0] += gap / np.sqrt(2) * target
    return views, target


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((500, 50), "normal"),
        ((500, 30), "normal"),
        ((500, 50, 30), "normal"),
        ((60, 2000, 500), "normal"),
        ((150, 200, 180, 140), "normal"),
        ((1500, 10, 20), "normal"),
        ((300, 20, 40), "correlated"),
        ((300, 20, 40), "heavy tails"),
        ((300, 20, 40), "counts"),
    ],
)
def test_noise_gives_one_heap(rng, shape, kind):
    views = noise(shape, kind, rng)
    model = fitted(views, 4)
    points, space, explanation = mapped(model)
    assert n_islands(points) == 1
    assert n_islands(explanation.axes_map.to_numpy()) == 1
    assert purity(points, model.labels_) <= purity(space, model.labels_) + 0.05
    for table, view in zip(explanation.view_maps.values(), views, strict=True):
        assert n_islands(table.to_numpy()) == 1
        chance = np.sum((np.bincount(model.labels_) / shape[0]) ** 2)
        assert purity(table.to_numpy(), model.labels_) < chance + 0.35, view.shape


def test_the_map_does_not_know_the_labels(rng):
    data = MultiViewData.of(noise((200, 20, 10), "normal", rng))
    two, five = (fitted(data, k).explain().map[["x", "y"]] for k in (2, 5))
    np.testing.assert_array_equal(two, five)


@pytest.mark.parametrize("gap", [2, 3])
def test_touching_clusters_touch_on_the_map(rng, gap):
    views, target = touching(rng, gap)
    points, space, _ = mapped(fitted(views, 2))
    assert n_islands(points) == 1
    assert purity(space, target) - 0.05 < purity(points, target) < purity(space, target) + 0.1


def test_distant_clusters_lie_apart(rng):
    views, target = touching(rng, 10)
    points, _, explanation = mapped(fitted(views, 2))
    assert n_islands(points) == 2
    assert purity(points, target) > 0.99
    assert purity(explanation.view_maps["view_0"].to_numpy(), target) > 0.98


def test_a_ring_stays_a_ring(rng):
    angle = np.sort(rng.uniform(0, 2 * np.pi, 500))
    circle = 6 * np.column_stack([np.cos(angle), np.sin(angle)])
    views = [circle @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(500, d)) for d in (10, 15)]
    points, _, _ = mapped(fitted(views, 4))
    assert n_islands(points) == 1
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    assert radius.min() > 0.5 * np.median(radius)
    jump = np.linalg.norm(np.diff(points[::10], axis=0, append=points[:1]), axis=1)
    assert jump.max() < np.median(radius)


def test_clusters_of_30_to_2_percent_look_as_they_are():
    """Cut into equal parts by a fit or not: one island for each of them, of its size."""
    data, target = make_multiview_blobs(
        1000, (50, 30), n_clusters=8, separation=8, proportions=SHARES, random_state=0,
        return_X_y=True,
    )  # fmt: skip
    points, _, _ = mapped(fitted(data, 8))
    found = islands(points, 0.01)
    assert found.max() + 1 == 8
    assert np.mean(found == -1) < 0.01
    pairs = {(one, other) for one, other in zip(target, found, strict=True) if other >= 0}
    assert len(pairs) == 8
    spread = [np.prod(points[target == c].std(axis=0)) for c in range(8)]
    assert np.corrcoef(spread, np.bincount(target))[0, 1] > 0.9  # area shows size


@pytest.mark.parametrize(("n", "k"), [(600, 3), (600, 10), (3000, 10), (3000, 60)])
def test_clear_clusters_lie_apart(n, k):
    """Also beyond a thousand samples, where most lie beside a landmark."""
    data, target = make_multiview_blobs(
        n, (50, 40), n_clusters=k, separation=9, random_state=0, return_X_y=True
    )
    points, space, _ = mapped(fitted(data, k))
    assert purity(points, target) > 0.95
    assert purity(points, target) < purity(space, target) + 0.1
    if k <= 10:
        assert n_islands(points) == k


def test_digits_have_the_neighbors_of_the_space():
    data, target = load_digits_views(return_X_y=True)
    points, space, _ = mapped(fitted(data, 10))
    assert abs(purity(points, target) - purity(space, target)) < 0.05


def test_samples_without_a_view_stay_with_their_cluster():
    data, target = make_multiview_blobs(
        600, (30, 40), n_clusters=4, separation=8, missing_rate=0.3, random_state=0, return_X_y=True
    )
    points, _, explanation = mapped(fitted(data, 4))
    lacks = ~data.present.all(axis=1)
    nearest = NearestNeighbors(n_neighbors=5).fit(points[~lacks])
    neighbors = nearest.kneighbors(points[lacks], return_distance=False)
    assert np.mean(target[~lacks][neighbors] == target[lacks][:, None]) > 0.95
    assert n_islands(points) == 4
    for v, table in enumerate(explanation.view_maps.values()):
        np.testing.assert_array_equal(table["x"].isna(), ~data.present[:, v])


@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_a_missing_view_makes_no_island(rng, offset):
    """Neither if the mean of the view is far from the origin."""
    views = [view + offset for view in noise((400, 30, 20), "normal", rng)]
    present = np.ones((400, 2), dtype=bool)
    present[:80, 1] = False
    data = MultiViewData.of(views, present=present)
    model = fitted(data, 3, "unit")
    points, _, _ = mapped(model)
    assert n_islands(points) == 1
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    assert radius[:80].max() < 1.5 * radius[80:].max()


def test_sparse_views_and_views_on_disk_give_the_same_map(rng, tmp_path):
    X = rng.poisson(0.3, size=(300, 40)).astype(float)
    other = rng.normal(size=(300, 10))
    dense = fitted([X, other], 3)
    rows = np.arange(1, 300, 2)
    wanted = joint_coordinates(dense._fitted, dense._data, rows)
    np.save(tmp_path / "x.npy", X)
    for view in (sparse.csr_array(X), open_rows(tmp_path / "x.npy")):
        data = MultiViewData.of([view, other])
        found = joint_coordinates(dense._fitted, data, rows)
        np.testing.assert_allclose(found, wanted, atol=1e-8)
        assert np.isfinite(place_view(dense._fitted, data, 0, rows)).all()


@pytest.mark.parametrize(
    "views",
    [
        [np.arange(3.0)[:, None]],
        [np.arange(5.0)[:, None], np.ones((5, 2))],
        [np.arange(40.0)[:, None]],
        [np.repeat(np.eye(2), 30, axis=0)],
        [np.repeat(np.eye(3), 500, axis=0)],
    ],
    ids=["three samples", "a constant view", "one feature", "two points", "three points"],
)
@pytest.mark.parametrize("scale", ["auto", None])
@pytest.mark.filterwarnings("ignore::manyview.exceptions.DataWarning")
@pytest.mark.filterwarnings("ignore::manyview.exceptions.ConvergenceWarning")
def test_any_shape_gets_a_finite_place(views, scale):
    model = fitted(views, 2, scale)
    explanation = model.explain()
    assert np.isfinite(explanation.map[["x", "y"]]).all(axis=None)
    for table in explanation.view_maps.values():
        assert np.isfinite(table).all(axis=None)


def test_a_view_is_placed_along_its_principal_axes(rng):
    """One feature varies most: x is that feature up to scale and sign."""
    X = rng.normal(size=(100, 3))
    X[:, 1] *= 30
    model = fitted([X], 2, None)
    points = place_view(model._fitted, model._data, 0, np.arange(100))
    assert abs(np.corrcoef(points[:, 0], X[:, 1])[0, 1]) > 0.99


def test_coordinates_do_not_depend_on_the_pieces(rng, monkeypatch):
    """Also where some pieces lack a view and others do not."""
    present = np.ones((300, 2), dtype=bool)
    present[40:50, 1] = False
    data = MultiViewData.of(noise((300, 20, 10), "normal", rng), present=present)
    model = fitted(data, 3)
    whole = joint_coordinates(model._fitted, data, np.arange(300))
    monkeypatch.setattr("manyview.inspection.coordinates.PIECE_ROWS", 37)
    parts = joint_coordinates(model._fitted, data, np.arange(300))
    np.testing.assert_allclose(parts, whole, atol=1e-10)


def test_further_samples_lie_beside_a_landmark_that_resembles_them(rng, monkeypatch):
    """Landmarks are at their own place; the others stay near, and fill the same area."""
    X = rng.normal(size=(600, 3))
    monkeypatch.setattr("manyview.inspection.layout.N_LANDMARKS", 200)
    points = lay_out(X)
    nearest = NearestNeighbors(n_neighbors=30).fit(points).kneighbors(return_distance=False)
    apart = np.linalg.norm(X[nearest] - X[:, None], axis=2).mean()
    assert apart < 0.6 * pdist(X).mean()
    assert len(np.unique(points, axis=0)) == 600
    assert n_islands(points) == 1


def test_principal_axes_of_all_views(rng):
    views, target = touching(rng, 8)
    explanation = fitted(views, 2).explain()
    along = explanation.axes_map["x"].to_numpy()
    assert abs(np.corrcoef(along, target)[0, 1]) > 0.9
    assert explanation.axes_map.index.equals(explanation.map.index)


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
def test_distances_to_means_are_those_of_the_embedding_made_in_pieces(rng, monkeypatch, rows):
    monkeypatch.setattr("manyview.inspection.coordinates.PIECE_ROWS", 7)
    data = MultiViewData.of([rng.normal(size=(40, 3)), rng.normal(size=(40, 2))])
    sizes = []

    def transform(part):
        sizes.append(len(part))
        return part.views[0]

    X, labels = data.views[0][rows], np.arange(len(rows)) % 3
    means = np.array([X[labels == c].mean(axis=0) for c in range(3)])
    expected = np.linalg.norm(X - means[labels], axis=1)
    np.testing.assert_allclose(distances_to_means(transform, data, rows, labels), expected)
    assert max(sizes) <= 7
    monkeypatch.setattr("manyview.inspection.map.N_MEANS", 9)  # means of a part of the samples
    monkeypatch.setattr("manyview.inspection.map.N_SURE", 3)
    few = draw_rows(labels, 9)
    means = np.array([X[few][labels[few] == c].mean(axis=0) for c in range(3)])
    expected = np.linalg.norm(X - means[labels], axis=1)
    np.testing.assert_allclose(distances_to_means(transform, data, rows, labels), expected)
    assert max(sizes) <= 7
