"""Scaling and λ: which setting is recommended, when none is tried, and what rows are for."""

import numpy as np
import pandas as pd
import pytest

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.model_selection import choose
from manyview.model_selection.choice import Choice
from manyview.model_selection.settings import (
    CLEARLY,
    _Judge,
    _pick_setting,
    _Setting,
    settings_of,
)


def far_and_near(rng, n=400):
    """Four clusters along a ray from the origin, in two views: rows of unit norm lose them."""
    target = np.repeat(np.arange(4), n // 4)
    views = [
        np.outer(6.0 * (target + 1), np.ones(d) / np.sqrt(d)) + rng.normal(size=(n, d))
        for d in (5, 8)
    ]
    return views, target


def test_a_scaling_that_finds_what_the_views_share_is_recommended():
    views, _ = far_and_near(np.random.default_rng(0))
    choice = choose(views, [4], scale="l2", random_state=0)
    assert choice.scale != "l2"
    assert choice.advice.startswith(f"Use scale={choice.scale!r} and lam=2: the fit keeps")
    best = choice.settings.loc[choice.settings["gain"].idxmax()]
    assert best["gain"] > CLEARLY
    np.testing.assert_allclose(
        choice.settings["gain"],
        choice.settings["view_modularity"] / choice.settings["view_modularity"].iloc[0] - 1,
    )


@pytest.mark.parametrize(("gain", "taken"), [(0.019, "auto"), (0.021, "unit")])
def test_the_defaults_are_kept_unless_another_is_clearly_better(gain, taken):
    """The limit is 2 %."""
    names = ("n_clusters", "scale", "lam", "view_modularity")
    table = pd.DataFrame([(3, "auto", 0.5, 0.5), (3, "unit", 0.5, 0.5 * (1 + gain))], columns=names)
    settings = [_Setting("auto", 0.5), _Setting("unit", 0.5)]
    choice = _pick_setting(Choice(3, True, 0.5, "", table), settings, table)
    assert choice.scale == taken
    words = {"auto": "Keep the defaults, scale='auto' and lam=0.5", "unit": "Use scale='unit'"}
    assert choice.advice.startswith(words[taken])


def test_view_modularity_is_that_of_the_clusters_in_each_view_alone():
    """Blobs without a link: all weight is inside, of which three equal clusters put a third."""
    data = make_multiview_blobs(
        300, n_clusters=3, separation=40.0, proportions=np.ones(3), random_state=0
    ).data
    judge = _Judge.of(data, 3, np.random.default_rng(0))
    assert len(judge.graphs) == 2 * data.n_views
    assert judge.view_modularity(_Setting("unit", 0.5)) == pytest.approx(2 / 3, abs=0.01)


def test_a_view_is_judged_by_the_samples_that_have_it():
    data = make_multiview_blobs(150, n_clusters=3, missing_rate=0.4, random_state=0).data
    judge = _Judge.of(data, 3, np.random.default_rng(0))
    sizes = [len(rows) for rows, _ in judge.graphs]
    assert sizes == np.repeat(data.present.sum(axis=0), 2).tolist()
    assert judge.view_modularity(_Setting("auto", 0.5)) > 0


def test_other_parameters_are_the_defaults_of_the_estimator():
    for scale in ("auto", "z", None):
        assert settings_of(7, 2.0, scale) == OMVCDR(7, scale=scale)._settings(7)
    assert (Choice(1, True, 1.0, "", pd.DataFrame()).lam, OMVCDR().lam) == (2.0, 2.0)


def test_where_clusters_are_clear_or_absent_nothing_is_tried():
    clear = make_multiview_blobs(400, n_clusters=3, separation=12.0, random_state=0).data
    choice = choose(clear, range(2, 9), random_state=0)
    assert choice.settings.empty
    assert "so clear that no other setting was tried" in choice.advice
    noise = np.random.default_rng(0).normal(size=(300, 10))
    choice = choose([noise[:, :5], noise[:, 5:]], range(2, 9), scale="z", random_state=0)
    assert (choice.scale, choice.lam, len(choice.settings)) == ("z", 2.0, 0)
    assert choice.advice.startswith("Keep scale='z' and lam=2: without clear clusters")


def test_rows_from_before_are_not_fitted_again_and_threads_do_not_matter():
    data = make_multiview_blobs(200, n_clusters=4, separation=4.0, random_state=0).data
    whole = choose(data, [4], random_state=0)
    told = []
    again = choose(
        data,
        [4],
        random_state=0,
        n_jobs=2,
        rows=[*whole.table.to_dict("records"), *whole.settings[:5].to_dict("records")],
        on_progress=lambda row, done, n_all: told.append((row["scale"], done, n_all)),
    )
    assert told == [("unit", 6, 7), ("none", 7, 7)]
    pd.testing.assert_frame_equal(again.settings, whole.settings)


def test_a_constant_view_says_nothing():
    views, _ = far_and_near(np.random.default_rng(0))
    choice = choose([views[0], np.ones((400, 3))], [4], random_state=0)
    alone = choose([views[0]], [4], random_state=0)
    unit = choice.settings.set_index("scale").loc["unit", "view_modularity"]
    expected = alone.settings.set_index("scale").loc["unit", "view_modularity"]
    assert unit == pytest.approx(expected, rel=0.02)


@pytest.mark.filterwarnings("ignore::manyview.exceptions.DataWarning")
def test_without_a_view_that_varies_the_setting_is_kept():
    choice = choose([np.ones((80, 3)), np.ones((80, 2))], [4], random_state=0)
    assert (choice.scale, choice.lam) == ("auto", 2.0)
    assert (choice.settings["gain"] == 0).all()


def test_a_number_is_given_only_where_there_is_one_candidate():
    """Of noise with 11 samples, only 2 of many candidates is looked at: it is not the user's."""
    noise = np.random.default_rng(0).normal(size=(11, 4))
    assert choose([noise, noise[::-1]], random_state=0).settings.empty
    given = choose([noise, noise[::-1]], [2], random_state=0)
    assert (given.has_structure, set(given.settings["n_clusters"])) == (False, {2})


def test_tune_is_a_flag():
    with pytest.raises(ValueError, match="tune='yes' is not usable; expected True or False"):
        choose(np.ones((40, 3)), tune="yes")
