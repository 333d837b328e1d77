"""Base class of the baselines: complete views, and limits of time and memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

from manyview.base import COUNT, LIMIT, MultiViewClusterer, param
from manyview.data.views import MultiViewData
from manyview.exceptions import DeclinedError, ViewError


@dataclass(eq=False, repr=False)
class Baseline(MultiViewClusterer):
    """Base class of the baselines. Subclasses implement `_cluster(data, budget)`.

    All have the parameters `time_limit` (seconds) and `memory_limit` (bytes); None sets no limit.
    A fit that would exceed a limit raises DeclinedError, which states the limit.
    """

    n_clusters: int = param(8, COUNT)
    _: KW_ONLY
    time_limit: float | None = param(None, LIMIT)
    memory_limit: float | None = param(None, LIMIT)
    view_sizes: Sequence[int] | None = None

    def _fit(self, data: MultiViewData) -> None:
        name = type(self).__name__
        if data.present is not None:
            msg = (
                f"{name} expects every sample in every view; {(~data.present).sum()} row(s) of the "
                "views are missing. Use OMVCDR, which supports missing views, or drop those "
                "samples."
            )
            raise ViewError(msg)
        self._cluster(data.in_memory(), Budget(name, self.time_limit, self.memory_limit))

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        """Set `labels_` and other attributes; checks the budget before and during the fit."""
        raise NotImplementedError


@dataclass
class Budget:
    """Limits of one fit."""

    method: str
    time_limit: float | None
    memory_limit: float | None
    started: float = field(default_factory=time.monotonic)

    def need(self, n_bytes: float, what: str) -> None:
        """Raise DeclinedError if an array, named by `what`, would exceed the memory limit."""
        if self.memory_limit is not None and n_bytes > self.memory_limit:
            msg = (
                f"{self.method} needs {n_bytes / 1e9:.3g} GB for {what}; "
                f"memory_limit allows {self.memory_limit / 1e9:.3g} GB."
            )
            raise DeclinedError(msg)

    def tick(self, done: str = "") -> None:
        """Raise DeclinedError after the time limit; called between iterations."""
        spent = time.monotonic() - self.started
        if self.time_limit is not None and spent > self.time_limit:
            msg = (
                f"{self.method} had not finished within time_limit={self.time_limit:g} s"
                f"{' (' + done + ')' if done else ''}."
            )
            raise DeclinedError(msg)
