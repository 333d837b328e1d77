"""An iteration in one visit of the rows, beside the one in two visits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from helpers.executors import AtOnce
from manyview import OMVCDR, open_rows
from manyview.datasets import make_multiview_blobs
from manyview.engines import Batches, streaming
from manyview.kernels.block import CHUNK_ROWS
from manyview.kernels.statistics import Frozen
from manyview.solver import alternation, fitting
from manyview.solver.updates import (
    accumulate,
    accumulate_all,
    moments_ahead,
    over_relaxed_step,
    project,
    shrinkage,
    update_H,
)
from manyview.utils.threads import limit_threads
from solver.test_updates import posed, problems

SETTINGS = {"scale": None, "n_init": 1, "random_state": 0, "check_structure": False}


@pytest.fixture
def files(tmp_path):
    """Two views of five chunks on disk, and as arrays."""
    found = make_multiview_blobs(
        5 * CHUNK_ROWS + 60, (12, 20), n_clusters=6, cluster_std=4.0, random_state=0
    )
    for v, X in enumerate(found.data.views):
        np.save(tmp_path / f"{v}.npy", X)
    return [tmp_path / "0.npy", tmp_path / "1.npy"]


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 1000)


def count_reads(monkeypatch, files):
    """Bytes read from the files so far, relative to their size, as the item of a list."""
    total, size = [0.0], sum(open_rows(file).nbytes for file in files)
    kind = type(open_rows(files[0]))
    read = kind.read

    def note(self, rows, out=None):
        values = read(self, rows) if out is None else read(self, rows, out)
        total[0] += values.nbytes / size
        return values

    monkeypatch.setattr(kind, "read", note)
    return total


@given(problems())
def test_means_at_new_bases_are_known_before_the_rows_are_visited(case):
    data, k, weights = case
    engine, model, moments = posed(data, k, weights=weights)
    found = engine.map_reduce(accumulate_all, model, shrinkage(moments, model))
    np.testing.assert_allclose(found.moments.mean, moments.mean, atol=1e-10)
    cross = engine.map_reduce(accumulate, shrinkage(moments, model))
    for once, twice in zip(found.cross.arrays, cross.arrays, strict=True):
        np.testing.assert_allclose(once, twice, atol=1e-10 * (1 + np.abs(twice).max()))
    turned = over_relaxed_step(update_H(found.cross, model), model)
    ahead, visited = moments_ahead(found, turned), engine.map_reduce(project, turned)
    np.testing.assert_array_equal(ahead.count, visited.count)
    scale = 1 + max(np.abs(np.nan_to_num(X)).max() for X in data.views)
    np.testing.assert_allclose(ahead.mean, visited.mean, atol=1e-9 * scale)


def check_sums_at_the_end(engine, taken, model, shrink):
    """What a visit returned is what two visits find at its labels."""
    now = engine.map_reduce(project, model)
    np.testing.assert_allclose(taken.moments.mean, now.mean, atol=1e-10)
    np.testing.assert_allclose(taken.moments.scatter, now.scatter, rtol=1e-8, atol=1e-8)
    cross = engine.map_reduce(accumulate, shrink)
    for once, twice in zip(taken.cross.arrays, cross.arrays, strict=True):
        np.testing.assert_allclose(once, twice, atol=1e-9 * np.abs(twice).max())


def test_a_visit_is_a_projection_a_sweep_and_the_sums_at_its_end(engine, rng):
    found = make_multiview_blobs(3 * CHUNK_ROWS + 50, (6, 9), n_clusters=4, random_state=0)
    other, model, moments = posed(found.data, 4, engine=engine)
    known = other.map_reduce(accumulate_all, model, shrinkage(moments, model))
    turned = update_H(known.cross, model)
    ahead = moments_ahead(known, turned)
    before = other.gather("labels").copy()
    shared = (turned, shrinkage(ahead, turned))
    start = (ahead.copy(), 0, 0)
    _, refused = other.scan_reduce(alternation.ONCE, start, 7, *shared, accept=lambda _: False)
    np.testing.assert_array_equal(other.gather("labels"), before)
    start = (ahead.copy(), 0, 0)
    (_, n_moved, n_seen), taken = other.scan_reduce(
        alternation.ONCE, start, 7, *shared, accept=lambda _: True
    )
    assert n_seen == other.n_samples
    after = other.gather("labels")
    assert n_moved > 0
    assert np.any(after != before)
    np.testing.assert_array_equal(refused.moments.mean, taken.moments.mean)
    check_sums_at_the_end(other, taken, *shared)


def test_an_iteration_reads_each_file_once_and_reaches_the_same_objective(files, monkeypatch):
    reads = count_reads(monkeypatch, files)
    # a thread may read a block ahead that is then dropped
    monkeypatch.setattr(streaming, "ThreadPoolExecutor", AtOnce)

    def fit(**more):
        reads[0] = 0.0
        few = {"engine": "stream", "memory_limit": 5e6}  # a chunk at a time
        return OMVCDR(6, **few, **SETTINGS, **more).fit(files), reads[0]

    def fit_twice(**more):
        with pytest.warns(match="max_iter"):
            (_, n_few), (model, n_more) = (fit(tol=0, max_iter=n_iter, **more) for n_iter in (2, 7))
        return model, n_more, n_more - n_few

    once, n_once, more = fit_twice()
    assert more == pytest.approx(5, abs=1)  # a block may be held or read ahead
    twice, n_twice, _ = fit_twice(n_passes=2)
    assert n_once <= 0.6 * n_twice
    assert once.objective_ <= twice.objective_ * (1 + 1e-4)
    np.testing.assert_array_equal(once.predict(files), once.labels_)
    for file, centers in zip(files, once.cluster_centers_, strict=True):
        X = np.load(file)
        means = [X[once.labels_ == c].mean(axis=0) for c in range(6)]
        np.testing.assert_allclose(centers, means, atol=1e-10)


def test_one_pass_in_memory_gives_the_labels_of_files(files):
    views = [np.load(file) for file in files]
    here = OMVCDR(6, engine="memory", n_passes=1, **SETTINGS).fit(views)
    there = OMVCDR(6, engine="stream", memory_limit=5e6, **SETTINGS).fit(files)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)


def test_one_pass_in_batches_gives_the_same_labels_from_files_and_on_threads(files):
    views = [np.load(file) for file in files]
    few = {"n_passes": 1, "label_step": "parallel", **SETTINGS}
    with limit_threads(1):
        here = OMVCDR(6, engine="memory", **few).fit(views)
    with limit_threads(3):
        there = OMVCDR(6, engine="stream", memory_limit=5e6, **few).fit(files)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    np.testing.assert_array_equal(here.predict(views), here.labels_)
    two = OMVCDR(6, **{**few, "n_passes": 2}).fit(views)
    assert here.objective_ <= two.objective_ * (1 + 1e-3)


def test_a_visit_in_batches_is_a_projection_moves_and_the_sums_at_its_end(engine):
    found = make_multiview_blobs(9 * CHUNK_ROWS + 50, (6, 9), n_clusters=4, random_state=0)
    other, model, moments = posed(found.data, 4, engine=engine)
    known = other.map_reduce(accumulate_all, model, shrinkage(moments, model))
    turned = update_H(known.cross, model)
    ahead = moments_ahead(known, turned)
    before, shared = other.gather("labels").copy(), (turned, shrinkage(ahead, turned))
    carry, batches = Frozen(ahead, 1), Batches()
    assert other.splits_into(batches)

    def visit(*, accepted):
        return other.reduce_batches(
            alternation.ONCE, carry, batches, *shared, accept=lambda _: accepted
        )

    visit(accepted=False)
    np.testing.assert_array_equal(other.gather("labels"), before)
    moved, taken = visit(accepted=True)
    assert moved.n_moved == np.count_nonzero(other.gather("labels") != before) > 0
    check_sums_at_the_end(other, taken, *shared)


@pytest.mark.parametrize("label_step", ["sequential", "parallel"])
def test_one_pass_over_sorted_rows_reaches_the_same_objective(label_step):
    data, y = make_multiview_blobs(
        40_000, (20, 30), n_clusters=6, cluster_std=4.0, random_state=0, return_X_y=True
    )
    data = data[np.argsort(y)]
    two = OMVCDR(6, **SETTINGS).fit(data)
    one = OMVCDR(6, n_passes=1, label_step=label_step, **SETTINGS).fit(data)
    assert one.objective_ <= two.objective_ * (1 + 1e-3)


def test_where_F_rose_the_labels_are_put_back_and_the_iteration_takes_two_visits(
    files, monkeypatch
):
    tried = []

    def wrong(found, model):
        """Means of other clusters, every other time."""
        tried.append(1)
        ahead = moments_ahead(found, model)
        return replace(ahead, mean=ahead.mean[:, ::-1]) if len(tried) % 2 else ahead

    monkeypatch.setattr(alternation, "moments_ahead", wrong)
    model = OMVCDR(6, engine="stream", tol=0, max_iter=8, **SETTINGS)
    with pytest.warns(match="max_iter"):
        model.fit(files)
    assert len(tried) == 8
    assert np.all(np.diff(model.objective_history_) <= 1e-9 * model.objective_)
    np.testing.assert_array_equal(model.predict(files), model.labels_)


def test_a_fit_resumes_with_another_limit_that_changes_the_engine(tmp_path):
    data = make_multiview_blobs(
        40_000, (12, 20), n_clusters=6, cluster_std=4.0, random_state=0
    ).data
    files = [tmp_path / f"large{v}.npy" for v in range(2)]
    for file, X in zip(files, data.views, strict=True):
        np.save(file, X)
    options = {"engine": "auto", "max_iter": 6, "tol": 0, **SETTINGS}
    small, large = {"memory_limit": 9.5e6}, {"memory_limit": None}
    with pytest.warns(match="max_iter"):
        expected = OMVCDR(6, **options, **large).fit(files)
    assert expected.engine_ == "memory"

    def stop(progress):
        if progress.n_starts == 1 and progress.n_iter == 3:
            raise InterruptedError

    for before, after in ((small, large), (large, small)):
        with pytest.raises(InterruptedError):
            OMVCDR(6, **options, **before).fit(files, callback=stop, checkpoint=tmp_path / "passes")
        with pytest.warns(match="max_iter"):
            resumed = OMVCDR(6, **options, **after).fit(files, checkpoint=tmp_path / "passes")
        assert resumed.engine_ == ("memory" if after is large else "stream")
        np.testing.assert_array_equal(resumed.labels_, expected.labels_)


def test_equal_rows_are_described_by_the_labels_of_the_fit(files, tmp_path):
    views = [np.repeat(np.load(file)[:4], 1500, axis=0) for file in files]
    paths = [tmp_path / f"tied{v}.npy" for v in range(2)]
    for path, X in zip(paths, views, strict=True):
        np.save(path, X)
    few = {**SETTINGS, "n_passes": 1}
    with pytest.warns(match="distinct samples"):
        here = OMVCDR(7, engine="memory", **few).fit(views)
    with pytest.warns(match="distinct samples"):
        there = OMVCDR(7, engine="stream", **few).fit(paths)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.view_weights_, here.view_weights_, rtol=1e-9)
    np.testing.assert_allclose(there.cluster_view_weights_, here.cluster_view_weights_, rtol=1e-9)
    used = np.bincount(here.labels_, minlength=7) > 0
    for centers, X in zip(there.cluster_centers_, views, strict=True):
        np.testing.assert_array_equal(np.isfinite(centers).all(axis=1), used)
        for c in np.flatnonzero(used):
            np.testing.assert_allclose(centers[c], X[there.labels_ == c].mean(axis=0), atol=1e-9)
