"""The hierarchy of the clusters: costs by definition, levels, and clusters that should be one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_monotonic, is_valid_linkage
from sklearn.metrics import adjusted_rand_score

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError
from manyview.inspection.hierarchy import cut_hierarchy
from manyview.kernels.statistics import ClusterMoments
from manyview.solver.updates import merge_costs, objective

K = 8


@pytest.fixture(scope="module")
def blobs():
    return make_multiview_blobs(800, (12, 9), n_clusters=5, separation=5.0, random_state=0)


@pytest.fixture(scope="module")
def data(blobs):
    present = np.ones((800, 2), dtype=bool)
    present[::7, 1] = False
    return MultiViewData.of(list(blobs.data.views), present=present)


@pytest.fixture(scope="module")
def model(data):
    return OMVCDR(n_clusters=K, random_state=0).fit(data)


@pytest.fixture(scope="module")
def borders(model):
    return model.explain().borders


def joined(moments, first, second):
    """Moments with two clusters as one, in the place of the first."""
    both = moments.of([first]) + moments.of([second])
    left = [c for c in range(K) if c not in (first, second)]
    rest = moments.of(left)
    parts = ("rows", "count", "mean", "scatter")
    return ClusterMoments(
        moments.starts,
        *(np.concatenate([getattr(both, n), getattr(rest, n)], axis=1) for n in parts),
    )


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("size_weight", [0.0, 3.5])
def test_a_merge_costs_what_f_rises_by(data, smooth, size_weight):
    fitted = OMVCDR(n_clusters=K, smooth=smooth, random_state=0).fit(data)._fitted
    model = replace(fitted.model, size_weight=size_weight)
    before = objective(fitted.moments, model)
    for c, d in ((0, 1), (2, 7), (6, 3)):
        rise = objective(joined(fitted.moments, c, d), model) - before
        found = merge_costs(fitted.moments, model, c, np.array([d]))
        np.testing.assert_allclose(found, rise, rtol=1e-9, atol=1e-9 * abs(before))


def test_each_merge_is_the_cheapest_and_the_linkage_is_that_of_scipy(model):
    linkage = model.hierarchy_
    assert linkage.shape == (K - 1, 4)
    assert is_valid_linkage(linkage)
    assert is_monotonic(linkage)
    fitted = model._fitted
    costs = [
        merge_costs(fitted.moments, fitted.model, c, np.arange(c + 1, K)).min()
        for c in range(K - 1)
    ]
    assert linkage[0, 2] == pytest.approx(min(costs))
    assert linkage[-1, 3] == K


def test_merged_labels_find_the_groups_that_were_cut(model, blobs):
    assert adjusted_rand_score(blobs.target, model.merge(5)) > 0.95
    assert adjusted_rand_score(blobs.target, model.labels_) < 0.9
    np.testing.assert_array_equal(model.merge(K), model.labels_)
    assert set(model.merge(1)) == {0}
    for n in range(1, K):  # each level joins clusters of the one before
        pairs = set(zip(model.merge(n + 1), model.merge(n), strict=True))
        assert len(pairs) == n + 1


def test_labels_of_new_samples_are_merged_in_the_same_way(model, data, tmp_path):
    model.save(tmp_path / "model.mv")
    loaded = OMVCDR.load(tmp_path / "model.mv")
    new = loaded.predict(data[:30])
    np.testing.assert_array_equal(loaded.merge(5, new), model.merge(5)[:30])


def test_groups_are_numbered_in_the_order_of_their_first_cluster():
    linkage = np.array([[1, 3, 0.5, 2], [0, 4, 1.0, 3], [2, 5, 2.0, 4]])
    assert cut_hierarchy(linkage, 3).tolist() == [0, 1, 2, 1]
    assert cut_hierarchy(linkage, 2).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("n", [0, K + 1])
def test_a_level_that_does_not_exist_is_refused(model, n):
    with pytest.raises(ViewError, match=f"Ask for 1 to {K}"):
        model.merge(n)


def test_one_cluster_has_no_hierarchy(data):
    model = OMVCDR(n_clusters=1, random_state=0).fit(data)
    assert model.hierarchy_.shape == (0, 4)
    assert set(model.merge(1)) == {0}
    assert model.explain().borders.empty


def test_halves_of_a_group_are_proposed_as_one_and_groups_are_not(model, borders, blobs):
    main = [np.bincount(blobs.target[model.labels_ == c]).argmax() for c in range(K)]
    found = borders[borders["could_be_one"]]
    assert len(found) >= 2
    assert all(main[c] == main[d] for c, d in zip(found["cluster"], found["other"], strict=True))
    right = OMVCDR(n_clusters=5, random_state=0).fit(blobs.data).explain().borders
    assert not right["could_be_one"].any()


def test_the_counts_of_borders_are_those_of_the_samples(model, borders, data):
    row = borders.iloc[0]
    found = model.assign(data)
    c, d = row["cluster"], row["other"]
    one = (found.labels == c) & (found.next_labels == d)
    other = (found.labels == d) & (found.next_labels == c)
    sizes = np.bincount(found.labels)
    assert row["n"] == one.sum() + other.sum()
    assert row["share"] == pytest.approx(min(one.sum() / sizes[c], other.sum() / sizes[d]))
    assert row["confidence"] == pytest.approx(np.median(found.confidence[one | other]))


def test_noise_has_nothing_to_merge():
    noise = np.random.default_rng(0).normal(size=(300, 8))
    model = OMVCDR(n_clusters=4, random_state=0).fit([noise, noise[:, ::-1] + 1])
    if model.structure_.verdict == "none":
        assert not model.explain().borders["could_be_one"].any()
