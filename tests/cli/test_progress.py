"""The bar of a fit: what it shows, and the time that it says is left."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from manyview import OMVCDR
from manyview.cli.progress import Pace, fit_bar
from manyview.datasets import make_multiview_blobs


def step(start, n_starts, n_iter, kind="labels"):
    return SimpleNamespace(start=start, n_starts=n_starts, n_iter=n_iter, step=kind)


def test_time_left_by_hand():
    """The first look takes 4 passes; then passes of 2 s, of which starts take 4, 6, …."""
    clock = iter([0.0, 100.0, 104.0, 112.0, 114.0]).__next__
    pace = Pace(clock)
    assert pace.left(step(0, 1, 0, "start")) is None
    assert pace.left(step(0, 1, 4)) is None  # no start has ended
    assert pace.left(step(0, 3, 0, "start")) is None  # a new stage: passes take another time
    assert pace.left(step(0, 3, 2)) == pytest.approx(2 * (2 + 4 + 4))
    assert pace.left(step(0, 3, 6)) == pytest.approx(2 * (1 + 4 + 4))  # longer than usual
    # starts took 4 and 6 passes: 5 of this one and 5 of the next
    assert pace.left(step(1, 3, 0, "start")) == pytest.approx(14 / 6 * 10)


def test_the_bar_shows_pass_objective_moves_and_time():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    data = make_multiview_blobs(300, random_state=0)
    with fit_bar(console) as on_step:
        OMVCDR(n_clusters=3, random_state=0, n_jobs=1).fit(data.data, callback=on_step)
    text = screen.getvalue()
    for word in ("start ", "pass ", "objective ", " moved", " left"):
        assert word in text
