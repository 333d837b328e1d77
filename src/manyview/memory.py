"""Memory that this process holds, now and at most."""

from __future__ import annotations

import os
import resource
from pathlib import Path

__all__ = ["installed", "peak", "start_peak"]

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


def installed() -> int:
    """Bytes of memory of this machine, or of the container that limits it."""
    physical = os.sysconf("SC_PHYS_PAGES") * resource.getpagesize()
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return physical
    return min(physical, int(allowed)) if allowed.isdigit() else physical
