"""Loaders and the generator: sizes, determinism, layouts of files, and clear errors."""

import os
import struct
import sys

import numpy as np
import pytest
from scipy import io, sparse
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import Bunch

from helpers.mat_files import save_mat5, save_mat73
from manyview import datasets
from manyview.data.views import MultiViewData
from manyview.datasets import (
    load_benchmark,
    load_digits_views,
    load_file,
    make_multiview_blobs,
)
from manyview.datasets._mat5 import read_mat5
from manyview.datasets.benchmark_sets import SOURCES, benchmark_files, benchmark_folder
from manyview.datasets.digits import _fourier, _gradients, _outlines, _profiles
from manyview.exceptions import EngineUnavailableError, NotEnoughSamplesError, ViewError

SIZES = {  # n, features of the views, classes
    "handwritten_2v": (2000, (784, 256), 10),
    "bdgp": (2500, (1000, 500, 250), 5),
    "hdigit": (10000, (784, 256), 10),
    "handwritten_6v": (2000, (240, 76, 216, 47, 64, 6), 10),
    "mnist70k_4v": (70000, (784, 324, 236, 256), 10),
    "flower17_derived_7v": (1360, (256, 144, 1764, 944, 512, 500, 300), 17),
    "mnist_usps5k": (5000, (784, 784), 10),
    "ccv": (6773, (20, 20, 20), 20),
    "scene15": (4485, (20, 59, 40), 15),
    "citeseer": (3312, (3312, 3703), 6),
    "cora": (2708, (2708, 1433, 2706, 2706), 7),
    "reuters1200": (1200, (2000,) * 5, 6),
    "webkb": (1051, (1840, 3000), 2),
    "proteinfold": (694, (27,) * 12, 27),
    "movies": (617, (1878, 1398), 17),
    "bbcsport": (544, (3183, 3203), 5),
    "ngs": (500, (2000,) * 3, 5),
    "orl": (400, (512, 59, 864, 254), 40),
    "brca_jive": (348, (645, 574, 423), 3),
    "msrcv1_5v": (210, (24, 576, 512, 256, 254), 7),
    "yaleA_3v": (165, (9, 512, 50), 15),
    "tcga_breast": (150, (184, 200, 142), 3),
    "nutrimouse": (40, (120, 21), 5),
    "synthetic3d": (600, (3, 3, 3), 3),
}


def kmeans_accuracy(X, y, k):
    labels = KMeans(k, n_init=3, random_state=0).fit_predict(X)
    counts = contingency_matrix(y, labels)
    return counts[linear_sum_assignment(counts, maximize=True)].sum() / len(y)


def test_the_public_names_are_those_of_the_package():
    assert set(datasets.__all__) == {
        "load_benchmark",
        "load_digits_views",
        "load_file",
        "make_citeseq",
        "make_multiview_blobs",
    }


@pytest.fixture(scope="module")
def digits():
    return load_digits_views()


def test_digits_have_five_views_of_1797_samples(digits):
    assert isinstance(digits.data, MultiViewData)
    assert digits.data.n_samples == 1797
    assert digits.data.n_features == (64, 39, 72, 46, 32)
    assert digits.view_names == ("pixels", "fourier", "gradients", "profiles", "outlines")
    assert digits.data.present is None
    assert digits.target.dtype == np.int64
    assert set(digits.target) == set(range(10))
    assert "1797 samples" in digits.DESCR
    assert "UCI" in digits.DESCR


def test_digits_are_the_same_each_time_and_as_a_pair(digits):
    data, target = load_digits_views(return_X_y=True)
    assert np.array_equal(target, digits.target)
    for again, view in zip(data.views, digits.data.views, strict=True):
        assert np.array_equal(again, view)
        assert view.flags.c_contiguous


@pytest.mark.parametrize(
    ("v", "bound"), [(0, 0.70), (1, 0.60), (2, 0.70), (3, 0.65), (4, 0.50)]
)  # a chance labelling reaches 0.13
def test_each_view_of_the_digits_tells_them_apart(digits, v, bound):
    assert kmeans_accuracy(digits.data.views[v], digits.target, 10) > bound


