"""Number of threads, of BLAS and of this package."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

A = TypeVar("A")
B = TypeVar("B")
SMALL_PRODUCT = 2e8  # multiplications
SMALL_TASKS = 5e6  # multiplications; below, threads cost more than they gain
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@cache
def _controller() -> ThreadpoolController:
    # cached: finding the loaded libraries takes longer than a small factorization
    return ThreadpoolController()


def n_threads() -> int:
    """Current number of threads: the limit, else that of BLAS, which the environment can set."""
    return _allowed.get() or min(_blas_threads(), _n_cores())


@contextmanager
def limit_threads(limit: int | None, product_size: float = np.inf) -> Iterator[None]:
    """Limit all threads inside a `with` block; None: as many as BLAS uses.

    BLAS has one thread for small matrix products, where a second gains little and stalls if the
    cores are busy. Products then round the same for any limit, and so results are the same.
    """
    outer = _allowed.get()
    token = _allowed.set(min(outer or limit, limit) if limit is not None else n_threads())
    try:
        with limit_blas(1 if product_size < SMALL_PRODUCT else limit):
            yield
    finally:
        _allowed.reset(token)


def limit_blas(limit: int | None) -> AbstractContextManager[object]:
    """Limit only the threads of BLAS and OpenMP.

    Factorizations of tall, narrow matrices run several times faster on one thread than on two.
    """
    limiter: AbstractContextManager[object] = _controller().limit(limits=limit)
    return limiter


def side_by_side(task: Callable[[A], B], items: Sequence[A], size: float = np.inf) -> Iterator[B]:
    """Results of independent tasks, run in parallel threads; BLAS has one thread in each.

    Tasks should release the GIL. `size` is their total number of multiplications. Results are in
    the order of the items, and only a few are buffered.
    """
    n_workers = min(n_threads(), len(items))
    with limit_blas(1):
        if n_workers < 2 or size < SMALL_TASKS:
            yield from map(task, items)
            return
        waiting: deque[Future[B]] = deque()
        with ThreadPoolExecutor(n_workers) as pool:
            for item in items:
                waiting.append(pool.submit(task, item))
                if len(waiting) > n_workers:
                    yield waiting.popleft().result()
            yield from (future.result() for future in waiting)


def _blas_threads() -> int:
    """Number of threads of BLAS."""
    pools = _controller().info()
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=1)


def _n_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
