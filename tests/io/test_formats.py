"""Every format gives back the numbers and the names that were written."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from manyview.exceptions import EngineUnavailableError, ViewError
from manyview.io import read_views

NAMES = ["anna", "bert", "carl", "dora"]
RNA = pd.DataFrame(
    [[1.5, 2.0, 0.0], [0.25, -4.0, 1.0], [8.0, 1e-3, 0.0], [0.0, 3.5, 2.0]],
    index=pd.Index(NAMES, name="sample"),
    columns=["g1", "g2", "g3"],
)
PROTEIN = pd.DataFrame(
    [[1.0, 0.5], [2.0, 0.75], [3.0, 0.125], [4.0, 8.0]],
    index=pd.Index(NAMES, name="sample"),
    columns=["p1", "p2"],
)


def check(loaded, *tables):
    """The views are these tables, names and all."""
    assert loaded.data.present is None
    assert list(loaded.data.sample_names) == NAMES
    for view, features, table in zip(
        loaded.data.views, loaded.data.feature_names, tables, strict=True
    ):
        dense = view.toarray() if sparse.issparse(view) else view
        np.testing.assert_allclose(dense, table.to_numpy())
        assert list(features) == list(table.columns)


WRITERS = {
    "a.csv": lambda table, path: table.to_csv(path),
    "a.tsv": lambda table, path: table.to_csv(path, sep="\t"),
    "semicolon.csv": lambda table, path: table.to_csv(path, sep=";"),
    "bar.txt": lambda table, path: table.to_csv(path, sep="|"),
    "comma.csv": lambda table, path: table.to_csv(path, sep=";", decimal=","),
    "comma.tsv": lambda table, path: table.to_csv(path, sep="\t", decimal=","),
    "unnamed.csv": lambda table, path: table.rename_axis(None).to_csv(path),
    "CAPITAL.CSV": lambda table, path: table.to_csv(path),
    "a.parquet": lambda table, path: table.to_parquet(path),
    "column.parquet": lambda table, path: table.reset_index().to_parquet(path),
    "a.feather": lambda table, path: table.reset_index().to_feather(path),
    "a.xlsx": lambda table, path: table.to_excel(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_of_any_format_is_read_back(name, tmp_path):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    WRITERS[name](RNA, tmp_path / name)
    loaded = read_views(tmp_path / name)
    check(loaded, RNA)
    assert loaded.data.view_names == (name.split(".")[0],)
    assert loaded.found.loc[0, ["samples", "features", "missing", "nan"]].tolist() == [4, 3, 0, 0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_text_is_read_in_any_encoding(encoding, tmp_path):
    text = "sample,größe\nJosé,1.5\nZoë,2\nmañana,3\n"
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    data = read_views(tmp_path / "a.csv").data
    assert list(data.sample_names) == ["José", "Zoë", "mañana"]
    assert list(data.feature_names[0]) == ["größe"]


def test_a_header_without_the_corner_as_r_writes_it(tmp_path):
    (tmp_path / "a.tsv").write_text('"g1"\t"g2"\n"anna"\t1\t2\n"bert"\t3\t4\n')
    data = read_views(tmp_path / "a.tsv").data
    assert list(data.sample_names) == ["anna", "bert"]
    np.testing.assert_array_equal(data.views[0], [[1, 2], [3, 4]])


def test_separators_inside_quotes_are_text(tmp_path):
    (tmp_path / "a.csv").write_text('sample;x;y\n"a, b, c, d";1;2\n"e, f, g, h";3;4\n')
    data = read_views(tmp_path / "a.csv").data
    assert list(data.sample_names) == ["a, b, c, d", "e, f, g, h"]
    np.testing.assert_array_equal(data.views[0], [[1, 2], [3, 4]])


def test_features_are_one_line_though_cells_have_several_and_samples_keep_their_names(tmp_path):
    (tmp_path / "a.csv").write_text('sample,"body\nmass"\n"anna\nmaria",1\nbert,2\n')
    data = read_views(tmp_path / "a.csv").data
    assert list(data.feature_names[0]) == ["body mass"]
    assert list(data.sample_names) == ["anna\nmaria", "bert"]


def test_numbers_without_a_header_are_all_read(tmp_path):
    np.savetxt(tmp_path / "a.csv", RNA.to_numpy(), delimiter=",")
    loaded = read_views(tmp_path / "a.csv")
    np.testing.assert_array_equal(loaded.data.views[0], RNA.to_numpy())
    assert "no header" in loaded.notes[0]


def test_a_first_row_that_may_be_a_sample_is_pointed_out(tmp_path):
    (tmp_path / "a.csv").write_text("anna,1.5,2\nbert,3,4\ncarl,5,6\n")
    assert "Add a header" in read_views(tmp_path / "a.csv").notes[0]


def test_a_row_with_a_field_too_many_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2,\n3,4,\n")
    with pytest.raises(ViewError, match="more fields than its header"):
        read_views(tmp_path / "a.csv")


def test_arrays_are_matched_by_position(tmp_path):
    np.save(tmp_path / "rna.npy", RNA.to_numpy(dtype=np.float32))
    RNA.to_csv(tmp_path / "named.csv")
    paths = [tmp_path / "rna.npy", tmp_path / "named.csv"]
    with pytest.raises(ViewError, match="named.csv has sample names .*rna.npy has none.*--by-posi"):
        read_views(paths)
    loaded = read_views(paths, by_position=True)
    np.testing.assert_array_equal(loaded.data.views[0], RNA.to_numpy(dtype=np.float32))
    assert loaded.data.views[0].dtype == np.float32
    assert not isinstance(loaded.data.views[0], np.memmap)  # whose file could be cut short
    assert list(loaded.data.sample_names) == NAMES
    assert "by position, as asked" in loaded.matching


def test_npz_and_mat_hold_several_views(tmp_path):
    arrays = {"rna": RNA.to_numpy(), "protein": PROTEIN.to_numpy()}
    np.savez(tmp_path / "a.npz", **arrays, y=[0, 0, 1, 1])
    io.savemat(tmp_path / "a.mat", arrays)
    for name in ("a.npz", "a.mat"):
        loaded = read_views(tmp_path / name)
        assert loaded.data.view_names == ("rna", "protein")
        assert list(loaded.data.sample_names) == [0, 1, 2, 3]
        np.testing.assert_array_equal(loaded.data.views[1], PROTEIN.to_numpy())
    assert "labels" in read_views(tmp_path / "a.npz").notes[0]


def test_nan_in_an_npz_file_are_filled_too(tmp_path):
    np.savez(tmp_path / "a.npz", view_0=np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 6.0]]))
    data = read_views(tmp_path / "a.npz", nan="feature-mean").data
    np.testing.assert_array_equal(data.views[0], [[1, 5], [3, 4], [5, 6]])


def test_every_sheet_is_a_view(tmp_path):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        RNA.to_excel(book, sheet_name="rna")
        PROTEIN.to_excel(book, sheet_name="protein")
        pd.DataFrame().to_excel(book, sheet_name="empty")
    loaded = read_views(tmp_path / "a.xlsx")
    check(loaded, RNA, PROTEIN)
    assert loaded.data.view_names == ("rna", "protein")


def test_every_file_of_a_folder_is_a_view(tmp_path):
    RNA.to_csv(tmp_path / "b_rna.csv")
    PROTEIN.to_parquet(tmp_path / "a_protein.parquet")
    (tmp_path / "README.md").write_text("About these data.")
    loaded = read_views(tmp_path)
    check(loaded, PROTEIN, RNA)
    assert "README.md" in loaded.notes[0]


def write_annotated(group, table, kind):
    """Write X, obs and var as AnnData does."""
    matrix = table.to_numpy()
    if kind == "dense":
        group["X"] = matrix
    else:
        compressed = sparse.csr_array(matrix) if kind == "csr" else sparse.csc_array(matrix)
        X = group.create_group("X")
        X.attrs.update({"encoding-type": f"{kind}_matrix", "shape": matrix.shape})
        for part in ("data", "indices", "indptr"):
            X[part] = getattr(compressed, part)
    for side, names in (("obs", table.index), ("var", table.columns)):
        frame = group.create_group(side)
        frame.attrs.update({"encoding-type": "dataframe", "_index": "_names"})
        frame["_names"] = names.to_numpy(dtype=object)


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_h5ad_keeps_names_and_sparsity(kind, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "rna.h5ad", "w") as file:
        write_annotated(file, RNA, kind)
    loaded = read_views(tmp_path / "rna.h5ad")
    check(loaded, RNA)
    assert sparse.issparse(loaded.data.views[0]) == (kind != "dense")


def test_h5mu_has_a_view_for_each_modality_with_its_own_samples(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5mu", "w") as file:
        file.create_group("mod").attrs["mod-order"] = ["rna", "protein"]
        write_annotated(file.create_group("mod/protein"), PROTEIN, "dense")
        write_annotated(file.create_group("mod/rna"), RNA.iloc[[2, 0]], "csr")
    data = read_views(tmp_path / "a.h5mu").data
    assert data.view_names == ("rna", "protein")
    assert list(data.sample_names) == ["carl", "anna", "bert", "dora"]
    np.testing.assert_array_equal(data.present[:, 0], [True, True, False, False])
    expected = [*RNA.to_numpy()[[2, 0]], np.zeros(3), np.zeros(3)]
    np.testing.assert_array_equal(data.views[0].toarray(), expected)


def test_h5ad_without_a_matrix_says_so(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        file["other"] = 1.0
    with pytest.raises(ViewError, match="lacks X, obs or var"):
        read_views(tmp_path / "a.h5ad")


@pytest.mark.parametrize("ending", [".zarr", ".zarr.zip"])
def test_zarr_holds_an_array_or_several(ending, tmp_path):
    zarr = pytest.importorskip("zarr")

    def open_group(name):
        path = str(tmp_path / f"{name}{ending}")
        store = zarr.storage.ZipStore(path, mode="w") if ending.endswith("zip") else path
        return zarr.open_group(store, mode="w"), store

    group, store = open_group("two")
    for name, table in (("rna", RNA), ("protein", PROTEIN)):
        group[name] = table.to_numpy()
    if ending.endswith("zip"):
        store.close()
    data = read_views(tmp_path / f"two{ending}").data
    assert data.view_names == ("protein", "rna")
    np.testing.assert_array_equal(data.views[1], RNA.to_numpy())


def test_zarr_in_the_layout_of_anndata_keeps_names(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "rna.zarr"), mode="w", zarr_format=2)
    group.create_array("X", data=RNA.to_numpy())
    for side, names in (("obs", RNA.index), ("var", RNA.columns)):
        frame = group.create_group(side)
        frame.attrs["_index"] = "_names"
        frame.create_array("_names", data=np.array(list(names), dtype="T"))
    check(read_views(tmp_path / "rna.zarr"), RNA)


def test_one_zarr_array_is_one_view(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.save_array(str(tmp_path / "rna.zarr"), RNA.to_numpy())
    np.testing.assert_array_equal(read_views(tmp_path / "rna.zarr").data.views[0], RNA.to_numpy())


@pytest.mark.parametrize(
    ("module", "name"), [("h5py", "a.h5ad"), ("openpyxl", "a.xlsx"), ("zarr", "a.zarr.zip")]
)
def test_a_missing_library_is_one_sentence_with_its_name(module, name, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"not empty")
    monkeypatch.setitem(sys.modules, module, None)
    expected = rf"needs {module}, .*: pip install 'manyview\[files\]'$"
    with pytest.raises(EngineUnavailableError, match=expected):
        read_views(tmp_path / name)


@pytest.mark.parametrize(
    "name",
    [f"a{ending}" for ending in (".parquet", ".feather", ".npy", ".npz", ".mat", ".h5ad")]
    + ["a.h5mu", "a.xlsx", "a.zarr.zip"],
)
def test_a_file_that_is_not_what_its_ending_says_is_one_sentence(name, tmp_path):
    for module, ending in (("h5py", "h5"), ("openpyxl", "xlsx"), ("zarr", "zip")):
        if ending in name:
            pytest.importorskip(module)
    (tmp_path / name).write_text("sample,x\na,1\n")
    with pytest.raises(ViewError, match="cannot be read as a") as caught:
        read_views(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_one_sentence(tmp_path):
    RNA.to_parquet(tmp_path / "a.csv")
    with pytest.raises(ViewError, match="is not text, though it ends in '.csv'"):
        read_views(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "\n\n", "is empty"),
        ("a.csv", "sample,x,y\n", "no rows of values"),
        ("a.csv", "sample,x\na,red\nb,blue\n", "no column of numbers"),
        ("a.docx", "text", "ends in '.docx'; expected .csv, "),
        ("a.csv", "sample,x\na,1\nb,2,3,4,5\n", "more fields than its header"),
    ],
)
def test_files_without_a_table_are_one_sentence(name, content, sentence, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ViewError, match=sentence):
        read_views(tmp_path / name)


def test_a_missing_file_and_a_folder_without_tables_are_one_sentence(tmp_path):
    with pytest.raises(ViewError, match="There is no file"):
        read_views(tmp_path / "nothing.csv")
    with pytest.raises(ViewError, match="holds no table"):
        read_views(tmp_path)
    with pytest.raises(ViewError, match="Received no files"):
        read_views([])
