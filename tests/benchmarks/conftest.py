"""The benchmarks of speed limit memory and time as only POSIX can; elsewhere they are skipped."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("resource") else ["test_speed.py"]
