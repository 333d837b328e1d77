"""Waiting for the tasks of a cluster, never without a limit.

A task may be late because it takes long, or because nobody is there to do it. So who waits looks
from time to time whether the scheduler answers and workers are at work, and gives up with a
sentence if that was not so for a minute.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from manyview.exceptions import ClusterError

T = TypeVar("T")
PATIENCE = 60.0  # seconds without any worker, or without the scheduler, after which a fit ends
LOOK = 1.0  # seconds between two looks whether they are there
ANSWER = 10.0  # seconds in which a scheduler answers
MOST_RETRIES = 3  # of a task whose workers were lost again and again


class Waiting:
    """Waits for tasks of one client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def result(self, future: Any, on_look: Callable[[], None] = lambda: None) -> Any:
        """The result of a task; an error if the cluster is gone."""
        return self._until(future, future.result, on_look)

    def compute(self, *tasks: Any) -> list[Any]:
        """The results of lazy tasks."""
        return [self.result(future) for future in self.client.compute(list(tasks))]

    def until_done(self, futures: Sequence[Any]) -> None:
        """Wait for tasks whose results stay where they are."""
        from distributed import wait

        def get(future: Any) -> Any:
            with self.client.as_current():  # it need not be the default
                return wait([future])  # type: ignore[no-untyped-call]

        for future in futures:
            self._until(future, partial(get, future))

    def _until(
        self, future: Any, get: Callable[[], T], on_look: Callable[[], None] = lambda: None
    ) -> T:
        """Wait while there is hope."""
        from distributed import CancelledError, KilledWorker

        lost, n_retries, call = _Lost(self.client), 0, Call(get)
        while True:
            if not call.is_done(LOOK):
                lost.look()
                on_look()
                continue
            try:
                return call.result()
            except KilledWorker as error:
                n_retries += 1
                if n_retries > MOST_RETRIES:
                    raise ClusterError(_killed(error)) from error
                future.retry()
                call = Call(get)
            except CancelledError as error:
                raise ClusterError(gone(self.client)) from error


class Call(Generic[T]):
    """A call in a thread of its own, which may never return.

    Time limits of Dask are not used: they cancel what they wait for, which is not always told as
    such, and their errors refer to all that is on the stack.
    """

    def __init__(self, action: Callable[[], T]) -> None:
        self._found: list[T] = []
        self._error: BaseException | None = None
        self._done = threading.Event()
        threading.Thread(target=self._go, args=(action,), daemon=True).start()

    def _go(self, action: Callable[[], T]) -> None:
        try:
            self._found.append(action())
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def is_done(self, seconds: float) -> bool:
        """Wait for some seconds; whether it has returned."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """What it returned; raises what it has raised."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return self._found[0]


class _Lost:
    """Since when something that the work needs is lost, and what it is."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._since = time.monotonic()

    def look(self) -> None:
        """Raise an error once something has been lost for too long."""
        reason = self._reason()
        if reason is None:
            self._since = time.monotonic()
        elif time.monotonic() - self._since > PATIENCE:
            raise ClusterError(reason)

    def _reason(self) -> str | None:
        """What is lost now."""
        client = self.client
        if client.status != "running":
            return gone(client)
        call = Call(lambda: client.sync(client.scheduler.identity)["workers"])
        if not call.is_done(ANSWER):
            return gone(client)
        try:
            found = call.result()
        except OSError:
            return gone(client)
        if not found:
            return _no_worker(client)
        if all(worker["status"] == "paused" for worker in found.values()):
            return _all_paused(client, len(found))
        return None


def gone(client: Any) -> str:
    """What to say when the scheduler has forgotten the work."""
    return (
        f"The scheduler at {client.scheduler.address if client.scheduler else 'its address'} is "
        "gone, or has forgotten the tasks of this fit, and with it the labels. Start the cluster "
        "again and call fit again."
    )


def _no_worker(client: Any) -> str:
    """What to say when nobody is there to work."""
    return (
        f"The cluster at {client.scheduler.address} has had no worker for {PATIENCE:.0f} seconds, "
        "so that the fit cannot go on. Start workers, such as by `dask worker`, and look into the "
        "log of those that ended: most often they had too little memory."
    )


def _all_paused(client: Any, n_workers: int) -> str:
    """What to say when the memory of all workers is full, and does not get emptier."""
    return (
        f"All {n_workers} workers of the cluster at {client.scheduler.address} have paused for "
        f"{PATIENCE:.0f} seconds, because their memory is full, so that the fit cannot go on. Give "
        "workers more memory, or start more of them."
    )


def _killed(error: Exception) -> str:
    """What to say when a task has lost several workers."""
    return (
        f"A part of the rows was given up: {str(error).splitlines()[0]} Most often a part and what "
        "is computed from it need more memory than a worker has. Give workers more memory, or "
        "raise distributed.scheduler.allowed-failures if they are often lost for other reasons."
    )
