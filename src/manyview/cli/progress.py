"""The progress of a fit in one line: start, pass, objective, changed labels, time left."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Display

from manyview.solver.progress import OnStep, Progress

logger = logging.getLogger(__name__)

EVERY = 30.0  # seconds between lines, where there is no terminal to draw a bar on


@contextmanager
def fit_bar(console: Console, title: str = "OMVCDR") -> Iterator[OnStep]:
    """Show a progress bar over the starts of a fit, and the state of the current one.

    Parameters
    ----------
    console : rich.console.Console
        Shows the bar.
    title : str, default="OMVCDR"
        Text before the bar.

    Yields
    ------
    function of a Progress
        The callback for `OMVCDR.fit`.
    """
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (TextColumn(title), BarColumn(bar_width=12), TextColumn("{task.description}"))
    with Display(*columns, console=console, transient=True) as display:
        task = display.add_task("", total=None)
        pace = Pace()

        def on_step(progress: Progress) -> None:
            _log(progress)
            display.update(
                task,
                total=progress.n_starts,
                completed=progress.start + progress.n_iter / progress.max_iter,
                description=_state(progress, pace.left(progress)),
            )

        def on_parts(n_done: int, n_parts: int) -> None:
            display.update(task, fields={"parts": f"{n_done} of {n_parts} parts"})
            display.update(task, total=n_parts, completed=n_done)

        setattr(on_step, "on_parts", on_parts)  # noqa: B010 -- of a fit on a cluster
        yield on_step


def _lines(console: Console) -> OnStep:
    """A callback that prints a line every so often."""
    pace, last = Pace(), time.perf_counter()

    def on_step(progress: Progress) -> None:
        nonlocal last
        _log(progress)
        seconds = pace.left(progress)
        if time.perf_counter() - last >= EVERY:
            last = time.perf_counter()
            console.print(_state(progress, seconds), highlight=False, soft_wrap=True)

    return on_step


def _state(progress: Progress, seconds: float | None) -> str:
    """The state of a fit in one line."""
    left = "" if seconds is None else f"  {_clock(seconds)} left of this step"
    return (
        f"start {progress.start + 1}/{progress.n_starts}  pass {progress.n_iter}  "
        f"objective {progress.objective:.6g}  {progress.n_moved} moved{left}"
    )


def _log(progress: Progress) -> None:
    if progress.step == "weights":
        logger.info(
            "start %d/%d, iteration %d: objective %.6g, %d labels changed",
            progress.start + 1,
            progress.n_starts,
            progress.n_iter,
            progress.objective,
            progress.n_moved,
        )


@dataclass
class Pace:
    """Estimates the time left for the starts of a stage.

    A fit has up to three stages (a fit for smoothing, the starts, the refinement), each on
    different rows; the passes of a stage take about the same time. The number of passes of a start
    is estimated from the starts that have ended. A start that takes longer than these is expected
    to take half as many passes again as it has taken, and those after it to take longer, too.

    Attributes
    ----------
    now : function without arguments
        Clock, in seconds.
    """

    now: Callable[[], float] = time.perf_counter
    _began: float = 0.0  # start time of the stage
    _last: Progress | None = None
    _ended: list[int] = field(default_factory=list)  # passes of each start that has ended
    _n_passes: int = 0  # of the starts of this stage that have ended

    def left(self, progress: Progress) -> float | None:
        """Estimate the seconds left in the current stage; None while no start has ended.

        Parameters
        ----------
        progress : Progress
            As reported by the fit.

        Returns
        -------
        float or None
        """
        last, self._last = self._last, progress
        if progress.step == "start":
            if last is not None:
                self._ended.append(last.n_iter)
                self._n_passes += last.n_iter
            if last is None or progress.start <= last.start:
                self._began, self._n_passes = self.now(), 0
        n_done = self._n_passes + progress.n_iter
        if not self._ended or n_done == 0:
            return None
        usual = sum(self._ended) / len(self._ended)
        own = usual - progress.n_iter
        if own < 1:
            own = max(1.0, min(progress.n_iter / 2, progress.max_iter - progress.n_iter))
            usual = (sum(self._ended) + progress.n_iter + own) / (len(self._ended) + 1)
        n_left = own + usual * (progress.n_starts - progress.start - 1)
        return (self.now() - self._began) / n_done * n_left


def _clock(seconds: float) -> str:
    """A duration as 0:07 or 12:30."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
