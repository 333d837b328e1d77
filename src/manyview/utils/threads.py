"""How many threads may work, in one place: those of BLAS, and our own beside them."""

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
SMALL_TASKS = 5e6  # multiplications; below, our own threads cost more than they bring
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@cache
def _controller() -> ThreadpoolController:
    # made once: finding the loaded libraries takes longer than a small factorization
    return ThreadpoolController()


def n_threads() -> int:
    """Threads that may work now: as limited, else those of BLAS, which the environment can set."""
    return _allowed.get() or min(_blas_threads(), _n_cores())


@contextmanager
def limit_threads(limit: int | None, product_size: float = np.inf) -> Iterator[None]:
    """Limit all threads inside a `with` block; None takes as many as BLAS has.

    None also means one thread of BLAS for matrix products of so few multiplications that a second
    gains little, and stalls where the cores are busy.
    """
    outer = _allowed.get()
    token = _allowed.set(min(outer or limit, limit) if limit is not None else n_threads())
    is_small = limit is None and product_size < SMALL_PRODUCT
    try:
        with limit_blas(1 if is_small else limit):
            yield
    finally:
        _allowed.reset(token)


def limit_blas(limit: int | None) -> AbstractContextManager[object]:
    """Limit the threads of BLAS and OpenMP alone.

    Factorizations of tall, narrow matrices run several times faster on one thread than on two.
    """
    limiter: AbstractContextManager[object] = _controller().limit(limits=limit)
    return limiter


def side_by_side(task: Callable[[A], B], items: Sequence[A], size: float = np.inf) -> Iterator[B]:
    """Results of independent tasks that leave Python alone; BLAS has one thread in each.

    `size` is the number of multiplications of all together. Results come in the order of the items,
    and few wait to be taken.
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
    """Threads that BLAS would take."""
    pools = _controller().info()
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=1)


def _n_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
