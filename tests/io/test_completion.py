"""Single missing values, estimated from those that are there."""

import numpy as np
import pandas as pd
import pytest

from manyview.exceptions import ViewError
from manyview.io import FittedView, read_new_samples, read_views
from manyview.io._completion import complete


def low_rank(n=80, sizes=(12, 9), rank=2, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, rank))
    return [
        10 * v + (1 + v) * (scores @ rng.normal(size=(rank, d)) + noise * rng.normal(size=(n, d)))
        for v, d in enumerate(sizes)
    ]


def with_holes(views, share, seed=1):
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(view.shape) < share, np.nan, view) for view in views]


def error(views, filled, holes):
    """Root mean square over the holes, in standard deviations."""
    parts = [
        ((a - b) / a.std(axis=0))[np.isnan(c)] for a, b, c in zip(views, filled, holes, strict=True)
    ]
    return np.sqrt(np.mean(np.concatenate(parts) ** 2))


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_values_of_low_rank_are_restored(share):
    views = low_rank()
    holes = with_holes(views, share)
    found = complete(holes)
    means = [np.where(np.isnan(x), np.nanmean(x, axis=0), x) for x in holes]
    assert error(views, [one.values for one in found], holes) < 0.35 * error(views, means, holes)
    assert all(one.n_directions >= 2 for one in found)
    for one, part in zip(found, holes, strict=True):
        np.testing.assert_array_equal(one.values[~np.isnan(part)], part[~np.isnan(part)])


def test_a_view_that_shares_directions_gets_them_from_the_others():
    """Four features are too few to find their two directions with most values missing."""
    views = low_rank(sizes=(60, 4))
    holes = [views[0], *with_holes(views[1:], 0.7)]
    found = complete(holes)
    assert found[1].is_from_all
    alone = complete(holes[1:])
    assert error(views, [one.values for one in found], holes) < 0.5 * error(
        views[1:], [alone[0].values], holes[1:]
    )


def test_noise_is_filled_nearly_with_means():
    views = [np.random.default_rng(0).normal(size=(300, 8))]
    holes = with_holes(views, 0.3)
    (found,) = complete(holes)
    means = [np.where(np.isnan(x), np.nanmean(x, axis=0), x) for x in holes]
    assert error(views, [found.values], holes) < 1.02 * error(views, means, holes)


@pytest.fixture
def files(tmp_path):
    """Two tables with holes; the second lacks a sample, has an empty row and an empty column."""
    first, second = with_holes(low_rank(), 0.2)
    names = pd.Index([f"s{i}" for i in range(80)], name="sample")
    second[4] = np.nan
    a = pd.DataFrame(first, index=names).add_prefix("a")
    b = pd.DataFrame(second, index=names).add_prefix("b").assign(empty=np.nan)
    b = b.drop(index="s7").iloc[::-1]
    for name, table in (("a", a), ("b", b)):
        table.to_parquet(tmp_path / f"{name}.parquet")
    return a, b, [tmp_path / "a.parquet", tmp_path / "b.parquet"]


def test_tables_are_filled_and_missing_views_stay_missing(files):
    a, b, paths = files
    loaded = read_views(paths, nan="estimate")
    data = loaded.data
    assert data.view_rows == (80, 78)
    assert list(data.sample_names[~data.present[:, 1]]) == ["s4", "s7"]
    for table, view in zip((a, b), data.views, strict=True):
        known = table.drop(columns="empty", errors="ignore").reindex(data.sample_names).to_numpy()
        is_known = ~np.isnan(known)
        np.testing.assert_array_equal(view[is_known], known[is_known])
        assert np.isfinite(view).all()
    actions = list(loaded.found["nan_action"])
    assert all("estimated from" in action for action in actions)
    assert actions[0].startswith(f"{int(a.isna().sum().sum())} estimated")


def test_complete_tables_stay_as_they_are(tmp_path):
    table = pd.DataFrame(low_rank()[0]).add_prefix("f")
    table.to_parquet(tmp_path / "a.parquet")
    loaded = read_views(tmp_path / "a.parquet", nan="estimate")
    np.testing.assert_array_equal(loaded.data.views[0], table)
    assert loaded.found["nan_action"][0] == ""


def test_infinite_values_are_refused(files, tmp_path):
    a, _, paths = files
    a.iloc[0, 0] = np.inf
    a.to_parquet(paths[0])
    with pytest.raises(ViewError, match="infinite value"):
        read_views(paths, nan="estimate")


def test_new_samples_get_the_values_of_the_nearest_cluster(tmp_path):
    centers = [np.array([[0.0, 0, 0], [5, 5, 5]]), np.array([[1.0, 1], [np.nan, np.nan]])]
    fitted = [
        FittedView(name, of.mean(axis=0), None, of, np.ones(of.shape[1]))
        for name, of in zip("ab", centers, strict=True)
    ]
    pd.DataFrame(
        {"sample": ["x", "y"], "f": [0.2, 4], "g": [np.nan, 6], "h": [0.1, np.nan]}
    ).to_csv(tmp_path / "a.csv", index=False)
    loaded = read_new_samples(tmp_path / "a.csv", fitted, nan="estimate")
    np.testing.assert_array_equal(loaded.data.views[0], [[0.2, 0, 0.1], [4, 6, 5]])
    assert loaded.found["nan_action"][0] == "2 filled from the nearest cluster"
    with pytest.raises(ViewError, match="needs the centers and spreads"):
        read_new_samples(tmp_path / "a.csv", [FittedView("a", np.zeros(3))], nan="estimate")
