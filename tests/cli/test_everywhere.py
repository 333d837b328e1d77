"""Options that every command has, short ones, completion, and a start without libraries."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview.cli import Everywhere
from manyview.cli.inputs import portable, read_config
from manyview.exceptions import ViewError
from manyview.persistence.settings_file import read_settings, write_settings

COMMANDS = ["fit", "predict", "choose", "demo", "benchmark", "report", "reproduce", "cite"]
COMMANDS += ["datasets", "completion"]
QUICK = ["--clusters", 3, "--starts", 1, "--max-iter", 5]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_short_help_and_most_have_json(command, name):
    code, out, _ = command(name, "-h")
    assert (code, "Usage: manyview" in out) == (0, True)
    assert ("--json" in out) == (name != "completion")


@pytest.mark.parametrize(
    ("arguments", "rest", "expected"),
    [
        (["fit", "a.csv", "--debug"], ["fit", "a.csv"], (True, False, None)),
        (["-v", "fit", "a.csv", "--log", "l.txt"], ["fit", "a.csv"], (False, True, Path("l.txt"))),
        (["fit", "--log=l.txt", "--verbose"], ["fit"], (False, True, Path("l.txt"))),
        (["fit", "a.csv"], ["fit", "a.csv"], (False, False, None)),
    ],
)
def test_options_of_every_command_stand_anywhere(arguments, rest, expected):
    found = Everywhere.taken_from(arguments)
    assert found.others == rest
    assert (found.is_debugging, found.is_verbose, found.log) == expected


def test_a_log_without_a_file_is_refused(command):
    code, _, err = command("cite", "omvcdr", "--log")
    assert (code, err) == (2, "manyview: --log needs the name of a file to append to.\n")


@pytest.fixture
def logger():
    """The logger, as it was before."""
    import logging

    found = logging.getLogger("manyview")
    before = found.level, list(found.handlers)
    yield found
    for handler in set(found.handlers) - set(before[1]):
        handler.close()
    found.setLevel(before[0])
    found.handlers = before[1]
    logging.captureWarnings(False)


def test_iterations_go_to_a_file_or_to_stderr(command, files, logger):
    code, out, err = command("fit", files / "rna.csv", *QUICK, "-v", "--log", "a.log")
    assert code == 0
    assert "start 1/1, iteration 0: objective" in err
    assert "iteration 0" not in out
    line = Path("a.log").read_text(encoding="utf-8").splitlines()[0]
    assert " INFO manyview." in line


def test_a_run_is_repeated_by_its_settings_from_anywhere(command, files, tmp_path, monkeypatch):
    paths = [os.path.relpath(files / name, tmp_path) for name in ("rna.csv", "protein.csv")]
    options = ["-k", 3, "-o", "run", "-s", 7, "-m", files / "clinical.csv", "--truth", "stage"]
    assert command("fit", *paths, *options, "--starts", 2, "-q")[0] == 0
    before = Path("run/labels.csv").read_bytes()
    result = json.loads(Path("run/result.json").read_text(encoding="utf-8"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, out, err = command("fit", "-c", "../run/run.toml", "-o", "again", "--json")
    assert code == 0, err
    assert Path("again/labels.csv").read_bytes() == before
    assert (
        json.loads(out)["truth"]["methods"][0]["metrics"]
        == result["truth"]["methods"][0]["metrics"]
    )
    ours, theirs = (read_settings(Path(at) / "run.toml") for at in ("again", "../run"))
    for settings, folder in ((ours, "again"), (theirs, "../run")):
        settings["files"] = [(Path(folder) / file).resolve() for file in settings["files"]]
        settings["meta"] = (Path(folder) / settings["meta"]).resolve()
    assert ours == theirs
    code, _, _ = command("fit", "-c", "../run/run.toml", "-k", 2, "-o", "two", "-q")
    assert code == 0
    assert pd.read_csv("two/labels.csv")["cluster"].max() == 1


def test_settings_are_what_was_given_with_paths_seen_from_their_folder(tmp_path):
    (tmp_path / "truth.csv").touch()
    given = {
        "files": [str(tmp_path / "data" / "a*.npy"), str(tmp_path / "b.parquet::vector")],
        "names": f"{tmp_path / 'a.txt'},{tmp_path / 'b.txt'}",
        "truth": str(tmp_path / "truth.csv"),
        "out": str(tmp_path / "run"),
        "by_position": True,
        "estimate": False,
        "views": None,
        "clusters": "auto",
        "lam": 0.5,
    }
    found = portable(given, tmp_path / "run")
    assert found["files"] == ["../data/a*.npy", "../b.parquet::vector"]
    assert found["names"] == "../a.txt,../b.txt"
    assert (found["truth"], found["out"]) == ("../truth.csv", ".")
    assert (found["by-position"], "views" in found, "estimate" in found) == (True, False, False)
    (tmp_path / "run").mkdir()
    write_settings(tmp_path / "run" / "run.toml", found, "two\nlines")
    back = read_config(tmp_path / "run" / "run.toml", list(given))
    assert {name: back[name] for name in ("by_position", "clusters", "lam")} == {
        "by_position": True,
        "clusters": "auto",
        "lam": 0.5,
    }
    for one, other in zip(back["files"], given["files"], strict=True):
        assert os.path.normpath(one) == other


@pytest.mark.parametrize("text", ['a "quoted" \\ name', "tab\tend", "Grüße 🦉", "\x7f"])
def test_any_text_comes_back(tmp_path, text):
    write_settings(tmp_path / "run.toml", {"files": [text], "seed": 3}, "once")
    assert read_settings(tmp_path / "run.toml") == {"files": [text], "seed": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cluster = 3\n",
            "sets 'cluster', which is no option of the command. Did you mean 'clusters'",
        ),
        ("clusters = 3 4\n", "is not a file of settings"),
        ("\xff", "is not a file of settings"),
    ],
)
def test_settings_that_make_no_sense_are_one_sentence(tmp_path, text, message):
    (tmp_path / "run.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(ViewError, match=message):
        read_config(tmp_path / "run.toml", ["files", "clusters"])


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, **options
    )


def test_the_version_is_told_without_loading_a_library():
    code = "import sys; sys.argv[1:] = ['-V']; from manyview.__main__ import main; main()"
    told = python("-c", f"{code}; print(*sorted(sys.modules))").stdout.splitlines()
    loaded = {name.partition(".")[0] for name in told[1].split()}
    assert told[0].startswith("manyview ")
    assert loaded & {"numpy", "typer", "rich", "pandas", "numba", "typing"} == set()


@pytest.mark.slow
def test_the_version_takes_at_most_three_starts_of_python():
    def seconds(*arguments):
        took = []
        for _ in range(9):
            start = time.perf_counter()
            python(*arguments)
            took.append(time.perf_counter() - start)
        return min(took)

    assert seconds("-m", "manyview", "--version") < 3 * seconds("-c", "pass")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["pre"], ["predict"]),
        (["fit", "--cl"], ["--clusters"]),
        (["fit", "--engine", "s"], ["stream"]),
        (["datasets", "f"], ["fetch"]),
        (["completion", ""], ["bash", "zsh", "fish", "--verbose", "--log", "--debug", "--help"]),
    ],
)
def test_bash_completes_commands_options_and_their_values(command, tmp_path, words, found):
    code, script, _ = command("completion", "bash")
    assert code == 0
    typed = " ".join(f"'{word}'" for word in ["manyview", *words])
    ask = f"COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _manyview; echo ${{COMPREPLY[@]}}"
    (tmp_path / "ask.sh").write_text(f"{script}\n{ask}\n", encoding="utf-8")
    said = subprocess.run(["bash", "ask.sh"], cwd=tmp_path, capture_output=True, check=True)
    assert (said.stdout.decode().split(), said.stderr) == (found, b"")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_with_every_command(command, shell):
    _, script, _ = command("completion", shell)
    assert all(name in script for name in COMMANDS)


def test_json_is_all_that_stdout_gets_from_the_small_commands(command, tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "mine.npz", view_0=rng.normal(size=(30, 4)), y=np.arange(30) % 2)
    assert "@article" in json.loads(command("cite", "omvcdr", "--json")[1])["bibtex"]
    for arguments in (["datasets", "--json"], ["datasets", "list", "--json"]):
        (row,) = json.loads(command(*arguments)[1])["sets"]
        assert (row["name"], row["samples"]) == ("mine", 30)


def test_a_plot_is_claimed_only_where_one_was_drawn(command, files, monkeypatch):
    options = ["--max", 4, "--no-tune", "--out"]
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, _ = command("choose", files / "rna.csv", *options, "without", "--json")
    summary = json.loads(out)
    assert (code, summary["n_clusters"]) == (0, 3)
    assert not Path("without/choice.svg").exists()
    assert "Written: rows, tables and choice in without." in command(
        "choose", files / "rna.csv", *options, "without"
    )[1].replace("\n", " ")
