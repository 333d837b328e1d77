"""Tables of Polars, Arrow and others as views, and the names that they keep."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow
import pytest

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError

polars = pytest.importorskip("polars")


class OnlyInterchange:
    """A table that speaks the dataframe interchange protocol and nothing else."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, *args, **keys):
        return self._table.__dataframe__(*args, **keys)


FORMS = {
    "polars": polars.DataFrame,
    "arrow": pyarrow.table,
    "interchange": lambda columns: OnlyInterchange(pyarrow.table(columns)),
}


@pytest.fixture
def blobs():
    data, _ = make_multiview_blobs(
        90, (5, 4), n_clusters=3, cluster_std=1.5, random_state=0, return_X_y=True
    )
    return data


def columns_of(view, letter):
    return {f"{letter}{j}": column for j, column in enumerate(view.T)}


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_views_with_the_names_of_their_features(blobs, form):
    tables = {
        name: FORMS[form](columns_of(view, name))
        for name, view in zip("ab", blobs.views, strict=True)
    }
    data = MultiViewData.of(tables)
    for view, expected in zip(data.views, blobs.views, strict=True):
        np.testing.assert_array_equal(view, expected)
    assert list(data.feature_names[1]) == ["b0", "b1", "b2", "b3"]
    assert data.sample_names is None
    expected = OMVCDR(3, random_state=0, n_init=1).fit(blobs)
    model = OMVCDR(3, random_state=0, n_init=1).fit(list(tables.values()))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(tables), expected.labels_)


@pytest.mark.parametrize("form", ["polars", "arrow"])
def test_one_table_is_cut_and_its_feature_names_are_remembered(blobs, form):
    table = FORMS[form](columns_of(np.hstack(blobs.views), "x"))
    model = OMVCDR(3, random_state=0, n_init=1, view_sizes=[5, 4]).fit(table)
    assert list(model.feature_names_in_) == [f"x{j}" for j in range(9)]
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    swapped = FORMS[form](dict(reversed(columns_of(np.hstack(blobs.views), "x").items())))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(swapped)


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_are_not_numbers_are_named(form):
    table = FORMS[form]({"x": [1.0, 2.0], "gene": ["a", "b"], "on": [True, False]})
    with pytest.raises(ViewError, match="View 'rna' has columns that are not numbers: gene. Drop"):
        MultiViewData.of({"rna": table})


def test_integers_and_null_become_numbers_and_NaN():
    table = polars.DataFrame({"n": [1, None, 3], "is": [True, None, False], "x": [0.5, None, 1.5]})
    data = MultiViewData.of({"a": table, "b": np.ones((3, 1))})
    np.testing.assert_array_equal(data.present, [[1, 1], [0, 1], [1, 1]])
    np.testing.assert_array_equal(data.views[0][[0, 2]], [[1, 1, 0.5], [3, 0, 1.5]])


def test_a_table_without_names_goes_with_one_that_has_some():
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=["s1", "s2"])
    data = MultiViewData.of([polars.DataFrame({"y": [3.0, 4.0]}), frame])
    assert list(data.sample_names) == ["s1", "s2"]


def test_tables_without_sample_names_cannot_be_aligned():
    table = polars.DataFrame({"y": [3.0, 4.0]})
    with pytest.raises(ViewError, match="whose index holds the sample names"):
        MultiViewData.align([table, table])


@pytest.mark.slow
def test_polars_and_arrow_are_loaded_only_where_they_are_given():
    code = (
        "import sys, numpy, manyview; manyview.MultiViewData.of(numpy.ones((2, 2)));"
        "print([m for m in ('polars', 'anndata', 'mudata') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestNewSamples:
    """Views of new samples are found by their names."""

    @pytest.fixture
    def model(self, blobs):
        same_width = {"rna": blobs.views[0][:, :4], "protein": blobs.views[1]}
        return OMVCDR(3, random_state=0, n_init=1).fit(same_width), same_width

    def test_in_any_order(self, model):
        model, views = model
        present = np.ones((90, 2), dtype=bool)
        present[::3, 0] = False
        expected = model.predict(views, present=present)
        turned = {name: views[name] for name in ("protein", "rna")}
        np.testing.assert_array_equal(model.predict(turned, present=present[:, ::-1]), expected)
        np.testing.assert_array_equal(model.predict(list(views.values())), model.labels_)

    def test_other_names_are_refused(self, model):
        model, views = model
        with pytest.raises(ViewError, match=r"the fit had \['rna', 'protein'\]"):
            model.predict({"rna": views["rna"], "methylation": views["protein"]})


class TestSetOutput:
    """`transform` as a frame with the index of its input."""

    NAMES = [f"sample{i}" for i in range(90)]

    def frames(self, blobs):
        return {
            name: pd.DataFrame(view, index=self.NAMES)
            for name, view in zip("ab", blobs.views, strict=True)
        }

    def test_pandas_keeps_the_index(self, blobs):
        views = self.frames(blobs)
        model = OMVCDR(3, random_state=0, n_init=1).set_output(transform="pandas")
        frame = model.fit_transform(views)
        assert list(frame.index) == self.NAMES
        assert list(frame.columns) == list(model.get_feature_names_out())
        half = MultiViewData.of(views)[::2]
        assert list(model.transform(half).index) == self.NAMES[::2]
        assert list(model.transform(list(views.values())).index) == self.NAMES
        assert list(model.transform(blobs).index) == list(range(90))  # no names, no index

    def test_polars(self, blobs):
        views = self.frames(blobs)
        model = OMVCDR(3, random_state=0, n_init=1).set_output(transform="polars")
        frame = model.fit_transform(views)
        assert isinstance(frame, polars.DataFrame)
        assert frame.columns == list(model.get_feature_names_out())
        expected = model.set_output(transform="default").transform(views)
        np.testing.assert_array_equal(frame.to_numpy(), expected)

    def test_the_anchor_graph_is_made_of_arrays_however_the_output_is_set(self, blobs):
        model = OMVCDR(3, random_state=0, n_init=1).set_output(transform="pandas").fit(blobs)
        graph = model.anchor_graph(blobs)
        assert [type(part) for part in graph] == [np.ndarray] * len(model.space_weights_)
