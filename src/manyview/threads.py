"""How many threads BLAS may use, in one place."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["limit_threads"]


@cache
def _controller() -> ThreadpoolController:
    # made once: finding the loaded libraries takes longer than a small factorization
    return ThreadpoolController()


def limit_threads(n_threads: int | None) -> AbstractContextManager[object]:
    """Limit the threads of BLAS and OpenMP inside a `with` block; None leaves them as they are.

    Factorizations of tall, narrow matrices run several times faster on one thread than on two.
    """
    limiter: AbstractContextManager[object] = _controller().limit(limits=n_threads)
    return limiter
