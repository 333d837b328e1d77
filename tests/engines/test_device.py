"""Fits on a device of torch: the labels of the CPU with the same label step."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from manyview import OMVCDR, MultiViewData
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.engines import choose_device, choose_engine
from manyview.exceptions import EngineUnavailableError, MemoryLimitError
from manyview.kernels.block import CHUNK_ROWS

K = 5
CASES = {
    "defaults": {},
    "as given": {"scale": None, "n_init": 1},
    "z-scores": {"scale": "z", "smooth": False, "n_init": 1},
}


def blobs(n=3000, *, missing=0.0, dtype=np.float32, std=3.0):
    return make_multiview_blobs(
        n,
        (20, 30),
        n_clusters=K,
        cluster_std=std,
        missing_rate=missing,
        dtype=dtype,
        random_state=0,
    ).data


def fits(data, device, **options):
    """Fits on the CPU and on a device, with the parallel step."""
    weights = options.pop("sample_weight", None)
    return [
        OMVCDR(K, device=name, label_step="parallel", random_state=0, **options).fit(
            data, sample_weight=weights
        )
        for name in ("cpu", device)
    ]


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_labels_are_those_of_the_cpu(device, options, missing):
    data = blobs(missing=missing)
    here, there = fits(data, device, **options)
    assert np.mean(here.labels_ == there.labels_) >= 0.999
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-4)
    np.testing.assert_allclose(there.outlier_score_, here.outlier_score_, rtol=0.05, atol=0.02)
    np.testing.assert_array_equal(there.predict(data), there.labels_)
    np.testing.assert_allclose(there.transform(data), here.transform(data), rtol=1e-2, atol=2e-3)
    np.testing.assert_allclose(there.view_weights_, here.view_weights_, atol=1e-3)
    for own, other in zip(there.cluster_centers_, here.cluster_centers_, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-3, atol=1e-3)


def test_more_samples_than_the_starts_use(device):
    here, there = fits(blobs(25_000), device, scale=None, n_init=1)
    assert np.mean(here.labels_ == there.labels_) >= 0.999


def test_weights_that_differ(device, rng):
    weights = rng.uniform(0.5, 2, 3000)
    here, there = fits(blobs(), device, sample_weight=weights)
    assert np.mean(here.labels_ == there.labels_) >= 0.999


def test_sparse_views(device):
    # clear clusters: of starts with nearly the same labels, rounding may take another
    views = [sparse.csr_array(X * (np.abs(X) > 1)) for X in blobs(std=1.0).views]
    here, there = fits(views, device)
    assert here.stability_ == 1
    assert np.mean(here.labels_ == there.labels_) >= 0.999


def test_the_same_call_gives_the_same_labels(device):
    data = blobs(std=8.0)
    found = [fits(data, device)[1] for _ in range(2)]
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    assert found[0].objective_ == found[1].objective_


def test_the_partition_into_blocks_does_not_change_the_labels(device, monkeypatch):
    from manyview.engines import device as module

    data, found = blobs(6000, dtype=np.float64, std=8.0), []
    for share in (module.BLOCK_SHARE, 1e-12):  # one block, and one for each chunk
        monkeypatch.setattr(module, "BLOCK_SHARE", share)
        found.append(fits(data, device)[1].labels_)
    np.testing.assert_array_equal(*found)


def test_tensors_in_tensors_out(device):
    import torch

    name = "cpu" if device == "torch" else device
    views = [torch.as_tensor(X, device=name) for X in blobs().views]
    expected = fits(blobs(), device)[1]
    model = fits(views, device)[1]
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    for found in (model.predict(views), model.transform(views), model.predict_proba(views)):
        assert isinstance(found, torch.Tensor)
        assert found.device.type == name
    assert isinstance(model.predict(blobs()), np.ndarray)
    views[1][7] = torch.inf
    with pytest.raises(ValueError, match="inf in row 7"):
        model.predict(views)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_views_of_16_bits(device, dtype):
    import torch

    name = "cpu" if device == "torch" else device
    views = [torch.as_tensor(X, device=name).to(getattr(torch, dtype)) for X in blobs().views]
    model = fits(views, device)[1]
    exact = fits([view.float().cpu().numpy() for view in views], device)[1]
    assert np.mean(model.labels_ == exact.labels_) >= 0.999


def test_a_tensor_whose_rows_are_missing(device):
    import torch

    name = "cpu" if device == "torch" else device
    data = blobs(missing=0.2)
    views = [
        np.where(data.present[:, [v]], X, np.nan).astype(np.float32)
        for v, X in enumerate(data.views)
    ]
    there = MultiViewData.of([torch.as_tensor(X, device=name) for X in views])
    np.testing.assert_array_equal(there.present, data.present)
    here = fits(data, device)[0]
    assert np.mean(fits(there, device)[1].labels_ == here.labels_) >= 0.999


@pytest.mark.parametrize(
    "name", ["handwritten_2v", "bdgp", "mnist_usps5k", "tcga_breast", "bbcsport"]
)
def test_labels_of_real_sets_are_those_of_the_cpu(device, name, data_home):
    data, y = load_benchmark(name, return_X_y=True)
    k = len(np.unique(y))
    here, there = (
        OMVCDR(k, device=where, label_step="parallel", random_state=0).fit(data).labels_
        for where in ("cpu", device)
    )
    assert np.mean(here == there) >= 0.999


def test_a_parallel_step_is_as_good_as_a_sequential_one():
    data, y = make_multiview_blobs(
        20_000, (20, 30), n_clusters=K, cluster_std=4.0, random_state=0, return_X_y=True
    )
    order = np.argsort(y)  # batches of sorted rows would have one cluster each
    options = {"scale": None, "n_init": 1, "random_state": 0}
    for rows in (np.arange(len(y)), order):
        one, many = (
            OMVCDR(K, label_step=step, **options).fit(data[rows])
            for step in ("sequential", "parallel")
        )
        assert many.objective_ == pytest.approx(one.objective_, rel=1e-3)
        assert adjusted_rand_score(one.labels_, many.labels_) > 0.98


def test_a_model_of_a_device_is_used_where_there_is_no_torch(device, tmp_path):
    data = blobs()
    model = fits(data, device)[1]
    model.save(tmp_path / "model.mv")
    np.save(tmp_path / "a.npy", data.views[0])
    np.save(tmp_path / "b.npy", data.views[1])
    np.save(tmp_path / "labels.npy", model.labels_)
    program = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'torch': raise ImportError(name)\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "import numpy as np; from manyview import OMVCDR\n"
        "model = OMVCDR.load('model.mv').set_params(device='cpu')\n"
        "found = model.predict([np.load('a.npy'), np.load('b.npy')])\n"
        "assert np.mean(found == np.load('labels.npy')) > 0.999, found\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_nothing_of_torch_is_imported_unless_asked_for():
    program = (
        "import sys, numpy as np, manyview\n"
        "manyview.OMVCDR(2, n_init=1).fit(np.random.default_rng(0).normal(size=(50, 3)))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_torch_a_sentence_names_the_extra(monkeypatch):
    def no_torch(name):
        raise ImportError(name)

    monkeypatch.setattr("manyview.utils.optional.importlib.import_module", no_torch)
    with pytest.raises(EngineUnavailableError, match=r"manyview\[gpu\]"):
        OMVCDR(K, device="cuda").fit(blobs(100))


def test_without_a_gpu_a_sentence_says_so():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(EngineUnavailableError, match="finds none"):
        OMVCDR(K, device="cuda").fit(blobs(100))


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n", [3000, 25_000])
def test_views_that_stay_on_the_host_get_the_labels_of_the_cpu(device, options, missing, n):
    data = blobs(n, missing=missing, dtype=np.float64)
    here = OMVCDR(K, label_step="parallel", n_passes=1, random_state=0, **options).fit(data)
    there = OMVCDR(K, device=device, engine="stream", random_state=0, **options).fit(data)
    assert there.engine_ == "stream"
    assert np.mean(here.labels_ == there.labels_) >= 0.999
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-6)
    np.testing.assert_array_equal(there.predict(data), there.labels_)
    np.testing.assert_allclose(there.view_weights_, here.view_weights_, atol=1e-3)
    for own, other in zip(there.cluster_centers_, here.cluster_centers_, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-6, atol=1e-6)


def test_views_are_streamed_to_a_device_from_files_and_tensors_of_16_bits(device, tmp_path):
    import torch

    options = {"scale": None, "n_init": 1, "random_state": 0, "device": device, "engine": "stream"}
    views = [X.astype(np.float16).astype(np.float32) for X in blobs(25_000).views]
    for v, X in enumerate(views):
        np.save(tmp_path / f"{v}.npy", X)
    expected = OMVCDR(K, **options).fit(views)
    of_files = OMVCDR(K, **options).fit([tmp_path / "0.npy", tmp_path / "1.npy"])
    of_tensors = OMVCDR(K, **options).fit([torch.as_tensor(X).half() for X in views])
    for found in (of_files, of_tensors):
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        assert found.engine_ == "stream"


def test_an_iteration_copies_each_block_once(device, monkeypatch):
    from manyview.kernels.gpu.uploads import Uploads

    copied, copy = [], Uploads._copy

    def note(self, start):
        copied.append(start)
        return copy(self, start)

    monkeypatch.setattr(Uploads, "_copy", note)
    counts, data = [], blobs(40_000)
    for n_iter in (2, 7):
        copied.clear()
        model = OMVCDR(K, device=device, engine="stream", scale=None, n_init=1, random_state=0)
        with pytest.warns(match="max_iter"):
            model.set_params(max_iter=n_iter, tol=0).fit(data)
        counts.append(len(copied))
    n_blocks = len(set(copied))
    assert n_blocks > 3
    assert counts[1] - counts[0] == pytest.approx(5 * 2 * n_blocks, abs=n_blocks)


def test_views_that_do_not_fit_are_streamed(device, monkeypatch):
    data = blobs(100_000)
    options = {"scale": None, "n_init": 1, "random_state": 0, "device": device}
    expected = OMVCDR(K, engine="stream", **options).fit(data)
    monkeypatch.setattr("manyview.kernels.gpu.tensors.TensorKernels.free_bytes", lambda self: 4.5e7)
    model = OMVCDR(K, **options).fit(data)
    assert model.engine_ == "stream"
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    with pytest.raises(MemoryLimitError, match="0.0 GB free. Use engine='auto'"):
        OMVCDR(K, engine="memory", **options).fit(data)


def test_a_device_without_room_for_blocks_is_refused(device, monkeypatch):
    monkeypatch.setattr("manyview.kernels.gpu.tensors.TensorKernels.free_bytes", lambda self: 1e4)
    with pytest.raises(MemoryLimitError, match="0.0 GB free beside sparse views. Free some"):
        OMVCDR(K, device=device).fit(blobs(100))


def test_one_pass_over_views_on_the_device_is_refused_where_it_would_be_taken(device):
    with pytest.raises(ValueError, match="larger blocks than the batches"):
        OMVCDR(K, device=device, n_passes=1, scale=None).fit(blobs(60_000))
    two, one = (
        OMVCDR(K, device=device, n_passes=n, scale=None, random_state=0).fit(blobs(300))
        for n in (2, 1)
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)


@pytest.mark.parametrize("scale", ["l2", "pca-l2"])
@pytest.mark.parametrize("engine", ["auto", "stream"])
def test_views_wider_than_samples_without_smoothing(device, scale, engine, rng):
    y = np.arange(60) % K
    views = [rng.normal(size=(60, d)) + 3 * rng.normal(size=(K, d))[y] for d in (1200, 1300)]
    sparse_view = sparse.csr_array(views[0] * (np.abs(views[0]) > 4))
    for given in (views, [sparse_view, views[1]]):
        options = {"scale": scale, "smooth": False, "random_state": 0}
        here = OMVCDR(K, label_step="parallel", **options).fit(given)
        there = OMVCDR(K, device=device, engine=engine, **options).fit(given)
        assert adjusted_rand_score(here.labels_, there.labels_) == 1
        np.testing.assert_array_equal(there.predict(given), there.labels_)


def test_a_device_without_memory_left_ends_with_a_sentence(device, monkeypatch):
    import torch

    def fail(*arguments):
        msg = "tried to allocate 3 GiB"
        raise torch.OutOfMemoryError(msg)

    monkeypatch.setattr("manyview.kernels.gpu.tensors.TensorKernels.accumulate", fail)
    with pytest.raises(MemoryLimitError, match="ran out of memory with 100 rows at a time"):
        OMVCDR(K, device=device).fit(blobs(100))


@pytest.mark.parametrize("options", [{"device": "cpu", "label_step": "parallel"}, {}])
def test_a_fit_that_was_stopped_goes_on(device, options, tmp_path):
    data, n_steps = blobs(std=6.0), [0]
    options = {"device": device, "random_state": 0, **options}
    expected = OMVCDR(K, **options).fit(data)

    def stop(progress):
        n_steps[0] += 1
        if progress.step == "labels" and n_steps[0] > n_all - 4:
            raise InterruptedError

    steps = []
    OMVCDR(K, **options).fit(data, callback=steps.append)
    n_all = len(steps)
    with pytest.raises(InterruptedError):
        OMVCDR(K, **options).fit(data, callback=stop, checkpoint=tmp_path / "passes")
    assert len(list((tmp_path / "passes").iterdir())) > 4
    resumed = OMVCDR(K, **options).fit(data, checkpoint=tmp_path / "passes")
    np.testing.assert_array_equal(resumed.labels_, expected.labels_)
    assert resumed.objective_ == expected.objective_


def test_batches_of_samples_on_a_device(device):
    data = blobs(std=1.0)
    here, there = (
        OMVCDR(K, device=name, label_step="parallel", random_state=0) for name in ("cpu", device)
    )
    for start in range(0, 3000, 1000):
        here.partial_fit(data[start : start + 1000])
        there.partial_fit(data[start : start + 1000])
    assert np.mean(here.predict(data) == there.predict(data)) >= 0.999


def test_small_data_stay_on_the_cpu():
    assert choose_device("auto", blobs(100)) == "cpu"
    assert choose_engine("auto", "auto", blobs(CHUNK_ROWS)).kernels is not None


def test_views_on_the_host_are_streamed_with_a_checkpoint_too(device, tmp_path):
    model = OMVCDR(K, device=device, engine="stream", random_state=0)
    model.fit(blobs(), checkpoint=tmp_path / "passes")
    assert model.engine_ == "stream"


def test_sparse_views_must_fit_on_a_device(device, monkeypatch):
    views = [sparse.csr_array(X) for X in blobs(20_000).views]
    monkeypatch.setattr("manyview.kernels.gpu.tensors.TensorKernels.free_bytes", lambda self: 1e7)
    with pytest.raises(MemoryLimitError, match="free beside sparse views"):
        OMVCDR(K, device=device, engine="stream").fit(views)


def test_one_visit_without_memory_left_ends_with_a_sentence(device, monkeypatch):
    import torch

    def fail(*arguments):
        msg = "tried to allocate 3 GiB"
        raise torch.OutOfMemoryError(msg)

    kernels = "manyview.kernels.gpu.tensors.TensorKernels"
    monkeypatch.setattr(f"{kernels}.move", fail)
    with pytest.raises(MemoryLimitError, match="ran out of memory with 12288 rows at a time"):
        OMVCDR(K, device=device, engine="stream", scale=None, n_init=1).fit(blobs(30_000))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_new_samples_that_are_checked_on_the_device_are_refused_as_elsewhere(
    device, value, monkeypatch
):
    model = OMVCDR(K, device=device, scale=None, n_init=1, random_state=0).fit(blobs().views)
    given = [np.array(X) for X in blobs(30_000).views]
    expected = model.predict(given)
    monkeypatch.setattr("manyview.engines.device.STREAMED_BYTES", 1 << 20)
    np.testing.assert_array_equal(model.predict(given), expected)
    given[1][29_000, 3] = value
    with pytest.raises(ValueError, match="in part of row 29000|inf in row 29000|squares overflow"):
        model.predict(given)
    given[1][29_000] = np.nan  # a missing view
    found = model.predict(given)
    rows = np.arange(len(found)) != 29_000
    np.testing.assert_array_equal(found[rows], expected[rows])
    alone = model.predict([X[29_000:29_001] for X in given])
    assert found[29_000] == alone[0]
