"""Moments and effects of features, against their definitions."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from manyview.data import conversion
from manyview.inspection.features import profile_view


def cohen(inside, rest):
    within = ((inside - inside.mean()) ** 2).sum() + ((rest - rest.mean()) ** 2).sum()
    return (inside.mean() - rest.mean()) / np.sqrt(within / (len(inside) + len(rest) - 2))


def profile(view, labels, present=None, names=None):
    centers = np.stack([np.asarray(view[labels == c].mean(axis=0)) for c in np.unique(labels)])
    return profile_view(view, present, labels, centers, names)


@pytest.fixture
def labels():
    return np.repeat([0, 1, 2], [5, 9, 16])


@pytest.mark.parametrize("form", ["dense", "csr", "float32"])
@pytest.mark.parametrize("has_missing", [False, True])
def test_effects_by_definition(rng, labels, monkeypatch, form, has_missing):
    monkeypatch.setattr(conversion, "CHECKED_BYTES", 7 * 4 * 8)  # pieces of a few rows
    X = rng.normal(size=(30, 4)) + labels[:, None]
    X[np.abs(X) < 0.3] = 0
    present = rng.random(30) < 0.7 if has_missing else None
    kept = slice(None) if present is None else present
    view = {"dense": X, "csr": sparse.csr_array(X), "float32": X.astype(np.float32)}[form]
    found = profile(view, labels, present)
    own, values = labels[kept], X[kept]
    for c in range(3):
        inside, rest = values[own == c], values[own != c]
        expected = [cohen(inside[:, j], rest[:, j]) for j in range(4)]
        np.testing.assert_allclose(found.effect[c], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.mean[c], inside.mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(found.rest[c], rest.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.deviation, values.std(axis=0), rtol=1e-5)
    assert found.count.tolist() == np.bincount(own).tolist()


def test_effects_survive_a_large_offset(rng, labels):
    X = rng.normal(size=(30, 3)) + labels[:, None]
    np.testing.assert_allclose(
        profile(X + 1e9, labels).effect, profile(X, labels).effect, rtol=1e-4
    )


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_constant_feature_has_no_effect_and_is_no_top_feature(rng, labels, value, form):
    X = np.column_stack([np.full(30, value), labels + rng.normal(size=30)])
    found = profile(form(X), labels)
    assert not found.effect[:, 0].any()
    assert set(found.top(5)["position"]) == {1}
    assert found.heatmap(5).index.tolist() == ["feature 1"]


def test_a_feature_without_spread_inside_is_infinitely_strong_and_comes_first(rng, labels):
    X = np.column_stack([labels + rng.normal(size=30), labels == 0])
    top = profile(X.astype(float), labels).top(2)
    first = top[top["cluster"] == 0].iloc[0]
    assert first["position"] == 1
    assert first["effect"] == np.inf
    assert first["direction"] == "higher"


def test_a_cluster_without_the_view_has_no_features(rng, labels):
    X = rng.normal(size=(30, 3)) + labels[:, None]
    top = profile_view(X, labels != 1, labels, np.full((3, 3), np.nan), None).top(3)
    assert set(top["cluster"]) == {0, 2}
    assert np.isfinite(top["effect"]).all()


def test_top_features_are_ranked_named_and_have_a_direction(labels):
    noise = np.tile([-1.0, 1.0], 15)
    X = np.column_stack([noise, noise - 4 * (labels == 1), noise + 9 * (labels == 2)])
    top = profile(X, labels, names=np.array(["a", "b", "c"], dtype=object)).top(1)
    pd.testing.assert_series_equal(
        top.set_index("cluster")["feature"],
        pd.Series(["c", "b", "c"], index=pd.Index([0, 1, 2], name="cluster"), name="feature"),
        check_dtype=False,
    )
    assert top["direction"].tolist() == ["lower", "lower", "higher"]
    assert top["n"].tolist() == [5, 9, 16]


def test_the_heatmap_holds_standardized_means(rng, labels):
    X = rng.normal(size=(30, 6)) + labels[:, None] * np.arange(6)
    table = profile(X, labels).heatmap(3)
    assert len(table) == len(set(table.index)) <= 3
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    for name, row in table.iterrows():
        j = int(name.split()[1])
        np.testing.assert_allclose(row, [z[labels == c, j].mean() for c in range(3)], rtol=1e-9)


def test_one_cluster_has_nothing_to_differ_from(rng):
    X = rng.normal(size=(8, 2))
    found = profile(X, np.zeros(8, dtype=int))
    assert np.isnan(found.effect).all()
    assert found.top(3).empty


def test_a_feature_that_is_zero_in_a_cluster_has_mean_zero_there(rng, labels):
    X = rng.normal(size=(len(labels), 2)) + 5
    X[labels == 1, 0] = 0
    means = profile(X, labels).mean
    assert means[1, 0] == 0
    assert (means[[0, 2], 0] > 4).all()
