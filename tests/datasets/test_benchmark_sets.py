"""The sets of the paper in the files that people have, checked against table I."""

import sys

import numpy as np
import pytest
from scipy import io

from helpers.mat_files import save_mat5, save_mat73
from manyview.cli.datasets import list_sets, show_sets
from manyview.datasets import load_benchmark, load_file
from manyview.datasets.benchmark_sets import LICENSES, SOURCES, benchmark_files
from manyview.datasets.registry import PAPER_SETS, find_paper_set
from manyview.exceptions import ViewError

# usual file, variable with the views, variable with the labels
FILES = {
    "Flower17": ("flower17_Kmatrix", "KH", "Y"),
    "HandWritten": ("HW_2Views", "X", "Y"),
    "BDGP": ("BDGP_fea", "X", "Y"),
    "Hdigit": ("Hdigit", "data", "truelabel"),
    "AWA": ("AwA_fea", "fea", "gt"),
    "YTF-10": ("YTF-10", "X", "y"),
    "YTF-20": ("YouTubeFace20_4Views", "X", "truth"),
}


def save_kernels5(path, name, cube, label_name, labels):
    io.savemat(path, {name: cube, label_name: labels})


def save_kernels73(path, name, cube, label_name, labels):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        file[name], file[label_name] = cube.T, np.asarray(labels, dtype=float).T


