"""Figures, read back from their Axes."""

import pytest
from matplotlib.figure import Figure

from manyview import plots


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
