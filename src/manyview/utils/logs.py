"""Where the log of a command goes: to the terminal, to a file, or nowhere."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def start_log(*, is_verbose: bool, file: Path | None) -> None:
    """Show what the library logs: choices and iterations.

    Parameters
    ----------
    is_verbose : bool
        On stderr, from level INFO on.
    file : path, optional
        A file to append to, from level DEBUG on, with times.
    """
    logger = logging.getLogger("manyview")
    if is_verbose:
        screen = logging.StreamHandler(sys.stderr)
        screen.setLevel(logging.INFO)
        screen.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(screen)
        logger.setLevel(logging.INFO)
    if file is not None:
        written = logging.FileHandler(file, encoding="utf-8", delay=False)
        written.setFormatter(logging.Formatter(LINE))
        logger.addHandler(written)
        logger.setLevel(logging.DEBUG)
        logging.captureWarnings(True)
        logging.getLogger("py.warnings").addHandler(written)
