"""The page: whole, self-contained, and safe against what names may hold."""

import pytest

from helpers.html import Page
from manyview.report import render
from manyview.report.html import SECTIONS


def metrics(value):
    return dict.fromkeys(("acc", "nmi", "purity", "fscore", "ari", "precision", "recall"), value)


@pytest.fixture
def summary():
    return {
        "data": {
            "topic": "things",
            "class_name": "kind",
            "n_samples": 3,
            "n_clusters": 2,
            "n_classes": 2,
            "views": [{"name": "shape", "n_features": 4}, {"name": "color", "n_features": 3}],
        },
        "methods": [
            {"name": "ours", "metrics": metrics(0.75), "seconds": 0.5},
            {"name": "theirs", "metrics": metrics(0.25), "seconds": 0.25},
        ],
        "objective": {
            "history": [3.0, 2.0, 1.5],
            "final": 1.5,
            "n_iter": 2,
            "n_starts": 5,
            "converged": True,
        },
        "weights": {
            "spaces": [{"name": "2 dimensions", "weight": 1.0}],
            "views": [{"name": "shape", "weight": 0.8}, {"name": "color", "weight": 0.2}],
        },
        "map": {
            "n_drawn": 3,
            "cluster": "",
            "confidence": "",
            "position": "",
            "layouts": [],
            "present": [],
            "names": None,
            "classes": {"name": "kind", "values": ["7", "8", "8"]},
        },
        "clusters": [
            {"cluster": 0, "size": 1, "main_class": 7, "share": 1.0, "typical": [0]},
            {"cluster": 1, "size": 2, "main_class": 8, "share": 1.0, "typical": [1, 2]},
        ],
        "pictures": {"uri": "data:image/png;base64,AAAA", "n_columns": 2},
        "run": {
            "model": "OMVCDR(n_clusters=2)",
            "versions": {"manyview": "0.1.0"},
            "repeat": ["manyview demo"],
            "notes": ["One thread."],
        },
    }


def test_the_sections_come_in_order(summary):
    assert Page(render(summary)).ids == [*SECTIONS, "map-data"]


@pytest.mark.parametrize("name", ["methods", "objective", "weights", "clusters", "run"])
def test_each_section_answers_a_question(summary, name):
    section = render(summary).split(f'<section id="{name}">')[1].split("</section>")[0]
    assert section.count("<h2>") == 1


def test_a_part_that_is_missing_is_left_out(summary):
    del summary["objective"], summary["weights"]
    assert Page(render(summary)).ids == ["data", "methods", "map", "clusters", "run", "map-data"]


def test_the_page_loads_nothing(summary):
    text = render(summary)
    assert Page(text).references == ["data:,"]
    assert "http" not in text
    assert "@import" not in text


def test_text_and_drawings_do_not_need_the_script(summary):
    without_script = render(summary).split("<script>")[0]
    for text in ("75%", "0.750", "0.250", "mostly kind 7", "had come to"):
        assert text in without_script
    assert without_script.count("<circle") == 3


def test_the_best_of_each_column_is_marked(summary):
    assert render(summary).count('<td class="best">0.750</td>') == 5


def test_a_page_without_pictures_shows_numbers(summary):
    summary["pictures"] = None
    page = render(summary)
    assert 'class="tile"' not in page.split("<script>")[0]
    assert "background-image" not in page
    Page(page)


def test_names_cannot_break_the_page(summary):
    bad = "</style><script>alert(1)</script>"
    summary["data"]["topic"] = summary["methods"][1]["name"] = bad
    summary["map"]["names"] = [bad] * 3
    page = render(summary)
    assert "alert(1)" in page
    assert Page(page).tags.count("script") == 3


def test_light_and_dark_and_narrow(summary):
    page = render(summary)
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page
    assert "max-width: 34rem" in page
