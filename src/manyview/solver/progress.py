"""Progress of a fit: the user's callback, the log, and the callbacks of scikit-learn 1.9."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from manyview.solver.model import Model

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as torn_down
except ImportError:  # before 1.9: no `set_callbacks`
    torn_down = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement for the mixin of scikit-learn 1.9."""


logger = logging.getLogger("manyview.solver")

Method = TypeVar("Method")
Step: TypeAlias = Literal["start", "bases", "labels", "weights", "final_sweeps"]


@dataclass(frozen=True)
class Progress:
    """State after a step, for callbacks; F never increases within a start."""

    start: int  # which restart, from 0
    n_starts: int
    n_iter: int
    max_iter: int
    step: Step
    objective: float
    n_moved: int
    find_model: Callable[[], Model]
    labels: Callable[[], NDArray[np.int32]]  # gathered only when called

    @property
    def model(self) -> Model:
        """The current model; made when it is asked for, since wide views have to be lifted."""
        return self.find_model()


OnStep: TypeAlias = Callable[[Progress], None]


def make_callback(callback: OnStep | None, verbose: int) -> OnStep:
    """A function that calls the user's callback and, if verbose, logs iterations."""

    def notify(progress: Progress) -> None:
        if verbose and progress.step == "weights":
            logger.info(
                "start %d/%d, iteration %d: F = %.6g, %d labels changed",
                progress.start + 1,
                progress.n_starts,
                progress.n_iter,
                progress.objective,
                progress.n_moved,
            )
        if callback is not None:
            callback(progress)

    return notify


def with_callbacks(method: Method) -> Method:
    """Tear down callbacks when a method returns or raises."""
    return method if torn_down is None else cast("Method", torn_down(method))


@contextmanager
def sklearn_callbacks(estimator: Any, on_step: OnStep, X: object) -> Iterator[OnStep]:
    """A function of each step that calls `on_step` and the callbacks of scikit-learn."""
    if not hasattr(estimator, "_init_callback_context"):
        yield on_step
        return
    tasks: list[Any] = []  # active tasks, outermost first

    def begin(task: Any) -> None:
        tasks.append(task)
        task.call_on_fit_task_begin(estimator=estimator, X=X)

    def end(depth: int) -> None:
        while len(tasks) > depth:
            tasks.pop().call_on_fit_task_end(estimator=estimator, X=X)

    def notify(progress: Progress) -> None:
        on_step(progress)
        if progress.step == "start":
            end(1)
            begin(tasks[0].subcontext(task_name="start", max_subtasks=progress.max_iter))
        elif progress.step == "bases":
            begin(tasks[1].subcontext(task_name="iteration"))
        elif progress.step == "weights":
            end(2)

    begin(estimator._init_callback_context(max_subtasks=None))  # number of starts unknown
    yield notify
    end(0)
