"""Files of cells: 10x, Matrix Market, loom, compressed tables; what AnnData says about samples."""

import bz2
import gzip

import numpy as np
import pandas as pd
import pyarrow
import pytest
from scipy import io, sparse

from helpers.cells import (
    counts_of,
    mtx_files,
    write_annotated,
    write_loom,
    write_obs,
    write_tenx_h5,
)
from manyview.exceptions import ViewError
from manyview.io import read_views

h5py = pytest.importorskip("h5py")


def write_folder(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def check(data, views, barcodes):
    assert list(data.sample_names) == barcodes
    assert data.view_names == tuple(views)
    for view, expected in zip(data.views, views.values(), strict=True):
        assert sparse.issparse(view)
        np.testing.assert_array_equal(view.toarray(), expected)


def test_10x_counts_are_one_view_per_kind_of_feature(tmp_path):
    views, barcodes = counts_of()
    with h5py.File(tmp_path / "a.h5", "w") as file:
        write_tenx_h5(file, views, barcodes)
    loaded = read_views(tmp_path / "a.h5")
    check(loaded.data, views, barcodes)
    assert list(loaded.data.feature_names[1]) == ["g4", "g5", "g6"]
    assert loaded.notes == ()
    assert all(view.indices.dtype == np.int32 for view in loaded.data.views)
    # version 2: groups by genome, and one kind of feature
    with h5py.File(tmp_path / "b.h5", "w") as file:
        write_tenx_h5(file, views, barcodes)
        file.move("matrix", "hg19")
        file.move("hg19/features/id", "hg19/genes")
        file.move("hg19/features/name", "hg19/gene_names")
        del file["hg19/features"]
    (view,) = read_views(tmp_path / "b.h5").data.views
    np.testing.assert_array_equal(view.toarray(), np.hstack(list(views.values())))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_folder_with_mtx_is_read_with_its_names(tmp_path, is_packed, version):
    views, barcodes = counts_of()
    files = mtx_files(views, barcodes, is_packed=is_packed, version=version)
    folder = write_folder(tmp_path / "filtered", files)
    if version == 2:
        views = {"rna": np.hstack(list(views.values()))}
    check(read_views(folder).data, views, barcodes)
    matrix = next(folder.glob("matrix*"))
    check(read_views(matrix).data, views, barcodes)


def test_matrices_of_an_archive_lie_in_one_folder_with_prefixes(tmp_path):
    for sample, seed in (("GSM1_", 0), ("GSM2_", 1)):
        views, barcodes = counts_of(seed=seed)
        files = mtx_files({"rna": views["rna"]}, barcodes)
        write_folder(tmp_path / "geo", {f"{sample}{name}": of for name, of in files.items()})
    found = read_views(tmp_path / "geo").found
    assert list(found["view"]) == ["rna", "rna_2"]
    assert list(found["samples"]) == [12, 12]


def test_genes_with_one_name_get_their_identifier(tmp_path):
    views, barcodes = counts_of(sizes=(4,))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        write_tenx_h5(file, views, barcodes, ["CD4", "TBCE", "TBCE", "CD8A"])
    names = read_views(tmp_path / "a.h5").data.feature_names[0]
    assert list(names) == ["CD4", "TBCE (ENSG1)", "TBCE (ENSG2)", "CD8A"]


def test_droplets_without_cells_are_noted(tmp_path):
    views, barcodes = counts_of(n=30)
    views = {view: of * (np.arange(30) < 9)[:, None] for view, of in views.items()}
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        write_tenx_h5(file, views, barcodes)
    (note,) = read_views(tmp_path / "raw.h5").notes
    assert "21 of 30 barcodes have fewer than 10 counts" in note
    assert "filtered_feature_bc_matrix" in note


def test_a_matrix_without_names_has_samples_in_rows(tmp_path):
    counts = counts_of()[0]["rna"]
    io.mmwrite(tmp_path / "a.mtx", sparse.coo_array(counts))
    loaded = read_views(tmp_path / "a.mtx")
    np.testing.assert_array_equal(loaded.data.views[0].toarray(), counts)
    assert "its rows are samples" in loaded.notes[0]


def test_loom_is_read_by_cells_with_its_attributes(tmp_path):
    views, barcodes = counts_of(sizes=(40,))
    for name, counts in (("dense", views["rna"]), ("sparse", views["rna"] * (views["rna"] > 6))):
        with h5py.File(tmp_path / f"{name}.loom", "w") as file:
            write_loom(file, counts, barcodes, {"type": np.array(["a", "b"] * 6, dtype="S")})
        loaded = read_views(tmp_path / f"{name}.loom")
        (view,) = loaded.data.views
        assert sparse.issparse(view) == (name == "sparse")
        dense = view.toarray() if sparse.issparse(view) else view
        np.testing.assert_array_equal(dense, counts)
        assert list(loaded.data.sample_names) == barcodes
        assert loaded.data.feature_names[0][3] == "g3"
        assert list(loaded.obs["type"]) == ["a", "b"] * 6


@pytest.mark.parametrize("ending", [".csv.gz", ".tsv.gz", ".txt.gz", ".csv.bz2", ".csv.zst"])
def test_compressed_tables_are_tables(tmp_path, ending):
    table = pd.DataFrame({"sample": list("abcd"), "x": [1.5, 2, 3, 4], "y": [0, 5, 6, 7.5]})
    kind, packed = f".{ending.split('.')[1]}", f".{ending.split('.')[2]}"
    text = table.to_csv(index=False, sep="," if kind == ".csv" else "\t").encode()
    path = tmp_path / f"rna{ending.upper()}"
    if packed == ".zst":
        with pyarrow.output_stream(str(path), compression="zstd") as file:
            file.write(text)
    else:
        path.write_bytes({".gz": gzip, ".bz2": bz2}[packed].compress(text))
    loaded = read_views(path)
    assert loaded.data.view_names == ("rna",)
    assert list(loaded.data.sample_names) == list("abcd")
    np.testing.assert_array_equal(loaded.data.views[0], table[["x", "y"]])


def test_a_file_that_unpacks_to_more_than_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("manyview.io._formats.compressed.installed_memory", lambda: 4_000_000)
    for name in ("a.csv.gz", "matrix.mtx.gz"):
        start = b"%%MatrixMarket matrix coordinate integer general\n"
        (tmp_path / name).write_bytes(gzip.compress(start + b"%,2\n" * 1_000_000))
        with pytest.raises(ViewError, match="a quarter of the memory when unpacked"):
            read_views(tmp_path / name)


TYPES = pd.Categorical(["b", None, "t", "b"], categories=["b", "t"])
OBS = {
    "type": TYPES,
    "depth": np.array([3.5, 2, 1, 4]),
    "is_good": np.array([True, False, True, True]),
    "donor": np.array(["x", "y", "x", "y"], dtype=object),
    "age": (np.array([30, 0, 50, 60]), np.array([False, True, False, False])),
    "vectors": np.ones((4, 2)),
}


def test_what_anndata_says_about_samples_comes_along(tmp_path):
    names = list("wxyz")
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        write_annotated(file, np.arange(8.0).reshape(4, 2), names, ["g1", "g2"], OBS)
    obs = read_views(tmp_path / "a.h5ad").obs
    assert list(obs.index) == names
    assert list(obs) == ["type", "depth", "is_good", "donor", "age"]
    assert obs["type"].isna().tolist() == [False, True, False, False]
    assert obs["type"].dropna().tolist() == ["b", "t", "b"]
    assert obs["depth"].dtype == float
    assert obs["is_good"].tolist() == [True, False, True, True]
    assert obs["age"].isna().tolist() == [False, True, False, False]


@pytest.fixture
def multimodal(tmp_path):
    """Three modalities, the second without the first cell, in another order."""
    values = np.arange(8.0).reshape(4, 2)
    with h5py.File(tmp_path / "a.h5mu", "w") as file:
        write_obs(file, {"type": TYPES}, list("wxyz"))
        for name, cells in (("rna", "wxyz"), ("prot", "zyx"), ("atac", "wxyz")):
            rows = ["wxyz".index(cell) for cell in cells]
            part = file.create_group(f"mod/{name}")
            columns = {"depth": OBS["depth"][rows]}
            write_annotated(part, values[rows], list(cells), [f"{name}1", f"{name}2"], columns)
    return tmp_path / "a.h5mu"


def test_columns_of_a_modality_have_its_name(multimodal):
    obs = read_views(multimodal).obs
    assert list(obs) == ["type", "atac:depth", "prot:depth", "rna:depth"]
    assert obs.loc[list("wxyz"), "prot:depth"].tolist()[1:] == OBS["depth"].tolist()[1:]
    assert np.isnan(obs.loc["w", "prot:depth"])
    assert obs.loc["z", "type"] == "b"


def test_views_are_chosen_by_their_names(multimodal):
    loaded = read_views(multimodal, view_names=["rna", "prot"])
    assert loaded.data.view_names == ("rna", "prot")
    assert loaded.data.view_rows == (4, 3)
    turned = read_views(multimodal, view_names=["prot", "rna"])
    assert turned.data.view_names == ("prot", "rna")
    assert turned.data.feature_names[0][0] == "prot1"
    assert read_views(multimodal, view_names=["a", "b", "c"]).data.view_names == ("a", "b", "c")
    for wrong in (["rna", "protein"], ["rna", "rna"]):
        with pytest.raises(ViewError, match="some of their own: atac, prot, rna"):
            read_views(multimodal, view_names=wrong)


REFUSED = {
    "cells.rds": (b"x", "holds objects of R.*write.csv.*write10xCounts"),
    "cells.h5ad.gz": (gzip.compress(b"x"), "compressed as a whole; unpack it"),
    "a.csv.gz": (b"no gzip", "cannot be read as a .csv file"),
    "b.csv.gz": (gzip.compress(b"sample,x\na,1\nb,2\n" * 99)[:-20], "cannot be read as a .csv"),
    "a.mtx": (b"no matrix", "no Matrix Market file"),
    "b.mtx": (
        b"%%MatrixMarket matrix coordinate integer general\n9 9 999999999\n1 1 1\n",
        "announces .* values of .*; it is damaged",
    ),
    "c.mtx": (
        b"%%MatrixMarket matrix coordinate integer general\n999999999999 9 1\n1 1 1\n",
        "announces .* values of .*; it is damaged",
    ),
    "d.mtx": (
        b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n7 1 1\n",
        "announces 1 values of 2 x 2, and has 1, or some outside",
    ),
    "e.mtx": (b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 x 1\n", "be read as"),
    "f.mtx": (b"%%MatrixMarket matrix array real general\n1 1\n1\n", "no Matrix Market file of a"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_such_file_gets_one_sentence(tmp_path, name):
    content, said = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ViewError, match=said) as caught:
        read_views(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_matrix_must_have_the_shape_of_its_names(tmp_path):
    views, barcodes = counts_of()
    files = mtx_files(views, barcodes, is_packed=False)
    with pytest.raises(ViewError, match=r"shape \(7, 12\), but 7 features and 1 barcodes"):
        read_views(write_folder(tmp_path / "a", {**files, "barcodes.tsv": b"AAA-1\n"}))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        write_tenx_h5(file, views, barcodes[:-1])
    with pytest.raises(ViewError, match="7 features and 11 barcodes"):
        read_views(tmp_path / "a.h5")
