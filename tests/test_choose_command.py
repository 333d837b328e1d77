"""`manyview choose` as a process: what it writes, says, resumes and refuses."""

import json

import numpy as np
import pandas as pd
import pytest

from manyview.datasets import make_multiview_blobs
from test_cli import manyview

NAMES = ["choice.json", "choice.svg", "rows.jsonl", "table.csv"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two CSV files of the same samples, the second in another order and with fewer of them."""
    folder = tmp_path_factory.mktemp("files")
    data = make_multiview_blobs(200, n_clusters=4, random_state=0).data
    names = pd.Index([f"s{i}" for i in range(200)], name="sample")
    first, second = (pd.DataFrame(view, index=names) for view in data.views)
    first.to_csv(folder / "first.csv")
    second.iloc[::-1].iloc[:190].to_csv(folder / "second.csv")
    return folder


def choose(folder, *more):
    files = ("first.csv", "second.csv")
    return manyview("choose", *files, "--id", "sample", "--max", "9", *more, cwd=folder)


def test_it_recommends_and_writes(folder):
    finished = choose(folder, "--out", "written")
    assert finished.returncode == 0, finished.stderr
    assert "4 clusters, sure" in finished.stdout
    out = folder / "written"
    assert sorted(path.name for path in out.iterdir()) == NAMES
    told = json.loads((out / "choice.json").read_text())
    assert (told["n_clusters"], told["has_structure"]) == (4, True)
    assert told["sentence"] in " ".join(finished.stdout.split())
    table = pd.read_csv(out / "table.csv")
    assert table["n_clusters"].tolist() == list(range(2, 10))
    assert table.loc[table["score"].idxmax(), "n_clusters"] == 4


def test_a_run_that_was_killed_goes_on(folder):
    choose(folder, "--out", "killed")
    rows, table = folder / "killed" / "rows.jsonl", folder / "killed" / "table.csv"
    before, expected = rows.read_text().splitlines(), pd.read_csv(table)
    rows.write_text("\n".join([*before[:3], before[3][:20]]))  # what a kill leaves: a torn line
    choose(folder, "--out", "killed")
    after = rows.read_text().splitlines()
    assert after[:3] == before[:3]
    assert [json.loads(row)["n_clusters"] for row in after] == list(range(2, 10))
    pd.testing.assert_frame_equal(pd.read_csv(table), expected)


def test_rows_of_other_files_are_not_taken(folder):
    choose(folder, "--out", "shared")
    choose(folder, "--out", "shared", "--missing", "drop")
    rows = (folder / "shared" / "rows.jsonl").read_text().splitlines()
    assert len(rows) == 2 * 8
    assert len({json.loads(row)["key"] for row in rows}) == 2


def test_noise_is_told(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "noise.npz", a=rng.normal(size=(150, 8)), b=rng.normal(size=(150, 9)))
    finished = manyview("choose", "noise.npz", "--max", "9", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "There is no clear structure" in finished.stdout
    told = json.loads((tmp_path / "choose" / "choice.json").read_text())
    assert (told["n_clusters"], told["has_structure"]) == (1, False)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--min", "12"), "--min 12 is above --max 9"),
        (("--missing", "perhaps"), "missing='perhaps' is unknown"),
        (("--out", "first.csv"), "first.csv: File exists."),
        (("--id", "name"), "No file has a column 'name'"),
    ],
)
def test_mistakes_are_one_sentence_and_code_2(folder, more, sentence):
    finished = choose(folder, *more)
    assert finished.returncode == 2
    assert sentence in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_quiet_says_nothing(folder):
    finished = choose(folder, "--out", "quiet", "--quiet")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
