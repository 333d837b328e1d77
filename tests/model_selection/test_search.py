"""The number of clusters: by hand, by definition, and on views whose number is known."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from manyview import MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import NotEnoughSamplesError
from manyview.model_selection import choose, search
from manyview.model_selection.choice import decide
from manyview.model_selection.graph import (
    PRECISION,
    Spectrum,
    decompose,
    join_neighbors,
    modularity,
)
from manyview.model_selection.sample import draw_sample, locate


def test_modularity_by_hand():
    """Two pairs without a link: all weight is inside, of which halves alone put one half."""
    graph = sparse.csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    assert modularity(graph, np.array([0, 0, 1, 1]), 2) == pytest.approx(1 - 1 / 2)
    assert modularity(graph, np.array([0, 1, 0, 1]), 2) == pytest.approx(-1 / 2)
    assert modularity(graph, np.array([0, 0, 0, 0]), 2) == pytest.approx(0)


def test_weights_join_the_nearest_and_fall_with_the_distance():
    points = np.random.default_rng(0).normal(size=(40, 3))
    graph = join_neighbors(points).toarray()
    distances = pairwise_distances(points) + np.diag(np.full(40, np.inf))
    radius = np.sort(distances, axis=1)[:, 4]  # the fifth nearest: five is the fewest
    is_near = distances <= radius[:, None]
    one_way = np.where(is_near, np.exp(-(distances**2) / np.outer(radius, radius)), 0)
    np.testing.assert_allclose(graph, (one_way + one_way.T) / 2, atol=1e-12)


def test_parts_without_a_link_are_the_clusters():
    graph = sparse.block_array(
        [
            [np.ones((4, 4)), None, None],
            [None, np.ones((5, 5)), None],
            [None, None, np.ones((9, 9))],
        ]
    )
    spectrum = decompose(sparse.csr_array(graph), 5, np.random.default_rng(0))
    np.testing.assert_allclose(spectrum.values, [1, 1, 1, 0, 0], atol=1e-6)
    labels = spectrum.partition(3)
    parts = [set(labels[rows]) for rows in (slice(0, 4), slice(4, 9), slice(9, 18))]
    assert [len(part) for part in parts] == [1, 1, 1]
    assert len(set.union(*parts)) == 3


def test_parts_of_a_large_graph_are_all_found():
    """Lanczos iteration alone finds some of these nine eigenvectors; which, rounding decides."""
    data = make_multiview_blobs(600, n_clusters=9, separation=12.0, random_state=0)
    rng = np.random.default_rng(0)
    graph = join_neighbors(locate(data.data, None, rng).points)
    spectrum = decompose(graph, 21, rng)
    np.testing.assert_allclose(spectrum.values[:9], 1, atol=1e-12)
    assert spectrum.values[9] < 0.99
    products = spectrum.vectors.T @ spectrum.vectors
    np.testing.assert_allclose(products, np.eye(21), atol=PRECISION)
    assert adjusted_rand_score(spectrum.partition(9), data.target) == 1


def test_points_too_far_for_a_weight_are_no_parts():
    points = np.random.default_rng(0).normal(size=(300, 4))
    points[7:9] += [[1e5], [-1e6]]
    graph = join_neighbors(points)
    assert (graph.sum(axis=1)[7:9] == 0).all()
    with np.errstate(divide="ignore"):
        spectrum = decompose(graph, 5, np.random.default_rng(0))
    np.testing.assert_allclose(spectrum.vectors[7:9], 0, atol=PRECISION)
    assert (spectrum.values[1:] < 0.99).all()


@pytest.mark.parametrize("n_clusters", [3, 6])
def test_rounding_does_not_choose_a_partition(n_clusters):
    data = make_multiview_blobs(500, n_clusters=2, random_state=0).data
    rng = np.random.default_rng(0)
    spectrum = decompose(join_neighbors(locate(data, None, rng).points), 7, rng)
    expected = spectrum.partition(n_clusters)
    for _ in range(5):
        rounded = spectrum.vectors * (1 + 1e-14 * rng.normal(size=spectrum.vectors.shape))
        labels = Spectrum(spectrum.values, rounded).partition(n_clusters)
        assert adjusted_rand_score(labels, expected) == 1


@pytest.mark.parametrize("n_clusters", [2, 5, 12])
def test_blobs_are_counted(n_clusters):
    data = make_multiview_blobs(500, n_clusters=n_clusters, random_state=0).data
    choice = choose(data, range(2, 21), random_state=0)
    assert (choice.n_clusters, choice.has_structure) == (n_clusters, True)
    assert choice.confidence > 0.7
    assert choice.p_value < 0.001
    assert choice.sentence.startswith(f"{n_clusters} clusters, high")


def one_view(kind, rng):
    return {
        "normal": lambda: rng.normal(size=(400, 20)),
        "uniform": lambda: rng.random((400, 6)),
        "two features": lambda: rng.normal(size=(400, 2)),
        "heavy tails": lambda: rng.standard_t(3, size=(400, 15)),
        "long": lambda: rng.normal(size=(400, 15)) * np.r_[8, 4, np.ones(13)],
        "counts": lambda: rng.poisson(1.0, size=(400, 15)),
        "wide": lambda: rng.normal(size=(80, 300)),
    }[kind]()


@pytest.mark.parametrize(
    "kind", ["normal", "uniform", "two features", "heavy tails", "long", "counts", "wide"]
)
def test_noise_has_no_structure(kind):
    rng = np.random.default_rng(1)
    choice = choose([one_view(kind, rng), one_view(kind, rng)], range(2, 16), random_state=0)
    assert not choice.has_structure
    assert choice.n_clusters >= 2
    assert f"the steadiest split has {choice.n_clusters} clusters" in choice.sentence
    # of the steadiest of fourteen splits
    assert choice.p_value > 0.01 / 14


def test_one_cluster_is_recommended_on_request_only():
    noise = make_multiview_blobs(200, n_clusters=1, random_state=0).data
    choice = choose(noise, range(1, 9), random_state=0)
    assert (choice.n_clusters, choice.has_structure) == (1, False)
    assert choice.table["n_clusters"].tolist() == list(range(2, 9))
    assert choice.sentence.endswith("since it is among the candidates.")
    assert choose(noise, range(2, 9), random_state=0).p_value == choice.p_value
    blobs = make_multiview_blobs(200, n_clusters=3, random_state=0).data
    assert choose(blobs, range(1, 9), random_state=0).n_clusters == 3


def test_one_blob_far_from_the_origin_has_no_structure():
    data = make_multiview_blobs(400, n_clusters=1, random_state=0).data
    moved = [view + 30 for view in data.views]
    assert not choose(moved, range(2, 16), random_state=0).has_structure


def test_a_continuum_that_all_views_share_has_no_structure():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(400, 3))
    views = [factors @ rng.normal(size=(3, d)) + rng.normal(size=(400, d)) / 2 for d in (20, 30)]
    assert not choose(views, range(2, 16), random_state=0).has_structure


def test_the_reference_has_the_mean_and_the_spread_of_the_rows():
    data = make_multiview_blobs(600, n_clusters=3, random_state=0).data
    rng = np.random.default_rng(0)
    place = locate(data, None, rng)
    drawn = place.one_blob(rng)
    spread = np.cov(place.points.T)
    assert np.abs(drawn.mean(axis=0) - place.points.mean(axis=0)).max() < 0.3
    assert np.abs(np.cov(drawn.T) - spread).max() < 0.2 * spread.max()
    np.testing.assert_allclose(sum(place.shares), np.eye(place.points.shape[1]), atol=1e-8)


@pytest.mark.parametrize("offset", [0, 1000])
def test_coordinates_keep_the_distances_of_the_scaled_views(offset):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(50, 4)) + offset, rng.normal(size=(50, 3))]
    place = locate(MultiViewData.of(views), None, rng)
    expected = pairwise_distances(np.hstack(views))
    np.testing.assert_allclose(pairwise_distances(place.points), expected, atol=1e-6)


def test_blobs_are_cut_into_every_small_number_and_others_lie_between(monkeypatch):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(400, 15)) * np.r_[8, 4, np.ones(13)] for _ in range(2)]
    quick = choose(views, tune=False, random_state=0).table["one_blob"]
    monkeypatch.setattr(search, "FEW", 40)
    full = choose(views, tune=False, random_state=0).table["one_blob"]
    np.testing.assert_allclose(quick[:9], full[:9])  # 2 to 10 clusters
    assert not np.allclose(quick, full)
    assert np.abs(quick - full).max() < 0.1 * full.max()


def patients(seed, share, n_clusters=4):
    """150 patients in clusters that touch; a share of them lacks the second view."""
    rng = np.random.default_rng(seed)
    blobs = make_multiview_blobs(
        150, (30, 12), n_clusters=n_clusters, separation=4.0, random_state=seed
    )
    first, second = blobs.data.views
    second[rng.choice(150, round(150 * share), replace=False)] = np.nan
    return MultiViewData.of({"rna": first, "protein": second})


@pytest.mark.parametrize(
    ("share", "least"), [(0, 5), (0.08, 5), (0.3, 5), pytest.param(0.6, 3, marks=pytest.mark.slow)]
)
def test_missing_views_do_not_hide_clusters(share, least):
    """Before, 8 % of missing rows left three of six data sets without structure."""
    found = [choose(patients(seed, share), tune=False, random_state=seed) for seed in range(6)]
    assert sum(one.has_structure and one.n_clusters == 4 for one in found) >= least


def one_view_less(seed, n_clusters, separation=5.0):
    """Three views, of which each sample has two."""
    blobs = make_multiview_blobs(
        150, (20, 15, 12), n_clusters=n_clusters, separation=separation, random_state=seed
    )
    lost = np.random.default_rng(seed).integers(3, size=150)
    for v, view in enumerate(blobs.data.views):
        view[lost == v] = np.nan
    return MultiViewData.of(list(blobs.data.views))


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_found_where_no_sample_has_all_views(seed):
    """Before, samples with the same views looked like clusters: 12, 11 and 5 of them."""
    choice = choose(one_view_less(seed, 4), tune=False, random_state=seed)
    assert (choice.n_clusters, choice.has_structure) == (4, True)


def test_samples_that_lack_a_view_are_counted_with_the_others():
    """The 80 samples with all views look like fewer clusters; all 240 are eight."""
    data = make_multiview_blobs(
        240, (40, 30, 10), n_clusters=8, separation=6.0, random_state=3
    ).data
    views = [np.array(view) for view in data.views]
    views[2][80:] = np.nan
    assert choose([view[:80] for view in views], tune=False, random_state=1).n_clusters < 8
    assert choose(views, tune=False, random_state=1).n_clusters == 8


@pytest.mark.parametrize("share", [0.08, 0.3, 0.6])
def test_missing_views_of_noise_are_no_structure(share):
    assert not choose(patients(0, share, n_clusters=1), tune=False, random_state=0).has_structure
    assert not choose(one_view_less(0, 1), tune=False, random_state=0).has_structure


def test_views_that_no_sample_links_are_not_compared():
    """Half of the samples have the first view, half the second: two clusters, if compared."""
    data = make_multiview_blobs(300, n_clusters=1, random_state=0).data
    data.views[0][:160], data.views[1][160:] = np.nan, np.nan
    drawn = draw_sample(MultiViewData.of(list(data.views)), 2000, np.random.default_rng(0))
    assert (drawn.n_samples, drawn.n_views) == (160, 1)
    assert not choose(list(data.views), tune=False, random_state=0).has_structure


def test_samples_with_all_views_come_first():
    data = make_multiview_blobs(600, n_clusters=6, missing_rate=0.3, random_state=0).data
    n_whole = data.present.all(axis=1).sum()
    rng = np.random.default_rng(0)
    assert draw_sample(data, 2000, rng) is data
    for drawn in (draw_sample(data, n_whole, rng), draw_sample(data, 900, rng, only_complete=True)):
        assert drawn.present.all()
        assert drawn.n_samples == n_whole
    assert choose(data, range(2, 16), random_state=0).n_clusters == 6


def test_samples_with_all_views_are_used_alone_where_that_is_clearer():
    choice = choose(patients(3, 0.6), tune=False, random_state=3)
    assert choice.sentence.startswith("4 clusters")
    assert "on 60 samples" in choice.sentence  # of 150


def test_the_same_seed_gives_the_same_table_and_threads_do_not_matter():
    data = make_multiview_blobs(3000, n_clusters=4, random_state=0).data
    tables = [
        choose(data, range(2, 7), max_samples=300, random_state=3, n_jobs=n).table for n in (1, 2)
    ]
    np.testing.assert_allclose(tables[0], tables[1])


def test_rows_from_before_are_not_computed_again():
    data = make_multiview_blobs(200, n_clusters=3, random_state=0).data
    told = []
    whole = choose(data, range(2, 7), tune=False, random_state=0)
    rows = whole.table.drop(columns="score").to_dict("records")
    again = choose(
        data,
        range(2, 7),
        tune=False,
        random_state=0,
        rows=rows[:3],
        on_progress=lambda *step: told.append(step),
    )
    assert [(row["n_clusters"], done, n_all) for row, done, n_all in told] == [(5, 4, 5), (6, 5, 5)]
    np.testing.assert_allclose(again.table, whole.table)


def row(k, modularity, excess, stability):
    return {"n_clusters": k, "modularity": modularity, "excess": excess, "stability": stability}


def decided(rows, **how):
    return decide(rows, 100, lambda k, modularity, n_blobs: n_blobs / 1000, **how)


def test_confidence_by_hand():
    """Excess × stability is 0.72; a rival two away with the same score takes half of it."""
    best, beside = row(5, 0.8, 0.8, 0.9), row(6, 0.8, 0.8, 0.9)
    alone = decided([best, row(9, 0.0, 0.5, 0.5)])
    assert (alone.n_clusters, alone.confidence) == (5, pytest.approx(0.72))
    assert decided([best, beside]).confidence == pytest.approx(0.72)
    rivaled = decided([best, {**best, "n_clusters": 7}])
    assert rivaled.confidence == pytest.approx(0.36)
    assert "Nearly as good: 7." in rivaled.sentence
    weak = decided([row(5, 0.8, 0.4, 0.6)])
    assert (weak.has_structure, weak.confidence) == (False, pytest.approx(1 - 0.24 / 0.25))
    assert "There is no clear structure, low" in weak.sentence


def test_without_structure_the_largest_product_is_named():
    """9 clusters have the larger score, 0.9² · 0.3 · √0.5; 3 have the larger excess × stability."""
    rows = [row(3, 0.5, 0.25, 0.8), row(9, 0.9, 0.3, 0.5)]
    choice = decided(rows)
    assert choice.table["score"].idxmax() == 1
    assert (choice.n_clusters, choice.has_structure, choice.p_value) == (3, False, 0.008)
    assert "the steadiest split has 3 clusters, but" in choice.sentence
    assert "the samples is 0.80 (maximum: 1); p-value against one blob: 0.008." in choice.sentence
    assert decided(rows, may_be_one=True).n_clusters == 1


def test_a_partition_that_one_blob_often_reaches_is_no_structure():
    rows = [row(5, 0.8, 0.8, 0.9)]
    assert decide(rows, 100, lambda *_: 0.04).has_structure
    assert not decide(rows, 100, lambda *_: 0.06).has_structure


@pytest.mark.parametrize("seed", [1, 7])
def test_one_long_blob_is_no_structure(seed):
    """Its modularity varies much from blob to blob; before, these two were clusters."""
    rng = np.random.default_rng(seed)
    views = [rng.normal(size=(400, 15)) * np.r_[8, 4, np.ones(13)] for _ in range(2)]
    assert not choose(views, tune=False, random_state=seed).has_structure


def test_equal_rows_are_no_structure():
    assert not choose([np.ones((40, 3)), np.ones((40, 2))], range(2, 6), scale=None).has_structure


@pytest.mark.parametrize("candidates", [[], [1], [0, 2], [2.5], ["3"]])
def test_candidates_that_make_no_sense_are_refused(candidates):
    with pytest.raises(
        ValueError, match=r"n_clusters=.*; expected integers >= 1, one of them >= 2"
    ):
        choose(np.ones((40, 3)), candidates)


def test_too_few_samples_are_refused():
    with pytest.raises(NotEnoughSamplesError, match="Found 7 samples; expected at least 8"):
        choose(np.eye(7))
