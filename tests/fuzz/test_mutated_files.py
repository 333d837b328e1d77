"""Changed files of every kind: accepted, or refused in one sentence; `make fuzz` runs many more."""

import contextlib
import os
import re
import subprocess
import sys

import pytest

from fuzz.run import FOUND, TESTS, Case, Worker, draw_case, from_line, in_turn, run_case
from fuzz.seeds import make_seeds

N_CASES = 300
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="waits on pipes, and limits memory"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def seeds(folder):
    with contextlib.chdir(folder):
        yield make_seeds(folder)


@pytest.fixture(scope="module")
def worker(seeds):
    worker = Worker()
    yield worker
    worker.stop()


def test_every_seed_is_read_by_every_command(seeds, folder, worker):
    for name, seed in seeds.items():
        member = sorted(seed.files)[0]
        for command in seed.commands:
            case = Case(name, 0, 0, command, member, seed.finish(seed.files[member]))
            outcome = run_case(case, seeds, worker, folder)
            assert outcome.kind == "accepted", (name, command, outcome)


def test_changed_files_are_accepted_or_refused_in_one_sentence(seeds, folder, worker):
    for reader, seed, index in in_turn(list(seeds), N_CASES, seed=0):
        outcome = run_case(draw_case(seeds, reader, seed, index), seeds, worker, folder)
        assert outcome.failure == "", (reader, seed, index)


@pytest.mark.parametrize("line", FOUND.read_text(encoding="utf-8").splitlines())
def test_files_that_once_failed_are_accepted_or_refused(seeds, folder, worker, line):
    outcome = run_case(from_line(line), seeds, worker, folder)
    assert outcome.failure == ""


@pytest.mark.parametrize(
    "line",
    [
        "import os; os.system('true')",
        "import subprocess, sys; subprocess.run([sys.executable, '--version'])",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "import pickle, datetime; pickle.loads(pickle.dumps(datetime.date.today()))",
    ],
)
def test_what_a_file_must_not_bring_about_is_seen(line):
    """The worker is the real one, but for a command that does it."""
    program = "from fuzz import worker; import manyview.cli\n"
    program += f"def main(): {line}\nworker.main = main\nworker.sys.addaudithook(worker.watch)\n"
    program += "print(worker.run_command([])['error'])"
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(r"os\.system|subprocess\.Popen|socket\.getaddrinfo|find_class", done.stdout)


def test_a_case_is_the_same_when_it_is_drawn_again(seeds):
    for reader in seeds:
        assert draw_case(seeds, reader, 5, 7) == draw_case(seeds, reader, 5, 7)


# answers as a worker does, but misbehaves when it is asked to read a file
STAND_IN = """
import json, os, sys, time
for line in sys.stdin:
    reply = {"code": 0, "said": "", "error": "", "seconds": 0, "peak": 0}
    if "bad" in line:
        WHAT
    print(json.dumps(reply), flush=True)
"""


@pytest.mark.parametrize(
    ("what", "failure"),
    [
        ("os.kill(os.getpid(), 11)", "ended with code -11"),
        ("time.sleep(60)", "more than 1 seconds"),
        ("reply['error'] = 'KeyError: 3'", "KeyError: 3"),
        ("reply['code'] = 1", "exit code 1"),
        ("reply['peak'] = 10**10", "10000 MB"),
        ("reply['code'] = 2; reply['said'] = 'Traceback'", "not one sentence"),
    ],
)
def test_what_must_not_happen_is_a_failure_and_the_next_case_runs(what, failure):
    worker = Worker(("-c", STAND_IN.replace("WHAT", what)))
    outcome = worker.run(["bad"], seconds=1)
    assert outcome.kind in ("died", "failed")
    assert failure in outcome.failure
    assert worker.run(["good"]).kind == "accepted"
    worker.stop()
