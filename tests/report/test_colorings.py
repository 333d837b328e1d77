"""What the map can be colored by, as it is packed for the page."""

import base64

import numpy as np
import pandas as pd
import pytest

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.report import colorings
from manyview.report.colorings import UNKNOWN, describe_colorings

N = 80


@pytest.fixture(scope="module")
def data():
    blobs = make_multiview_blobs(N, (6, 9), separation=3.0, random_state=0).data
    present = np.ones((N, 2), dtype=bool)
    present[::8, 1] = False
    return MultiViewData.of({"rna": blobs.views[0], "protein": blobs.views[1]}, present=present)


@pytest.fixture(scope="module")
def explanation(data):
    return OMVCDR(n_clusters=3, random_state=0).fit(data).explain()


def codes_of(item):
    return np.frombuffer(base64.b64decode(item["codes"]), dtype=np.uint8)


def test_every_feature_is_there_and_its_codes_are_its_values(explanation, data):
    found = describe_colorings(explanation, data, None)
    assert found["n_features"] == len(found["items"]) == 15
    for v, view in enumerate(data.view_names):
        items = [item for item in found["items"] if item["group"] == view]
        for j, item in enumerate(items):
            codes, has_it = codes_of(item), data.present[:, v]
            np.testing.assert_array_equal(codes == UNKNOWN, ~has_it)
            values = item["low"] + codes / 254 * (item["high"] - item["low"])
            given = np.clip(np.asarray(data.views[v])[:, j], item["low"], item["high"])
            step = (item["high"] - item["low"]) / 254
            assert np.abs(values - given)[has_it].max() <= 0.51 * step


def test_where_not_all_fit_those_that_differ_most_are_taken(explanation, data, monkeypatch):
    monkeypatch.setattr(colorings, "LEAST_FEATURES", 4)
    monkeypatch.setattr(colorings, "N_CODES", 4 * N)
    items = describe_colorings(explanation, data, None)["items"]
    strength = {
        (view, str(name)): profile.strength[:, j].max()
        for view, profile in explanation.profiles.items()
        for j, name in enumerate(profile.names)
    }
    best = sorted(strength, key=strength.get)[-4:]
    assert {(item["group"], item["name"]) for item in items} == set(best)


def test_columns_are_numbers_or_categories_and_names_are_left_out(
    explanation, data, rng, monkeypatch
):
    monkeypatch.setattr(colorings, "MOST_CATEGORIES", N - 1)
    meta = pd.DataFrame(
        {
            "age": rng.normal(60, 9, N),
            "stage": rng.choice(["I", "II"], N),
            "grade": [1.0, 2.0] * (N // 2),
            "site": "here",
            "note": [f"n{i}" for i in range(N)],
        }
    )
    meta.loc[3, ["age", "stage", "grade"]] = None
    items = describe_colorings(explanation, data, meta)["items"]
    own = {item["name"]: item for item in items if item["group"] == "metadata"}
    assert set(own) == {"age", "stage", "grade"}
    assert (own["stage"]["names"], own["grade"]["names"]) == (["I", "II"], ["1", "2"])
    for name in ("age", "stage", "grade"):
        assert np.flatnonzero(codes_of(own[name]) == UNKNOWN).tolist() == [3]
    assert (codes_of(own["stage"])[meta["stage"] == "II"] == 1).all()
    assert [name for name, item in own.items() if "low" in item] == ["age"]
