"""The progress of a fit in one line: start, pass, objective, changed labels, time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Display

from manyview.solver.progress import OnStep, Progress


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
    columns = (TextColumn(title), BarColumn(bar_width=12), TextColumn("{task.description}"))
    with Display(*columns, console=console, transient=True) as display:
        task = display.add_task("", total=None)
        pace = Pace()

        def on_step(progress: Progress) -> None:
            seconds = pace.left(progress)
            left = "" if seconds is None else f"  {_clock(seconds)} left"
            display.update(
                task,
                total=progress.n_starts,
                completed=progress.start + progress.n_iter / progress.max_iter,
                description=f"start {progress.start + 1}/{progress.n_starts}  "
                f"pass {progress.n_iter}  objective {progress.objective:.6g}  "
                f"{progress.n_moved} moved{left}",
            )

        def on_parts(n_done: int, n_parts: int) -> None:
            display.update(task, fields={"parts": f"{n_done} of {n_parts} parts"})
            display.update(task, total=n_parts, completed=n_done)

        setattr(on_step, "on_parts", on_parts)  # noqa: B010 -- of a fit on a cluster
        yield on_step


@dataclass
class Pace:
    """Estimates the time left for the starts of a stage.

    A fit has up to three stages (a fit for smoothing, the starts, the refinement), each on
    different rows; the passes of a stage take about the same time. The number of passes of a start
    is estimated from the starts that have ended.

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
        n_left = max(usual - progress.n_iter, 1) + usual * (progress.n_starts - progress.start - 1)
        return (self.now() - self._began) / n_done * n_left


def _clock(seconds: float) -> str:
    """A duration as 0:07 or 12:30."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
