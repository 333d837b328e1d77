"""Processes that end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import threading
from multiprocessing.connection import wait

ORPHANED = 1  # exit code


def end_with_parent() -> None:
    """End this process when the process that started it has ended, however that happened.

    Call it first in a process of `multiprocessing`. A process that is killed cannot stop its
    children; without this they would go on with what they are doing.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        msg = "This is not a process of multiprocessing; expected a call in a child process."
        raise RuntimeError(msg)
    threading.Thread(
        target=_end_after, args=(parent.sentinel,), name="manyview-parent", daemon=True
    ).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(ORPHANED)  # sys.exit would end the thread alone
