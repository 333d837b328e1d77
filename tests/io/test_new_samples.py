"""New samples in the order of views and features of a fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from manyview.exceptions import ViewError
from manyview.io import FittedView, read_new_samples
from manyview.io.new_samples import _columns

GENES = np.array(["g1", "g2", "g3"], dtype=object)
RNA = FittedView("rna", np.array([1.0, 2.0, 3.0]), GENES)
CNV = FittedView("cnv", np.array([4.0, 5.0, 6.0]), GENES)  # the same genes, measured otherwise
IMAGE = FittedView("image", np.zeros(2))


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_features_are_reordered_and_gaps_filled_by_hand(tmp_path):
    path = write(tmp_path, "new.csv", "id,g3,g1\na,30,\nb,31,11\n")
    loaded = read_new_samples(path, [RNA], nan="feature-mean")
    assert loaded.data.views[0].tolist() == [[1, 2, 30], [11, 2, 31]]
    assert loaded.data.sample_names.tolist() == ["a", "b"]
    assert loaded.data.feature_names[0].tolist() == ["g1", "g2", "g3"]
    assert loaded.found["nan"].tolist() == [3]


def test_views_that_no_file_has_are_missing(tmp_path):
    path = write(tmp_path, "new.csv", "id,g1,g2,g3\na,1,2,3\n")
    loaded = read_new_samples(path, [IMAGE, RNA])
    assert loaded.data.view_names == ("image", "rna")
    assert loaded.data.present.tolist() == [[False, True]]
    note = "The view 'image' is missing; the samples are assigned by the other views."
    assert loaded.notes == (note,)


def test_features_tell_the_side_of_the_samples(tmp_path):
    path = write(tmp_path, "new.csv", "gene,a,b\ng2,2,20\ng1,1,10\ng3,3,30\n")
    loaded = read_new_samples(path, [RNA])
    assert loaded.data.sample_names.tolist() == ["a", "b"]
    assert loaded.data.views[0].tolist() == [[1, 2, 3], [10, 20, 30]]


def test_names_decide_where_views_have_the_same_features(tmp_path):
    text = "id,g1,g2,g3\na,1,2,3\n"
    assert read_new_samples(write(tmp_path, "cnv.csv", text), [RNA, CNV]).found["view"][0] == "cnv"
    assert (
        read_new_samples(write(tmp_path, "my-CNV.csv", text), [RNA, CNV]).found["view"][0] == "cnv"
    )
    nameless = write(tmp_path, "new.csv", text)
    with pytest.raises(ViewError, match="Name the views in the order of the files with --views"):
        read_new_samples(nameless, [RNA, CNV])
    assert read_new_samples(nameless, [RNA, CNV], view_names=["cnv"]).found["view"][0] == "cnv"


def test_arrays_are_known_by_their_width(tmp_path):
    np.save(tmp_path / "new.npy", np.ones((4, 2)))
    assert read_new_samples(tmp_path / "new.npy", [RNA, IMAGE]).found["view"].tolist() == ["image"]
    np.save(tmp_path / "image.npy", np.ones((2, 5)))
    with pytest.raises(ViewError, match="has 5 features; the view 'image' of the fit has 2"):
        read_new_samples(tmp_path / "image.npy", [RNA, IMAGE])


def test_a_view_without_any_of_its_features_is_refused(tmp_path):
    path = write(tmp_path, "rna.csv", "id,h1,h2\na,1,2\n")
    with pytest.raises(ViewError, match="lacks 3 of 3 features of 'rna', all of them"):
        read_new_samples(path, [RNA], nan="feature-mean")


def test_columns_are_taken_alike_from_dense_and_sparse():
    values = np.array([[1.0, 0, 3], [0, 5, 0]])
    places = np.array([2, -1, 0])
    dense = _columns(values, places)
    np.testing.assert_array_equal(dense, [[3, np.nan, 1], [0, np.nan, 0]])
    np.testing.assert_array_equal(_columns(sparse.csr_array(values), places).toarray(), dense)


def test_rows_are_brought_together_by_name(tmp_path):
    rna = write(tmp_path, "rna.csv", "id,g1,g2,g3\na,1,2,3\nb,4,5,6\n")
    other = write(tmp_path, "cnv.csv", "id,g1,g2,g3\nc,7,8,9\nb,1,1,1\n")
    data = read_new_samples([other, rna], [RNA, CNV]).data
    found = pd.DataFrame(data.present, data.sample_names, data.view_names)
    assert found.loc[["a", "b", "c"]].to_numpy().tolist() == [
        [True, False],
        [True, True],
        [False, True],
    ]
    where = data.sample_names.get_loc("b")
    assert [view[where].tolist() for view in data.views] == [[4, 5, 6], [1, 1, 1]]
