"""labels.csv: safe in a spreadsheet, and every name comes back."""

import csv

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from manyview.io import read_meta, read_views, write_labels
from manyview.io._formats import read_sheets
from manyview.io._keys import in_one_line

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", "'=1", "'x"]
AWKWARD = ["NA", "nan", "", "007", "1e5", "1.50", "True", " a ", 'b"c', "d,e", "f;g|h", "a\\b", "#"]
LINES = ["a\rb", "a\nb", "a\u2028b", "a\x85b", "a\0b", "\ufeffa", "'a\\u000d"]


def labels_of(names):
    n = len(names)
    return pd.DataFrame(
        {
            "sample": pd.Index(names, dtype=object),
            "cluster": np.arange(n) % 2,
            "confidence": np.linspace(0, 1, n),
            "outlier_score": np.linspace(-1, 2, n),
        }
    )


def read_back(path):
    return read_sheets(path, None)[0].frame


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.csv"


@given(st.lists(st.text(), min_size=1, unique=True))
@example([*FORMULAS, *AWKWARD, *LINES])
@example(["007", "008"])
@example(["NA"])
@example([""])
def test_every_name_comes_back_from_the_file(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    table = labels_of(names)
    write_labels(path, table)
    frame = read_back(path)
    assert frame["sample"].tolist() == names
    assert frame["cluster"].tolist() == table["cluster"].tolist()
    np.testing.assert_allclose(frame["outlier_score"], table["outlier_score"], rtol=1e-5)


@given(st.lists(st.text().map(in_one_line), min_size=2, unique=True))
@example([in_one_line(name) for name in FORMULAS if in_one_line(name) != "=1"])
def test_the_file_serves_as_metadata_of_the_same_samples(tmp_path_factory, names):
    """Names of samples are one line each, as all readers make them."""
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    write_labels(path, labels_of(names))
    found = read_meta(path, pd.Index(names, dtype=object)).table
    assert found["cluster"].tolist() == labels_of(names)["cluster"].tolist()


@given(st.lists(st.text(), min_size=1, unique=True))
@example([*FORMULAS, *LINES])
def test_no_cell_of_the_file_begins_a_formula_or_a_line(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    write_labels(path, labels_of(names))
    text = path.read_bytes().decode("utf-8")
    assert "\0" not in text
    assert len(text.splitlines()) == len(names) + 1
    for row in csv.reader(text.splitlines()):
        assert not row[0].startswith(("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠"))


def test_usual_names_stand_as_they_are(path):
    names = ["patient-1", "TCGA.02", "12", "a=b", "007", "x'y", "a\\b"]
    assert write_labels(path, labels_of(names)) == ()
    written = [row[0] for row in csv.reader(path.read_text(encoding="utf-8").splitlines())]
    assert written == ["sample", *names]


def test_notes_tell_of_apostrophes_when_they_are_written_and_when_they_are_read(path):
    (note,) = write_labels(path, labels_of(["=1+1", "a", "-x"]))
    assert "2 of 3 names" in note
    assert "apostrophe" in note
    assert "labels.parquet" in note
    (note,) = read_sheets(path, None)[0].notes
    assert "apostrophe" in note


def test_tables_of_others_keep_their_apostrophes(path):
    path.write_text("sample,x,y\n'=a,1,2\n'b,3,4\n", encoding="utf-8")
    assert list(read_views(path).data.sample_names) == ["'=a", "'b"]


def test_names_of_annotated_data_are_one_line_each(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        file["X"] = np.eye(3)
        for side, names in (("obs", ["a\rb", "c\u2028d", "e"]), ("var", ["f", "g", "h"])):
            group = file.create_group(side)
            group.attrs["_index"] = "_index"
            group["_index"] = names
    assert list(read_views(tmp_path / "a.h5ad").data.sample_names) == ["a b", "c d", "e"]
