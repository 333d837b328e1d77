"""A real browser without a window: for the pictures in docs and for the tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def why_not() -> str | None:
    """Why no browser can be had here; None where one can."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed: pip install playwright"
    return None if _path() else f"no browser was found: install one of {', '.join(NAMES)}"


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser of the system, as long as the block runs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=_path(), args=FLAGS)
        yield opened
        opened.close()


def _path() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)
