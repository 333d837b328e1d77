"""A few of the faults of `make faults`: kills, full disks, harmed data, interrupts, two at once."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, tmpfs and /proc"),
]
TESTS = Path(__file__).parents[1]


def program(name, *arguments):
    """Run a program of this folder, in an interpreter without other threads."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"faults.{name}", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_command_killed_anywhere_loses_nothing():
    said = program("kills", "--kills", 24)
    assert "24 kills, 0 failures" in said
    assert all(name in said for name in ("SIGKILL", "SIGTERM", "SIGINT"))


def test_full_disks_and_harmed_data_are_told():
    assert "12 faults, 0 failures" in program("files", "--faults", 12)


def test_an_interrupt_at_any_moment_is_one_sentence():
    assert "FAILED" not in program("interrupts", "--interrupts", 6)


def test_of_two_runs_in_one_folder_one_is_refused(tmp_path):
    from faults.scenarios import TABLES, write_views

    write_views(tmp_path)
    command = [sys.executable, "-m", "manyview", *map(str, TABLES), "--out", "run"]
    both = [
        subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True) for _ in range(2)
    ]
    ended = [(running.communicate(timeout=120)[1], running.returncode) for running in both]
    for err, code in ended:
        assert code == 0 or "Another run writes to run now" in err
    assert any(code == 0 for _, code in ended)
    assert len(pd.read_csv(tmp_path / "run" / "labels.csv")) == 300
    assert {path.name for path in (tmp_path / "run").iterdir() if path.name[0] == "."} == set()
