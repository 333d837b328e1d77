"""The command line as a process: files, exit codes, and one sentence for a mistake."""

import csv
import json
import re
from itertools import pairwise

import numpy as np
import pytest

from helpers.commands import manyview
from helpers.html import Page
from manyview import OMVCDR
from manyview._version import __version__
from manyview.cli.folder import FILES
from manyview.datasets import load_digits_views
from manyview.metrics import evaluate
from manyview.report.html import SECTIONS


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    finished = manyview("demo", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return folder / "manyview-demo", finished


def test_demo_writes_what_a_fit_writes_and_leaves_nothing_else(demo):
    folder, _ = demo
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert [path.name for path in folder.parent.iterdir()] == ["manyview-demo"]


def test_demo_prints_what_a_fit_prints_in_80_columns(demo):
    _, finished = demo
    assert max(map(len, finished.stdout.splitlines())) <= 80
    for word in ("samples in", "median confidence", "k-means, pixels", "ACC", "report.html"):
        assert word in finished.stdout
    assert "they were not used for clustering." in " ".join(finished.stdout.split())
    assert finished.stderr == ""


def test_labels_are_those_of_the_estimator(demo):
    folder, _ = demo
    data = load_digits_views().data
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1797
    assert [int(row["sample"]) for row in rows] == list(range(1797))
    model = OMVCDR(n_clusters=10, random_state=0, n_jobs=1).fit(data)
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    loaded = OMVCDR.load(folder / "model.mv")
    np.testing.assert_array_equal(loaded.predict(data), model.labels_)


def test_result_has_all_numbers(demo):
    folder, _ = demo
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    methods = result["truth"]["methods"]
    views = [view["name"] for view in result["data"]["views"]]
    names = ["OMVCDR, all views", "k-means, all views", *(f"k-means, {view}" for view in views)]
    assert [row["name"] for row in methods] == names
    for row in methods:
        assert row["seconds"] > 0
        assert all(0 <= row["metrics"][key] <= 1 for key in ("acc", "nmi", "purity", "fscore"))
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        labels = [int(row["cluster"]) for row in csv.DictReader(file)]
    assert methods[0]["metrics"] == evaluate(load_digits_views().target, labels)
    for weights in result["weights"].values():
        assert sum(row["weight"] for row in weights) == pytest.approx(1)
    assert result["run"]["seed"] == result["run"]["parameters"]["random_state"] == 0
    assert result["run"]["versions"]["manyview"] == __version__
    history = result["objective"]["history"]
    assert all(new <= old * (1 + 1e-12) for old, new in pairwise(history))


def test_the_page_is_whole_and_loads_nothing(demo):
    folder, _ = demo
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert json.loads(page.split('type="application/json">')[1].split("<")[0])["n_drawn"] == 1797
    assert not re.search(r"https?:", page)
    assert len(page) < 640_000
    given = [name for name in SECTIONS if name not in ("meta", "survival")]
    assert Page(page).ids == [*given, "map-data"]
    assert page.count('<img class="picture" src="data:image/png') == 10 * (8 + 1)


@pytest.mark.slow
def test_the_page_of_the_demo_is_rendered_again(demo):
    folder, _ = demo
    page = (folder / "report.html").read_bytes()
    finished = manyview("report", folder.name, cwd=folder.parent)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert (folder / "report.html").read_bytes() == page


@pytest.mark.slow
def test_report_makes_the_page_of_a_run_again(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    data = load_digits_views().data[:200]
    OMVCDR(n_clusters=3, n_init=1, random_state=0).fit(data).report(tmp_path / "report.html")
    (tmp_path / "report.json").rename(run / "result.json")
    finished = manyview("report", "run", cwd=tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert (run / "report.html").read_bytes() == (tmp_path / "report.html").read_bytes()


@pytest.mark.slow
def test_report_of_a_folder_without_a_result_is_one_sentence_and_code_2(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "result.json").write_text('{"n": 3}')
    missing = manyview("report", "run", cwd=tmp_path)
    other = manyview("report", "other", cwd=tmp_path)
    assert (missing.returncode, other.returncode) == (2, 2)
    assert missing.stderr.splitlines() == ["manyview: run/result.json: No such file or directory."]
    assert "is not the result of a fit" in other.stderr
    assert len(other.stderr.splitlines()) == 1


@pytest.mark.slow
def test_quiet_writes_the_files_only(tmp_path):
    finished = manyview("demo", "--quiet", "--seed", "1", "--out", "deep/er", cwd=tmp_path)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
    assert sorted(path.name for path in (tmp_path / "deep" / "er").iterdir()) == sorted(FILES)


def test_version(tmp_path):
    finished = manyview("--version", cwd=tmp_path)
    assert (finished.returncode, finished.stdout) == (0, f"manyview {__version__}\n")


@pytest.mark.slow
def test_an_output_folder_that_is_a_file_is_one_sentence_and_code_2(tmp_path):
    (tmp_path / "taken").write_text("mine")
    finished = manyview("demo", "--out", "taken", cwd=tmp_path)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("manyview: taken is a file; expected a folder")
    assert len(finished.stderr.splitlines()) == 1
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.slow
def test_a_folder_below_a_file_is_one_sentence_and_code_2(tmp_path):
    (tmp_path / "taken").write_text("mine")
    finished = manyview("demo", "--out", "taken/below", cwd=tmp_path)
    assert finished.returncode == 2
    assert len(finished.stderr.splitlines()) == 1
    assert "taken" in finished.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--debug", "demo"], ["demo", "--debug"]])
def test_debug_shows_the_traceback(tmp_path, arguments):
    (tmp_path / "taken").write_text("mine")
    finished = manyview(*arguments, "--out", "taken", cwd=tmp_path)
    assert finished.returncode == 1
    assert "Traceback" in finished.stderr
    assert "NotADirectoryError" in finished.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["demo", "--seed", "-1"], ["dmo"]])
def test_a_request_that_makes_no_sense_is_code_2(tmp_path, arguments):
    finished = manyview(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_cite_prints_bibtex_and_names_the_methods_that_it_knows(tmp_path):
    finished = manyview("cite", "omvcdr", cwd=tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith("@article{")
    unknown = manyview("cite", "nobody", cwd=tmp_path)
    assert (unknown.returncode, len(unknown.stderr.splitlines())) == (2, 1)
    assert "omvcdr" in unknown.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["datasets"], ["datasets", "list"]])
def test_datasets_lists_what_is_here_and_what_can_be_fetched(tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    finished = manyview(*arguments, cwd=tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "handwritten_6v" in finished.stdout
    assert max(map(len, finished.stdout.splitlines())) <= 80


@pytest.mark.slow
def test_fetching_what_nobody_offers_is_one_sentence_and_code_2(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    finished = manyview("datasets", "fetch", "nothing", cwd=tmp_path)
    assert (finished.returncode, len(finished.stderr.splitlines())) == (2, 1)
    assert "'nothing'" in finished.stderr
    assert list(tmp_path.iterdir()) == []
