"""Known classes: what is set beside them, what is left out, and that they cannot break a page."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from helpers.html import Page
from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError
from manyview.metrics import evaluate
from manyview.report import describe_fit, render_fit, truth
from manyview.report.files import rewrite_report
from manyview.report.truth import as_classes

N = 90
EVIL = "</style><script>alert(1)</script>"
KINDS = np.array(["one", "two & more", EVIL], dtype=object)


@pytest.fixture(scope="module")
def blobs():
    return make_multiview_blobs(N, (6, 9), separation=1.5, random_state=0, return_X_y=True)


@pytest.fixture(scope="module")
def model(blobs):
    return OMVCDR(n_clusters=3, random_state=0).fit(blobs[0])


@pytest.fixture(scope="module")
def classes(blobs):
    return pd.Series(KINDS[blobs[1]], name="kind")


@pytest.fixture(scope="module")
def result(model, blobs, classes):
    known = classes.where(np.arange(N) % 10 > 0)
    return describe_fit(model, blobs[0], seconds=1.5, truth=known)


def section(page):
    return page.split('<section id="truth">')[1].split("</section>")[0]


def test_without_classes_there_is_no_section(model, blobs):
    result = describe_fit(model, blobs[0])
    assert result["truth"] is None
    page = render_fit(result)
    assert "truth" not in Page(page).ids
    assert "mostly" not in page.split("<script>")[0]


def test_the_fit_is_set_beside_k_means_on_all_views_and_on_each(result, model, blobs, classes):
    data = blobs[0]
    methods = result["truth"]["methods"]
    assert [method["name"] for method in methods] == [
        "OMVCDR, all views",
        "k-means, all views",
        "k-means, view_0",
        "k-means, view_1",
    ]
    has_class = np.arange(N) % 10 > 0
    expected = classes[has_class]
    assert methods[0]["metrics"] == evaluate(expected, model.labels_[has_class])
    assert methods[0]["seconds"] == 1.5
    for method, X in zip(methods[1:], [np.hstack(data.views), *data.views], strict=True):
        labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
        assert method["metrics"] == evaluate(expected, labels[has_class])
        assert method["seconds"] > 0


def test_samples_without_a_class_are_left_out_and_counted(result):
    part = result["truth"]
    assert (part["n_samples"], part["n_without"], part["n_classes"]) == (81, 9, 3)
    assert "9 samples have no known class and are left out here" in render_fit(result)
    assert sum(row["n"] for row in part["table"]["rows"]) == 81


def test_the_table_counts_clusters_and_classes(result, model, classes):
    part = result["truth"]["table"]
    assert part["classes"] == [EVIL, "one", "two & more"]
    has_class = np.arange(N) % 10 > 0
    for row in part["rows"]:
        own = classes[has_class & (model.labels_ == row["cluster"])]
        assert row["counts"] == [int((own == name).sum()) for name in part["classes"]]
        assert row["share"] == max(row["counts"]) / row["n"]
        assert own.mode()[0] == row["main"]
    mains = [row["main"] for row in part["rows"]]
    assert mains == sorted(mains)


def test_many_classes_are_summed_up(model, blobs, monkeypatch):
    monkeypatch.setattr(truth, "N_CLASSES", 2)
    monkeypatch.setattr(truth, "N_CLUSTERS", 2)
    result = describe_fit(model, blobs[0], truth=np.arange(N) % 7)
    part = result["truth"]["table"]
    assert (len(part["classes"]), part["n_other"], len(part["rows"])) == (2, 5, 2)
    assert all(row["n"] == sum(row["counts"]) + row["n_other"] for row in part["rows"])
    text = section(render_fit(result))
    assert "5 others" in text
    assert "2 of 3 clusters" in text


def test_the_section_says_that_classes_were_not_used_and_marks_the_best(result):
    text = section(render_fit(result))
    assert "were not used for clustering" in text
    assert text.count("<table") == text.count("<caption>") == 2
    assert text.count('class="best"') >= 5


def test_the_dict_is_its_own_json_twin(result):
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_a_run_is_rendered_again(result, tmp_path):
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert rewrite_report(tmp_path).read_text(encoding="utf-8") == render_fit(result)


def test_names_of_classes_cannot_break_the_page(model, blobs, classes):
    page = render_fit(describe_fit(model, blobs[0], truth=classes.rename(EVIL)))
    assert EVIL not in page
    assert "alert(1)" in page
    assert Page(page).tags.count("script") == 3


def test_report_writes_the_section(model, blobs, classes, tmp_path):
    model.report(tmp_path / "report.html", truth=classes.tolist())
    assert "Known classes" in (tmp_path / "report.html").read_text(encoding="utf-8")
    twin = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert twin["truth"]["name"] == "class"
    assert twin["truth"]["methods"][0]["seconds"] is None


def test_of_too_many_samples_k_means_is_not_run(model, blobs, classes, monkeypatch):
    monkeypatch.setattr(truth, "MOST_SAMPLES", N - 1)
    result = describe_fit(model, blobs[0], truth=classes)
    assert len(result["truth"]["methods"]) == 1
    assert "k-means was not run: there are more than 89 samples." in render_fit(result)


@pytest.mark.parametrize("as_view", [np.asarray, sparse.csr_array])
def test_where_a_view_is_missing_k_means_gets_the_mean(as_view, blobs, classes):
    present = np.ones((N, 2), dtype=bool)
    present[::9, 1] = False
    first, second = blobs[0].views
    lacking = np.where(present[:, 1:], np.abs(second), np.nan)
    data = MultiViewData.of([as_view(np.abs(first)), as_view(lacking)], present=present)
    model = OMVCDR(n_clusters=3, n_init=1, random_state=0).fit(data)
    result = describe_fit(model, data, truth=classes)
    assert "missing rows of a view were replaced by the feature means" in render_fit(result)
    filled = np.abs(second)
    filled[::9] = filled[present[:, 1]].mean(axis=0)
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(as_view(filled))
    assert result["truth"]["methods"][3]["metrics"] == pytest.approx(evaluate(classes, labels))


def test_one_view_is_clustered_once(rng):
    data = MultiViewData.of(rng.normal(size=(30, 4)))
    model = OMVCDR(n_clusters=2, n_init=1, random_state=0).fit(data)
    methods = describe_fit(model, data, truth=np.arange(30) % 2)["truth"]["methods"]
    assert [method["name"] for method in methods] == ["OMVCDR, all views", "k-means, all views"]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([10, 2, 2, None], ["2", "10"]),
        ([10.0, 2.0, np.nan, 2.0], ["2", "10"]),
        (["b", " a\n", "", None], ["a", "b"]),
        ([True, False, pd.NA, True], ["False", "True"]),
        (["x", 7, -1, 7], ["-1", "7", "x"]),
        (pd.Categorical(["b", "a", None, "a"]), ["a", "b"]),
    ],
)
def test_classes_are_text_in_their_order(values, names):
    found = as_classes(values, 4)
    assert list(found.cat.categories) == names
    assert found.name == "class"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "expected one class per sample"),
        ([[1], [2], [3]], "expected one class per sample"),
        ([0.5, 1.5, 2.5], "'class' holds 0.5; expected classes as text or whole numbers"),
        ([None, "", np.nan], "No sample has a known class"),
    ],
)
def test_what_are_no_classes_is_refused(values, message):
    with pytest.raises(ViewError, match=message):
        as_classes(values, 3)
