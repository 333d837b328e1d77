"""Files that are damaged, or cut short while they are read: one sentence that names the file."""

import struct
import subprocess
import sys

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from manyview import open_rows
from manyview.exceptions import ViewError
from manyview.io import open_views, read_views

N, D = 40_000, 20


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, D)).astype(np.float32)


def _table(X):
    return pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])})


def _lists(X):
    values = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    return pa.table({"vector": values})


def _write_stream(table, path, rows=10_000):
    with ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)


WRITERS = {
    "columns in a file": (".feather", lambda t, p: feather.write_feather(t, p, "uncompressed")),
    "compressed": (".feather", lambda t, p: feather.write_feather(t, p, "lz4")),
    "a stream": (".arrow", _write_stream),
}
IN_ANOTHER_PROCESS = """
import sys
import numpy as np
from manyview import open_rows
from manyview.exceptions import ViewError

path = sys.argv[1]
view = open_rows(path)
with open(path, "r+b") as file:
    file.truncate(int(sys.argv[2]))
try:
    np.asarray(view)
except ViewError as error:
    print(error)
"""


def in_another_process(program, *arguments):
    """Run a program that may be killed by a signal; returns its output."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    return done.stdout


@pytest.mark.parametrize("kind", WRITERS)
def test_an_arrow_file_that_is_cut_short_while_it_is_read_is_one_sentence(tmp_path, X, kind):
    ending, write = WRITERS[kind]
    path = tmp_path / f"x{ending}"
    write(_table(X), path)
    said = in_another_process(IN_ANOTHER_PROCESS, path, path.stat().st_size // 3)
    assert f"{path} cannot be read as a {ending} file" in said


READ_WHILE_CUT = """
import sys
import numpy as np
from manyview.cli import fit

path, length = sys.argv[1], int(sys.argv[2])
request = fit.FitRequest(paths=[path], clusters="2")
inputs = fit.read_inputs(request)
with open(path, "r+b") as file:
    file.truncate(length)
