"""MultiViewData: what goes in, what comes out, what is refused."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
from scipy import sparse

from manyview import OMVCDR, MultiViewData
from manyview.data.views import is_list_of_views
from manyview.exceptions import DataWarning, ViewError


def test_it_knows_its_sizes():
    data = MultiViewData.of({"a": np.ones((4, 2)), "b": np.ones((4, 3), np.float32)})
    assert (data.n_samples, data.n_views, data.n_features) == (4, 2, (2, 3))
    assert data.view_names == ("a", "b")
    assert data.shape == (4, 5)
    assert data.present is None
    assert repr(data) == "MultiViewData(4 samples; a (2), b (3))"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float16", "float32"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("bool", "float32"),
        ("object", "float64"),
    ],
)
def test_floats_are_kept_and_the_rest_converted_without_loss(given, kept):
    X = np.array([[1, 0], [0, 1], [1, 1]]).astype(given)
    (view,) = MultiViewData.of(X).views
    assert view.dtype == kept
    np.testing.assert_array_equal(view, X.astype(float))


def test_arrays_that_need_no_conversion_are_not_copied(tmp_path):
    X = np.ones((5, 3), np.float32)
    assert np.shares_memory(MultiViewData.of([X, X]).views[0], X)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert isinstance(MultiViewData.of([mapped, mapped]).views[0], np.memmap)
    wide = np.ones((5, 7))
    assert all(
        np.shares_memory(view, wide) for view in MultiViewData.of(wide, view_sizes=[3, 4]).views
    )


@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix", "csc_array", "dok_array"])
def test_sparse_views_become_csr(kind):
    X = np.eye(4)
    (view,) = MultiViewData.of(getattr(sparse, kind)(X)).views
    assert isinstance(view, sparse.csr_array)
    np.testing.assert_array_equal(view.toarray(), X)


def test_duplicate_entries_of_a_sparse_view_are_summed():
    X = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    csr = sparse.csr_array(
        (np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2)
    )
    for given in (X, csr):
        (view,) = MultiViewData.of(given).views
        assert view.nnz == 1
        assert view[0, 1] == 3
    assert csr.nnz == 2  # the user's matrix is left alone


@pytest.mark.parametrize(
    "rows",
    [
        slice(1, 3),
        [1, 2],
        np.array([1, 2]),
        np.array([False, True, True, False]),
        (np.array([1, 2]), ...),
    ],
)
def test_indexing_runs_over_samples(rows):
    table = pd.DataFrame(np.arange(8.0).reshape(4, 2), index=list("abcd"))
    data = MultiViewData.of({"x": table, "y": table}, present=[[1, 1], [1, 0], [1, 1], [1, 1]])
    part = data[rows]
    assert len(part) == 2
    assert list(part.sample_names) == ["b", "c"]
    np.testing.assert_array_equal(part.views[1], table.to_numpy()[1:3])
    np.testing.assert_array_equal(part.present, [[True, False], [True, True]])
    assert part.view_names == ("x", "y")


def test_one_index_gives_one_sample_and_iteration_ends():
    data = MultiViewData.of([np.ones((3, 2)), np.ones((3, 1))])
    assert data[-1].n_samples == 1
    assert [one.n_samples for one in data] == [1, 1, 1]
    with pytest.raises(IndexError):
        data[3]


def test_rows_of_NaN_are_missing_and_so_is_what_present_says():
    X = np.arange(6.0).reshape(3, 2)
    Y = X.copy()
    Y[1] = np.nan
    data = MultiViewData.of([X, Y], present=[[0, 1], [1, 1], [1, 1]])
    np.testing.assert_array_equal(data.present, [[0, 1], [1, 0], [1, 1]])
    assert "33% of rows missing" in repr(data)
    again = MultiViewData.of(data, present=[[1, 1], [1, 1], [0, 1]])
    np.testing.assert_array_equal(again.present, [[0, 1], [1, 0], [0, 1]])


def test_missing_rows_may_hold_anything():
    X = np.full((3, 2), np.inf)
    data = MultiViewData.of([np.ones((3, 2)), X], present=np.array([[1, 0]] * 3))
    assert data.present.sum() == 3


def test_all_present_is_the_same_as_no_mask():
    assert MultiViewData.of(np.ones((3, 2)), present=np.ones((3, 1)) > 0).present is None


class TestAlign:
    rna = pd.DataFrame({"g1": [1.0, 2, 3], "g2": [4.0, 5, 6]}, index=["a", "b", "c"])
    protein = pd.DataFrame({"p": [10.0, 30, 40]}, index=["c", "a", "d"])

    def test_inner_keeps_what_all_have_in_the_order_of_the_first(self):
        data = MultiViewData.align({"rna": self.rna, "protein": self.protein})
        assert list(data.sample_names) == ["a", "c"]
        np.testing.assert_array_equal(data.views[1][:, 0], [30, 10])
        assert data.present is None
        assert [list(names) for names in data.feature_names] == [["g1", "g2"], ["p"]]

    def test_outer_keeps_all_and_marks_what_is_missing(self):
        data = MultiViewData.align([self.rna, self.protein], how="outer")
        assert list(data.sample_names) == ["a", "b", "c", "d"]
        np.testing.assert_array_equal(data.present, [[1, 1], [1, 0], [1, 1], [0, 1]])
        np.testing.assert_array_equal(data.views[0][2], [3, 6])

    def test_nothing_in_common_is_refused(self):
        with pytest.raises(ViewError, match="share no sample name.*'a'.*'x'"):
            MultiViewData.align([self.rna, self.protein.set_axis(list("xyz"))])

    def test_a_name_given_twice_is_refused(self):
        with pytest.raises(ViewError, match="has sample 'a' twice"):
            MultiViewData.align([self.rna, self.protein.set_axis(list("aab"))])

    def test_anything_but_tables_is_refused(self):
        with pytest.raises(ViewError, match="DataFrames"):
            MultiViewData.align([np.ones((2, 2)), np.ones((2, 2))])

    def test_an_unknown_way_is_refused(self):
        with pytest.raises(ViewError, match="how='left'"):
            MultiViewData.align([self.rna, self.protein], how="left")

    def test_tables_in_another_order_are_pointed_here(self):
        with pytest.raises(ViewError, match=r"MultiViewData\.align"):
            MultiViewData.of({"rna": self.rna, "protein": self.protein})


class TestIndexes:
    """Frames whose indexes differ are never paired by position without a word."""

    rna = pd.DataFrame({"g": [1.0, 2, 3, 4]}, index=list("abcd"))
    protein = pd.DataFrame({"p": [4.0, 3, 2, 1]}, index=list("dcba"))

    @pytest.mark.parametrize("fit", [MultiViewData.of, OMVCDR(2).fit, OMVCDR(2).fit_predict])
    @pytest.mark.parametrize("index", [list("dcba"), list("abce"), [3, 2, 1, 0], None])
    def test_another_index_is_refused(self, fit, index):
        protein = self.protein.set_axis(index or pd.RangeIndex(4))
        with pytest.raises(ViewError, match=r"MultiViewData\.align"):
            fit({"rna": self.rna, "protein": protein})

    def test_names_and_a_default_index_are_refused_with_both_remedies(self):
        with pytest.raises(ViewError, match=r"'protein' merely numbers.*align.*to_numpy"):
            MultiViewData.of({"rna": self.rna, "protein": self.protein.reset_index(drop=True)})

    def test_a_shuffled_default_index_is_refused(self):
        plain = self.rna.reset_index(drop=True)
        with pytest.raises(ViewError, match="have different|merely numbers"):
            MultiViewData.of({"a": plain, "b": plain.iloc[[2, 0, 1, 3]]})

    def test_an_index_that_repeats_is_refused_or_pointed_out(self):
        twice = self.rna.set_axis(list("abca"))
        with pytest.raises(ViewError, match="'rna' and 'protein' have sample 'a' twice"):
            MultiViewData.of({"rna": twice, "protein": self.protein.set_axis(list("abca"))})
        with pytest.warns(DataWarning, match="'view_0' has sample 'a' twice"):
            MultiViewData.of(twice)

    @pytest.mark.parametrize("form", [pd.DataFrame, pyarrow.table])
    def test_names_in_a_column_in_another_order_are_refused(self, form):
        one = form({"patient_id": [11, 12, 17, 30], "x": [1.0, 2.0, 3.0, 4.0]})
        other = form({"patient_id": [30, 11, 17, 12], "y": [1.0, 2.0, 3.0, 4.0]})
        with pytest.raises(ViewError, match=r"column 'patient_id' in another order.*set_index"):
            MultiViewData.of({"a": one, "b": other})
        assert MultiViewData.of({"a": one, "b": one}).n_samples == 4


@pytest.mark.parametrize("sizes", [[3, 3], [0, 5], [], [6, -1]])
def test_sizes_that_do_not_add_up_are_refused(sizes):
    with pytest.raises(ViewError, match="add up to the number of features; X has 5"):
        MultiViewData.of(np.ones((4, 5)), view_sizes=sizes)


def test_present_of_another_shape_is_refused():
    with pytest.raises(ViewError, match=r"expected booleans of shape \(4, 2\)"):
        MultiViewData.of([np.ones((4, 2)), np.ones((4, 3))], present=np.ones((4, 3), bool))


def test_a_broken_value_deep_in_a_large_view_is_found():
    X = np.ones((5000, 1000), np.float32)
    X[4321, 7] = np.nan
    with pytest.raises(ViewError, match="row 4321"):
        MultiViewData.of(X)


def test_what_counts_as_a_list_of_views():
    X = np.ones((3, 2))
    assert is_list_of_views([X, X])
    assert is_list_of_views({"a": X})
    assert is_list_of_views(([[1, 2]], [[3]]))
    assert not is_list_of_views(X)
    assert not is_list_of_views(X.tolist())
    assert not is_list_of_views(MultiViewData.of(X))
    assert not is_list_of_views(sparse.dok_array(X))
