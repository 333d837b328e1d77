"""The journal of a stopped fit: whole or refused, and nothing of the user is touched."""

import os
import shutil

import numpy as np
import pytest

from manyview import OMVCDR, remove_checkpoint
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import CheckpointError
from manyview.persistence.checkpoint import Checkpoint
from manyview.solver import alternation, fitting


@pytest.fixture(scope="module", autouse=True)
def few_rows():
    """Starts on a subset and refinement on all rows, which is recorded, for small data too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "SAMPLE_ROWS", 80)
        patch.setattr(alternation, "BOUND_ROWS", 1)
        yield


@pytest.fixture(scope="module")
def data():
    return make_multiview_blobs(200, (6, 9), n_clusters=3, cluster_std=8.0, random_state=0).data


def fit(data, folder, **settings):
    model = OMVCDR(3, scale=None, n_init=1, random_state=0, **settings)
    return model.fit(data, checkpoint=folder)


@pytest.fixture(scope="module")
def whole(data):
    return OMVCDR(3, scale=None, n_init=1, random_state=0).fit(data)


@pytest.fixture(scope="module")
def stopped(data, tmp_path_factory):
    """The folder of a fit that was stopped after some passes."""
    folder = tmp_path_factory.mktemp("stopped") / "passes"
    write = Checkpoint.write

    def write_or_stop(self, number, *rest):
        if number == 8:
            raise KeyboardInterrupt
        write(self, number, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "write", write_or_stop)
        with pytest.raises(KeyboardInterrupt):
            fit(data, folder)
    assert len(list(folder.glob("labels-*.npy"))) == 1
    assert len(list(folder.glob("pass-*.mv"))) == 8
    return folder


@pytest.fixture
def folder(stopped, tmp_path):
    return shutil.copytree(stopped, tmp_path / "passes")


def test_a_stopped_fit_goes_on_and_leaves_nothing(data, folder, whole):
    np.testing.assert_array_equal(fit(data, folder).labels_, whole.labels_)
    assert not folder.exists()


SETTINGS = {
    "as given": ({"scale": None, "n_init": 1}, 0),
    "default": ({}, 0),
    "some without weight": ({"scale": "z", "n_init": 1}, 60),
    "smoothed, some without weight": ({"scale": "z", "smooth": True}, 60),
}


@pytest.mark.filterwarnings("ignore:The best of")
@pytest.mark.parametrize(
    ("settings", "n_without"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] if "n_init" not in case[0] else [])
        for name, case in SETTINGS.items()
    ],
)
def test_a_fit_stopped_after_any_pass_gives_the_same_result(
    data, tmp_path, settings, n_without, monkeypatch
):
    weights = np.ones(len(data))
    weights[:n_without] = 0

    def fit(**more):
        model = OMVCDR(3, max_iter=4, random_state=0, **settings)
        return model.fit(data, sample_weight=weights, **more)

    whole, write = fit(), Checkpoint.write
    stop_after, is_done = [0], False

    def write_or_stop(self, number, *rest):
        write(self, number, *rest)
        if number == stop_after[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "write", write_or_stop)
    while not is_done:
        try:
            fit(checkpoint=tmp_path / "passes")
            is_done = True
        except KeyboardInterrupt:
            stop_after[0], n = -1, stop_after[0] + 1
            resumed = fit(checkpoint=tmp_path / "passes")
            stop_after[0] = n
            for name in ("labels_", "_margins", "outlier_score_", "objective_"):
                np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), f"{n}")
    assert stop_after[0] > 20


@pytest.mark.parametrize("pattern", ["labels-*.npy", "pass-000003.mv", "journal.mv"])
def test_a_journal_with_a_missing_file_is_refused_and_left_as_it_is(data, folder, pattern):
    for path in folder.glob(pattern):
        path.unlink()
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(CheckpointError, match=r"cannot be resumed|expected a new or empty folder"):
        fit(data, folder)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("pattern", ["labels-*.npy", "pass-000007.mv", "pass-000000.mv", "jour*"])
@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "other"])
def test_a_damaged_journal_is_one_sentence(data, folder, pattern, harm):
    path = next(folder.glob(pattern))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x40
    content[-70] ^= 0x7F
    new = {"flip": content, "cut": content[:-9], "empty": b"", "other": b'{"run": {}}' * 20}[harm]
    path.write_bytes(new)
    with pytest.raises(CheckpointError, match="remove the folder or pass another one"):
        fit(data, folder)


def test_labels_out_of_range_are_refused_even_with_a_right_checksum(data, folder, monkeypatch):
    path = next(folder.glob("labels-*.npy"))
    labels = np.load(path)
    labels[5] = 10**6
    np.save(path, labels)
    monkeypatch.setattr("manyview.persistence.checkpoint._digest", lambda labels: "same")
    with pytest.raises(CheckpointError, match="it is damaged"):
        fit(data, folder)


def test_a_retired_journal_is_no_journal(data, folder, whole):
    (folder / "journal.mv").rename(folder / "retired.mv")  # the first step of removing it
    next(folder.glob("labels-*.npy")).unlink()
    seen = []
    model = OMVCDR(3, scale=None, n_init=1, random_state=0)
    model.fit(data, checkpoint=folder, callback=lambda p: seen.append(len(list(folder.iterdir()))))
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    assert seen[0] < 6  # it began anew
    assert not folder.exists()


@pytest.mark.parametrize(
    "name", ["labels-2024.npy", "labels-000001.npy", "pass-000001.mv", "x.csv"]
)
def test_a_folder_of_the_user_is_refused_and_not_touched(data, tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(CheckpointError, match=f"holds {name}; expected a new or empty folder"):
        fit(data, tmp_path)
    remove_checkpoint(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_files_of_the_user_beside_a_journal_stay(data, folder):
    names = ["labels-final.npy", "pass-1.mv", "notes.txt", ".abc-labels.npy"]
    for name in names:
        (folder / name).write_text("mine")
    fit(data, folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys(
        names, "mine"
    )


def test_more_memory_and_other_threads_are_the_same_fit(data, folder, whole):
    model = fit(data, folder, memory_limit=1e9, n_jobs=1, verbose=0)
    np.testing.assert_array_equal(model.labels_, whole.labels_)


def test_a_fit_refused_before_its_first_pass_leaves_no_folder(data, tmp_path):
    with pytest.raises(MemoryError, match="Raise it"):
        OMVCDR(3, memory_limit=1, engine="memory").fit(data, checkpoint=tmp_path / "passes")
    assert list(tmp_path.iterdir()) == []


def test_two_fits_at_once_do_not_share_a_folder(data, tmp_path):
    folder = tmp_path / "passes"

    def begin_another(progress):
        with pytest.raises(FileExistsError, match="in use by another fit"):
            fit(data, folder)

    OMVCDR(3, scale=None, n_init=1, random_state=0).fit(
        data, checkpoint=folder, callback=begin_another
    )
    assert not folder.exists()


def test_a_journal_can_be_kept_until_the_model_is_saved(data, tmp_path, whole, monkeypatch):
    folder = tmp_path / "passes"
    model = OMVCDR(3, scale=None, n_init=1, random_state=0)
    model.fit(data, checkpoint=folder, keep_checkpoint=True)
    monkeypatch.setattr(Checkpoint, "write", None)  # every pass is in the journal
    again = model.fit(data, checkpoint=folder, keep_checkpoint=True)
    np.testing.assert_array_equal(again.labels_, whole.labels_)
    remove_checkpoint(folder)
    remove_checkpoint(folder)
    assert not folder.exists()


def test_a_random_state_of_numpy_resumes(data, tmp_path):
    folder = tmp_path / "passes"

    def stop(progress):
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            OMVCDR(3, scale=None, random_state=np.random.RandomState(0)).fit(
                data, checkpoint=folder, callback=stop
            )
    assert os.listdir(folder)  # noqa: PTH208
