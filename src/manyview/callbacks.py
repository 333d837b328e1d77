"""Callbacks of scikit-learn 1.9 and later: a fit as a tree of tasks, its starts and iterations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from manyview.solver.state import OnStep, Progress

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as torn_down
except ImportError:  # before 1.9: no `set_callbacks`, nobody to tell
    CallbackSupportMixin, torn_down = object, None

__all__ = ["WatchedFit", "with_callbacks"]


Method = TypeVar("Method")


def with_callbacks(method: Method) -> Method:
    """Let callbacks finish when a method ends, however it ends."""
    return method if torn_down is None else cast("Method", torn_down(method))


class WatchedFit(CallbackSupportMixin):  # type: ignore[misc]
    """What an estimator inherits so that `set_callbacks` shows its iterations."""

    @contextmanager
    def _watched(self, on_step: OnStep, X: object) -> Iterator[OnStep]:
        """A function of each step that tells `on_step`, and the callbacks of scikit-learn."""
        if not hasattr(self, "_init_callback_context"):
            yield on_step
            return
        tasks: list[Any] = []  # those that have begun, the outermost first

        def begin(task: Any) -> None:
            tasks.append(task)
            task.call_on_fit_task_begin(estimator=self, X=X)

        def end(depth: int) -> None:
            while len(tasks) > depth:
                tasks.pop().call_on_fit_task_end(estimator=self, X=X)

        def tell(progress: Progress) -> None:
            on_step(progress)
            if progress.step == "start":
                end(1)
                begin(tasks[0].subcontext(task_name="start", max_subtasks=progress.max_iter))
            elif progress.step == "bases":
                begin(tasks[1].subcontext(task_name="iteration"))
            elif progress.step == "weights":
                end(2)

        begin(self._init_callback_context(max_subtasks=None))  # how many starts, the solver knows
        yield tell
        end(0)
