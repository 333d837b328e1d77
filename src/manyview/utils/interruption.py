"""Ctrl-C and SIGTERM for the command line: a KeyboardInterrupt where it can be handled.

Python raises it wherever the main thread is. Inside an import or while compiled code is loaded, it
is lost or leaves half a library behind, which crashes later; in a callback of the interpreter it is
printed and lost. Here it waits until such work is done, and comes again until it has been handled.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading

TYPE_CHECKING = False  # nothing is imported that `manyview --version` does not need
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name))
FRAGILE = (
    "numba",
    "llvmlite",
    "importlib",
    "_frozen_importlib",
)  # packages not to be left half-way
SOON = 0.02  # seconds until the next try, where it has to wait
LATER = 1.0  # and where it was raised, but perhaps lost

_received: list[int] = []


def install() -> None:
    """Handle the signals, but for those that the caller of the process has switched off."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def leave() -> NoReturn:
    """End the process after a KeyboardInterrupt: one sentence, and the exit code of the signal."""
    is_ours = signal.getsignal(signal.SIGINT) is _handle or bool(_received)
    for number in SIGNALS if is_ours else ():
        signal.signal(number, signal.SIG_IGN)
    number = (_received or [int(signal.SIGINT)])[0]
    by = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    print(f"manyview: stopped by {by}; no incomplete file was left.", file=sys.stderr)  # noqa: T201
    if is_ours:
        # The interpreter would end itself by SIGINT where the interrupt passed through `exec`, and
        # wait for threads; everything has been cleaned up on the way here.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + number)
    sys.exit(128 + number)


def _handle(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    if _is_fragile(frame) or _is_leaving():
        _come_again(number, SOON)
        return
    _come_again(number, LATER)
    raise KeyboardInterrupt


def _is_fragile(frame: FrameType | None) -> bool:
    """Whether the main thread is inside a package that must not be left half-way."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in FRAGILE:
            return True
        frame = frame.f_back
    return False


def _is_leaving() -> bool:
    """Whether a KeyboardInterrupt is on its way: what is cleaned up meanwhile is not disturbed."""
    error: BaseException | None = sys.exception()
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def _come_again(number: int, seconds: float) -> None:
    timer = threading.Timer(seconds, _thread.interrupt_main, (number,))
    timer.daemon = True
    timer.start()