def test_fourier_magnitudes_do_not_change_when_an_image_moves_around():
    images = np.random.default_rng(0).random((3, 8, 8))
    assert np.allclose(_fourier(images), _fourier(np.roll(images, (2, 3), axis=(1, 2))))


def test_gradients_of_an_edge_point_across_it():
    """A step from dark to bright, left to right: all gradients point right, into bin 0."""
    step = np.repeat(np.arange(8) > 3, 8).reshape(8, 8).T.astype(float)[None]
    histograms = _gradients(step).reshape(9, 8)
    assert np.allclose(histograms[:, 1:], 0)
    assert histograms[:, 0].max() > 0


def test_profiles_and_outlines_of_one_pixel_by_hand():
    """A pixel in row 2, column 5 stops the light after 2 or 5 from there, 5 or 2 from beyond."""
    image = np.zeros((1, 8, 8))
    image[0, 2, 5] = 16
    assert np.flatnonzero(_profiles(image)[0]).tolist() == [2, 8 + 5, 16 + 7 + 3, 31 + 7 + 0]
    outlines = _outlines(image).reshape(4, 8)
    assert [outlines[0, 2], outlines[1, 2], outlines[2, 5], outlines[3, 5]] == [5, 2, 2, 5]
    assert np.count_nonzero(outlines == 8) == 28


def test_blobs_are_balanced_shuffled_and_named():
    blobs = make_multiview_blobs(301, (4, 5, 6), n_clusters=3, random_state=0)
    assert isinstance(blobs, Bunch)
    assert blobs.data.n_features == (4, 5, 6)
    assert blobs.view_names == ("view_0", "view_1", "view_2")
    assert sorted(np.bincount(blobs.target)) == [100, 100, 101]
    assert (np.diff(blobs.target) < 0).any()
    assert "301 samples, 3 classes" in blobs.DESCR


def test_the_same_seed_gives_the_same_blobs_whatever_the_block_size(monkeypatch):
    first, y = make_multiview_blobs(50, (3, 4), random_state=7, return_X_y=True)
    monkeypatch.setattr(datasets.blobs, "BLOCK_VALUES", 8)
    second, y2 = make_multiview_blobs(50, (3, 4), random_state=7, return_X_y=True)
    other, _ = make_multiview_blobs(50, (3, 4), random_state=8, return_X_y=True)
    assert np.array_equal(y, y2)
    assert all(np.array_equal(a, b) for a, b in zip(first.views, second.views, strict=True))
    assert not np.array_equal(first.views[0], other.views[0])


@pytest.mark.parametrize("dtype", ["float32", np.float64])
def test_blobs_have_the_type_asked_for(dtype):
    data = make_multiview_blobs(30, dtype=dtype, missing_rate=0.2, random_state=0).data
    assert {view.dtype for view in data.views} == {np.dtype(dtype)}


def test_every_view_shows_the_clusters_except_views_of_noise():
    blobs = make_multiview_blobs(300, (10, 40, 10), noise_views=1, random_state=0)
    accuracies = [kmeans_accuracy(view, blobs.target, 3) for view in blobs.data.views]
    assert min(accuracies[:2]) > 0.95
    assert accuracies[2] < 0.5


def test_centers_are_as_far_apart_as_asked_in_views_of_any_width():
    blobs = make_multiview_blobs(
        2000, (5, 500), n_clusters=40, separation=9.0, cluster_std=0.0, random_state=0
    )
    for view in blobs.data.views:
        centers = np.stack([view[blobs.target == c].mean(axis=0) for c in range(40)])
        squares = ((centers[:, None] - centers) ** 2).sum(axis=2)
        assert np.sqrt(squares.sum() / (40 * 39)) == pytest.approx(9.0, rel=0.15)


def test_spread_may_differ_between_views():
    data = make_multiview_blobs(4000, (3, 3), n_clusters=1, cluster_std=(1, 5), random_state=0).data
    assert [view.std(axis=0).mean() for view in data.views] == pytest.approx([1, 5], rel=0.05)


def test_proportions_set_the_sizes():
    target = make_multiview_blobs(100, proportions=(7, 2, 1), random_state=0).target
    assert np.bincount(target).tolist() == [70, 20, 10]


