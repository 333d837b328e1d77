"""How many threads BLAS may use, in one place."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["limit_threads", "useful_threads"]

SMALL_PRODUCT = 2e8  # multiplications; below, a second thread gains little and stalls on busy cores


@cache
def _controller() -> ThreadpoolController:
    # made once: finding the loaded libraries takes longer than a small factorization
    return ThreadpoolController()


def useful_threads(n_jobs: int | None, product_size: float) -> int | None:
    """What the user asked for, else one thread for small matrix products and all for large ones."""
    return 1 if n_jobs is None and product_size < SMALL_PRODUCT else n_jobs


def limit_threads(n_threads: int | None) -> AbstractContextManager[object]:
    """Limit the threads of BLAS and OpenMP inside a `with` block; None leaves them as they are.

    Factorizations of tall, narrow matrices run several times faster on one thread than on two.
    """
    limiter: AbstractContextManager[object] = _controller().limit(limits=n_threads)
    return limiter
