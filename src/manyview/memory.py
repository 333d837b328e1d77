"""Memory that this process holds, now and at most."""

from __future__ import annotations

import resource
from pathlib import Path

__all__ = ["peak", "start_peak"]

PROC = Path("/proc/self")  # Linux; elsewhere the peak is that of the whole life of the process


def start_peak() -> int:
    """Forget the peak so far; return the bytes held now."""
    if not PROC.is_dir():
        return peak()
    (PROC / "clear_refs").write_text("5")
    return int((PROC / "statm").read_text().split()[1]) * resource.getpagesize()


def peak() -> int:
    """Bytes held at most since `start_peak`."""
    if not PROC.is_dir():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    lines = (PROC / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
