"""New samples with fewer views, by name; and views of one or three dimensions."""

import numpy as np
import pandas as pd
import pytest

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError

N = 60


@pytest.fixture(scope="module")
def views():
    data = make_multiview_blobs(N, (5, 8), separation=4.0, random_state=0).data
    return dict(zip(["image", "text"], map(np.asarray, data.views), strict=True))


@pytest.fixture(scope="module")
def model(views):
    return OMVCDR(n_clusters=3, random_state=0).fit(views)


def masked(views, name):
    """The same samples with all views, of which one is marked missing."""
    present = np.array([[other == name for other in views]] * N)
    return views, present


@pytest.mark.parametrize("name", ["image", "text"])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform", "score_samples"])
def test_fewer_named_views_are_views_that_are_missing(model, views, name, method):
    everything, present = masked(views, name)
    expected = getattr(model, method)(everything, present=present)
    for given in (
        {name: views[name]},
        {name: views[name], **{other: None for other in views if other != name}},
        [view if other == name else None for other, view in views.items()],
        MultiViewData.of({name: views[name]}),
    ):
        np.testing.assert_allclose(getattr(model, method)(given), expected, atol=1e-12)


def test_most_samples_keep_their_cluster_with_one_view(model, views):
    for name, view in views.items():
        assert (model.predict({name: view}) == model.labels_).mean() > 0.9


def test_samples_may_lack_rows_of_the_views_that_are_given(model, views):
    present = np.array([[True], [True]])
    few = {"image": views["image"][:2]}
    np.testing.assert_array_equal(model.predict(few, present=present), model.predict(few))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda v: {"imag": v["image"]}, r"has the view 'imag'.* Did you mean 'image'"),
        (lambda v: [v["image"]], r"or a dict of those that are there.*\['image', 'text'\]"),
        (lambda v: {"image": v["text"]}, r"X has 2 view\(s\) of \(8, 8\) features; the fit had"),
        (lambda v: {"image": None}, "Received no views"),
    ],
)
def test_what_is_no_view_of_the_fit_is_refused(model, views, given, sentence):
    with pytest.raises(ViewError, match=sentence):
        model.predict(given(views))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda a, b: [a[:, 0], b], "View 'view_0' has 1 dimension; expected 2 .*reshape"),
        (lambda a, b: [a[None], b], "View 'view_0' has 3 dimensions; expected 2 .*reshape"),
        (lambda a, b: [a, b[:, :, None]], "View 'view_1' has 3 dimensions"),
        (lambda a, b: {"a": a, "b": b[:, 0]}, "View 'b' has 1 dimension; expected 2"),
        (lambda a, b: [a, None], "View 'view_1' has 0 dimensions.*leave the view out"),
        (lambda a, b: [pd.Series(a[:, 0]), b], "View 'view_0' has 1 dimension"),
        (lambda a, b: pd.Series(a[:, 0]), r"shape \(60,\). Reshape your data"),
        (lambda a, b: a[:, 0], r"shape \(60,\). Reshape your data"),
        (lambda a, b: np.stack([a, a]), r"shape \(2, 60, 5\). Reshape your data: list\(array\)"),
    ],
)
def test_views_of_other_dimensions_are_refused_in_our_words(views, given, sentence):
    with pytest.raises(ViewError, match=sentence):
        OMVCDR(n_clusters=3, random_state=0).fit(given(views["image"], views["text"]))
