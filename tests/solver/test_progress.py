"""Callbacks of scikit-learn: a fit is a tree of starts and iterations, and ends in any case."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs

callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")


class Recorder:
    """Writes down what a fit tells its callbacks."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))


@pytest.fixture
def blobs():
    data, _ = make_multiview_blobs(80, (6, 5), n_clusters=3, random_state=0, return_X_y=True)
    return data


@pytest.mark.parametrize("smooth", [True, False])
def test_every_task_begins_and_ends_inside_its_parent(blobs, smooth):
    recorder, steps = Recorder(), []
    model = OMVCDR(3, n_init=2, smooth=smooth, random_state=0).set_callbacks(recorder)
    model.fit(blobs, callback=lambda progress: steps.append(progress.step))
    assert recorder.events[0] == ("setup", "fit")
    assert recorder.events[-1] == ("teardown", "fit")
    depth = {"fit": 0, "start": 1, "iteration": 2}
    begun = []
    for event, task in recorder.events[1:-1]:
        if event == "begin":
            assert len(begun) == depth[task]
            begun.append(task)
        else:
            assert begun.pop() == task
    assert begun == []
    assert recorder.events.count(("begin", "start")) == steps.count("start")
    assert recorder.events.count(("begin", "iteration")) == steps.count("bases")


def test_callbacks_change_nothing_and_leave_nothing(blobs):
    plain = OMVCDR(3, n_init=2, random_state=0).fit(blobs)
    told = clone(plain).set_callbacks(Recorder()).fit(blobs)
    np.testing.assert_array_equal(told.labels_, plain.labels_)
    assert set(vars(told)) - set(vars(plain)) == {"_skl_callbacks"}


def test_a_fit_that_fails_still_tears_down(blobs):
    recorder = Recorder()

    def stop(progress):
        raise KeyboardInterrupt

    model = OMVCDR(3, random_state=0).set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(blobs, callback=stop)
    assert recorder.events == [("setup", "fit"), ("begin", "fit"), ("teardown", "fit")]


def test_the_progress_bar_of_scikit_learn_shows_the_starts(blobs, capsys):
    OMVCDR(3, n_init=2, random_state=0).set_callbacks(callback.ProgressBar()).fit(blobs)
    shown = capsys.readouterr().out
    assert "OMVCDR - fit" in shown
    assert "OMVCDR - start #2" in shown  # the one that looks for neighbors, and two more


def test_a_pipeline_passes_its_progress_bar_on(blobs, capsys):
    model = OMVCDR(3, n_init=1, view_sizes=[6, 5], random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).set_callbacks(callback.ProgressBar())
    pipeline.fit(np.hstack(blobs.views))
    assert "OMVCDR - start #0" in capsys.readouterr().out


@pytest.mark.slow
def test_a_scikit_learn_without_callbacks_is_no_obstacle():
    code = """
import sys
import sklearn.cluster, sklearn.decomposition, sklearn.model_selection
sys.modules["sklearn.callback"] = None
from manyview import OMVCDR
model = OMVCDR(2, n_init=1, random_state=0).fit([[[0.0], [1.0], [9.0]], [[0.0], [1.0], [9.0]]])
print(len(model.labels_), hasattr(model, "set_callbacks"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "False"]
