"""The progress bar over runs, with an estimate of the time left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TimeRemainingColumn


@dataclass(frozen=True)
class RunBar:
    """A progress bar over runs."""

    bar: Progress
    task: TaskID

    def say(self, text: str) -> None:
        """Show a text next to the bar."""
        self.bar.update(self.task, description=text)

    def on_row(self, row: Mapping[str, Any], n_done: int, n_all: int, part: str = "") -> None:
        """Show a run that has ended; an empty row stands for runs of an earlier session."""
        text = f"{row['data']} · {row['method']}: {row['status']}" if row else "done before"
        shown = f"{part} · {text}" if part else text
        self.bar.update(self.task, completed=n_done, total=n_all, description=shown)


@contextmanager
def run_bar(console: Console) -> Iterator[RunBar]:
    """Show a progress bar over runs.

    Parameters
    ----------
    console : rich.console.Console
        Shows the bar.

    Yields
    ------
    RunBar
    """
    columns = (BarColumn(bar_width=None), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress("{task.description}", *columns, console=console, transient=True) as bar:
        yield RunBar(bar, bar.add_task("starting", total=None))
