"""Rows on disk: each format gives what numpy holds, and says what it cannot read."""

import pickle
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

from manyview import open_rows
from manyview.data import array_files, column_files, rows
from manyview.data.rows import Picked, Rows
from manyview.exceptions import EngineUnavailableError, ViewError

zarr = pytest.importorskip("zarr")
h5py = pytest.importorskip("h5py")


def _table(X):
    return pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])})


def _lists(X, size=-1):
    values = pa.array(X.ravel())
    if size >= 0:
        return pa.table({"vector": pa.FixedSizeListArray.from_arrays(values, size)})
    starts = pa.array(np.arange(0, X.size + 1, X.shape[1], dtype=np.int32))
    return pa.table({"vector": pa.ListArray.from_arrays(starts, values)})


def _write_stream(X, path):
    with ipc.new_stream(path, _lists(X).schema) as stream:
        stream.write_table(_lists(X), max_chunksize=5)


def _write_zarr(X, path):
    array = zarr.create_array(str(path), shape=X.shape, chunks=(4, 2), dtype=X.dtype)
    array[:] = X


def _write_hdf5(X, path, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("inside/matrix", data=X, **options)
        file.create_dataset("ids", data=np.arange(len(X)))


WRITERS = {
    "npy": (".npy", lambda X, path: np.save(path, X)),
    "zarr": (".zarr", _write_zarr),
    "columns": (
        ".parquet",
        lambda X, path: parquet.write_table(_table(X), path, row_group_size=7),
    ),
    "lists": (".parquet", lambda X, path: parquet.write_table(_lists(X), path, row_group_size=7)),
    "fixed lists": (
        ".parquet",
        lambda X, path: parquet.write_table(_lists(X, X.shape[1]), path, row_group_size=7),
    ),
    "feather": (".feather", lambda X, path: feather.write_feather(_lists(X), path, chunksize=6)),
    "feather as it is": (
        ".feather",
        lambda X, path: feather.write_feather(_table(X), path, "uncompressed"),
    ),
    "stream": (".arrow", _write_stream),
    "chunked hdf5": (".h5", lambda X, path: _write_hdf5(X, path, chunks=(5, 2))),
    "hdf5": (".hdf5", _write_hdf5),
}


@pytest.fixture
def X(rng):
    return rng.standard_normal((29, 3)).astype(np.float32)


@pytest.fixture(params=WRITERS)
def view(request, X, tmp_path):
    """The same rows in every format."""
    ending, write = WRITERS[request.param]
    write(X, tmp_path / f"view{ending}")
    return open_rows(tmp_path / f"view{ending}")


def test_a_view_knows_its_sizes_without_being_read(view, X):
    assert isinstance(view, Rows)
    assert (view.shape, view.dtype, len(view), view.ndim) == (X.shape, X.dtype, len(X), 2)
    assert view.nbytes > 0
    assert "29 × 3, float32" in repr(view)


def test_any_read_gives_what_was_written(view, X):
    np.testing.assert_array_equal(np.asarray(view), X)
    for start, stop in [(0, 4), (4, 5), (5, 22), (3, 9), (28, 29), (7, 7), (0, 29)]:
        np.testing.assert_array_equal(view.read(slice(start, stop)), X[start:stop])
    into = np.empty((6, 3), dtype=np.float32)
    assert view.read(slice(20, 26), into) is into
    np.testing.assert_array_equal(into, X[20:26])


def test_any_row_can_be_taken(view, X):
    for wanted in ([0], [28], [2, 3, 17], [0, 6, 7, 13, 14, 28], range(29), []):
        wanted = np.array(wanted, dtype=np.int64)
        np.testing.assert_array_equal(view.take(wanted), X[wanted])


def test_a_slice_stays_on_disk_and_other_rows_are_read(view, X):
    part = view[4:20][2:]
    assert isinstance(part, Rows)
    np.testing.assert_array_equal(part, X[6:20])
    np.testing.assert_array_equal(part.take(np.array([0, 9])), X[[6, 15]])
    assert view[np.ones(29, bool)] is view
    for chosen in ([5, 1, 1, -1], np.arange(29) % 3 == 0, slice(None, None, -2), slice(20, 4)):
        np.testing.assert_array_equal(np.asarray(view[chosen]), X[chosen])
    for wrong in ([29], [-30], np.ones(28, bool)):
        with pytest.raises(IndexError):
            view[wrong]


def test_threads_read_beside_each_other(view, X):
    wrong = []

    def pass_over(step):
        for _ in range(3):
            for start in range(0, len(X), step):
                stop = min(start + step, len(X))
                if not np.array_equal(view.read(slice(start, stop)), X[start:stop]):
                    wrong.append(start)
                if not np.array_equal(view.take(np.array([start])), X[[start]]):
                    wrong.append(start)

    threads = [threading.Thread(target=pass_over, args=(step,)) for step in (1, 4, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_view_can_be_sent_to_another_process(view, X):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(view[3:])), X[3:])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float64", "float64"),
        ("float16", "float32"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("bool", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        (">f4", "float32"),
    ],
)
@pytest.mark.parametrize("kind", ["npy", "zarr", "columns", "feather as it is", "hdf5"])
def test_values_become_floats_without_loss(given, kept, kind, tmp_path):
    X = (np.arange(60).reshape(20, 3) % 7).astype(given)
    if given == ">f4" and kind in ("columns", "feather as it is"):
        X = X.astype("f4")  # Arrow has one byte order
    ending, write = WRITERS[kind]
    write(X, tmp_path / f"view{ending}")
    view = open_rows(tmp_path / f"view{ending}")
    assert view.dtype == kept
    np.testing.assert_array_equal(view.read(slice(3, 17)), X[3:17].astype(kept))


def test_a_conversion_is_made_piece_by_piece(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(array_files, "PIECE_BYTES", 40)
    X = rng.integers(0, 200, (33, 3), dtype=np.uint8)
    np.save(tmp_path / "x.npy", X)
    np.testing.assert_array_equal(open_rows(tmp_path / "x.npy"), X)


@st.composite
def shardings(draw):
    """Rows, how they are cut into files, and which are wanted."""
    n = draw(st.integers(1, 40))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    start, stop = sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    wanted = draw(st.lists(st.integers(0, n - 1), max_size=12))
    return n, cuts, slice(start, stop), sorted(wanted)


@given(shardings(), st.sampled_from(["npy", "columns", "lists"]))
def test_files_one_after_the_other_are_one_view(tmp_path_factory, sharding, kind):
    n, cuts, some, wanted = sharding
    X = np.random.default_rng(n).standard_normal((n, 4))
    folder = tmp_path_factory.mktemp("shards")
    ending, write = WRITERS[kind]
    for p, part in enumerate(np.split(X, cuts)):
        write(part, folder / f"part-{p}{ending}")
    view = open_rows(folder)
    assert view.shape == X.shape
    np.testing.assert_array_equal(view.read(some), X[some])
    np.testing.assert_array_equal(view.take(np.array(wanted, dtype=np.int64)), X[wanted])
    np.testing.assert_array_equal(view[some][1:], X[some][1:])


def test_shards_stand_in_the_natural_order_of_their_names(tmp_path):
    for number in (10, 2, 1):
        np.save(tmp_path / f"part-{number}.npy", np.full((2, 1), float(number)))
    (tmp_path / "README.md").write_text("not a shard")
    for where in (tmp_path, f"{tmp_path}/part-*.npy"):
        np.testing.assert_array_equal(np.asarray(open_rows(where))[:, 0], [1, 1, 2, 2, 10, 10])
    names = [tmp_path / "part-10.npy", tmp_path / "part-1.npy"]
    np.testing.assert_array_equal(np.asarray(open_rows(names))[:, 0], [10, 10, 1, 1])


def test_nulls_are_NaN(tmp_path):
    table = pa.table({"a": pa.array([1, None, 3]), "b": pa.array([0.5, 1.5, None], pa.float32())})
    parquet.write_table(table, tmp_path / "t.parquet")
    np.testing.assert_array_equal(
        open_rows(tmp_path / "t.parquet"), [[1, 0.5], [np.nan, 1.5], [3, np.nan]]
    )
    # pyarrow before 24 cannot write lists of a fixed size to Parquet if one of them is null
    cases = [("v.parquet", parquet.write_table, -1), ("v.feather", feather.write_feather, 2)]
    for name, write, size in cases:
        lists = pa.array([None, [1, None], None, [3, 4]], pa.list_(pa.float32(), size))
        write(pa.table({"v": lists}), tmp_path / name)
        view = open_rows(tmp_path / name)
        expected = np.array([[np.nan, np.nan], [1, np.nan], [np.nan, np.nan], [3, 4]])
        np.testing.assert_array_equal(view, expected)
        np.testing.assert_array_equal(view.take(np.array([1, 2])), expected[1:3])


def test_a_key_names_the_vectors(tmp_path, X):
    table = _lists(X).append_column("name", pa.array(list(map(str, range(29)))))
    parquet.write_table(table, tmp_path / "t.parquet")
    np.testing.assert_array_equal(open_rows(tmp_path / "t.parquet", key="vector"), X)
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"], file["b/c"] = X, 2 * X
    np.testing.assert_array_equal(open_rows(tmp_path / "two.h5", key="/b/c"), 2 * X)
    group = zarr.open_group(str(tmp_path / "two.zarr"), mode="w")
    for name, values in {"a": X, "b": 2 * X}.items():
        group.create_array(name, shape=X.shape, dtype=X.dtype)[:] = values
    np.testing.assert_array_equal(open_rows(tmp_path / "two.zarr", key="b"), 2 * X)


def test_the_index_of_pandas_is_no_feature(tmp_path, X):
    pd.DataFrame(X, index=[f"s{i}" for i in range(29)], columns=list("abc")).to_parquet(
        tmp_path / "t.parquet"
    )
    np.testing.assert_array_equal(open_rows(tmp_path / "t.parquet"), X)


def test_reading_on_decodes_nothing_twice(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(column_files, "BATCH_BYTES", 3 * 4 * 4)  # batches of four rows
    X = rng.standard_normal((100, 3)).astype(np.float32)
    parquet.write_table(_lists(X), tmp_path / "t.parquet", row_group_size=50)
    view = open_rows(tmp_path / "t.parquet")
    opened = []
    group = view._group
    monkeypatch.setattr(view, "_group", lambda g: opened.append(g) or group(g))
    for start in range(0, 100, 7):
        stop = min(start + 7, 100)
        np.testing.assert_array_equal(view.read(slice(start, stop)), X[start:stop])
    assert opened == [0, 1]


def test_a_chunk_that_two_reads_share_is_decoded_once(tmp_path, monkeypatch, X):
    _write_zarr(X, tmp_path / "x.zarr")  # chunks of four rows
    view = open_rows(tmp_path / "x.zarr")
    decoded = []

    class Watched:
        def __getitem__(self, rows):
            decoded.extend(range(rows.start, rows.stop))
            return X[rows]

    monkeypatch.setattr(view, "_array", Watched())
    for start in range(0, 29, 3):
        view.read(slice(start, min(start + 3, 29)))
    assert decoded == list(range(29))


def test_nothing_is_kept_of_a_file_that_was_read_to_its_end(view):
    view.read(slice(0, 11))
    view.read(slice(11, 29))
    assert getattr(view, "_cursor", None) is None
    assert getattr(view, "_kept", (-1, None)) == (-1, None)


def test_a_sample_reads_little_more_than_its_rows(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.arange(4e5).reshape(-1, 4))
    view = open_rows(tmp_path / "x.npy")
    n_read = []
    copy = view._copy
    monkeypatch.setattr(
        view, "_copy", lambda file, at, out: n_read.append(len(out)) or copy(file, at, out)
    )
    wanted = np.arange(0, 100_000, 10_000)
    np.testing.assert_array_equal(view.take(wanted)[:, 0], 4.0 * wanted)
    assert sum(n_read) == len(wanted)
    n_read.clear()
    monkeypatch.setattr(rows, "PIECE_BYTES", 32 * 20_000)
    view.take(np.arange(0, 100_000, 2))  # so many that whole pieces are read
    assert len(n_read) == 5


def test_a_fingerprint_changes_with_the_file(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X)
    view = open_rows(f"{tmp_path}/*.npy")
    before = view.fingerprint()
    assert open_rows(f"{tmp_path}/*.npy").fingerprint() == before
    assert view[:30].fingerprint() != view[:31].fingerprint()
    one, other = (open_rows(tmp_path / f"{name}.npy") for name in "ab")
    assert one.fingerprint() != other.fingerprint()
    np.save(tmp_path / "b.npy", np.vstack([X, X]))
    assert open_rows(f"{tmp_path}/*.npy").fingerprint() != before


class TestRefusals:
    @pytest.mark.parametrize(
        ("array", "said"),
        [
            (np.asfortranarray(np.ones((4, 3))), "Fortran order"),
            (np.ones(5), r"shape \(5,\); expected 2 dimensions"),
            (np.array([[1, "a"]], dtype=object), "Python objects"),
            (np.array([["a", "b"]]), "expected numbers"),
            (np.ones((2, 2), complex), "expected numbers"),
        ],
    )
    def test_arrays_that_are_no_rows_of_numbers(self, tmp_path, array, said):
        np.save(tmp_path / "x.npy", array)
        with pytest.raises(ViewError, match=said):
            open_rows(tmp_path / "x.npy")

    def test_shards_that_differ(self, tmp_path):
        np.save(tmp_path / "a-1.npy", np.ones((2, 3)))
        np.save(tmp_path / "a-2.npy", np.ones((2, 3)))
        np.save(tmp_path / "a-3.npy", np.ones((2, 4)))
        with pytest.raises(ViewError, match=r"a-1\.npy has 3 features.*a-3\.npy has 4"):
            open_rows(tmp_path)
        np.save(tmp_path / "a-3.npy", np.ones((2, 3), np.float32))
        with pytest.raises(ViewError, match=r"of float64.*of float32"):
            open_rows(tmp_path)
        parquet.write_table(_table(np.ones((2, 3))), tmp_path / "b.parquet")
        with pytest.raises(ViewError, match=r"a-1\.npy and .*b\.parquet have different formats"):
            open_rows(tmp_path)

    def test_columns_that_are_not_vectors(self, tmp_path, X):
        path = tmp_path / "t.parquet"
        text = pa.array(["a"] * 29)
        parquet.write_table(_table(X).append_column("city", text), path)
        with pytest.raises(ViewError, match=r"not numbers: city.*key="):
            open_rows(path)
        with pytest.raises(ViewError, match=r"a column of string 'city'"):
            open_rows(path, key="city")
        with pytest.raises(ViewError, match=r"no such column 'town'.*f0, f1, f2, city"):
            open_rows(path, key="town")
        parquet.write_table(_lists(X).append_column("id", pa.array(range(29))), path)
        with pytest.raises(ViewError, match=r"the columns vector, id; expected.*key="):
            open_rows(path)

    def test_lists_of_different_lengths(self, tmp_path):
        parquet.write_table(pa.table({"v": [[1.0, 2.0], [3.0]]}), tmp_path / "t.parquet")
        with pytest.raises(
            ViewError, match="list of 1 values in column 'v' near row 1; expected 2"
        ):
            np.asarray(open_rows(tmp_path / "t.parquet"))

    def test_a_file_of_several_matrices(self, tmp_path, X):
        with h5py.File(tmp_path / "two.h5", "w") as file:
            file["a"], file["b"] = X, X
        with pytest.raises(ViewError, match=r"arrays a, b; expected one.*key='a'"):
            open_rows(tmp_path / "two.h5")
        with pytest.raises(ViewError, match="key='c', which is not there"):
            open_rows(tmp_path / "two.h5", key="c")
        with h5py.File(tmp_path / "none.h5", "w") as file:
            file["a"] = np.ones(3)
        with pytest.raises(ViewError, match="no 2-D array"):
            open_rows(tmp_path / "none.h5")

    def test_files_that_are_not_there_or_not_known(self, tmp_path, X):
        with pytest.raises(ViewError, match="no file .*x.npy"):
            open_rows(tmp_path / "x.npy")
        with pytest.raises(ViewError, match="holds no file that ends in"):
            open_rows(tmp_path)
        with pytest.raises(ViewError, match="empty list"):
            open_rows([])
        np.savez(tmp_path / "x.npz", X)
        with pytest.raises(ViewError, match="Unpack it"):
            open_rows(tmp_path / "x.npz")
        (tmp_path / "x.csv").write_text("a,b\n1,2\n")
        with pytest.raises(ViewError, match=r"ends in '\.csv'.*read_views"):
            open_rows(tmp_path / "x.csv")
        np.save(tmp_path / "x.npy", X)
        with pytest.raises(ViewError, match="without a name; received key='a'"):
            open_rows(tmp_path / "x.npy", key="a")

    @pytest.mark.parametrize("ending", [".npy", ".zarr", ".parquet", ".arrow", ".feather", ".h5"])
    def test_damaged_files(self, tmp_path, ending):
        path = tmp_path / f"x{ending}"
        path.write_bytes(b"\x93NUMPY\x01\x00 nothing that can be read")
        with pytest.raises(ViewError, match=f"cannot be read as a {ending} file"):
            open_rows(path)

    def test_a_file_that_was_cut_short_after_it_was_opened(self, tmp_path, X):
        np.save(tmp_path / "x.npy", X)
        view = open_rows(tmp_path / "x.npy")
        with (tmp_path / "x.npy").open("r+b") as file:
            file.truncate(200)
        with pytest.raises(ViewError, match="shorter than its header states"):
            np.asarray(view)

    @pytest.mark.parametrize(("ending", "library"), [(".zarr", "zarr"), (".h5", "h5py")])
    def test_a_missing_library(self, tmp_path, monkeypatch, ending, library):
        monkeypatch.setitem(sys.modules, library, None)
        (tmp_path / f"x{ending}").write_bytes(b"any")
        with pytest.raises(
            EngineUnavailableError, match=rf"{library}.* pip install 'manyview\[files\]'"
        ):
            open_rows(tmp_path / f"x{ending}")


def test_rows_in_another_order_are_read_on_demand(view, X):
    positions = np.random.default_rng(0).permutation(len(X))
    positions[::7] = -1
    expected = np.where(positions[:, None] < 0, 0, X[positions]).astype(view.dtype)
    picked = Picked(view, positions)
    np.testing.assert_array_equal(picked, expected)
    np.testing.assert_array_equal(picked[5:23].read(slice(2, 9)), expected[7:14])
    np.testing.assert_array_equal(picked[[9, 3, 3, 28]], expected[[9, 3, 3, 28]])
    assert picked.fingerprint() != Picked(view, positions[::-1]).fingerprint()
    assert isinstance(picked[5:23], Picked)