@pytest.mark.parametrize(("rate", "n_views"), [(0.0, 2), (0.3, 3), (0.5, 2), (0.75, 4)])
def test_the_rate_of_missing_rows_is_met_and_every_sample_keeps_a_view(rate, n_views):
    data = make_multiview_blobs(5000, (3,) * n_views, missing_rate=rate, random_state=0).data
    hidden = np.column_stack([np.isnan(view).all(axis=1) for view in data.views])
    assert hidden.mean() == pytest.approx(rate, abs=0.02)
    assert not hidden.all(axis=1).any()
    assert hidden.mean(axis=0) == pytest.approx(rate, abs=0.04)
    assert (data.present is None) if rate == 0 else np.array_equal(data.present, ~hidden)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"missing_rate": 0.6}, "expected 0 to 0.5"),
        ({"missing_rate": -0.1}, "missing_rate=-0.1"),
        ({"n_features": ()}, "one positive number per view"),
        ({"n_features": (3, 0)}, "one positive number per view"),
        ({"noise_views": 3}, "noise_views=3"),
        ({"dtype": "int32"}, "float32 or float64"),
        ({"cluster_std": (1, 2, 3)}, "cluster_std"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"proportions": (1, 2)}, "expected 3 positive numbers"),
        ({"proportions": (1, 2, -1)}, "expected 3 positive numbers"),
    ],
)
def test_blobs_refuse_what_cannot_be_drawn(arguments, message):
    with pytest.raises(ViewError, match=message):
        make_multiview_blobs(**arguments)


@pytest.mark.parametrize("arguments", [{"n_samples": 2}, {"proportions": (1000, 1, 1)}])
def test_blobs_refuse_empty_clusters(arguments):
    with pytest.raises(NotEnoughSamplesError, match="empty"):
        make_multiview_blobs(**arguments)


LABELS = np.array([1, 1, 2, 2, 4, 4, 2])  # from 1, with a gap


@pytest.fixture
def matrices():
    """Two views of seven samples; the second mostly zeros."""
    rng = np.random.default_rng(0)
    return [rng.random((7, 3)), np.where(rng.random((7, 4)) < 0.5, 0, rng.random((7, 4)))]


savers = pytest.mark.parametrize("save", [save_mat5, save_mat73])


def assert_same_views(data, matrices):
    assert data.n_views == len(matrices)
    for view, matrix in zip(data.views, matrices, strict=True):
        assert np.allclose(view.toarray() if sparse.issparse(view) else view, matrix)


