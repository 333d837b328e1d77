"""result.json, changed in every way: a page, or one sentence."""

import copy
import json
import math

import numpy as np
import pytest

from manyview import OMVCDR
from manyview.data.views import MultiViewData
from manyview.report import describe_fit
from manyview.report.files import rewrite_report

DEEP = json.loads("[" * 200 + "]" * 200)
WRONG = {
    "missing": None,  # removed
    "null": None,
    "a number": -1.5,
    "a huge number": 10**400,
    "text": "text",
    "true": True,
    "a list": [],
    "an object": {},
    "objects in objects": DEEP,
    "infinite": math.inf,
    "not a number": math.nan,
}


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(30, 3)) + 4 * (np.arange(30) % 3)[:, None] for _ in range(2)]
    model = OMVCDR(3, n_init=2, max_iter=3, random_state=0).fit(views)
    return json.loads(json.dumps(describe_fit(model, MultiViewData.of(views))))


def places_of(value, path=()):
    """Every key and the first entry of every list."""
    entries = value.items() if isinstance(value, dict) else list(enumerate(value))[:1]
    for key, inner in entries:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places_of(inner, (*path, key))


def changed(result, place, kind):
    """The result with one value changed."""
    other = copy.deepcopy(result)
    inner = other
    for key in place[:-1]:
        inner = inner[key]
    if kind == "missing":
        del inner[place[-1]]
    else:
        inner[place[-1]] = WRONG[kind]
    return other


def outcome(folder, text):
    """None where a page was written, else the sentence."""
    (folder / "result.json").write_text(text, encoding="utf-8")
    try:
        rewrite_report(folder)
    except ValueError as error:
        said = str(error)
        assert said.startswith(f"{folder / 'result.json'} is not the result of a fit")
        assert len(said) - len(str(folder)) < 400
        assert "\n" not in said
        return said
    return None


@pytest.mark.parametrize("kind", WRONG)
def test_a_change_anywhere_is_a_page_or_one_sentence(tmp_path, result, kind):
    said = []
    for place in places_of(result):
        said.append(outcome(tmp_path, json.dumps(changed(result, place, kind))))
    assert any(one is not None for one in said)
    if kind in ("infinite", "not a number"):  # which are not JSON
        assert None not in said


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", "text", '{"format": 1e999}', "[" * 100_000, "9" * 5000, '"\\ud800"'],
)
def test_what_is_no_result_at_all_is_one_sentence(tmp_path, text):
    assert outcome(tmp_path, text) is not None


def test_text_that_is_not_utf_8_is_one_sentence(tmp_path):
    (tmp_path / "result.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(ValueError, match="is not the result of a fit"):
        rewrite_report(tmp_path)


def test_no_page_is_written_from_a_damaged_result(tmp_path, result):
    (tmp_path / "report.html").write_text("old", encoding="utf-8")
    assert outcome(tmp_path, json.dumps(changed(result, ("confidence",), "missing")))
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == "old"
