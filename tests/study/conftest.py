"""A folder of small sets, and methods of a stranger that note each call."""

import sys
import textwrap

import numpy as np
import pytest

from manyview.datasets import make_multiview_blobs

STRANGER = """
import os, time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans


class Plain:
    def __init__(self, n_clusters=8, random_state=None):
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit_predict(self, X):
        note = Path(os.environ["NOTES"]) / f"{type(self).__name__}-{len(X[0])}-{self.random_state}"
        with note.open("a") as file:
            file.write("x")
        kmeans = KMeans(self.n_clusters, n_init=1, random_state=self.random_state)
        return kmeans.fit_predict(np.hstack(X))


class Slow(Plain):
    def fit_predict(self, X):
        time.sleep(1.0)
        return super().fit_predict(X)


class Hanging(Plain):
    def fit_predict(self, X):
        super().fit_predict(X)
        time.sleep(600)


class Dying(Plain):
    def fit_predict(self, X):
        os._exit(3)


class Broken(Plain):
    def fit_predict(self, X):
        raise KeyError("lost")


class NoClusterer:
    pass
"""


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """Three small sets, a, b and c, in MANYVIEW_DATA."""
    folder = tmp_path / "sets"
    folder.mkdir()
    for seed, name in enumerate("abc"):
        data, y = make_multiview_blobs(
            40 + seed, (5, 7), n_clusters=3, random_state=seed, return_X_y=True
        )
        np.savez(folder / f"{name}.npz", view_0=data.views[0], view_1=data.views[1], y=y)
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    return folder


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """The module `stranger`, importable here and in child processes; returns its notes folder."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "stranger.py").write_text(textwrap.dedent(STRANGER))
    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setenv("NOTES", str(notes))
    monkeypatch.setenv("PYTHONPATH", str(code))
    monkeypatch.syspath_prepend(str(code))
    monkeypatch.delitem(sys.modules, "stranger", raising=False)  # that of the test before
    return notes
