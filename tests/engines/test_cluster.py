"""Fits on clusters of real processes: the same labels as in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from manyview import OMVCDR, open_rows
from manyview.data.partitions import PartitionedViews, rows_between
from manyview.datasets import load_benchmark
from manyview.engines import Batches
from manyview.engines.parts import rows_per_part
from manyview.exceptions import ViewError
from manyview.kernels.block import CHUNK_ROWS

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
clusters = pytest.importorskip("helpers.clusters")
its = pytest.importorskip("helpers.on_clusters")

few_rows, no_hang, client = its.few_rows, its.no_hang, its.client  # fixtures
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, when workers are killed
SETTINGS, N = its.SETTINGS, its.N
blobs, partitioned = its.blobs, its.partitioned
in_memory, on_cluster = its.in_memory, its.on_cluster
CUTS = {
    "as parts": (4 * CHUNK_ROWS,) * 5 + (77,),
    "one": (N,),
    "unequal, some empty": (0, 1, 9000, 0, 3000, N - 12001, 0),
}


@pytest.mark.parametrize(("scale", "missing_rate"), [(None, 0.1), ("auto", 0.0)])
def test_labels_are_those_of_rows_in_memory(client, scale, missing_rate):
    views = blobs(missing_rate=missing_rate)
    here = in_memory(views, scale=scale)
    there = on_cluster(client, partitioned(views), scale=scale)
    np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-12)
    assert there.n_iter_ == here.n_iter_
    for ours, theirs in zip(there.cluster_centers_, here.cluster_centers_, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cut", CUTS)
def test_labels_do_not_depend_on_the_partitions(client, cut):
    views = blobs()
    here = in_memory(views, scale=None)
    there = on_cluster(client, partitioned(views, CUTS[cut]), scale=None)
    np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)


def test_labels_do_not_depend_on_the_number_of_workers(client):
    views, found = partitioned(blobs(1)), []
    with clusters.local_cluster(3) as other:
        for one in (client, other):
            with one.as_current():
                models = [on_cluster(one, views, scale=scale) for scale in (None, "auto")]
                found.append([(np.asarray(model.labels_), model.objective_) for model in models])
    for (two, F_two), (three, F_three) in zip(*found, strict=True):
        np.testing.assert_array_equal(two, three)
        assert F_two == F_three  # to the last bit


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_ten_sets_have_the_same_labels_with_any_number_of_workers(n_workers):
    with clusters.local_cluster(n_workers) as client:
        for seed in range(10):
            views = blobs(seed, missing_rate=0.1 * (seed % 2))
            scale = (None, "auto")[seed % 3 == 0]
            here = in_memory(views, scale=scale, random_state=seed)
            there = on_cluster(client, partitioned(views), scale=scale, random_state=seed)
            np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_sets_of_benchmarks_have_the_same_labels_with_any_number_of_workers(n_workers, data_home):
    with clusters.local_cluster(n_workers) as client:
        for name in ("scene15", "ccv", "handwritten_6v"):
            data, y = load_benchmark(name, data_home=data_home, return_X_y=True)
            views = [np.asarray(X, dtype=np.float64) for X in data.views]
            settings = {**SETTINGS, "n_init": 2, "max_iter": 20}
            k = len(np.unique(y))
            here = OMVCDR(k, label_step="sharded", **settings).fit(views)
            X = [da.from_array(X, chunks=(1500 + 100 * v, -1)) for v, X in enumerate(views)]
            there = OMVCDR(k, engine=client, **settings).fit(X)
            np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)


def test_files_and_frames_give_the_same_labels(client, tmp_path):
    views = blobs()
    here = in_memory(views, scale=None)
    for v, X in enumerate(views):
        folder = tmp_path / str(v)
        folder.mkdir()
        for part, rows in enumerate(np.array_split(X, 7)):
            frame = pd.DataFrame(rows, columns=[f"f{j}" for j in range(X.shape[1])])
            frame.to_parquet(folder / f"part-{part}.parquet")
        np.save(tmp_path / f"{v}.npy", X)
    of_files = {f"view_{v}": str(tmp_path / f"{v}.npy") for v in range(2)}
    of_shards = {f"view_{v}": open_rows(tmp_path / str(v)) for v in range(2)}
    of_frames = {f"view_{v}": dd.read_parquet(tmp_path / str(v)) for v in range(2)}
    for X in (of_files, of_shards, of_frames):
        there = on_cluster(client, X, scale=None)
        np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)
    assert list(there.view_features_[0][:2]) == ["f0", "f1"]


def test_files_larger_than_the_workers_are_read_in_each_pass(client, tmp_path, monkeypatch):
    from manyview.engines import cluster

    monkeypatch.setattr(cluster, "IN_MEMORY_SHARE", 0.0)
    views = blobs()
    for v, X in enumerate(views):
        np.save(tmp_path / f"{v}.npy", X)
    there = on_cluster(client, [str(tmp_path / f"{v}.npy") for v in range(2)], scale=None)
    np.testing.assert_array_equal(np.asarray(there.labels_), in_memory(views, scale=None).labels_)


def test_results_on_collections_are_lazy_and_those_of_rows_in_memory(client):
    views = blobs(missing_rate=0.1)
    X = partitioned(views)
    model = on_cluster(client, X, check_structure=True)
    labels = np.asarray(model.labels_)
    for found, wanted in [
        (model.predict(X), labels),
        (model.transform(X), model.transform(views)),
        (model.score_samples(X), model.score_samples(views)),
        (model.confidence_, model.assign(views).confidence),
        (model.outlier_score_, -model.score_samples(views)),
    ]:
        assert isinstance(found, da.Array)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(views), labels)
    assert model.structure_.verdict in ("clear", "weak", "none")
    assert model.explain().view_weights.shape == (6, 2)


def test_a_model_of_a_cluster_is_saved_with_a_sample_of_the_labels(client, tmp_path):
    views = blobs()
    model = on_cluster(client, partitioned(views))
    model.save(tmp_path / "model.mv")
    again = OMVCDR.load(tmp_path / "model.mv")
    np.testing.assert_array_equal(again.predict(views), np.asarray(model.labels_))
    assert again.engine == "dask"


def test_the_current_client_an_address_and_a_client_are_the_same_cluster(client):
    views = partitioned(blobs(), (N,))
    labels = [
        np.asarray(OMVCDR(6, engine=engine, scale=None, **SETTINGS).fit(views).labels_)
        for engine in ("dask", client.scheduler.address, client)
    ]
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], labels[2])
    assert clone(OMVCDR(6, engine=client)).engine is client


def test_rows_that_cannot_be_clustered_are_named(client):
    views = blobs()
    views[1][15_000, 3] = np.inf
    with pytest.raises(ViewError, match="In the rows from 12288 to 16384.*view_1"):
        on_cluster(client, partitioned(views))


@pytest.mark.parametrize(
    ("more", "given", "words"),
    [
        ({}, {"sample_weight": np.ones(N)}, "all samples count the same"),
        ({}, {"present": np.ones((N, 2), bool)}, "rows of NaN"),
        ({}, {"checkpoint": "folder"}, "without one"),
        ({"label_step": "parallel"}, {}, "'auto' or 'sharded'"),
        ({"device": "cuda"}, {}, "compute on their CPUs"),
    ],
)
def test_what_a_cluster_does_not_take_is_refused(client, more, given, words):
    with pytest.raises(ValueError, match=words):
        OMVCDR(6, engine=client, **more).fit(partitioned(blobs()), **given)


def test_batches_are_refused_and_sharded_steps_are_of_rows_in_memory(client):
    with pytest.raises(ValueError, match="partial_fit was called with engine='dask'"):
        OMVCDR(6, engine="dask").partial_fit(blobs())
    with pytest.raises(ValueError, match="expected rows in memory or on a cluster"):
        OMVCDR(6, engine="stream", label_step="sharded").fit(blobs())
    with pytest.raises(ValueError, match="sample_weight was given"):
        OMVCDR(6, label_step="sharded").fit(blobs(), sample_weight=np.arange(1.0, N + 1))


def test_collections_of_different_lengths_or_kinds_are_refused(client):
    views = partitioned(blobs())
    with pytest.raises(ViewError, match="All views must describe the same samples"):
        on_cluster(client, [views[0], views[1][:-5]])
    with pytest.raises(ViewError, match="Dask Series"):
        on_cluster(client, [views[0], dd.from_dask_array(views[1])[0]])
    with pytest.raises(ViewError, match="3 dimensions"):
        on_cluster(client, [views[0], views[1][:, :, None]])


def test_parts_are_whole_chunks_and_a_constant_of_the_data():
    for n in (1, 1024, 5000, 100_000, 10**9):
        rows = rows_per_part(n, 128)
        assert rows % CHUNK_ROWS == 0
        n_parts = -(-n // rows)
        assert n_parts == 1 or n_parts * rows - n < rows
    assert rows_per_part(10**9, 2048) * 2048 <= 2**27
    assert Batches(16).finer() == Batches(2, 16)
    assert Batches(2).finer() == Batches(1, 16)


def test_a_slice_of_shards_refers_only_to_the_files_it_needs(tmp_path):
    whole = np.arange(60.0).reshape(20, 3)
    for part, rows in enumerate(np.array_split(whole, 5)):
        np.save(tmp_path / f"{part}.npy", rows)
    rows = open_rows(tmp_path / "*.npy")
    for begin, end in [(0, 20), (3, 9), (4, 8), (19, 20)]:
        found = rows_between(rows, begin, end)
        np.testing.assert_array_equal(np.asarray(found), whole[begin:end])
    assert rows_between(rows, 5, 7).source.path.name == "1.npy"
    assert PartitionedViews.of([rows, rows]).n_samples == 20
