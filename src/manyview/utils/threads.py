"""Number of threads, of BLAS and of this package."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
SMALL_PRODUCT = 2e8  # multiplications
SMALL_TASKS = 5e6  # multiplications; below, threads cost more than they gain
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@cache
def _controller() -> ThreadpoolController:
    # cached: finding the loaded libraries takes longer than a small factorization
    return ThreadpoolController()


def n_threads() -> int:
    """Current number of threads: the limit, else that of BLAS, which the environment can set."""
    return _allowed.get() or min(_blas_threads(), n_cores())


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


def in_stages(
    first: Callable[[A], B], second: Callable[[B], C], third: Callable[[C], D], items: Sequence[A]
) -> Iterator[D]:
    """`third(second(first(item)))` of each item, in their order.

    The second stage is called for one item after the other; the others in parallel threads, for a
    few items at a time, with one thread of BLAS in each.
    """
    n_workers = min(n_threads(), len(items))
    with limit_blas(1):
        if n_workers < 2:
            yield from (third(second(first(item))) for item in items)
            return
        begun: deque[Future[B]] = deque()
        ended: deque[Future[D]] = deque()
        to_begin = iter(items)
        with ThreadPoolExecutor(n_workers) as pool:
            for item in islice(to_begin, n_workers):
                begun.append(pool.submit(first, item))
            while begun:
                between = begun.popleft().result()
                begun.extend(pool.submit(first, item) for item in islice(to_begin, 1))
                ended.append(pool.submit(third, second(between)))
                if len(ended) > 1:
                    yield ended.popleft().result()
            yield from (future.result() for future in ended)


def _blas_threads() -> int:
    """Number of threads of BLAS."""
    pools = _controller().info()
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=1)


def n_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