def small_views(paper):
    """Few features, but the true number of samples, views and classes."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=(paper.n_samples, 2 + v % 2)) for v in range(paper.n_views)]


def labels_of(paper):
    """Counted from 1, in a column, sorted by class."""
    return np.sort(np.arange(paper.n_samples) % paper.n_classes)[:, None] + 1.0


def kernels_of(paper):
    half = np.random.default_rng(0).integers(0, 100, (paper.n_samples, paper.n_samples))
    kernel = (half + half.T).astype(np.uint8)
    return np.stack([kernel + np.uint8(v) for v in range(paper.n_views)], axis=2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("version", ["5", "7.3"])
@pytest.mark.parametrize("paper", PAPER_SETS, ids=lambda paper: paper.name)
def test_the_usual_file_of_each_set_is_read_as_table_1_has_it(folder, paper, version):
    stem, views_name, labels_name = FILES[paper.name]
    path, labels = folder / f"{stem}.mat", labels_of(paper)
    if paper.name == "Flower17":
        cube = kernels_of(paper)
        views = [cube[:, :, v] for v in range(paper.n_views)]
        save_kernels = save_kernels5 if version == "5" else save_kernels73
        save_kernels(path, views_name, cube, labels_name, labels)
    else:
        views = small_views(paper)
        if version == "5":
            save_mat5(path, views_name, views, labels_name, labels)
        else:
            save_mat73(path, views_name, [view.T for view in views], labels_name, labels)
    (row,) = list_sets().itertuples()
    assert (row.name, row.warning) == (paper.file, "")
    loaded = load_benchmark(paper.name)
    sizes = (loaded.data.n_samples, loaded.data.n_views, len(np.unique(loaded.target)))
    assert sizes == (paper.n_samples, paper.n_views, paper.n_classes)
    assert np.array_equal(loaded.target, labels.ravel() - 1)
    for ours, theirs in zip(loaded.data.views, views, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("handwritten", "handwritten_2v"),
        ("HandWritten_2Views", "handwritten_2v"),
        ("bdgp", "bdgp"),
        ("BDGP", "bdgp"),
        ("HDIGIT", "hdigit"),
        ("AwA", "awa"),
        ("YTF10", "ytf10"),
        ("ytf-20", "ytf20"),
        ("YTF10_4", "ytf10"),
        ("YouTubeFace10_4Views", "ytf10"),
        ("Flower17", "flower17"),
    ],
)
def test_a_name_tells_the_set_in_any_case(folder, name, file):
    assert find_paper_set(name).file == file
    np.savez(folder / f"{name}.npz", view_0=np.eye(3))
    assert list(benchmark_files()) == [file]
    for spelling in (name, file, name.upper(), file.upper()):
        assert load_benchmark(spelling).data.n_samples == 3


@pytest.mark.parametrize(
    "name",
    ["handwritten_6v", "Handwritten_numerals", "flower17_derived_7v", "ytf", "YTF100", "ytf50", ""],
)
def test_names_of_other_sets_are_none_of_the_papers(name):
    assert find_paper_set(name) is None


def test_every_alias_belongs_to_one_set():
    for one in PAPER_SETS:
        assert {find_paper_set(name) for name in (one.name, one.file, *one.aliases)} == {one}


def test_the_own_name_of_a_set_comes_before_other_names_and_nothing_is_hidden(folder):
    for n, stem in enumerate(("BDGP_fea", "bdgp", "AwA_fea", "AWA-6views"), start=2):
        np.savez(folder / f"{stem}.npz", view_0=np.eye(n))
    assert {name: path.stem for name, path in benchmark_files().items()} == {
        "bdgp": "bdgp",
        "BDGP_fea": "BDGP_fea",
        "awa": "AWA-6views",
        "AwA_fea": "AwA_fea",
    }
    assert load_benchmark("bdgp").data.n_samples == 3
    assert load_benchmark("BDGP_fea").data.n_samples == 2
    assert load_benchmark("BDGP").data.n_samples == 3


def test_a_name_in_other_letters_is_found_but_no_other_name(folder):
    np.savez(folder / "yaleA_3v.npz", view_0=np.eye(3))
    assert load_benchmark("YALEA_3V").data.n_samples == 3
    with pytest.raises(ViewError, match="no benchmark set 'yaleA3v'"):
        load_benchmark("yaleA3v")


def test_a_file_that_a_stopped_program_left_is_no_set(folder):
    np.savez(folder / ".12ab-bdgp.npz", view_0=np.eye(3))
    assert benchmark_files() == {}


def test_a_file_that_differs_from_table_1_is_a_warning(folder, capsys):
    from rich.console import Console

    views = {f"view_{v}": np.eye(4) for v in range(2)}
    np.savez(folder / "BDGP.npz", **views, y=[0, 0, 1, 2])
    (row,) = list_sets().itertuples()
    expected = "differs from Table I: 4 samples, not 2500, 2 views, not 3, 3 classes, not 5"
    assert row.warning == expected
    show_sets(Console(width=200))
    assert f"bdgp: {expected}" in capsys.readouterr().out


def test_licenses_are_listed_and_described(folder):
    assert set(LICENSES) == set(SOURCES)
    for name in ("handwritten_6v", "ccv", "mine"):
        np.savez(folder / f"{name}.npz", view_0=np.eye(3))
    assert list_sets().set_index("name")["license"].to_dict() == {
        "handwritten_6v": "CC BY 4.0",
        "ccv": "not stated",
        "mine": "",
    }
    assert "License: CC BY 4.0." in load_benchmark("handwritten_6v").DESCR
    assert "License" not in load_benchmark("mine").DESCR


def test_a_73_file_without_h5py_is_a_warning_in_the_list(folder, monkeypatch):
    save_mat73(folder / "mine.mat", "X", [np.eye(3)], "Y", np.ones((3, 1)))
    monkeypatch.setitem(sys.modules, "h5py", None)
    (row,) = list_sets().itertuples()
    assert "pip install 'manyview[files]'" in row.warning


def test_kernels_may_come_in_a_cell_too(folder):
    kernels = [np.eye(5) * v + 1 for v in (1, 2)]
    save_mat5(folder / "flower17.mat", "KH", kernels, "Y", np.arange(5)[:, None])
    views = load_benchmark("flower17").data.views
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(views, kernels, strict=True))


def test_matrices_come_before_kernels_and_other_cubes_are_no_views(folder):
    cube = np.ones((4, 4, 2))
    np.savez(folder / "a.npz", images=cube, features=np.ones((4, 3)), y=[0, 0, 1, 1])
    assert load_file(folder / "a.npz").view_names == ("features",)
    np.savez(folder / "b.npz", images=np.ones((4, 3, 2)), y=[0, 0, 1, 1])
    with pytest.raises(ViewError, match="found no views"):
        load_file(folder / "b.npz")


@pytest.mark.parametrize("name", ["truelabel", "true_label", "GT", "Truth", "Label", "LABELS"])
def test_labels_have_many_names(folder, name):
    save_mat5(folder / "a.mat", "X", [np.ones((3, 2))], name, np.array([[5], [5], [7]]))
    assert load_file(folder / "a.mat").target.tolist() == [0, 0, 1]


def test_small_y_are_the_labels_where_large_y_is_a_view(folder):
    np.savez(folder / "a.npz", X=np.ones((3, 2)), Y=np.ones((3, 4)), y=[0, 1, 1])
    loaded = load_file(folder / "a.npz")
    assert loaded.view_names == ("X", "Y")
    assert loaded.target.tolist() == [0, 1, 1]
