"""What a fit will take: the arithmetic by hand, the calibration on real fits."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from helpers.executors import AtOnce
from manyview import MultiViewData, estimate_cost, open_rows
from manyview.cost import CostEstimate, estimate
from manyview.cost.calibration import Trial, calibrate, count_rows, some_rows
from manyview.cost.disk import Storage
from manyview.datasets import make_multiview_blobs
from manyview.engines import streaming
from manyview.exceptions import ViewError
from manyview.omvcdr import OMVCDR, fitted
from manyview.solver import fitting
from manyview.solver.footprint import Footprint

FOOTPRINT = Footprint(200, 100, (3, 4), 4, (2, 4), 2, 0)
TRIAL = Trial(
    n_samples=200,
    n_clusters=2,
    seconds=10.0,
    seconds_of_rows=4.0,
    seconds_a_start=0.5,
    n_starts=2,
    n_reads=8.0,
    footprint=FOOTPRINT,
)
FAST = {"n_init": 1, "max_iter": 3, "random_state": 0}


@pytest.fixture
def few_rows(monkeypatch):
    """Starts on 1000 samples, so that small fits have both parts."""
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 1000)


@pytest.fixture
def arrays():
    blobs = make_multiview_blobs(6000, (12, 20), n_clusters=3, dtype=np.float32, random_state=0)
    return list(blobs.data.views)


@pytest.fixture
def files(arrays, tmp_path):
    np.save(tmp_path / "a.npy", arrays[0])
    for p, part in enumerate(np.array_split(arrays[1], 3)):
        np.save(tmp_path / f"b-{p}.npy", part)
    return [open_rows(tmp_path / "a.npy"), open_rows(tmp_path / "b-*.npy")]


def test_only_the_time_with_all_rows_grows():
    """Of ten seconds four were spent with all rows; two starts more take one."""
    assert TRIAL.seconds_for(200) == (7.0, 4.0)
    assert TRIAL.seconds_for(2000) == (7.0, 40.0)


def test_where_starts_were_made_on_all_samples_all_of_it_grows():
    whole = replace(TRIAL, footprint=replace(FOOTPRINT, n_subset=200))
    assert whole.seconds_for(600) == (0.0, 33.0)


@pytest.mark.parametrize(
    ("n", "row_bytes", "k", "n_some"),
    [
        (500, 100, 5, 500),
        (9000, 100, 5, 3000),
        (9000, 100, 2000, 4000),
        (10**6, 100, 5, 50_000),  # five times the samples of a start
        (10**6, 10**4, 5, 25_000),  # 250 MB
        (10**6, 10**6, 5, 15_000),  # at least half as many again
        (10**6, 10**6, 3000, 45_000),
    ],
)
def test_the_size_of_a_calibration(n, row_bytes, k, n_some):
    assert count_rows(n, row_bytes, k) == n_some


def test_pieces_of_all_views_hold_the_same_samples(tmp_path):
    X = np.repeat(np.arange(6000.0)[:, None], 200, axis=1)
    np.save(tmp_path / "x.npy", X)
    views = [X, open_rows(tmp_path / "x.npy"), sparse.csr_array(X)]
    first, second, third = some_rows(MultiViewData.of(views), 1001).views
    assert first.shape == (1001, 200)
    np.testing.assert_array_equal(second, first)
    np.testing.assert_array_equal(third.toarray(), first)
    assert second.n_read == 1001
    assert first[0, 0] == 0
    assert first[-1, 0] > 5990
    assert np.count_nonzero(np.diff(first[:, 0]) > 1) == 7  # eight pieces


@pytest.mark.usefixtures("few_rows")
def test_a_calibration_tells_the_parts_of_a_fit(arrays):
    data = MultiViewData.of(arrays)
    trial = calibrate(OMVCDR(3, n_init=5), "memory", data, 6000, is_checked=True)
    assert not trial.is_whole
    assert 0 < trial.seconds_of_rows < trial.seconds
    assert trial.n_starts == 2
    assert 0 < trial.seconds_a_start < trial.seconds
    assert trial.n_reads == 0
    assert trial.footprint.n_anchors == 600
    assert trial.footprint.n_scalings == 4


@pytest.mark.usefixtures("few_rows")
def test_passes_over_files_are_counted(files, monkeypatch):
    """One more iteration makes one more pass, and a check of the values one more."""
    monkeypatch.setattr(streaming, "ThreadPoolExecutor", AtOnce)
    data = some_rows(MultiViewData.of(files), 6000)
    settings = {"scale": None, "tol": 0, "n_jobs": 1, **FAST}
    counts = []
    for max_iter in (2, 3):
        model = OMVCDR(3, **{**settings, "max_iter": max_iter})
        counts.append(calibrate(model, "stream", data, 6000, is_checked=True).n_reads)
    assert counts[1] - counts[0] == pytest.approx(1, abs=0.01)
    checked = calibrate(OMVCDR(3, **settings), "stream", data, 6000, is_checked=False).n_reads
    assert checked - counts[1] == pytest.approx(1, abs=0.01)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_views_and_their_shapes_tell_the_same_but_time(arrays, files, engine):
    views = arrays if engine == "memory" else files
    told = estimate_cost(views, 3, engine, **FAST)
    assert told.seconds > 0
    assert told.engine == engine
    assert told.view_bytes == sum(view.nbytes for view in views)
    assert (told.n_reads >= 5) == (engine == "stream")
    blind = estimate_cost([(6000, 12), (6000, 20)], 3, engine, **FAST)
    assert blind.memory_bytes == told.memory_bytes
    assert abs(blind.view_bytes - told.view_bytes) < 1000  # headers of files
    twice = estimate_cost([(12_000, 12), (12_000, 20)], 3, engine, **FAST)
    assert twice.memory_bytes > blind.memory_bytes


def test_anything_that_fit_takes_is_estimated(arrays):
    frame = {"rna": arrays[0][:900].copy(), "protein": sparse.csr_array(arrays[1][:900])}
    frame["rna"][5] = np.nan
    assert estimate_cost(frame, "auto", **FAST).n_samples == 900
    assert estimate_cost(arrays[0][:900], 3, **FAST).view_bytes == arrays[0][:900].nbytes


def test_rows_larger_than_the_memory_are_read_cold_in_each_pass(files, monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 1000)
    monkeypatch.setattr(Storage, "seconds_to_read", lambda self, n: n / self.on_disk * 1000)
    cached = estimate_cost(files, 3, "stream", memory_limit=1e8, **FAST)
    assert 1000 <= cached.seconds < 2000
    monkeypatch.setattr(estimate, "installed_memory", lambda: 1e5)
    cold = estimate_cost(files, 3, "stream", memory_limit=1e8, **FAST)
    assert cold.seconds == pytest.approx(1000 * cold.n_reads, rel=0.2)


def test_the_speed_of_a_disk_is_measured(files):
    storage = Storage.of(MultiViewData.of(files))
    assert len(storage.files) == 4
    assert storage.on_disk == sum(file.stat().st_size for file in storage.files)
    assert storage.seconds_to_read(2e9) > 0
    assert Storage(10, 0, ()).seconds_to_read(0) == 0


def test_what_a_stream_cannot_hold_is_refused_at_once():
    with pytest.raises(MemoryError, match="memory_limit allows 1000 MB"):
        estimate_cost([(10**9, 512), (10**9, 768)], 10, memory_limit=1e9)


@pytest.mark.parametrize("shapes", [[(10, 3), (11, 3)], [(0, 3)], [(10, 0), (10, 2)]])
def test_shapes_that_no_views_have_are_refused(shapes):
    with pytest.raises(ViewError, match="expected equal numbers of samples"):
        estimate_cost(shapes, 2)


def test_a_short_type_counts_on_disk_but_not_in_memory(few_rows):
    """Six features: 12 bytes a sample in a file of float16, 24 in memory, where it is float32."""
    for engine, row_bytes in (("stream", 12), ("memory", 24)):
        told = estimate_cost([(2000, 6)], 2, engine, dtype=np.float16, **FAST)
        assert told.view_bytes == 2000 * row_bytes


@pytest.mark.parametrize("n_samples", [2000, 10**9])
def test_a_calibration_has_the_threads_of_the_whole_fit(arrays, monkeypatch, n_samples):
    sizes = []
    monkeypatch.setattr(
        fitted, "limit_threads", lambda n_jobs, size: sizes.append(size) or nullcontext()
    )
    data = MultiViewData.of(arrays)[:2000]
    calibrate(OMVCDR(3, **FAST), "memory", data, n_samples, is_checked=True)
    assert sizes[-1] == n_samples * 32 * 6 * 3


def test_parameters_are_those_of_the_estimator():
    with pytest.raises(ValueError, match="lam=-1"):
        estimate_cost([(100, 3)], 2, lam=-1)
    with pytest.raises(TypeError, match="no_such"):
        estimate_cost([(100, 3)], 2, no_such=1)


def test_an_estimate_reads_as_a_sentence(monkeypatch):
    monkeypatch.setattr(estimate, "installed_memory", lambda: 16e9)
    told = CostEstimate(170.0, 1.24e9, 8_000_000_000, 21, "stream", 4_000_000, 10)
    assert str(told) == (
        "About 2.8 minutes, and 1.2 GB of memory in addition to 8.0 GB of views, read 21 times, "
        "with "
        "engine='stream': 4,000,000 samples, 10 clusters."
    )
    held = replace(told, engine="memory", n_reads=0, view_bytes=20 * 10**9, seconds=100_000)
    assert str(held).startswith("About 28 hours, and 1.2 GB of memory in addition to 20.0 GB of")
    assert str(held).endswith(" This machine has 16.0 GB.")
    assert str(replace(told, seconds=0.44)).startswith("About 0.4 seconds")
    assert "and 30 MB" in str(replace(told, memory_bytes=3e7))


def test_a_cluster_divides_what_grows_with_the_samples():
    shapes = [(10**7, 20), (10**7, 30)]
    few, many = (
        estimate_cost(shapes, 4, "dask", n_workers=n, scale=None, n_init=1) for n in (1, 64)
    )
    assert (many.engine, many.n_workers) == ("dask", 64)
    assert few.seconds > 5 * many.seconds
    assert many.view_bytes == 10**7 * 50 * 4
    assert "on 64 workers of one thread" in str(many)
    with pytest.raises(ValueError, match="expected engine='dask'"):
        estimate_cost(shapes, 4, n_workers=2)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("engine", ["auto", "stream"])
def test_a_device_is_tried_and_its_memory_told(arrays, engine):
    torch = pytest.importorskip("torch")
    told = estimate_cost(arrays, 3, engine, device="torch", **FAST)
    blind = estimate_cost([(6000, 12), (6000, 20)], 3, engine, device="torch", **FAST)
    tensors = estimate_cost([torch.as_tensor(X) for X in arrays], 3, engine, device="torch", **FAST)
    for found in (told, blind, tensors):
        assert (found.engine, found.device) == (
            "stream" if engine == "stream" else "memory",
            "torch",
        )
        assert found.seconds > 0
        assert found.n_reads == 0
        assert found.view_bytes == 6000 * 32 * 4
        assert found.memory_bytes == told.memory_bytes
        assert found.device_bytes == told.device_bytes
    twice = estimate_cost([(12_000, 12), (12_000, 20)], 3, engine, device="torch", **FAST)
    assert twice.device_bytes > told.device_bytes


def test_of_two_fits_on_a_device_only_the_difference_grows():
    smaller = replace(TRIAL, n_samples=150, seconds_of_rows=3.5)
    assert TRIAL.beside(smaller).seconds_of_rows == 2.0
    assert TRIAL.beside(replace(smaller, seconds_of_rows=5.0)).seconds_of_rows == 0.0
