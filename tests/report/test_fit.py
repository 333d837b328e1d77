"""The report of a fit: the dict, the page made of it, and both on disk."""

import base64
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import silhouette_samples

from helpers.html import Page
from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError
from manyview.inspection import explain
from manyview.inspection.coordinates import joint_coordinates
from manyview.report import describe_fit, render_fit
from manyview.report.files import rewrite_report, write_report
from manyview.report.html import SECTIONS, _short
from manyview.report.methods import write_methods
from manyview.report.sample_map import NOWHERE, SPAN, describe_map
from manyview.report.wording import title_of

SOURCES = [
    {"view": "rna", "file": "rna.csv", "samples": 1234, "set_aside": ["age", "sex"], "nan": ""}
]


@pytest.fixture(scope="module")
def data():
    blobs = make_multiview_blobs(90, (6, 9), separation=3.0, random_state=0).data
    table = pd.DataFrame(
        blobs.views[0], index=[f"s<{i}>" for i in range(90)], columns=[f"g{j}" for j in range(6)]
    )
    present = np.ones((90, 2), dtype=bool)
    present[::9, 1] = False
    return MultiViewData.of({"rna": table, "b&b": blobs.views[1]}, present=present)


@pytest.fixture(scope="module")
def model(data):
    return OMVCDR(n_clusters=3, random_state=0).fit(data)


@pytest.fixture(scope="module")
def meta(model):
    rng = np.random.default_rng(0)
    stage = np.array(["I", "II", "III"])[model.labels_]
    stage[np.flatnonzero(model.labels_ == 0)[::4]] = "II"
    return pd.DataFrame(
        {
            "stage": stage,
            "days": rng.exponential(50 + 200 * model.labels_).round(),
            "dead": rng.random(90) < 0.7,
            "age": rng.normal(60, 9, 90) + 5 * model.labels_,
        }
    )


@pytest.fixture(scope="module")
def result(model, data, meta):
    return describe_fit(
        model,
        data,
        command="manyview fit x.csv",
        sources=SOURCES,
        meta=meta,
        time="days",
        event="dead",
        seconds=1.25,
    )


