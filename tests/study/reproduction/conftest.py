"""Small sets under the names of two of the paper's files, and a study of them."""

import os
import subprocess
import sys

import numpy as np
import pytest

from manyview.datasets import make_multiview_blobs

PROGRAM = """
import sys
from pathlib import Path
from manyview.study.reproduction import ReproduceRequest, reproduce, scope
scope.POWERS = (0, 3)  # few, to be short
reproduce(ReproduceRequest(quick=True, methods=("published_omvcdr", "omvcdr")), Path(sys.argv[1]))
"""


def write_sets(folder):
    """handwritten_2v and bdgp as blobs, sorted by class as the real files are."""
    folder.mkdir()
    for seed, (name, k) in enumerate({"handwritten_2v": 3, "bdgp": 4}.items()):
        data, y = make_multiview_blobs(
            48 + seed, (14, 16), n_clusters=k, random_state=seed, return_X_y=True
        )
        order = np.argsort(y, kind="stable")
        views = {f"view_{v}": np.abs(view[order]) for v, view in enumerate(data.views)}
        np.savez(folder / f"{name}.npz", **views, y=y[order])
    return folder


def _start(folder, out, **options):
    environment = {**os.environ, "MANYVIEW_DATA": str(folder)}
    command = [sys.executable, "-c", PROGRAM, str(out)]
    return subprocess.Popen(command, env=environment, start_new_session=True, **options)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return write_sets(tmp_path_factory.mktemp("reproduce") / "sets")


@pytest.fixture(scope="session")
def start():
    """Starts a real process that runs the study with two methods."""
    return _start


@pytest.fixture(scope="session")
def study(folder, start, tmp_path_factory):
    """Folder of a finished study of two methods."""
    out = tmp_path_factory.mktemp("study") / "reproduce"
    process = start(folder, out, stderr=subprocess.PIPE, text=True)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return out