@savers
@pytest.mark.parametrize("is_turned", [False, True], ids=["n × d", "d × n"])
@pytest.mark.parametrize("column", [False, True], ids=["1 × V", "V × 1"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_a_mat_file_is_read_in_every_layout(tmp_path, matrices, save, is_turned, column, is_sparse):
    stored = [matrix.T if is_turned else matrix for matrix in matrices]
    if is_sparse:
        stored = [sparse.csc_array(matrix) for matrix in stored]
    save(tmp_path / "a.mat", "X", stored, "Y", LABELS[:, None], column)
    loaded = load_file(tmp_path / "a.mat")
    assert_same_views(loaded.data, matrices)
    assert loaded.target.tolist() == [0, 0, 1, 1, 2, 2, 1]
    assert loaded.target.dtype == np.int64
    assert loaded.view_names == ("view_0", "view_1")
    assert "a.mat" in loaded.DESCR
    assert "7 samples, 3 classes" in loaded.DESCR
    for view in loaded.data.views:
        assert sparse.issparse(view) == is_sparse
        assert is_sparse or view.flags.c_contiguous


@savers
@pytest.mark.parametrize("cell_name", ["X", "Xs", "data", "fea", "anything"])
@pytest.mark.parametrize("label_name", ["Y", "y", "gt", "truth", "labels", "label"])
def test_the_usual_names_are_known_and_labels_may_lie_down(
    tmp_path, matrices, save, cell_name, label_name
):
    save(tmp_path / "a.mat", cell_name, matrices, label_name, LABELS[None, :])
    data, target = load_file(str(tmp_path / "a.mat"), return_X_y=True)
    assert_same_views(data, matrices)
    assert target.tolist() == [0, 0, 1, 1, 2, 2, 1]


@savers
def test_each_view_may_lie_in_its_own_way(tmp_path, matrices, save):
    save(tmp_path / "a.mat", "X", [matrices[0].T, matrices[1]], "Y", LABELS[:, None])
    assert_same_views(load_file(tmp_path / "a.mat").data, matrices)


@savers
def test_a_square_view_is_read_as_the_others_are(tmp_path, matrices, save):
    square = np.arange(49.0).reshape(7, 7)
    for turned in (False, True):
        views = [square, *matrices]
        stored = [view.T for view in views] if turned else views
        save(tmp_path / "a.mat", "X", stored, "Y", LABELS[:, None])
        assert_same_views(load_file(tmp_path / "a.mat").data, views)
    save(tmp_path / "a.mat", "X", [square, square], "Y", LABELS[:, None])
    assert_same_views(load_file(tmp_path / "a.mat").data, [square, square])


@savers
def test_without_labels_the_samples_are_the_side_that_all_views_share(tmp_path, matrices, save):
    first, second = matrices
    for stored in ([first, second], [first.T, second.T], [first, second.T]):
        save(tmp_path / "a.mat", "X", stored, "", None)
        loaded = load_file(tmp_path / "a.mat")
        assert_same_views(loaded.data, matrices)
        assert loaded.target is None
        assert "no labels" in loaded.DESCR
    save(tmp_path / "a.mat", "X", [first, second[:6]], "", None)
    with pytest.raises(ViewError, match="there are no labels"):
        load_file(tmp_path / "a.mat")


def test_a_sparse_view_of_zeros_is_read_from_a_73_file(tmp_path, matrices):
    zeros = sparse.csc_array((7, 4))
    save_mat73(tmp_path / "a.mat", "X", [matrices[0], zeros], "Y", LABELS[:, None])
    assert_same_views(load_file(tmp_path / "a.mat").data, [matrices[0], np.zeros((7, 4))])


def test_separate_matrices_and_one_matrix_are_views_too(tmp_path, matrices):
    io.savemat(
        tmp_path / "a.mat", {"hog": matrices[0].T, "lbp": matrices[1], "gt": LABELS, "lam": 2.0}
    )
    loaded = load_file(tmp_path / "a.mat")
    assert loaded.view_names == ("hog", "lbp")
    assert_same_views(loaded.data, matrices)
    io.savemat(tmp_path / "b.mat", {"X": matrices[0], "Y": LABELS})
    assert_same_views(load_file(tmp_path / "b.mat").data, matrices[:1])


def test_labels_may_be_repeated_for_each_view(tmp_path, matrices):
    truth = np.empty(2, dtype=object)
    truth[:] = [LABELS, LABELS]
    cell = np.empty(2, dtype=object)
    cell[:] = matrices
    io.savemat(tmp_path / "a.mat", {"data": cell, "truth": truth})
    loaded = load_file(tmp_path / "a.mat")
    assert_same_views(loaded.data, matrices)
    assert loaded.target.max() == 2


def test_names_of_views_are_read_from_a_mat_file(tmp_path, matrices):
    names, cell = np.empty(2, dtype=object), np.empty(2, dtype=object)
    names[:], cell[:] = ["hog", "lbp"], matrices
    io.savemat(tmp_path / "a.mat", {"X": cell, "Y": LABELS, "view_names": names})
    assert load_file(tmp_path / "a.mat").view_names == ("hog", "lbp")


def test_an_npz_file_is_read_in_the_order_of_its_numbers(tmp_path):
    views = {f"view_{v}": np.full((3, 2), v, dtype=np.uint8) for v in (10, 2, 0)}
    np.savez(tmp_path / "a.npz", **views, y=["b", "a", "b"], is_test=np.ones(3), extra=np.eye(2))
    loaded = load_file(tmp_path / "a.npz")
    assert loaded.view_names == ("view_0", "view_2", "view_10")
    assert [view[0, 0] for view in loaded.data.views] == [0, 2, 10]
    assert {view.dtype for view in loaded.data.views} == {np.dtype(np.float32)}
    assert loaded.target.tolist() == [1, 0, 1]


@pytest.mark.parametrize("label_name", ["y", "Y", "gt", "truth", "labels"])
def test_an_npz_file_may_have_any_names(tmp_path, matrices, label_name):
    np.savez(tmp_path / "a.npz", rna=matrices[0], protein=matrices[1], **{label_name: LABELS})
    loaded = load_file(tmp_path / "a.npz")
    assert loaded.view_names == ("rna", "protein")
    assert_same_views(loaded.data, matrices)
    assert loaded.target.tolist() == [0, 0, 1, 1, 2, 2, 1]


def test_names_of_views_must_fit_them(tmp_path, matrices):
    views = {"view_0": matrices[0], "view_1": matrices[1]}
    np.savez(tmp_path / "a.npz", **views, view_names=["rna", "protein"])
    assert load_file(tmp_path / "a.npz").view_names == ("rna", "protein")
    for names in (["rna"], ["rna", "rna"], ["rna", "rna", "protein"]):
        np.savez(tmp_path / "a.npz", **views, view_names=names)
        with pytest.raises(ViewError, match="expected 2 different names"):
            load_file(tmp_path / "a.npz")


def one_sentence(path):
    """Load a bad file; return the message, which names the file and hides the inner errors."""
    with pytest.raises(ViewError) as caught:
        load_file(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.npz", "a.mat"])
def test_a_missing_file_and_a_folder_are_named(tmp_path, name):
    assert "There is no file" in one_sentence(tmp_path / name)
    (tmp_path / name).mkdir()
    assert "There is no file" in one_sentence(tmp_path / name)


def test_another_suffix_is_refused_with_a_way_out(tmp_path):
    assert "expected .npz or .mat" in one_sentence(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.npz", "a.mat"])
@pytest.mark.parametrize("content", [b"", b"hello", b"<html>" * 500, bytes(1000), b"PK\3\4" * 9])
def test_a_file_of_another_kind_is_one_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    one_sentence(tmp_path / name)


@pytest.mark.parametrize("kind", ["npz", "mat5", "mat5 compressed", "mat73"])
def test_a_file_cut_short_anywhere_is_one_sentence(tmp_path, kind):
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 30)), np.arange(40) % 3
    path = tmp_path / ("a.npz" if kind == "npz" else "a.mat")
    if kind == "npz":
        np.savez(path, view_0=X, y=y)
    elif kind == "mat73":
        save_mat73(path, "X", [X, X], "Y", y[:, None])
    else:
        io.savemat(path, {"Y": y, "X": X}, do_compression="compressed" in kind)
    whole = path.read_bytes()
    for share in (0.001, 0.02, 0.1, 0.3, 0.5, 0.8, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        one_sentence(path)


@pytest.mark.parametrize("kind", ["npz", "mat5", "mat5 compressed"])
def test_a_damaged_file_is_one_sentence_or_other_numbers_and_never_a_crash(tmp_path, kind):
    """scipy.io.loadmat ends the process on some of these files."""
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 5)), np.arange(12) % 3
    cell = np.empty(2, dtype=object)
    cell[:] = [X, sparse.csc_array(np.where(X < 0.5, 0, X))]
    path = tmp_path / ("a.npz" if kind == "npz" else "a.mat")
    if kind == "npz":
        np.savez(path, view_0=X, y=y)
    else:
        io.savemat(path, {"X": cell, "Y": y, "s": {"a": X}}, do_compression="comp" in kind)
    whole = path.read_bytes()
    messages = []
    for _ in range(150):
        content = bytearray(whole)
        for at in rng.integers(len(whole), size=3):
            content[at] = rng.integers(256)
        path.write_bytes(content)
        try:
            load_file(path)
        except ViewError as error:
            messages.append(str(error))
    assert len(messages) > 30
    assert all(str(path) in message for message in messages)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_mat_files_are_read_as_scipy_reads_them(tmp_path, is_compressed):
    rng = np.random.default_rng(0)
    cell = np.empty(2, dtype=object)
    cell[:] = [np.eye(2), "text"]
    variables = {
        "double": rng.random((3, 4)),
        "single": rng.random((1, 5)).astype(np.float32),
        "small": np.arange(-3, 3, dtype=np.int8)[None],
        "large": np.array([[2**60]]),
        "logical": np.array([[True, False]]),
        "empty": np.empty((0, 3)),
        "cube": rng.random((2, 3, 4)),
        "sparse": sparse.random_array((6, 4), density=0.4, rng=rng).tocsc(),
        "sparse_logical": sparse.csc_array(np.eye(3, dtype=bool)),
        "text": "some text",
        "cell": cell,
        "struct": {"a": 1.0},
        "complex": np.array([[1j]]),
    }
    io.savemat(tmp_path / "a.mat", variables, do_compression=is_compressed)
    expected = io.loadmat(tmp_path / "a.mat")
    received = read_mat5((tmp_path / "a.mat").read_bytes())
    assert list(received) == list(variables)
    assert received["struct"] is received["complex"] is None
    assert np.array_equal(received["cell"][0], np.eye(2))
    assert received["cell"][1].tolist() == ["text"]
    for name in set(variables) - {"struct", "complex", "cell"}:
        ours, theirs = received[name], expected[name]
        if sparse.issparse(ours):
            ours, theirs = ours.toarray(), theirs.toarray()
        assert ours.shape == theirs.shape
        assert np.array_equal(ours, theirs)


def test_a_mat_file_of_the_other_byte_order_is_read(tmp_path):
    """Written by hand, big-endian: X is 2 × 2 with its columns (1, 2) and (3, 4)."""
    name = struct.pack(">HHcxxx", 1, 1, b"X")  # a small element: number of bytes, type, data
    parts = struct.pack(">IIIIIIii", 6, 8, 6, 0, 5, 8, 2, 2) + name
    parts += struct.pack(">II4d", 9, 32, 1, 2, 3, 4)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\1\0MI"
    (tmp_path / "a.mat").write_bytes(header + struct.pack(">II", 14, len(parts)) + parts)
    assert load_file(tmp_path / "a.mat").data.views[0].tolist() == [[1, 3], [2, 4]]


def test_arrays_from_files_may_be_changed(tmp_path, matrices):
    save_mat5(tmp_path / "a.mat", "X", [matrix.T for matrix in matrices], "Y", LABELS)
    assert all(view.flags.writeable for view in load_file(tmp_path / "a.mat").data.views)


def test_damaged_bytes_inside_an_npz_file_are_noticed(tmp_path):
    np.savez(tmp_path / "a.npz", view_0=np.ones((50, 50)), y=np.zeros(50))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[5000] ^= 255
    (tmp_path / "a.npz").write_bytes(content)
    assert "damaged" in one_sentence(tmp_path / "a.npz")


def test_pickled_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", view_0=np.array([[{}]], dtype=object), allow_pickle=True)
    assert "allow_pickle=False" in one_sentence(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": [0, 1]}, "found no views"),
        ({"text": "hello"}, "found no views"),
        ({"view_0": np.eye(3), "view_1": np.ones(3)}, "found view_1"),
        ({"view_0": np.array([["a", "b"]])}, "found view_0"),
        ({"view_0": np.ones((3, 2)), "y": [0, 1, 0, 1]}, "expected 4 rows or columns"),
        ({"view_0": np.eye(3), "y": np.eye(3)}, r"labels 'y' have shape \(3, 3\)"),
        ({"view_0": np.eye(3), "y": [0, 1, np.nan]}, "without NaN"),
        ({"view_0": np.eye(3), "y": []}, "expected one number per sample"),
        ({"view_0": np.array([[1, np.inf], [2, 3]])}, "inf"),
    ],
)
def test_a_file_with_the_wrong_content_is_one_sentence(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ViewError, match=message):
        load_file(tmp_path / "a.npz")
    one_sentence(tmp_path / "a.npz")


