"""Rows on disk: the same labels as in memory, within a budget; killed and resumed."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from helpers.executors import AtOnce
from manyview import OMVCDR, MultiViewData, open_rows
from manyview.datasets import make_multiview_blobs
from manyview.engines import streaming
from manyview.engines.streaming import Streaming
from manyview.exceptions import CheckpointError
from manyview.kernels import choose_kernels
from manyview.kernels.block import CHUNK_ROWS
from manyview.kernels.statistics import ArraySums
from manyview.persistence.checkpoint import Checkpoint
from manyview.solver import alternation, fitting
from manyview.solver.updates import stash_labels
from manyview.utils.threads import limit_threads

N = 4 * CHUNK_ROWS + 77


@pytest.fixture(scope="module")
def arrays():
    data = make_multiview_blobs(N, (12, 20), n_clusters=5, cluster_std=4.0, random_state=0).data
    return list(data.views)


@pytest.fixture
def on_disk(arrays, tmp_path):
    """The same views as files, one of them in three shards."""
    np.save(tmp_path / "a.npy", arrays[0])
    for shard, part in enumerate(np.array_split(arrays[1], 3)):
        np.save(tmp_path / f"b-{shard}.npy", part)
    return [open_rows(tmp_path / "a.npy"), open_rows(str(tmp_path / "b-*.npy"))]


@pytest.fixture
def few_rows(monkeypatch):
    """Starts on a subset, refinement on all rows, and distance bounds, for small data too."""
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 1000)
    monkeypatch.setattr(alternation, "BOUND_ROWS", 1)


SETTINGS = {
    "as given": {"scale": None, "n_init": 2, "n_passes": 1},
    "in two passes": {"scale": None, "n_init": 2, "n_passes": 2},
    "default": {},
    "z": {"scale": "z", "n_passes": 1},
}


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_rows_on_disk_get_the_labels_of_rows_in_memory(arrays, on_disk, settings):
    here = OMVCDR(5, random_state=0, engine="memory", **settings).fit(arrays)
    there = OMVCDR(5, random_state=0, engine="stream", memory_limit=2e7, **settings).fit(on_disk)
    assert there.engine_ == "stream"
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    np.testing.assert_allclose(there.confidence_, here.confidence_, atol=1e-8)
    for mine, theirs in zip(there.cluster_centers_, here.cluster_centers_, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)
    np.testing.assert_array_equal(there.predict(on_disk), here.labels_)


@pytest.mark.usefixtures("few_rows")
def test_float32_rows_on_disk_reach_the_same_objective(arrays, tmp_path):
    single = [X.astype(np.float32) for X in arrays]
    for v, X in enumerate(single):
        np.save(tmp_path / f"{v}.npy", X)
    paths = [tmp_path / "0.npy", tmp_path / "1.npy"]
    settings = {"scale": None, "n_passes": 1, "random_state": 0}
    here = OMVCDR(5, engine="memory", **settings).fit(single)
    there = OMVCDR(5, engine="stream", **settings).fit(paths)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-5)


def test_a_memory_map_is_streamed_too(arrays, tmp_path):
    np.save(tmp_path / "a.npy", arrays[0])
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    settings = {"random_state": 0, "scale": None}
    here = OMVCDR(5, **settings).fit(arrays[0])
    there = OMVCDR(5, engine="stream", **settings).fit(mapped)
    np.testing.assert_array_equal(there.labels_, here.labels_)


def look_at_rows(block, kernels):
    return block, ArraySums((np.asarray(block.views[0].values).sum(axis=0),))


def test_rows_are_read_only_where_a_visit_needs_them(on_disk, monkeypatch):
    monkeypatch.setattr(streaming, "ThreadPoolExecutor", AtOnce)
    view, reads = on_disk[0], []
    read = type(view).read

    def note(self, rows, out=None):
        if self is view:  # the threads of an earlier fit may still read ahead in its files
            reads.append(rows)
        return read(self, rows)

    monkeypatch.setattr(type(view), "read", note)
    with limit_threads(1):  # as many blocks are held as there are threads, and one more
        engine = Streaming(choose_kernels("cpu"), block_rows=CHUNK_ROWS)
        engine.load(MultiViewData.of([view]), None)
        reads.clear()  # those of the check
        engine.map_reduce(stash_labels)
        assert reads == []
        totals = [engine.map_reduce(look_at_rows).arrays[0] for _ in range(2)]
    # each block once, in order; behind the last comes the first, for the next pass
    assert [rows.start for rows in reads] == [0, *(2 * [1024, 2048, 3072, 4096, 0])]
    np.testing.assert_allclose(totals, 2 * [np.asarray(on_disk[0]).sum(axis=0)])


@pytest.mark.parametrize("make", [tempfile.TemporaryFile, tempfile.NamedTemporaryFile])
def test_what_a_pass_makes_goes_to_disk_beyond_the_limit(on_disk, monkeypatch, make):
    """On Windows a temporary file has a name, and a wrapper around it."""
    files = []
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: files.append(make()) or files[-1])
    settings = {"random_state": 0, "scale": None, "max_iter": 2, "tol": 1.0}
    OMVCDR(5, engine="stream", memory_limit=1e9, **settings).fit(on_disk)
    assert files == []
    OMVCDR(5, engine="stream", memory_limit=5.1e6, **settings).fit(on_disk)
    assert files


def test_too_little_memory_is_refused_with_what_is_needed(on_disk):
    with pytest.raises(MemoryError, match=r"needs about \d+ MB; memory_limit allows 1 MB"):
        OMVCDR(5, engine="stream", memory_limit=1e6).fit(on_disk)


def test_a_file_that_shrinks_during_a_fit_is_told(on_disk, tmp_path):
    def cut(progress):
        os.truncate(tmp_path / "a.npy", 1000)

    with pytest.raises(Exception, match=r"a\.npy"):
        OMVCDR(5, engine="stream", memory_limit=6e6, scale=None).fit(on_disk, callback=cut)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize(
    "settings", [{"scale": None, "n_init": 1}, {}], ids=["as given", "default"]
)
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_fit_stopped_anywhere_goes_on_to_the_same_result(
    on_disk, tmp_path, settings, engine, monkeypatch
):
    def fit(**more):
        model = OMVCDR(5, random_state=0, engine=engine, memory_limit=2e7, **settings)
        return model.fit(on_disk, **more)

    whole = fit()
    write = Checkpoint.write
    folder = tmp_path / "passes"
    n_stops = 0

    def write_or_stop(self, number, *rest):
        if number in (1, 6, 7, 11, 15) and not (folder / f"stopped-{number}").exists():
            (folder / f"stopped-{number}").touch()
            raise KeyboardInterrupt
        write(self, number, *rest)

    monkeypatch.setattr(Checkpoint, "write", write_or_stop)
    while True:
        try:
            resumed = fit(checkpoint=folder)
            break
        except KeyboardInterrupt:
            n_stops += 1
    assert n_stops >= 4
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    np.testing.assert_array_equal(resumed.confidence_, whole.confidence_)
    assert resumed.objective_ == whole.objective_
    assert {path.name[:7] for path in folder.iterdir()} == {"stopped"}


PROGRAM = """
import os, signal, sys
from pathlib import Path
from manyview import OMVCDR
from manyview.solver import alternation, fitting
fitting.SAMPLE_ROWS, alternation.BOUND_ROWS = 1000, 1
model = OMVCDR(5, scale=None, n_init=1, tol=0, max_iter=60, engine="stream", random_state=0)
def stop(progress):
    if len(list(Path(sys.argv[3]).glob("pass-*.mv"))) >= 20:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", 9))
