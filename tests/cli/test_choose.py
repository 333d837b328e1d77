"""`manyview choose` as a process: what it writes, says, resumes and refuses."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.commands import manyview
from manyview.datasets import make_multiview_blobs

NAMES = ["choice.json", "choice.svg", "rows.jsonl", "settings.csv", "table.csv"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two CSV files of the same samples, the second in another order and with fewer of them."""
    folder = tmp_path_factory.mktemp("files")
    data = make_multiview_blobs(200, n_clusters=4, separation=4.5, random_state=0).data
    names = pd.Index([f"s{i}" for i in range(200)], name="sample")
    first, second = (pd.DataFrame(view, index=names) for view in data.views)
    first.to_csv(folder / "first.csv")
    second.iloc[::-1].iloc[:190].to_csv(folder / "second.csv")
    return folder


def choose(folder, *more):
    files = ("first.csv", "second.csv")
    return manyview("choose", *files, "--id", "sample", "--max", "9", *more, cwd=folder)


@pytest.fixture(scope="module")
def written(folder):
    """The folder of a run, with what it said on the terminal."""
    finished = choose(folder, "--out", "written")
    assert finished.returncode == 0, finished.stderr
    (folder / "written.txt").write_text(finished.stdout)
    return folder / "written"


def test_it_recommends_and_writes(folder, written):
    said = " ".join((folder / "written.txt").read_text().split())
    assert "4 clusters, high" in said
    assert "Options for manyview fit: --clusters 4 --scale auto --lam 2" in said
    assert sorted(path.name for path in written.iterdir()) == NAMES
    told = json.loads((written / "choice.json").read_text())
    assert (told["n_clusters"], told["has_structure"]) == (4, True)
    assert (told["scale"], told["lam"]) == ("auto", 2.0)
    assert told["sentence"] in said
    assert told["advice"] in said
    table = pd.read_csv(written / "table.csv")
    assert table["n_clusters"].tolist() == list(range(2, 10))
    assert table.loc[table["score"].idxmax(), "n_clusters"] == 4
    settings = pd.read_csv(written / "settings.csv")
    pd.testing.assert_frame_equal(settings, pd.DataFrame(told["settings"]))
    assert settings["scale"].tolist() == [*["auto"] * 3, "l2", "z", "unit", "none"]
    assert settings["gain"].max() <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize("n_kept", [3, 11])
def test_a_run_that_was_killed_goes_on(folder, written, n_kept):
    """Among the 8 numbers of clusters, or among the 7 settings that come after them."""
    out = folder / f"killed_{n_kept}"
    out.mkdir()
    before = (written / "rows.jsonl").read_text().splitlines()
    assert len(before) == 8 + 7
    torn = [*before[:n_kept], before[n_kept][:20]]  # what a kill leaves: a line that breaks off
    (out / "rows.jsonl").write_text("\n".join(torn))
    choose(folder, "--out", out.name)
    after = (out / "rows.jsonl").read_text().splitlines()
    assert after[:n_kept] == before[:n_kept]
    assert len(after) == len(before)
    for name in ("table.csv", "settings.csv"):
        pd.testing.assert_frame_equal(pd.read_csv(out / name), pd.read_csv(written / name))


@pytest.mark.slow
def test_the_number_alone_is_chosen_without_fits(folder, written):
    finished = choose(folder, "--out", "alone", "--no-tune")
    assert "Options for manyview fit: --clusters 4" in finished.stdout.splitlines()
    told = json.loads((folder / "alone" / "choice.json").read_text())
    assert (told["n_clusters"], told["advice"], told["settings"]) == (4, "", [])
    assert pd.read_csv(folder / "alone" / "settings.csv").empty
    table = pd.read_csv(folder / "alone" / "table.csv")
    pd.testing.assert_frame_equal(table, pd.read_csv(written / "table.csv"))


@pytest.mark.slow
def test_rows_of_other_files_are_not_taken(folder):
    choose(folder, "--out", "shared", "--no-tune")
    choose(folder, "--out", "shared", "--no-tune", "--missing", "drop")
    rows = (folder / "shared" / "rows.jsonl").read_text().splitlines()
    assert len(rows) == 2 * 8
    assert len({json.loads(row)["key"] for row in rows}) == 2


@pytest.mark.slow
def test_noise_is_told(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "noise.npz", a=rng.normal(size=(150, 8)), b=rng.normal(size=(150, 9)))
    finished = manyview("choose", "noise.npz", "--max", "9", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "There is no clear structure" in finished.stdout
    told = json.loads((tmp_path / "choose" / "choice.json").read_text())
    assert not told["has_structure"]
    assert told["n_clusters"] >= 2
    assert told["p_value"] > 0.01
    assert f"Options for manyview fit: --clusters {told['n_clusters']}" in finished.stdout
    manyview("choose", "noise.npz", "--min", "1", "--max", "9", "--out", "one", cwd=tmp_path)
    assert json.loads((tmp_path / "one" / "choice.json").read_text())["n_clusters"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--min", "12"), "--min 12 is above --max 9"),
        (("--missing", "perhaps"), "'perhaps' is not one of 'keep', 'drop'"),
        (("--out", "first.csv"), "first.csv: File exists."),
        (("--id", "name"), "No file has a column 'name'"),
    ],
)
def test_mistakes_are_one_sentence_and_code_2(folder, more, sentence):
    finished = choose(folder, *more)
    assert finished.returncode == 2
    assert sentence in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


@pytest.mark.slow
def test_quiet_says_nothing(folder):
    finished = choose(folder, "--out", "quiet", "--quiet")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