@savers
def test_a_cell_of_text_is_refused(tmp_path, save):
    if save is save_mat5:
        save(tmp_path / "a.mat", "X", ["a", "b"], "Y", LABELS)
    else:
        save(tmp_path / "a.mat", "X", [np.ones(3)], "Y", LABELS[:, None])
    assert "not a numeric matrix" in one_sentence(tmp_path / "a.mat")


def test_without_h5py_it_is_named(tmp_path, matrices, monkeypatch):
    save_mat73(tmp_path / "a.mat", "X", matrices, "Y", LABELS[:, None])
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(EngineUnavailableError, match=r"needs h5py.*'manyview\[files\]'"):
        load_file(tmp_path / "a.mat")


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "bdgp.npz", view_0=np.eye(3), view_1=np.ones((3, 2)), y=[2, 2, 3])
    np.savez(tmp_path / "other.npz", view_0=np.eye(4))
    return tmp_path


def test_the_folder_is_the_argument_else_the_variable_else_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", "/variable")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setenv("HOME", "/home/someone")
    assert str(benchmark_folder("/argument")) == "/argument"
    assert str(benchmark_folder()) == "/variable"
    monkeypatch.delenv("MANYVIEW_DATA")
    assert str(benchmark_folder()) == "/cache/manyview"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert str(benchmark_folder()) == "/home/someone/.cache/manyview"