model.fit(sys.argv[1:3], checkpoint=sys.argv[3], callback=stop)
"""


@pytest.mark.filterwarnings("ignore:The best of")
@pytest.mark.usefixtures("few_rows")
def test_a_killed_process_is_resumed_by_another(on_disk, tmp_path):
    folder = tmp_path / "passes"
    paths = [str(tmp_path / "a.npy"), str(tmp_path / "b-*.npy")]
    program = [sys.executable, "-c", PROGRAM, *paths, str(folder)]
    assert subprocess.run(program, check=False).returncode != 0
    n_before = len(list(folder.glob("pass-*.mv")))
    assert n_before >= 20
    settings = {"scale": None, "n_init": 1, "tol": 0, "max_iter": 60, "random_state": 0}
    whole = OMVCDR(5, engine="stream", **settings).fit(paths)
    n_passes = []
    resumed = OMVCDR(5, engine="stream", **settings).fit(
        paths,
        checkpoint=folder,
        callback=lambda progress: n_passes.append(len(list(Path(folder).glob("pass-*.mv")))),
    )
    assert n_passes[0] == n_before  # it did not begin anew
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    assert resumed.objective_ == whole.objective_
    assert not folder.exists()


def test_the_passes_of_another_fit_are_refused_by_what_differs(arrays, tmp_path):
    folder = tmp_path / "passes"

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        OMVCDR(5, random_state=0).fit(arrays, checkpoint=folder, callback=stop)
    with pytest.raises(CheckpointError, match=r"there lam was 2\.0, now it is 0\.4"):
        OMVCDR(5, random_state=0, lam=0.4).fit(arrays, checkpoint=folder)
    with pytest.raises(CheckpointError, match="there data was"):
        OMVCDR(5, random_state=0).fit([arrays[0], arrays[1] + 1], checkpoint=folder)


def test_a_seed_that_was_drawn_is_drawn_again(arrays, tmp_path):
    folder, seen = tmp_path / "passes", []

    def stop(progress):
        seen.append(progress.objective)
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            OMVCDR(5, random_state=None).fit(arrays, checkpoint=folder, callback=stop)
    assert seen[0] == seen[1]
