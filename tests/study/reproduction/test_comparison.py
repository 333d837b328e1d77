"""The paper's tables beside ours: which value stands where, and its color."""

import math

import pandas as pd
import pytest

from manyview.study.reproduction.comparison import Cell, side_by_side, to_latex


@pytest.mark.parametrize(
    ("ours", "paper", "spread", "shade"),
    [
        (0.50, 0.50, 0.0, ""),
        (0.54, 0.50, 0.02, ""),  # within the deviation and the margin
        (0.54, 0.50, 0.0, "up1"),
        (0.46, 0.50, 0.0, "down1"),
        (0.65, 0.50, 0.0, "up2"),
        (0.20, 0.50, 0.0, "down3"),
        (math.nan, 0.50, 0.0, ""),
        (0.50, math.nan, 0.0, ""),
    ],
)
def test_a_color_tells_the_direction_and_the_size(ours, paper, spread, shade):
    assert Cell(ours, paper, spread).shade == shade
    assert Cell(ours, paper, spread, is_comparable=False).shade == ""


@pytest.fixture
def tables():
    columns = ["data", "method", "metric", "mean"]
    ours = pd.DataFrame(
        [
            ("bdgp", "opmc", "acc", 0.46),
            ("bdgp", "sfmc", "acc", 0.2),
            ("flower17_derived_7v", "opmc", "acc", 0.9),
        ],
        columns=columns,
    )
    paper = pd.DataFrame(
        [("BDGP", "opmc", "acc", 0.48, 0.0), ("Flower17", "opmc", "acc", 0.3, 0.0)],
        columns=[*columns, "std"],
    )
    titles = {"bdgp": "BDGP", "flower17_derived_7v": "Flower17 (derived features)"}
    return side_by_side(ours, paper, ["opmc", "sfmc"], titles)


def test_all_sets_of_the_paper_have_a_line_and_say_what_stands_for_them(tables):
    lines = {line.title: line for line in tables["ACC"]}
    assert len(lines) == 7
    remarks = {title: line.remark for title, line in lines.items()}
    assert (remarks["BDGP"], remarks["AWA"]) == ("", "no file")
    assert remarks["Flower17"] == "derived features"
    own = lines["BDGP"].cells
    assert [(cell.ours, cell.paper) for cell in own[:1]] == [(0.46, 0.48)]
    assert math.isnan(own[1].paper)
    flower = lines["Flower17"].cells[0]
    assert (flower.ours, flower.paper, flower.shade) == (0.9, 0.3, "")


def test_latex_has_a_tabular_for_each_metric(tables):
    text = to_latex(tables, ["OPMC", "OMVCDR-α"])
    assert text.count(r"\begin{tabular}{lcc}") == len(tables)
    assert r"ACC & OPMC & OMVCDR-$\alpha$ \\" in text
    assert r"BDGP & \textbf{0.4600} (0.4800) & 0.2000 (--) \\" in text
    assert r"Flower17 (derived features) & \textbf{0.9000} (0.3000) & -- (--) \\" in text
