"""The folder of a run: all files or none."""

import errno
from contextlib import contextmanager
from pathlib import Path

import pytest

from manyview.cli.folder import COMPLETE, FILES, NEW, PLOT, run_folder


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


def test_a_plot_of_an_earlier_run_does_not_stay_beside_a_run_without(tmp_path):
    fill(tmp_path, "old")
    (tmp_path / PLOT).write_text("old")
    with run_folder(tmp_path) as folder:
        fill(folder, "new")
    assert contents(tmp_path) == dict.fromkeys(FILES, "new")


@pytest.mark.parametrize("others", [["notes.txt"], ["labels.csv"], ["model.mv", "notes.txt"]])
def test_a_folder_of_something_else_is_refused(tmp_path, others):
    for name in others:
        (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match="expected a new or empty one"), run_folder(tmp_path):
        pass
    assert contents(tmp_path) == dict.fromkeys(others, "mine")


def kill_after_moves(out, n_moved):
    """What a run leaves that is killed between the moves of its files."""
    (out / COMPLETE).mkdir()
    for name in FILES[n_moved:]:
        (out / COMPLETE / name).write_text("new")
        (out / name).unlink()


@pytest.mark.parametrize("n_moved", range(len(FILES)))
def test_moves_that_a_kill_interrupted_are_finished_by_the_next_run(tmp_path, n_moved):
    fill(tmp_path, "new")
    kill_after_moves(tmp_path, n_moved)
    with run_folder(tmp_path) as folder:
        assert {name: (tmp_path / name).read_text() for name in FILES} == dict.fromkeys(
            FILES, "new"
        )
        fill(folder, "newer")
    assert contents(tmp_path) == dict.fromkeys(FILES, "newer")


def test_files_of_two_runs_are_never_mixed(tmp_path):
    fill(tmp_path, "old")
    (tmp_path / COMPLETE).mkdir()
    fill(tmp_path / COMPLETE, "new")
    seen = []
    rename = Path.replace

    def look(self, target):
        seen.append({p.read_text() for p in tmp_path.iterdir() if p.is_file() and p.name in FILES})
        return rename(self, target)

    with pytest.MonkeyPatch.context() as patch, run_folder_patched(patch, look, tmp_path):
        pass
    assert len(seen) >= len(FILES)
    assert all(len(kinds) <= 1 for kinds in seen)


@contextmanager
def run_folder_patched(patch, look, out):
    patch.setattr(Path, "replace", look)
    with run_folder(out) as folder:
        fill(folder, "new")
        yield


def test_what_killed_runs_left_is_removed(tmp_path):
    fill(tmp_path, "old")
    (tmp_path / NEW).mkdir()
    fill(tmp_path / NEW, "half")
    with run_folder(tmp_path) as folder:
        assert list(folder.iterdir()) == []
        fill(folder, "new")
    assert contents(tmp_path) == dict.fromkeys(FILES, "new")


def test_a_second_run_into_the_same_folder_is_refused(tmp_path):
    with run_folder(tmp_path / "run") as folder:
        with (
            pytest.raises(FileExistsError, match="Another run writes to .*run now"),
            run_folder(tmp_path / "run"),
        ):
            pass
        fill(folder, "new")
    assert contents(tmp_path / "run") == dict.fromkeys(FILES, "new")
