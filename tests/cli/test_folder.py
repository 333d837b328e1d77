"""The folder of a run: all five files or none."""

import errno

import pytest

from manyview.cli.folder import FILES, run_folder


def fill(folder, text):
    for name in FILES:
        (folder / name).write_text(text)


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_files_are_there_at_the_end_and_not_before(tmp_path):
    out = tmp_path / "deep" / "run"
    with run_folder(out) as folder:
        fill(folder, "new")
        assert [path for path in out.iterdir() if path.name[0] != "."] == []
    assert contents(out) == dict.fromkeys(FILES, "new")


@pytest.mark.parametrize("error", [OSError("no space"), KeyboardInterrupt()])
def test_a_run_that_fails_leaves_what_was_there(tmp_path, error):
    fill(tmp_path, "old")

    def run():
        with run_folder(tmp_path) as folder:
            fill(folder, "new")
            raise error

    with pytest.raises(type(error)):
        run()
    assert contents(tmp_path) == dict.fromkeys(FILES, "old")


def test_a_full_disk_is_one_sentence_that_names_the_folder(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(OSError, match="disk is full: there is no room for .*run"), run_folder(out):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_leaves_no_new_folders(tmp_path):
    with pytest.raises(ValueError, match="it"), run_folder(tmp_path / "a" / "b"):
        raise ValueError("it")
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_run_is_replaced_and_what_a_kill_left_is_ignored(tmp_path):
    fill(tmp_path, "old")
    (tmp_path / ".killed").mkdir()
    with run_folder(tmp_path) as folder:
        fill(folder, "new")
    (tmp_path / ".killed").rmdir()
    assert contents(tmp_path) == dict.fromkeys(FILES, "new")


@pytest.mark.parametrize("others", [["notes.txt"], ["labels.csv"], ["model.mv", "notes.txt"]])
def test_a_folder_of_something_else_is_refused(tmp_path, others):
    for name in others:
        (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match="expected a new or empty one"), run_folder(tmp_path):
        pass
    assert contents(tmp_path) == dict.fromkeys(others, "mine")
