"""The dict behind the report: plain values, and the right ones."""

import json
from base64 import b64decode

import numpy as np
import pytest

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.metrics import evaluate
from manyview.report import Outcome, summarize
from manyview.report.drawing import place_bars, place_curve, sprite


@pytest.fixture(scope="module")
def fitted():
    data, truth = make_multiview_blobs(90, (6, 9), separation=3.0, random_state=0, return_X_y=True)
    return OMVCDR(n_clusters=3, random_state=0).fit(data), data, truth


@pytest.fixture(scope="module")
def summary(fitted):
    model, data, truth = fitted
    outcomes = [Outcome("ours", model.labels_, 0.5), Outcome("all in one", 0 * truth, 0.1)]
    images = np.ones((90, 4, 4)) * np.arange(90)[:, None, None]
    return summarize(model, data, outcomes, truth=truth, topic="blobs", images=images)


def test_a_summary_survives_json(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_the_data_are_described(summary):
    assert summary["data"] == {
        "topic": "blobs",
        "class_name": "class",
        "n_samples": 90,
        "n_clusters": 3,
        "n_classes": 3,
        "views": [{"name": "view_0", "n_features": 6}, {"name": "view_1", "n_features": 9}],
    }


def test_each_method_has_its_metrics_and_time(summary, fitted):
    model, _, truth = fitted
    ours, one = summary["methods"]
    assert ours == {"name": "ours", "metrics": evaluate(truth, model.labels_), "seconds": 0.5}
    assert one["metrics"]["nmi"] == 0.0


def test_objective_and_weights_are_those_of_the_model(summary, fitted):
    model, _, _ = fitted
    assert summary["objective"]["history"] == model.objective_history_.tolist()
    assert summary["objective"]["final"] == model.objective_
    spaces, views = summary["weights"]["spaces"], summary["weights"]["views"]
    assert [row["weight"] for row in spaces] == model.space_weights_.tolist()
    assert [row["name"] for row in spaces] == ["3 dimensions", "6 dimensions", "9 dimensions"]
    assert {row["name"]: row["weight"] for row in views} == dict(
        zip(model.view_names_, model.view_weights_.tolist(), strict=True)
    )


def test_the_map_knows_the_classes(summary, fitted):
    assert summary["map"]["n_drawn"] == 90
    assert summary["map"]["classes"]["values"] == [str(name) for name in fitted[2]]


def test_clusters_by_definition(summary, fitted):
    model, data, truth = fitted
    z = model.transform(data)
    assert [part["main_class"] for part in summary["clusters"]] == sorted(
        part["main_class"] for part in summary["clusters"]
    )
    for part in summary["clusters"]:
        is_member = model.labels_ == part["cluster"]
        assert part["size"] == is_member.sum()
        assert part["share"] == np.bincount(truth[is_member]).max() / part["size"]
        distance = np.linalg.norm(z - z[is_member].mean(axis=0), axis=1)
        assert part["typical"][0] == np.flatnonzero(is_member)[distance[is_member].argmin()]


def test_the_run_names_parameters_and_versions(summary):
    assert summary["run"]["seed"] == 0
    assert summary["run"]["model"] == "OMVCDR(n_clusters=3, random_state=0)"
    assert set(summary["run"]["versions"]) >= {"python", "manyview", "numpy", "numba"}


def test_a_curve_falls_from_corner_to_corner_with_round_marks():
    plot = place_curve([27.4, 13.0, 12.2])
    left, right, top, bottom = plot["box"]
    assert plot["points"][0] == (left, top)
    assert plot["points"][-1] == (right, bottom)
    assert [text for _, text in plot["rows"]] == ["15", "20", "25"]
    assert [text for _, text in plot["columns"]] == ["0", "1", "2"]


@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0], [1e-30, 0.0], [-1e30, 1e30]])
def test_any_curve_stays_inside_its_box(values):
    plot = place_curve(values)
    left, right, top, bottom = plot["box"]
    assert all(left <= x <= right and top <= y <= bottom for x, y in plot["points"])
    assert plot["rows"]


def test_bars_are_as_high_as_their_counts():
    plot = place_bars([0, 5, 10, 5])
    left, right, top, bottom = plot["box"]
    heights = [height for _, _, _, height, *_ in plot["bars"]]
    assert heights == pytest.approx(
        [0, (bottom - top) / 2, bottom - top, (bottom - top) / 2], abs=0.1
    )
    assert all(left <= x and x + width <= right for x, _, width, *_ in plot["bars"])
    assert [text for _, text in plot["rows"]] == ["0", "5", "10"]
    assert [bar[4:] for bar in plot["bars"]][1] == (0.25, 0.5, 5)


def test_a_sprite_is_a_png_that_holds_the_pictures(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    pictures = np.random.default_rng(0).integers(0, 16, (5, 4, 4))
    pictures[0, 0, 0] = 15
    drawn = sprite(pictures.astype(float))
    path = tmp_path / "sprite.png"
    path.write_bytes(b64decode(drawn["uri"].removeprefix("data:image/png;base64,")))
    opacity = np.rint(image.imread(path)[..., 3] * 15)  # 2 rows of 3
    assert drawn["n_columns"] == 3
    np.testing.assert_array_equal(opacity[4:, 4:8], pictures[4])
    np.testing.assert_array_equal(opacity[4:, 8:], 0)
