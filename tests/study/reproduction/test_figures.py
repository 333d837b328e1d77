"""Figures: labels stay text, the same tables give the same file, matplotlib may be absent."""

import logging
import math
from xml.etree import ElementTree

import pandas as pd
import pytest

from manyview.exceptions import EngineUnavailableError
from manyview.study.reproduction import figures, page, session
from manyview.study.reproduction.scope import PUBLISHED

TITLES = {"bdgp": "BDGP", "mine": "my set"}
METHODS = ("lmvsc", "fmr", PUBLISHED)


def scores(**columns):
    rows = [(data, method, "acc") for data in TITLES for method in METHODS]
    table = pd.DataFrame(rows, columns=["data", "method", "metric"])
    table["status"] = table["method"].map(lambda one: "declined" if one == "fmr" else "done")
    return table.assign(mean=[0.25, math.nan, 0.75] * 2, **columns)


def times():
    table = scores(relative=[0.05, math.nan, 1.0] * 2).drop(columns="metric")
    seconds = 2.0 * table["relative"]
    return table.assign(seconds=seconds, low=seconds, high=seconds, n_runs=5)


@pytest.fixture
def tables():
    paper = {"paper_mean": [0.5, math.nan, 0.8] * 2}
    order = {"data": ["bdgp"], "metric": "acc", "file": 0.75, "shuffled": math.nan}
    lams = {"data": ["bdgp"] * 3, "lam": [0.5, 1.0, 8.0], "acc": 0.5, "nmi": 0.4}
    fall = {"data": ["bdgp"] * 3, "method": PUBLISHED, "iteration": [1, 2, 3]}
    return {
        "oracle": scores(**paper),
        "label_free": scores(),
        "ablation": scores(**paper),
        "order": pd.DataFrame(order),
        "time": times(),
        "objective": pd.DataFrame({**fall, "objective": [3.0, 2.0, 1.0]}),
        "sensitivity": pd.DataFrame(lams),
    }


def texts(svg):
    root = ElementTree.fromstring(svg)
    return ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("text")]


def test_names_numbers_and_legends_are_text(tables):
    drawn = figures.draw(tables, TITLES)
    assert set(drawn) == set(tables)
    oracle = texts(drawn["oracle"])
    for text in ("BDGP", "my set", "LMVSC", "0.2500", "declined", "the paper's value"):
        assert text in oracle
    assert "the paper's value" not in texts(drawn["label_free"])
    assert {"rows shuffled", "0.7500", "no result"} <= set(texts(drawn["order"]))
    assert {"0.05×", "1×", "declined", "0.01"} <= set(texts(drawn["time"]))
    assert {"75 %", "OMVCDR, published"} <= set(texts(drawn["objective"]))
    assert {"ACC", "NMI"} <= set(texts(drawn["sensitivity"]))


def test_the_same_tables_give_the_same_figures(tables):
    assert figures.draw(tables, TITLES) == figures.draw(tables, TITLES)


def test_a_table_without_rows_has_no_figure(tables):
    assert figures.draw({name: one[:0] for name, one in tables.items()}, TITLES) == {}


def test_on_the_page_a_figure_has_the_colors_of_the_page_and_no_address(tables):
    for svg in figures.draw(tables, TITLES).values():
        element = page._inline(svg)
        assert element.startswith("<svg")
        assert "var(--ink)" in element
        assert "http" not in element
        assert not any(color in element for color in figures.INK.values())


def test_without_matplotlib_there_are_no_figures_and_a_warning(tables, monkeypatch, caplog):
    def missing(*_):
        raise EngineUnavailableError("Figures need matplotlib.")

    monkeypatch.setattr(figures, "axes_for", missing)
    with caplog.at_level(logging.WARNING):
        assert session._drawn(tables, TITLES) == {}
    assert "No figure was drawn. Figures need matplotlib." in caplog.text
