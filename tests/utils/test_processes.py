"""Child processes end with their parent, in whatever way it ends."""

import subprocess
import sys

import psutil
import pytest

from manyview.utils.processes import end_with_parent

PARENT = """
import os, signal, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from manyview.utils.processes import end_with_parent

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context(sys.argv[1]), initializer=end_with_parent)
    print(pool.submit(os.getpid).result(), flush=True)
    pool.submit(time.sleep, 600)
    sys.stdin.read()
"""
METHODS = ["spawn", pytest.param("fork", marks=pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no fork"))]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_a_busy_child_ends_when_its_parent_is_killed(method, tmp_path):
    program = tmp_path / "parent.py"
    program.write_text(PARENT)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, program, method], **pipes) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    _, alive = psutil.wait_procs([child], timeout=20)
    for one in alive:
        one.kill()
    assert alive == []


def test_a_process_without_a_parent_of_multiprocessing_is_told_so():
    with pytest.raises(RuntimeError, match="expected a call in a child process"):
        end_with_parent()