def unpacked(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def test_the_dict_is_its_own_json_twin(result):
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_the_page_is_the_same_after_json(result):
    assert render_fit(json.loads(json.dumps(result))) == render_fit(result)


def test_sizes_confidence_and_weights_are_those_of_the_model(result, model):
    sizes = np.bincount(model.labels_)
    assert [part["size"] for part in result["clusters"]] == sizes.tolist()
    for c, part in enumerate(result["clusters"]):
        own = model.confidence_[model.labels_ == c]
        assert part["confidence"] == np.median(own)
        assert part["n_doubtful"] == (own < 0.5).sum()
        assert list(part["view_weights"].values()) == model.cluster_view_weights_[c].tolist()
    assert sum(result["confidence"]["histogram"]) == 90
    assert result["confidence"]["n_doubtful"] == (model.confidence_ < 0.5).sum()


def test_the_data_tell_what_is_missing_and_how_views_were_read(result):
    assert result["data"]["n_complete"] == 80
    rna, other = result["data"]["views"]
    assert (rna["n_present"], other["n_present"]) == (90, 80)
    assert rna["scalings"] == ["sqrt-l2", "pca-l2"]


def test_the_map_holds_every_sample_where_the_explanation_puts_it(result, model):
    part = result["map"]
    np.testing.assert_array_equal(unpacked(part["cluster"], "<u4"), model.labels_)
    confidence = unpacked(part["confidence"], np.uint8) / 255
    np.testing.assert_allclose(confidence, model.confidence_, atol=1 / 255)
    xy = unpacked(part["layouts"][0]["xy"], "<u2").reshape(-1, 2).astype(float)
    places = model.explain().map[["x", "y"]].to_numpy()
    for axis, sign in ((0, 1), (1, -1)):
        assert np.corrcoef(xy[:, axis], sign * places[:, axis])[0, 1] > 0.999
    assert np.ptp(xy, axis=0).max() == SPAN
    assert (xy <= SPAN).all()
    assert part["names"][3] == "s<3>"


def test_a_sample_that_lacks_a_view_is_nowhere_on_its_map(result, data):
    (present,) = result["map"]["present"]
    np.testing.assert_array_equal(unpacked(present["flags"], np.uint8), data.present[:, 1])
    (layout,) = [part for part in result["map"]["layouts"] if part["name"] == "b&b"]
    xy = unpacked(layout["xy"], "<u2").reshape(-1, 2)
    np.testing.assert_array_equal((xy == NOWHERE).all(axis=1), ~data.present[:, 1])


def test_of_many_samples_a_part_is_drawn_and_the_page_says_so(model, data, monkeypatch):
    monkeypatch.setattr(explain, "N_MAPPED", 40)
    result = describe_fit(model, data)
    assert result["map"]["n_drawn"] == 40
    rows = unpacked(result["map"]["position"], "<u4")
    np.testing.assert_array_equal(unpacked(result["map"]["cluster"], "<u4"), model.labels_[rows])
    assert "The map shows a random 40 of the 90 samples" in render_fit(result)


def test_long_names_are_cut_on_the_map(model, data):
    names = pd.Index(["n" * 40, "n" * 41, *range(88)])
    part = describe_map(model.explain(replace(data, sample_names=names)), data, np.ones(2))
    assert part["names"][:3] == ["n" * 40, "n" * 39 + "…", "0"]


def test_sections_come_in_the_order_of_the_questions(result):
    ids = Page(render_fit(result)).ids
    assert ids == [*(name for name in SECTIONS if name != "truth"), "map-data"]


def test_what_was_not_given_is_left_out(model, data):
    result = describe_fit(model, data)
    page = Page(render_fit(result))
    assert "meta" not in page.ids
    text = " ".join(page.words)
    assert "What was found in the files" not in text
    assert "OMVCDR(n_clusters=3, random_state=0).fit(X)" in text


def test_the_page_loads_nothing_and_names_cannot_break_it(result):
    text = render_fit(result)
    page = Page(text)
    icon, *plots = [link for link in page.references if not link.startswith("#")]
    assert icon == "data:,"
    assert [plot[:26] for plot in plots] == 2 * ["data:image/svg+xml;base64,"]
    assert "http" not in text
    assert page.tags.count("script") == 3
    assert "s&lt;" in text
    assert "s<3>" not in text


def test_the_page_answers_without_its_script(result, model):
    text = " ".join(Page(render_fit(result).split("<script>")[0] + "</body></html>").words)
    text = " ".join(text.split())
    for part in (
        title_of(result),
        "10 samples lack at least one view",
        "manyview fit x.csv",
        "Samples by cluster and stage: number, share of the cluster, standardized residual",
        "age by cluster: median, middle half",
        "<1e−15",
        "rna.csv 1,234 age, sex",
        "1.25 s",
        f"After {model.n_iter_} iterations and a last pass over the labels it had converged",
        "g0",
    ):
        assert part in text
    assert str(result["clusters"][0]["typical"][0]) in text


def test_curves_of_survival_are_drawn_and_can_be_saved(result):
    page = render_fit(result)
    drawing = page.split('<svg class="drawn survival"')[1].split("</svg>")[0]
    for part in result["survival"]["clusters"]:
        path = re.search(rf'class="line color-{part["cluster"]}" d="([^"]+)" fill="none"', drawing)
        places = np.array(re.findall(r"[ML]([\d.]+) ([\d.]+)", path[1]), dtype=float)
        assert places[0].tolist() == [76, 14]  # all are alive at first
        assert places[:, 0].max() <= 704.1
        y = 14 + 280 * (1 - part["curve"]["survival"][-1])
        assert abs(places[places[:, 1] >= 14][:, 1] - y).min() < 0.5
    saved = base64.b64decode(page.split('href="data:image/svg+xml;base64,')[1].split('"')[0])
    root = ElementTree.fromstring(saved.decode())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in saved.decode()


def test_survival_is_told_with_what_it_rests_on(result):
    text = " ".join(Page(render_fit(result)).words)
    found = result["survival"]
    assert f"{found['n_events']} of 90 samples had the event" in text
    assert f"χ² = {found['test']['statistic']:.2f}" in text
    assert "Survival was not used in the fit" in text


def test_survival_without_metadata_is_refused(model, data):
    with pytest.raises(ViewError, match="time and event are given without meta"):
        describe_fit(model, data, time="days", event="dead")


def test_the_table_of_contents_leads_to_every_section(result):
    page = Page(render_fit(result))
    links = [link[1:] for link in page.references if link.startswith("#")]
    assert links == [name for name in page.ids if name not in ("clusters", "map-data")]


def test_silhouettes_are_those_of_scikit_learn_in_the_coordinates_of_the_map(result, model, data):
    rows = np.arange(90)
    coordinates = joint_coordinates(model._fitted, data, rows)
    expected = silhouette_samples(coordinates, model.labels_)
    part = result["silhouettes"]
    assert (part["n_samples"], part["mean"]) == (90, pytest.approx(expected.mean()))
    for row in part["clusters"]:
        own = expected[model.labels_ == row["cluster"]]
        assert (row["mean"], row["below"]) == pytest.approx((own.mean(), (own < 0).mean()))
        assert row["values"][0] == pytest.approx(own.max(), abs=1e-3)
        assert row["values"] == sorted(row["values"], reverse=True)


def test_one_cluster_has_no_silhouettes(data):
    model = OMVCDR(n_clusters=1, n_init=1, random_state=0).fit(data)
    result = describe_fit(model, data)
    assert result["silhouettes"] is None
    assert "silhouettes" not in Page(render_fit(result)).ids


def test_the_methods_are_told_with_versions_parameters_and_citation(result):
    text = write_methods(result)
    assert "90 samples with the views rna (6 features), b&b (9 features)" in text
    assert "10 samples lacked at least one view" in text
    assert "Parameters were n_clusters=3, random_state=0, all others the defaults" in text
    for name, version in result["run"]["versions"].items():
        assert f"{name} {version}" in text
    assert "Views were scaled: rna by sqrt-l2 and pca-l2" in text
    assert "log-rank test" in text
    for row in result["meta"]:
        assert row["test"] in text
    assert "IEEE Transactions on Neural Networks and Learning Systems, 2024" in text
    plain = {**result, "meta": None, "survival": None, "structure": None}
    assert "log-rank" not in write_methods(plain)
    assert "Gaussian" not in write_methods(plain)


def test_objective_weights_and_run_are_those_of_the_model(result, model):
    assert result["objective"]["history"] == model.objective_history_.tolist()
    assert result["objective"]["final"] == model.objective_
    spaces, views = result["weights"]["spaces"], result["weights"]["views"]
    assert [row["weight"] for row in spaces] == model.space_weights_.tolist()
    assert [row["name"] for row in spaces] == ["3 dimensions", "6 dimensions", "9 dimensions"]
    assert [row["name"] for row in views] == ["rna", "b&b"]
    assert [row["weight"] for row in views] == model.view_weights_.tolist()
    assert result["run"]["seed"] == 0
    assert result["run"]["model"] == "OMVCDR(n_clusters=3, random_state=0)"
    assert set(result["run"]["versions"]) >= {"python", "manyview", "numpy", "numba"}


@pytest.mark.parametrize("history", [[5.0], [5.0, 5.0], [3.0, 2.0, 1.5], [1e30, -1e30]])
def test_any_objective_is_a_curve_inside_its_box(result, history):
    page = render_fit({**result, "objective": {**result["objective"], "history": history}})
    points = page.split('<polyline points="')[1].split('"')[0].split()
    places = np.array([point.split(",") for point in points], dtype=float)
    assert len(places) == len(history)
    assert places.min() >= 0
    assert places.max() <= 100
    assert (np.diff(places[:, 1]) >= 0).all()


def test_the_bars_of_the_histogram_are_as_high_as_their_counts(result):
    page = render_fit(result)
    heights = re.findall(r'<i class="(?:un)?sure" style="height: ([\d.]+)%"', page)
    counts = np.array(result["confidence"]["histogram"])
    np.testing.assert_allclose(
        np.array(heights, dtype=float), 100 * counts / counts.max(), atol=0.1
    )


def test_light_and_dark_and_narrow(result):
    page = render_fit(result)
    for part in ("prefers-color-scheme: dark", "width=device-width", "max-width: 34rem"):
        assert part in page


def test_a_result_of_before_there_was_truth_is_still_a_page(result):
    older = {name: part for name, part in result.items() if name != "truth"}
    older["clusters"] = [
        {name: value for name, value in cluster.items() if name != "pictures"}
        for cluster in result["clusters"]
    ]
    assert render_fit(older) == render_fit(result)


def test_pictures_are_png_of_the_typical_samples(model, data, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    images = np.random.default_rng(0).integers(0, 256, (90, 4, 6)).astype(float)
    images[0, 0, 0] = 255
    result = describe_fit(model, data, images=images)
    typical = model.explain().exemplars.groupby("cluster")["position"].first()
    for cluster in result["clusters"]:
        assert len(cluster["pictures"]) == len(cluster["typical"])
        content = base64.b64decode(cluster["pictures"][0].removeprefix("data:image/png;base64,"))
        (tmp_path / "picture.png").write_bytes(content)
        opacity = np.rint(image.imread(tmp_path / "picture.png")[..., 3] * 255)
        np.testing.assert_array_equal(opacity, images[typical[cluster["cluster"]]])
    page = Page(render_fit(result))
    n_pictures = sum(len(cluster["pictures"]) for cluster in result["clusters"])
    assert page.tags.count("img") == n_pictures + 3  # and one beside each size
    assert all(address.startswith(("data:", "#")) for address in page.references)


def test_every_table_has_a_caption_and_every_picture_a_text(result):
    text = render_fit(result)
    assert text.count("<table") == text.count("<caption>") > 5
    # survival, histogram, dendrogram, map, objective and the silhouettes of three clusters
    assert len(re.findall(r'role="img"\s+aria-label=', text)) == 5 + 3
    assert text.split("<script>")[0].count("<svg") == 3 + 3


def test_one_cluster_has_no_doubts_shares_or_columns_to_show(data):
    model = OMVCDR(n_clusters=1, n_init=1, random_state=0).fit(data)
    page = Page(render_fit(describe_fit(model, data, meta=pd.DataFrame(index=range(90)))))
    assert "meta" not in page.ids
    assert "histogram" not in " ".join(page.words).lower()  # one of ones says nothing
    text = " ".join(page.words)
    assert "Share of each view" not in text
    assert "1 dimension" in page.words


def test_one_view_has_no_shares_to_compare(rng):
    data = MultiViewData.of(rng.normal(size=(30, 4)))
    model = OMVCDR(n_clusters=2, n_init=1, random_state=0).fit(data)
    assert "Share of each view" not in render_fit(describe_fit(model, data))


def test_many_clusters_are_set_side_by_side_in_parts_that_fit_a_page(rng):
    data = MultiViewData.of(rng.normal(size=(200, 4)))
    model = OMVCDR(n_clusters=26, n_init=1, random_state=0).fit(data)
    text = render_fit(describe_fit(model, data))
    tables = [part.split("</table>")[0] for part in text.split('<table class="heat">')[1:]]
    assert [part.count('class="chip') for part in tables] == [9, 9, 8]
    assert [part.count("<td") // part.count('<th scope="row"') for part in tables] == [9, 9, 8]


def test_what_was_found_leaves_out_the_format_and_explains_matched(model, data):
    source = {"file": "a.csv", "format": "csv", "orientation": "columns", "matched": 7}
    text = " ".join(Page(render_fit(describe_fit(model, data, sources=[source]))).words)
    assert "matched: samples also found in another view" in text
    found = text.split("What was found")[1].split("Scaling of")[0]
    assert "samples in" in found
    assert "format" not in found


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "–"), (0.03816, "0.0382"), (-6633.2, "−6,633"), (4.5e9, "4.5e+09"), (0.0, "0")],
)
def test_numbers_are_short_but_not_in_powers_of_ten_where_they_need_not_be(number, text):
    assert _short(number) == text


