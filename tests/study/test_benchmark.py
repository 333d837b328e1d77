"""The command `manyview benchmark`, on files and methods of one's own."""

import json
import sys
from pathlib import Path

import pytest

from helpers.commands import manyview
from manyview.cli import main
from manyview.datasets import load_benchmark
from manyview.exceptions import ViewError

QUICK = ["--seeds", "2", "--out", "out"]


@pytest.fixture
def here(sets, stranger, tmp_path, monkeypatch):
    """A folder with two files and a method, which is on no path, and no MANYVIEW_DATA."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in "ab":
        (sets / f"{name}.npz").rename(folder / f"{name}.npz")
    (tmp_path / "code" / "stranger.py").rename(folder / "mymethod.py")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def command(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["manyview", *arguments])
        monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return run


@pytest.mark.slow
def test_files_and_a_method_of_the_current_folder_are_compared(here, command):
    monkey = ["--method", "mymethod:Plain", "--method", "concat_kmeans"]
    code, out, err = command("benchmark", "a.npz", *monkey, *QUICK, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["over"], found["n"]) == ("seeds", 2)
    assert {row["method"] for row in found["methods"]} == {"mymethod:Plain", "concat_kmeans"}
    assert all(row["done"] == 2 and row["acc_spread"] is not None for row in found["methods"])
    said = " ".join(err.split())
    assert "concat_kmeans: z" in said
    assert "mymethod:Plain: its own" in said
    assert "no difference of 2 methods can be significant" in said
    assert " ± " in said
    assert max(map(len, err.splitlines())) <= 80


@pytest.mark.slow
def test_enough_seeds_tell_a_difference_of_one_set(here, command):
    methods = ["--method", "concat_kmeans", "--method", "concat_kmeans(scale=None, n_init=1)"]
    options = ["--seeds", "6", "--out", "out", "--json"]
    code, out, err = command("benchmark", "a.npz", *methods, *options)
    (test,) = json.loads(out)["tests"]
    assert (code, test["n_sets"]) == (0, 6)
    assert "This holds for this data set only." in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["c.npz"], "There is no benchmark set 'c.npz'"),
        (["cc"], "There is no benchmark set 'cc'"),
        (["a.npz", "--method", "lmvcs"], "Did you mean 'lmvsc'?"),
    ],
)
def test_names_that_nobody_knows_are_one_sentence(here, command, arguments, sentence):
    code, out, err = command("benchmark", *arguments, *QUICK)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert sentence in err


@pytest.mark.slow
def test_where_nothing_was_done_the_reason_is_told(here, command):
    code, _, err = command("benchmark", "a.npz", "--method", "mymethod:Broken", *QUICK)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "No run was done" in err
    assert "KeyError: 'lost'" in err


def test_a_path_is_a_benchmark_set(here):
    assert load_benchmark("b.npz").data.n_samples == 41
    with pytest.raises(ViewError, match="no benchmark set 'd.mat' in .*, and no such file"):
        load_benchmark("d.mat")


def test_near_names_of_sets_are_told(sets):
    (sets / "a.npz").rename(sets / "handwritten_6v.npz")
    with pytest.raises(ViewError, match="Did you mean 'handwritten_6v'"):
        load_benchmark("handwriten_6v")
    with pytest.raises(ViewError, match="Did you mean 'handwritten_6v'"):
        load_benchmark("handwritten")


def test_the_command_says_nothing_but_a_sentence_as_a_process(here):
    finished = manyview("benchmark", "nothing.mat", cwd=here)
    assert (finished.returncode, len(finished.stderr.splitlines())) == (2, 1)
