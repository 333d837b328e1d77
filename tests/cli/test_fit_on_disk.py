"""`manyview fit` on arrays that stay on disk: shards by pattern, arrays inside files."""

import errno
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from manyview import OMVCDR
from manyview.cli.folder import FILES
from manyview.cli.inputs import FitRequest
from manyview.data.rows import Rows
from manyview.exceptions import ViewError
from manyview.io import open_views
from manyview.persistence.checkpoint import is_checkpoint
from manyview.report import describe_fit


@pytest.fixture
def shards(tables, tmp_path):
    """One view in three files, one as a column of lists beside a column of text."""
    image, text = (tables[name].to_numpy(np.float32) for name in ("rna", "protein"))
    for p, part in enumerate(np.array_split(image, 3)):
        np.save(tmp_path / f"img_{p + 9}.npy", part)
    table = pa.table({"name": [f"s{i}" for i in range(90)], "embedding": list(text)})
    parquet.write_table(table, tmp_path / "txt.parquet")
    return tmp_path, [image, text]


def test_views_are_opened_by_pattern_and_key(shards):
    folder, arrays = shards
    paths = [folder / "img_*.npy", f"{folder}/txt.parquet::embedding"]
    with pytest.raises(ViewError, match="has sample names .s0, s1.*--by-position"):
        open_views(paths)
    loaded = open_views(paths, by_position=True)
    assert loaded.data.view_names == ("img", "embedding")
    assert all(isinstance(view, Rows) for view in loaded.data.views)
    assert list(loaded.data.sample_names[:3]) == ["s0", "s1", "s2"]
    for view, X in zip(loaded.data.views, arrays, strict=True):
        np.testing.assert_array_equal(view, X)
    assert loaded.found["features"].tolist() == [20, 24]
    assert loaded.found["format"].tolist() == ["npy", "parquet"]
    assert "by position" in loaded.matching


def test_a_fit_numbers_the_samples(shards, command):
    _, arrays = shards
    np.save("txt.npy", np.ascontiguousarray(arrays[1]))
    code, out, err = command(
        *["fit", "img_*.npy", "txt.npy", "--clusters", "3", "--views", "img,txt"],
        *["--engine", "memory", "--memory", "1GB", "--json", "--out", "run"],
    )
    assert code == 0, err
    assert [row["view"] for row in json.loads(out)["sources"]] == ["img", "txt"]
    result = json.loads(Path("run/result.json").read_text(encoding="utf-8"))
    assert json.loads(out)["matching"] == result["matching"]
    assert "by position: no view has sample names" in result["matching"]
    labels = pd.read_csv("run/labels.csv")
    assert labels["sample"].tolist() == list(range(90))
    expected = OMVCDR(n_clusters=3, random_state=0).fit({"img": arrays[0], "txt": arrays[1]})
    assert labels["cluster"].tolist() == expected.labels_.tolist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--samples", "columns"], "--samples: only for tables"),
        (["--memory", "lots"], "--memory is 'lots'; expected a size such as 8GB"),
        (["--views", "img,img"], "expected 2 different names"),
    ],
)
def test_what_does_not_go_with_them_is_one_sentence(shards, command, arguments, said):
    code, _, err = command(
        "fit", "img_*.npy", "txt.parquet::embedding", "--clusters", "3", *arguments
    )
    assert code == 2
    assert said in " ".join(err.split())


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("8GB", 8e9), ("500 mb", 5e8), ("1.5GiB", 1.5 * 2**30), ("2000", 2000), ("4k", 4000)],
)
def test_sizes_are_read(text, n_bytes):
    assert FitRequest([], "3", memory=text).estimator().memory_limit == n_bytes


@pytest.mark.parametrize("text", ["0GB", "GB", "-1GB", "8PB", ""])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ViewError, match="expected a size"):
        FitRequest([], "3", memory=text).estimator()


@pytest.fixture
def many_rows(tmp_path):
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((4, 48))
    for p in range(3):
        rows = centers[rng.integers(4, size=20_000)] + 1.5 * rng.standard_normal((20_000, 48))
        np.save(tmp_path / f"emb-{p}.npy", rows.astype(np.float32))
    return tmp_path


