"""`manyview fit --estimate`, as a process."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = str(Path(sys.executable).with_name("manyview"))


def run(folder, *arguments):
    return subprocess.run(
        [PROGRAM, "fit", *arguments, "--estimate"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path, rng):
    for name in ("a-0", "a-1"):
        np.save(tmp_path / f"{name}.npy", rng.random((2000, 6), dtype=np.float32))
    np.save(tmp_path / "b.npy", rng.random((4000, 4), dtype=np.float32))
    return tmp_path


def test_an_estimate_is_told_and_nothing_is_written(folder):
    before = sorted(folder.iterdir())
    done = run(folder, "a-*.npy", "b.npy", "--clusters", "3", "--engine", "stream", "--starts", "1")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "with engine='stream': 4,000 samples, 3 clusters." in said
    assert "of memory in addition to 0 MB of views, read" in said
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
def test_a_program_gets_numbers(folder):
    done = run(folder, "b.npy", "--clusters", "3", "--scale", "none", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["engine"] == "memory"
    assert told["n_samples"] == 4000
    assert told["seconds"] > 0
    assert told["memory_bytes"] > 4000 * 20
    assert told["sentence"].startswith("About ")


def test_a_mistake_is_one_sentence(folder):
    done = run(folder, "b.npy", "--clusters", "none")
    assert done.returncode == 2
    assert "--clusters is 'none'" in done.stderr
