"""The bar of a fit: what it shows, and the time that it says is left."""

import io
import itertools
from types import SimpleNamespace

import pytest
from rich.console import Console

from manyview import OMVCDR
from manyview.cli import progress
from manyview.cli.progress import Pace, fit_bar
from manyview.datasets import make_multiview_blobs


def step(start, n_starts, n_iter, kind="labels", max_iter=100):
    return SimpleNamespace(
        **{"start": start, "n_starts": n_starts, "n_iter": n_iter, "step": kind},
        **{"max_iter": max_iter, "objective": 1.5, "n_moved": 3},
    )


def test_time_left_by_hand():
    """The first look takes 4 passes; then passes of 2 s, of which starts take 4, 6, …."""
    clock = iter([0.0, 100.0, 104.0, 112.0, 114.0]).__next__
    pace = Pace(clock)
    assert pace.left(step(0, 1, 0, "start")) is None
    assert pace.left(step(0, 1, 4)) is None  # no start has ended
    assert pace.left(step(0, 3, 0, "start")) is None  # a new stage: passes take another time
    assert pace.left(step(0, 3, 2)) == pytest.approx(2 * (2 + 4 + 4))
    # longer than usual: half as long again, and the others as the mean of 4 and 9
    assert pace.left(step(0, 3, 6)) == pytest.approx(2 * (3 + 6.5 + 6.5))
    # starts took 4 and 6 passes: 5 of this one and 5 of the next
    assert pace.left(step(1, 3, 0, "start")) == pytest.approx(14 / 6 * 10)


def test_a_start_that_does_not_end_is_never_said_to_end_soon():
    """Others took 4 passes; this one takes 60, and what is left is half of what it took."""
    clock = itertools.count().__next__  # a second for each look
    pace = Pace(lambda: float(clock()))
    pace.left(step(0, 2, 0, "start"))
    pace.left(step(0, 2, 4))
    pace.left(step(1, 2, 0, "start"))
    told = [pace.left(step(1, 2, n)) for n in range(1, 61)]
    for n, left in enumerate(told, start=1):
        if n > 5:  # per pass, about 1 second has gone by
            assert left >= 0.3 * n
    assert pace.left(step(1, 2, 99)) <= 2  # no pass comes after the hundredth


def test_without_a_terminal_there_is_a_line_every_so_often(monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=False, width=80)
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    with fit_bar(console) as on_step:
        for now[0] in (5.0, 31.0, 40.0, 62.0):
            on_step(step(0, 1, 1))
    lines = screen.getvalue().splitlines()
    assert lines == ["start 1/1  pass 1  objective 1.5  3 moved"] * 2


def test_iterations_are_logged(caplog):
    with caplog.at_level("INFO", logger="manyview"), fit_bar(Console(quiet=True)) as on_step:
        on_step(step(0, 5, 2, "weights"))
        on_step(step(0, 5, 2, "labels"))
    assert caplog.messages == ["start 1/5, iteration 2: objective 1.5, 3 labels changed"]


def test_the_bar_shows_pass_objective_moves_and_time():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    data = make_multiview_blobs(300, random_state=0)
    with fit_bar(console) as on_step:
        OMVCDR(n_clusters=3, random_state=0, n_jobs=1).fit(data.data, callback=on_step)
    text = screen.getvalue()
    for word in ("start ", "pass ", "objective ", " moved", " left"):
        assert word in text