print(float(np.asarray(inputs.views.data.views[0]).sum()))
"""


def test_an_array_in_memory_does_not_depend_on_its_file(tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    said = in_another_process(READ_WHILE_CUT, tmp_path / "x.npy", 4096)
    assert float(said) == pytest.approx(float(X.sum()), rel=1e-3)


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_that_is_shorter_than_its_header_states_is_refused(tmp_path, X, order):
    path = tmp_path / "x.npy"
    np.save(path, np.asarray(X, order=order))
    np.testing.assert_array_equal(read_views(path).data.views[0], X)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)
    with pytest.raises(ViewError, match=r"x\.npy is shorter than its header states"):
        read_views(path)


def test_arrays_too_large_for_memory_are_to_stay_on_disk(tmp_path):
    for name in ("x.npy", "y.npy"):
        with (tmp_path / name).open("wb") as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 20, 1 << 19)}
            np.lib.format.write_array_header_1_0(file, header)
            file.truncate(file.tell() + (1 << 42))  # a sparse file of 4 TB
    for paths in (tmp_path, [tmp_path / "x.npy", tmp_path / "y.npy"]):
        with pytest.raises(ViewError, match=r"8796\.1 GB .* --engine stream"):
            read_views(paths)
    assert open_rows(tmp_path).shape == (1 << 21, 1 << 19)


def _write_zarr(X, path, version):
    zarr = pytest.importorskip("zarr")
    kwargs = {"chunks": (1000, D), "zarr_format": version}
    zarr.create_array(str(path), data=X, **kwargs)


@pytest.mark.parametrize("version", [2, 3])
def test_a_damaged_chunk_of_zarr_is_one_sentence_that_names_the_array(tmp_path, X, version):
    _write_zarr(X, tmp_path / "x.zarr", version)
    view = open_rows(tmp_path / "x.zarr")
    chunks = [f for f in (tmp_path / "x.zarr").rglob("*") if f.is_file() and ".z" not in f.name]
    chunk = next(file for file in chunks if "zarr" not in file.name)
    chunk.write_bytes(b"\xff" * 100)
    with pytest.raises(ViewError, match=r"x\.zarr cannot be read as a \.zarr file"):
        np.asarray(view)
    with pytest.raises(ViewError, match=r"x\.zarr cannot be read as a \.zarr file"):
        view.take(np.arange(len(view)))


def _damage(path, start, stop):
    """Overwrite a part of a file, given as shares of its length."""
    content = bytearray(path.read_bytes())
    n = len(content)
    content[int(start * n) : int(stop * n)] = b"\xff" * (int(stop * n) - int(start * n))
    path.write_bytes(content)


def test_a_damaged_page_of_parquet_is_one_sentence_that_names_the_file(tmp_path, X):
    path = tmp_path / "x.parquet"
    parquet.write_table(_table(X), path)
    view = open_rows(path)
    _damage(path, 0.2, 0.8)
    with pytest.raises(ViewError, match=r"x\.parquet cannot be read as a \.parquet file"):
        np.asarray(view)
    with pytest.raises(ViewError, match=r"x\.parquet cannot be read as a \.parquet file"):
        view.take(np.array([3, N - 1]))


def test_a_damaged_chunk_of_hdf5_is_one_sentence_that_names_the_file(tmp_path, X):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=X, chunks=(1000, D), compression="gzip")
    view = open_rows(path)
    _damage(path, 0.3, 0.8)
    with pytest.raises(ViewError, match=r"x\.h5 cannot be read as a \.h5 file"):
        np.asarray(view)


def test_damaged_sample_names_are_one_sentence_that_names_the_file(tmp_path, X):
    path = tmp_path / "x.parquet"
    names = pa.array([f"sample {i}" for i in range(N)])
    parquet.write_table(_table(X).append_column("sample", names), path, use_dictionary=False)
    view = open_rows(path, leave_out=["sample"])
    _damage(path, 0.9, 0.95)
    with pytest.raises(ViewError, match=r"x\.parquet cannot be read as a \.parquet file"):
        view.read_side("sample")


BAD_OFFSET = 1 << 30  # of a list, far outside its values


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_list_that_points_outside_its_values_is_refused(tmp_path, kind):
    lists = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    table = pa.table({"vector": lists})
    path = tmp_path / ("x.feather" if kind == "file" else "x.arrow")
    if kind == "file":
        feather.write_feather(table, path, "uncompressed")
    else:
        _write_stream(table, path)
    offsets = struct.pack("<4i", 0, 2, 4, 6)
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, struct.pack("<4i", 0, BAD_OFFSET, BAD_OFFSET + 2, 6)))
    with pytest.raises(ViewError, match=rf"{path.name} cannot be read"):
        np.asarray(open_rows(path))


def test_a_name_that_points_outside_its_text_is_refused_in_memory(tmp_path):
    table = pa.table({"sample": pa.array(["ab", "cd", "ef"]), "x": [1.0, 2.0, 4.0]})
    path = tmp_path / "x.feather"
    feather.write_feather(table, path, "uncompressed")
    offsets = struct.pack("<4i", 0, 2, 4, 6)
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, struct.pack("<4i", 0, BAD_OFFSET, BAD_OFFSET + 2, 6)))
    program = (
        "import sys\nfrom manyview.io import read_views\n"
        "try:\n    read_views(sys.argv[1])\nexcept ValueError as error:\n    print(error)"
    )
    assert "x.feather cannot be read" in in_another_process(program, path)


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_stream_with_names_and_categories_is_read_in_groups(tmp_path, X, compression):
    X = X[:1000]
    names = pa.array([f"s{i}" for i in range(1000)])
    kinds = pa.array(np.array(["a", "b"])[np.arange(1000) % 2]).dictionary_encode()
    table = _lists(X).append_column("sample", names).append_column("kind", kinds)
    options = ipc.IpcWriteOptions(compression=compression)
    with ipc.new_stream(str(tmp_path / "x.arrow"), table.schema, options=options) as writer:
        for start in range(0, 1000, 300):
            writer.write_batch(table.slice(start, 300).combine_chunks().to_batches()[0])
    view = open_rows(tmp_path / "x.arrow", key="vector")
    assert view.grain == 300
    np.testing.assert_array_equal(view, X)
    np.testing.assert_array_equal(view.take(np.array([5, 299, 300, 999])), X[[5, 299, 300, 999]])
    assert list(view.read_side("sample")) == names.to_pylist()
    assert list(view.read_side("kind")) == kinds.to_pylist()
    loaded = open_views([f"{tmp_path / 'x.arrow'}::vector"], id="sample")
    assert list(loaded.data.sample_names) == names.to_pylist()


def test_a_stream_without_an_end_mark_is_read_and_one_within_a_batch_is_refused(tmp_path, X):
    path = tmp_path / "x.arrow"
    _write_stream(_table(X), path)
    content = path.read_bytes()
    path.write_bytes(content[:-8])  # the end mark is optional
    np.testing.assert_array_equal(open_rows(path), X)
    path.write_bytes(content[:-1000])
    with pytest.raises(ViewError, match=r"x\.arrow cannot be read as a \.arrow file"):
        open_rows(path)


def test_only_the_column_of_names_is_read_for_names(tmp_path, X):
    """The footer of a file says where a column is; 4 MB of others are left where they are."""
    names = pa.array([f"s{i}" for i in range(N)])
    path = tmp_path / "x.feather"
    feather.write_feather(_table(X).append_column("sample", names), path, "uncompressed")
    view = open_rows(path, leave_out=["sample"])
    counters = getattr(psutil.Process(), "io_counters", None)  # not on macOS
    before = counters().read_chars if counters else 0
    assert list(view.read_side("sample")[:3]) == ["s0", "s1", "s2"]
    assert (counters().read_chars - before if counters else 0) < X.nbytes / 2


def test_a_batch_larger_than_a_share_of_the_memory_is_refused(tmp_path, X, monkeypatch):
    path = tmp_path / "x.feather"
    feather.write_feather(_table(X), path, "uncompressed", chunksize=N)
    monkeypatch.setattr("manyview.data.column_files.installed_memory", lambda: 5 * X.nbytes)
    np.testing.assert_array_equal(open_rows(path), X)
    monkeypatch.setattr("manyview.data.column_files.installed_memory", lambda: X.nbytes)
    with pytest.raises(ViewError, match=r"record batch of 40000 rows .*fewer rows"):
        open_rows(path)
