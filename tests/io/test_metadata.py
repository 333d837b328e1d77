"""Tables about samples that are known already."""

import pandas as pd
import pytest

from manyview.exceptions import ViewError
from manyview.io import read_meta

NAMES = pd.Index(["10", "b", "c"], dtype=object)


def write(folder, text, name="meta.csv"):
    (folder / name).write_text(text)
    return folder / name


def test_rows_are_matched_by_the_column_with_the_most_names(tmp_path):
    path = write(tmp_path, "ward,patient,age\nb,c,3\nx,10,1\ny,z,9\n")
    meta = read_meta(path, NAMES)
    assert list(meta.table.columns) == ["ward", "age"]
    assert meta.table["ward"].tolist()[::2] == ["x", "b"]
    assert meta.table["age"].isna().tolist() == [False, True, False]
    assert meta.notes == (f"{path}: 2 of 3 samples found; 1 row about other samples left out.",)


def test_id_names_the_column(tmp_path):
    path = write(tmp_path, "ward,patient\nb,c\n10,b\n")
    assert read_meta(path, NAMES, id="ward").table["patient"].tolist()[:2] == ["b", "c"]


def test_whole_numbers_are_names_and_an_index_counts(tmp_path):
    path = tmp_path / "meta.parquet"
    pd.DataFrame({"age": [1.5, 2.5]}, index=pd.Index([10, 11], name="n")).to_parquet(path)
    assert read_meta(path, NAMES).table["age"].tolist()[0] == 1.5


def test_without_names_rows_are_matched_by_position(tmp_path):
    path = write(tmp_path, "ward\nx\ny\n")
    meta = read_meta(path, pd.RangeIndex(2))
    assert meta.table["ward"].tolist() == ["x", "y"]
    with pytest.raises(ViewError, match="has 2 rows, and the views have 3 samples without names"):
        read_meta(path, pd.RangeIndex(3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("patient,age\nb,1\nb,2\n", "has sample 'b' twice"),
        ("patient,age\nx,1\ny,2\n", "names no sample of the views, which have 10, b, c"),
    ],
)
def test_what_cannot_be_matched_is_refused(tmp_path, text, message):
    with pytest.raises(ViewError, match=message):
        read_meta(write(tmp_path, text), NAMES)


def test_arrays_are_no_tables_about_samples(tmp_path):
    with pytest.raises(ViewError, match="expected .csv, .tsv, .txt, .parquet, .feather or .xlsx"):
        read_meta(write(tmp_path, "x", "meta.npy"), NAMES)
