"""Views that stay on disk are matched by names beside them, without being read."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from manyview import OMVCDR
from manyview.data.rows import Picked, Rows
from manyview.exceptions import ViewError
from manyview.io import open_views, read_views

N = 50
IDS = np.random.default_rng(1).choice(np.arange(1000, 9000), N, replace=False)


def vectors(seed, width=4):
    return np.random.default_rng(seed).normal(size=(N, width)).astype(np.float32)


@pytest.fixture
def pair(tmp_path, rng):
    """A Parquet file in small row groups and one in another order, with numbers beside them."""
    order = rng.permutation(N)
    for name, X, rows in (("one", vectors(0), np.arange(N)), ("two", vectors(1), order)):
        table = pa.table({"product_id": IDS[rows], "embedding": list(X[rows])})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=7)
    return [f"{tmp_path}/{name}.parquet::embedding" for name in ("one", "two")]


def test_rows_are_reordered_on_demand(pair):
    loaded = open_views(pair)
    assert all(isinstance(view, Rows) for view in loaded.data.views)
    np.testing.assert_array_equal(loaded.data.views[0], vectors(0))
    np.testing.assert_array_equal(loaded.data.views[1], vectors(1))
    assert list(loaded.data.sample_names) == [str(number) for number in IDS]
    assert "by the column 'product_id' of one.parquet::embedding and two" in loaded.matching
    assert "two.parquet::embedding: the rows are in another order" in loaded.notes[0]


def test_a_fit_of_reordered_rows_is_that_of_arrays(pair):
    data = open_views(pair).data
    expected = OMVCDR(3, random_state=0).fit([vectors(0), vectors(1)])
    model = OMVCDR(3, random_state=0, engine="stream").fit(data)
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_by_position_leaves_the_rows_as_they_are(pair):
    data = open_views(pair, by_position=True).data
    assert not any(isinstance(view, Picked) for view in data.views)
    assert np.any(np.asarray(data.views[1]) != vectors(1))


def test_an_array_is_reordered_rather_than_a_column_file(pair, tmp_path):
    order = np.random.default_rng(3).permutation(N)
    np.save(tmp_path / "a.npy", vectors(2)[order])
    pd.Series(IDS[order], name="any").to_csv(tmp_path / "a.csv", index=False)
    loaded = open_views([tmp_path / "a.npy", pair[1]], names=[tmp_path / "a.csv", ""])
    assert [isinstance(view, Picked) for view in loaded.data.views] == [True, False]
    assert loaded.notes == ()
    by_name = pd.Series(range(N), index=IDS.astype(str))[loaded.data.sample_names].to_numpy()
    for view, X in zip(loaded.data.views, (vectors(2), vectors(1)), strict=True):
        np.testing.assert_array_equal(view, X[by_name])


@pytest.mark.parametrize("missing", ["keep", "drop"])
def test_samples_that_some_views_lack(tmp_path, missing):
    np.save(tmp_path / "a.npy", vectors(0))
    np.save(tmp_path / "b.npy", vectors(1)[[7, 3, 20]])
    np.save(tmp_path / "ids.npy", IDS)
    np.save(tmp_path / "some.npy", IDS[[7, 3, 20]])
    loaded = open_views(
        [tmp_path / "a.npy", tmp_path / "b.npy"],
        names=[tmp_path / "ids.npy", tmp_path / "some.npy"],
        missing=missing,
    )
    data = loaded.data
    if missing == "drop":
        assert list(data.sample_names) == [str(number) for number in IDS[[3, 7, 20]]]
        np.testing.assert_array_equal(data.views[1], vectors(1)[[3, 7, 20]])
        assert loaded.found["dropped"].tolist() == [N - 3, 0]
    else:
        np.testing.assert_array_equal(np.flatnonzero(data.present[:, 1]), [3, 7, 20])
        np.testing.assert_array_equal(np.asarray(data.views[1])[[3, 7, 20]], vectors(1)[[3, 7, 20]])
        assert loaded.found["missing"].tolist() == [0, N - 3]


@pytest.mark.parametrize("ending", ["txt", "csv", "parquet", "npy"])
def test_files_of_names(tmp_path, ending):
    names = [f"s{i}" for i in range(N)]
    path = tmp_path / f"names.{ending}"
    if ending == "txt":
        path.write_text("\n".join(names) + "\n")  # no header
    elif ending == "npy":
        np.save(path, names)
    else:
        frame = pd.DataFrame({"name": names, "age": np.arange(N) % 7})
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    np.save(tmp_path / "a.npy", vectors(0))
    pd.DataFrame(vectors(1), index=names).iloc[::-1].to_csv(tmp_path / "b.csv")
    loaded = read_views([tmp_path / "a.npy", tmp_path / "b.csv"], names=[path, ""])
    np.testing.assert_array_equal(loaded.data.views[0], vectors(0))
    np.testing.assert_allclose(loaded.data.views[1], vectors(1), rtol=1e-6)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a.npy"], "--names lists 1 files for 2 views"),
        (["a.npy", ""], "expected one name per row"),
        (["short.csv", ""], "short.csv has 2 names, and .* has 50 rows"),
        (["short.csv::sample", ""], "has no column 'sample'"),
    ],
)
def test_files_of_names_that_do_not_fit(tmp_path, monkeypatch, names, said):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", vectors(0))
    np.save("b.npy", vectors(1))
    pd.DataFrame({"name": ["x", "y"]}).to_csv("short.csv", index=False)
    with pytest.raises(ViewError, match=said):
        open_views(["a.npy", "b.npy"], names=names)


def test_a_column_of_names_that_no_file_has(pair):
    with pytest.raises(ViewError, match="No file has a column 'patient'.*--names"):
        open_views(pair, id="patient")


def test_names_beside_shards_are_joined(tmp_path):
    order = np.random.default_rng(3).permutation(N)
    for p, rows in enumerate(np.array_split(order, 3)):
        table = pa.table({"product_id": IDS[rows], "embedding": list(vectors(0)[rows])})
        parquet.write_table(table, tmp_path / f"part-{p}.parquet")
    pd.DataFrame(vectors(1)).assign(product_id=IDS).rename(columns=str).to_parquet(
        tmp_path / "wide.parquet"
    )
    data = open_views([f"{tmp_path}/part-*.parquet::embedding", tmp_path / "wide.parquet"]).data
    assert data.n_features == (4, 4)  # the numbers that name the samples are no feature
    by_name = pd.Series(range(N), index=IDS.astype(str))[data.sample_names].to_numpy()
    for view, X in zip(data.views, (vectors(0), vectors(1)), strict=True):
        np.testing.assert_array_equal(view, X[by_name])
