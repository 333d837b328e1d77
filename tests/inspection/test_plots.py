"""Figures, read back from their Axes."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.inspection import plots
from manyview.model_selection import Choice
from manyview.model_selection.choice import SETTINGS


@pytest.fixture(scope="module")
def model():
    blobs = make_multiview_blobs(90, (6, 9), n_clusters=3, separation=2.0, random_state=0)
    return OMVCDR(n_clusters=3, random_state=0).fit(
        {"a": blobs.data.views[0], "b": blobs.data.views[1]}
    )


@pytest.fixture(scope="module")
def explanation(model):
    return model.explain()


OF_MODEL = [
    plots.objective_curve,
    plots.cluster_sizes,
    plots.view_weights,
    plots.cluster_view_weights,
    plots.cluster_confidence,
]


@pytest.mark.parametrize("draw", OF_MODEL)
def test_a_fit_is_drawn_on_the_axes_that_were_given(model, draw, tmp_path):
    figure = Figure()
    ax = figure.subplots()
    assert draw(model, ax=ax) is ax
    figure.savefig(tmp_path / "figure.png", dpi=30)
    assert draw(model).figure is not figure


def test_the_bars_and_curves_are_those_of_the_fit(model):
    (curve,) = plots.objective_curve(model).lines
    np.testing.assert_array_equal(curve.get_ydata(), model.objective_history_)
    heights = [bar.get_height() for bar in plots.cluster_sizes(model).patches]
    assert heights == np.bincount(model.labels_).tolist()
    widths = [bar.get_width() for bar in plots.view_weights(model).patches]
    np.testing.assert_allclose(widths, model.view_weights_)
    (image,) = plots.cluster_view_weights(model).images
    np.testing.assert_allclose(image.get_array(), model.cluster_view_weights_)


def test_confidence_is_drawn_by_cluster(model):
    ax = plots.cluster_confidence(model)
    medians = [line.get_ydata()[0] for line in ax.lines if line.get_linewidth() == 2]
    expected = [np.median(model.confidence_[model.labels_ == c]) for c in range(3)]
    np.testing.assert_allclose(medians, expected)


def test_the_heatmap_of_all_views_or_of_one(explanation):
    (image,) = plots.feature_heatmap(explanation).images
    np.testing.assert_allclose(image.get_array(), explanation.heatmap)
    ax = plots.feature_heatmap(explanation, "b")
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), explanation.heatmap.loc["b"])
    assert ax.get_yticklabels()[0].get_text() == explanation.heatmap.loc["b"].index[0]


@pytest.mark.parametrize("view", [None, "a"])
@pytest.mark.parametrize("color", ["cluster", "confidence"])
def test_the_map_shows_every_sample_at_its_place(explanation, view, color):
    ax = plots.sample_map(explanation, view, color=color)
    places = explanation.map if view is None else explanation.view_maps[view]
    dots = ax.collections[0]
    np.testing.assert_allclose(dots.get_offsets(), places[["x", "y"]])
    texts = [text.get_text() for text in ax.texts]
    assert texts == (["0", "1", "2"] if color == "cluster" else [])


@pytest.mark.parametrize("draw", [plots.feature_heatmap, plots.sample_map])
def test_an_unknown_view_is_refused_with_those_that_are_known(explanation, draw):
    with pytest.raises(ValueError, match=r"view='c' is unknown; expected one of \['a', 'b'\]"):
        draw(explanation, "c")


def test_an_unknown_color_is_refused(explanation):
    with pytest.raises(ValueError, match="expected 'cluster' or 'confidence'"):
        plots.sample_map(explanation, color="red")


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
    assert ax.get_title() == "3 clusters, confidence 0.72"


def test_without_structure_nothing_is_marked(choice_table):
    ax = plots.choice_curve(Choice(1, False, 0.9, "", choice_table))
    assert len(ax.lines) == 3
    assert ax.get_title().startswith("no clear structure")


def test_the_setting_that_is_recommended_has_a_bar_of_its_own_color(choice_table):
    rows = [(3, "auto", 0.5, 0.4, 0.0), (3, "none", 0.5, 0.5, 0.25), (3, "auto", 5.0, 0.3, -0.25)]
    settings = pd.DataFrame(rows, columns=list(SETTINGS))
    choice = Choice(3, True, 0.7, "", choice_table, None, 0.5, "", settings)
    ax = plots.settings_bars(choice)
    assert [bar.get_width() for bar in ax.patches] == [0.4, 0.5, 0.3]
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["auto, lam 0.5", "none, lam 0.5", "auto, lam 5"]
    first, taken, last = (bar.get_facecolor() for bar in ax.patches)
    assert taken != first == last
    assert set(ax.lines[0].get_xdata()) == {0.4}
    assert "scale none, lam 0.5" in ax.get_title()