@pytest.mark.parametrize("k", [1, 2])
def test_few_clusters_and_one_view_make_a_page(k, rng):
    data = MultiViewData.of(rng.normal(size=(30, 4)))
    model = OMVCDR(n_clusters=k, n_init=1, random_state=0).fit(data)
    Page(render_fit(describe_fit(model, data)))


def test_of_many_clusters_the_largest_are_described(rng, monkeypatch):
    monkeypatch.setattr("manyview.report.fit.N_CLUSTERS", 2)
    data = MultiViewData.of(rng.normal(size=(60, 4)))
    model = OMVCDR(n_clusters=4, n_init=1, random_state=0).fit(data)
    result = describe_fit(model, data)
    sizes = np.bincount(model.labels_)
    assert sorted(part["size"] for part in result["clusters"]) == sorted(sizes)[-2:]
    assert "The 2 largest clusters" in render_fit(result)


def test_report_writes_the_page_and_its_twin(model, tmp_path):
    model.report(tmp_path / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json"]
    twin = json.loads((tmp_path / "report.json").read_text())
    assert (tmp_path / "report.html").read_text() == render_fit(twin)


def test_the_page_must_not_hide_its_twin(result, tmp_path):
    with pytest.raises(ValueError, match="expected a name such as report.html"):
        write_report(tmp_path / "report.json", result)
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_rendered_again(result, tmp_path):
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert rewrite_report(tmp_path).read_text() == render_fit(result)


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"format": 99}', '{"format": 1}', '{"format": 1, "data": 3}']
)
def test_what_is_not_a_result_is_refused_in_one_sentence(content, tmp_path):
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(ValueError, match="is not the result of a fit by this version"):
        rewrite_report(tmp_path)
    assert not (tmp_path / "report.html").exists()
