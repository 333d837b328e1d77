"""Current and peak memory of this process, and memory of the machine."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from pathlib import Path

import psutil


def start_peak() -> int:
    """Reset the peak (only possible on Linux); return the current bytes, without garbage."""
    gc.collect()  # what is freed later would hide what is allocated then
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return int(psutil.Process().memory_info().rss)


def peak_memory() -> int:
    """Peak of bytes since `start_peak` (on Linux), else since the start of the process."""
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    with suppress(OSError, StopIteration):  # Linux; the number below counts the parent's peak too
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    import resource  # not on Windows

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def installed_memory() -> int:
    """Bytes of memory of this machine, or the limit of the container."""
    physical = int(psutil.virtual_memory().total)
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return physical
    return min(physical, int(allowed)) if allowed.isdigit() else physical
