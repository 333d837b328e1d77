"""Figures, read back from their Axes."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from manyview import plots
from manyview.model_selection import Choice


def test_the_confidence_curve_ends_at_the_accuracy():
    """The five wrong samples are the least sure: 1 up to 75 %, 3/4 at 100 %."""
    y_true, labels = [0] * 10 + [1] * 10, [0] * 15 + [1] * 5
    confidence = [0.9] * 5 + [0.2] * 5 + [0.1] * 5 + [0.8] * 5
    ax = Figure().subplots()
    assert plots.confidence_curve(y_true, labels, confidence, ax=ax) is ax
    curve, level = ax.lines
    accuracy = dict(zip(curve.get_xdata(), curve.get_ydata(), strict=True))
    assert accuracy[5] == accuracy[50] == accuracy[75] == 1
    assert accuracy[100] == pytest.approx(0.75)
    assert set(level.get_ydata()) == {accuracy[100]}


def test_a_curve_without_axes_gets_a_figure_of_its_own():
    ax = plots.confidence_curve([0, 1], [0, 1], [0.5, 0.6])
    assert ax.figure.axes == [ax]


@pytest.fixture
def choice_table():
    columns = ("n_clusters", "excess", "stability", "score")
    return pd.DataFrame([(2, 0.5, 1, 0.2), (3, 0.9, 0.8, 0.6), (4, 0.7, 0.6, 0.4)], columns=columns)


def test_the_choice_is_marked_on_its_curves(choice_table):
    ax = Figure().subplots()
    assert plots.choice_curve(Choice(3, True, 0.72, "", choice_table), ax=ax) is ax
    excess, stability, score, mark = ax.lines
    assert [line.get_label() for line in ax.lines[:3]] == ["excess", "stability", "score"]
    assert list(score.get_xdata()) == [2, 3, 4]
    assert list(score.get_ydata()) == [0.2, 0.6, 0.4]
    assert set(mark.get_xdata()) == {3}
    assert ax.get_title() == "3 clusters, sureness 0.72"


def test_without_structure_nothing_is_marked(choice_table):
    ax = plots.choice_curve(Choice(1, False, 0.9, "", choice_table))
    assert len(ax.lines) == 3
    assert ax.get_title().startswith("no clear structure")
