"""Near-duplicates that were planted are found, across borders of cells, too; balanced subsets."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from helpers.commands import manyview
from manyview import MultiViewData
from manyview.curation import cells, thin, thinning
from manyview.exceptions import ViewError

N, PLANTED, K = 900, 100, 6


@pytest.fixture(scope="module")
def planted():
    """Views with noisy copies; half of the originals lie between two groups. And the pairs."""
    rng = np.random.default_rng(0)
    group = rng.integers(K, size=N)
    copied = rng.permutation(N)[:PLANTED]
    order = rng.permutation(N + PLANTED)
    between = copied[: PLANTED // 2]
    views = []
    for d in (40, 30):
        centers = rng.normal(size=(K, d))
        X = centers[group] + 0.6 * rng.normal(size=(N, d))
        X[between] += (centers[(group[between] + 1) % K] - centers[group[between]]) / 2
        noise = rng.normal(size=(PLANTED, d))
        size = np.linalg.norm(X[copied], axis=1) / np.linalg.norm(noise, axis=1)
        X = np.vstack([X, X[copied] + 0.05 * size[:, None] * noise])
        views.append(X[order].astype(np.float32))
    place = np.argsort(order)
    pairs = {tuple(sorted(p)) for p in zip(place[copied], place[N:], strict=True)}
    return views, np.concatenate([group, group[copied]])[order], pairs


def found_pairs(table):
    dropped = table[table["reason"] == "near-duplicate"]
    of = dropped["duplicate_of"].astype(int)
    return {tuple(sorted(p)) for p in zip(dropped.index, of, strict=True)}


@pytest.fixture(params=["k-means", "labels", "many cells"])
def found(planted, request, monkeypatch):
    views, group, _ = planted
    if request.param == "many cells":
        monkeypatch.setattr(cells, "PER_CELL", 20)
        monkeypatch.setattr(thinning, "AT_ONCE", 7)
        monkeypatch.setattr(thinning, "REFERENCES", 11)
        monkeypatch.setattr(cells, "BLOCK_ROWS", 64)
    return thin(views, group if request.param == "labels" else None)


def test_all_planted_copies_are_found_and_nothing_else(found, planted):
    assert found_pairs(found.table) == planted[2]
    assert found.table["kept"].sum() == N


def test_what_is_kept_has_no_near_duplicates_and_what_is_dropped_is_one_of_it(found, planted):
    cosine = np.min([cosine_similarity(view) for view in planted[0]], axis=0)
    kept = found.kept
    assert np.triu(cosine[np.ix_(kept, kept)], 1).max() < 0.99
    dropped = found.table[~found.table["kept"]]
    of = dropped["duplicate_of"].astype(int).to_numpy()
    assert found.table["kept"].iloc[of].all()
    np.testing.assert_allclose(dropped["similarity"], cosine[dropped.index, of], atol=1e-5)


def test_chains_and_copies_keep_rows_that_are_apart():
    angle = np.radians([0, 5, 10, 15, 90, 90, 90])  # neighbors are alike, the next are not
    line = np.column_stack([np.cos(angle), np.sin(angle)])
    table = thin([line, line[:, ::-1].copy()], threshold=np.cos(np.radians(6))).table
    assert table["kept"].tolist() == [True, False, True, False, True, False, False]
    assert table["duplicate_of"].dropna().tolist() == [0, 2, 4, 4]


def test_all_views_must_agree_and_a_missing_view_is_alike_only_to_a_missing_one():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(8, 5)), rng.normal(size=(8, 4))
    A[1], B[1] = A[0], B[0]  # both
    A[3] = A[2]  # one view only
    A[[5, 6]] = A[4]
    present = np.ones((8, 2), dtype=bool)
    present[[4, 5], 1] = False
    table = thin(MultiViewData.of([A, B], present=present)).table
    assert np.flatnonzero(~table["kept"]).tolist() == [1, 5]


def test_a_quantile_sets_the_threshold(planted):
    views, _, pairs = planted
    found = thin(views, quantile=0.19)  # a fifth of the samples is alike to another
    assert 0.99 < found.threshold < 0.999
    assert found_pairs(found.table) <= pairs
    assert len(found_pairs(found.table)) >= 0.9 * len(pairs)


def test_a_subset_is_as_balanced_as_the_clusters_allow(planted):
    views, _, _ = planted
    labels = np.repeat([3, 5, 9], [20, 300, N + PLANTED - 320])
    table = thin(views, labels, n_samples=320).table
    sizes = table[table["kept"]].groupby("cluster").size()
    n_small = (table["reason"] != "near-duplicate")[:20].sum()
    assert sizes.sum() == 320
    assert sizes[3] == n_small
    assert abs(sizes[5] - sizes[9]) <= 1
    assert (table["reason"] == "beyond the share of its cluster").sum() == N - 320
    again = thin(views, labels, n_samples=320).table
    pd.testing.assert_frame_equal(table, again)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 1.5}, "expected a cosine"),
        ({"quantile": 0}, "expected a share"),
        ({"n_samples": 0}, "expected at least 1"),
        ({"labels": [1, 2]}, "expected one whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(planted, options, said):
    with pytest.raises(ViewError, match=said):
        thin(planted[0], **options)


def test_the_command_takes_parquet_and_gives_parquet(planted, tmp_path):
    views, group, pairs = planted
    names = [f"row-{i}" for i in range(len(group))]
    for name, view in zip(("img", "txt"), views, strict=True):
        table = pd.DataFrame({"id": names, "vector": list(view)})
        table.to_parquet(tmp_path / f"{name}.parquet", row_group_size=100)
    labels = pd.DataFrame({"sample": names[::-1], "cluster": group[::-1]})
    labels.to_parquet(tmp_path / "labels.parquet")
    files = ("img.parquet::vector", "txt.parquet::vector", "--id", "id", "--views", "img,txt")
    given = ("--labels", "labels.parquet", "--out", "kept", "--by-cluster", "--json")
    made = manyview("thin", *files, *given, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    said = json.loads(made.stdout)
    assert (said["n_kept"], said["dropped"]) == (N, {"near-duplicate": len(pairs)})
    rows = pd.read_parquet(tmp_path / "kept" / "rows.parquet")
    assert len(rows) == N + PLANTED
    assert len(list((tmp_path / "kept" / "rows.parquet").glob("cluster=*"))) == K
    assert set(rows.loc[~rows["kept"], "duplicate_of"]) <= set(rows.loc[rows["kept"], "sample"])
    kept = pd.read_parquet(tmp_path / "kept" / "txt.parquet")
    assert set(kept["sample"]) == set(rows.loc[rows["kept"], "sample"])
    first = kept.iloc[5]
    np.testing.assert_array_equal(first["vector"], views[1][names.index(first["sample"])])
    assert pq.read_schema(tmp_path / "kept" / "img.parquet").names == ["sample", "vector"]
    again = manyview("thin", *files, "--out", "kept", cwd=tmp_path)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "new or empty folder" in again.stderr
