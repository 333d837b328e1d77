"""How many threads may work, in one place: those of BLAS, and our own beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["limit_blas", "limit_threads", "side_by_side"]

A = TypeVar("A")
B = TypeVar("B")
SMALL_PRODUCT = 2e8  # multiplications
SMALL_TASKS = 5e6  # multiplications; below, our own threads cost more than they bring
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@cache
def _controller() -> ThreadpoolController:
    # made once: finding the loaded libraries takes longer than a small factorization
    return ThreadpoolController()


@contextmanager
def limit_threads(n_threads: int | None, product_size: float = np.inf) -> Iterator[None]:
    """Limit all threads inside a `with` block; None leaves them as they are.

    None also means one thread of BLAS for matrix products of so few multiplications that a second
    gains little, and stalls where the cores are busy.
    """
    limits = [limit for limit in (_allowed.get(), n_threads) if limit is not None]
    token = _allowed.set(min(limits, default=None))
    is_small = n_threads is None and product_size < SMALL_PRODUCT
    try:
        with limit_blas(1 if is_small else n_threads):
            yield
    finally:
        _allowed.reset(token)


def limit_blas(n_threads: int | None) -> AbstractContextManager[object]:
    """Limit the threads of BLAS and OpenMP alone.

    Factorizations of tall, narrow matrices run several times faster on one thread than on two.
    """
    limiter: AbstractContextManager[object] = _controller().limit(limits=n_threads)
    return limiter


def side_by_side(task: Callable[[A], B], items: Sequence[A], size: float) -> list[B]:
    """Results of independent tasks that leave Python alone; BLAS has one thread in each.

    `size` is the number of multiplications of all together.
    """
    n_workers = min(_allowed.get() or _n_cores(), len(items))
    with limit_blas(1):
        if n_workers < 2 or size < SMALL_TASKS:
            return [task(item) for item in items]
        with ThreadPoolExecutor(n_workers) as pool:
            return list(pool.map(task, items))


def _n_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