def test_a_benchmark_is_loaded_by_name(folder, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    bdgp = load_benchmark("bdgp")
    assert bdgp.data.n_features == (3, 2)
    assert bdgp.target.tolist() == [0, 0, 1]
    assert "drosophila" in bdgp.DESCR
    data, target = load_benchmark("other", data_home=folder, return_X_y=True)
    assert data.n_samples == 4
    assert target is None


def test_a_mat_file_of_the_user_is_a_benchmark_too_and_npz_comes_first(folder, matrices):
    save_mat5(folder / "awa.mat", "X", matrices, "Y", LABELS)
    save_mat5(folder / "bdgp.mat", "X", matrices, "Y", LABELS)
    assert list(benchmark_files(folder)) == ["awa", "bdgp", "other"]
    assert load_benchmark("awa", data_home=folder).data.n_samples == 7
    assert load_benchmark("bdgp", data_home=folder).data.n_samples == 3


@pytest.mark.parametrize("name", ["nothing", "../bdgp", "bdgp.npz", ""])
def test_an_unknown_benchmark_lists_what_is_there(folder, name):
    with pytest.raises(ViewError, match=r"has bdgp, other\. Set MANYVIEW_DATA"):
        load_benchmark(name, data_home=folder)


def test_a_folder_that_is_empty_or_missing_says_so(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ViewError, match=r"no \.npz files"):
            load_benchmark("bdgp", data_home=folder)


def test_every_known_set_has_a_source():
    assert set(SOURCES) == set(SIZES)


@pytest.mark.data
@pytest.mark.skipif("MANYVIEW_DATA" not in os.environ, reason="MANYVIEW_DATA is not set")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if sizes[0] > 50_000 else name
        for name, sizes in SIZES.items()
    ],
)
def test_the_real_sets_have_their_published_sizes(name):
    if name not in benchmark_files():
        pytest.skip(f"{name} is not in {benchmark_folder()}")
    n, n_features, n_classes = SIZES[name]
    loaded = load_benchmark(name)
    assert loaded.data.n_samples == n
    assert loaded.data.n_features == n_features
    assert loaded.data.present is None
    assert {view.dtype for view in loaded.data.views} == {np.dtype(np.float32)}
    assert np.array_equal(np.unique(loaded.target), np.arange(n_classes))


def test_the_listing_names_what_is_here_and_survives_a_broken_file(tmp_path, monkeypatch):
    from manyview.cli.datasets import list_sets

    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    assert list_sets().empty
    np.savez(tmp_path / "mine.npz", view_0=np.eye(4), view_1=np.ones((4, 2)), y=[0, 0, 1, 1])
    (tmp_path / "broken.npz").write_bytes(b"not a zip")
    sets = list_sets().set_index("name")
    assert sets.loc["mine", ["samples", "features", "classes"]].tolist() == [4, "4, 2", 2]
    assert sets.loc["broken", "warning"].startswith("unreadable: ")