@pytest.fixture
def streamed(shards, command, monkeypatch):
    """Arguments of a streamed fit, and the journal that it keeps until its results are there."""
    _, arrays = shards
    np.save("txt.npy", np.ascontiguousarray(arrays[1]))
    return ["fit", "img_*.npy", "txt.npy", "--clusters", "3", "--engine", "stream", "--out", "run"]


def test_a_disk_that_is_full_after_the_fit_does_not_lose_it(streamed, command, monkeypatch):
    def no_room(result):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("manyview.cli.folder.render_fit", no_room)
        code, _, err = command(*streamed)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "disk is full" in err
    assert is_checkpoint("run/.passes")
    code, out, err = command(*streamed)
    assert code == 0, err
    assert "Resuming an earlier run that was stopped" in out
    assert sorted(path.name for path in Path("run").iterdir()) == sorted(FILES)


def test_more_memory_after_a_refusal_is_the_same_command(streamed, command):
    code, _, err = command(*streamed, "--memory", "1MB")
    assert code == 2
    assert "Raise memory_limit" in err
    assert not Path("run").exists()
    code, _, err = command(*streamed, "--memory", "1GB")
    assert code == 0, err


def test_a_run_in_memory_replaces_an_unfinished_one_and_says_so(streamed, command, files):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("manyview.cli.folder.render_fit", None)
        with pytest.raises(TypeError):
            command(*streamed)
    assert is_checkpoint("run/.passes")
    code, out, err = command("fit", files / "rna.csv", "--clusters", "3", "--out", "run")
    assert code == 0, err
    assert "unfinished run with rows on disk; this one replaces it" in " ".join(out.split())
    assert sorted(path.name for path in Path("run").iterdir()) == sorted(FILES)


def test_arrays_too_large_for_the_memory_stay_on_disk(command, many_rows):
    arguments = ["fit", "emb-0.npy", "emb-1.npy", "--clusters", "4", "--scale", "none"]
    code, _, err = command(*arguments, "--starts", "1", "--memory", "7MB", "--out", "run")
    assert code == 0, err
    result = json.loads(Path("run/result.json").read_text(encoding="utf-8"))
    assert result["run"]["engine"] == "stream"


def test_data_that_change_during_a_fit_are_told_and_leave_nothing(streamed, command, monkeypatch):
    def change(*arguments, **options):
        np.save("txt.npy", np.zeros((90, 24), dtype=np.float32))
        return describe_fit(*arguments, **options)

    monkeypatch.setattr("manyview.cli.fit.describe_fit", change)
    code, _, err = command(*streamed)
    assert code == 2
    assert "txt.npy has changed since it was opened" in " ".join(err.split())
    assert not Path("run").exists()


@pytest.mark.slow
def test_a_streamed_run_that_is_killed_goes_on_by_the_same_command(many_rows):
    program = [str(Path(sys.executable).with_name("manyview")), "fit", "emb-*.npy"]
    program += ["--clusters", "4", "--scale", "none", "--engine", "stream", "--memory", "200MB"]
    run = {"cwd": many_rows, "capture_output": True, "text": True, "check": False}
    whole = subprocess.run([*program, "--out", "whole"], **run)
    assert whole.returncode == 0, whole.stderr
    killed = subprocess.Popen([*program, "--out", "run"], cwd=many_rows, stdout=subprocess.DEVNULL)
    passes, limit = many_rows / "run" / ".passes", time.monotonic() + 120
    while len(list(passes.glob("pass-*"))) < 4 and time.monotonic() < limit:
        time.sleep(0.002)
    killed.kill()
    assert killed.wait() != 0
    assert {path.name for path in (many_rows / "run").iterdir() if path.name[0] != "."} == set()
    other = subprocess.run([*program, "--out", "run", "--lam", "0.3"], **run)
    assert other.returncode == 2
    assert "there lam was 2.0, now it is 0.3" in " ".join(other.stderr.split())
    resumed = subprocess.run([*program, "--out", "run"], **run)
    assert resumed.returncode == 0, resumed.stderr
    assert "Resuming an earlier run that was stopped" in resumed.stdout
    assert not passes.exists()
    assert json.loads((many_rows / "run/result.json").read_text())["run"]["parameters"]["engine"]
    labels = [pd.read_csv(many_rows / out / "labels.csv") for out in ("whole", "run")]
    pd.testing.assert_frame_equal(*labels)
