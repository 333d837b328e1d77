"""Runs: rows come out whatever happens, none is done twice, a kill loses nothing that was done."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest

from manyview.study import Conditions, find_method, run_benchmark
from manyview.study import runner as runner_module
from manyview.study.execution import kmeans_scores
from manyview.study.methods import VERSIONS
from manyview.study.runner import plan


def calls(notes):
    return {path.name: len(path.read_text()) for path in notes.iterdir()}


def test_a_row_says_what_was_run_and_what_came_out(sets, tmp_path):
    methods = [find_method("omvcdr"), find_method("published_omvcdr")]
    rows = run_benchmark(["a", "b"], methods, tmp_path / "out", conditions=Conditions(seeds=(0, 1)))
    assert len(rows) == 8
    assert set(rows["status"]) == {"done"}
    assert rows["acc"].between(0, 1).all()
    for column in ("nmi", "purity", "fscore", "ari", "seconds", "n_iter", "objective"):
        assert rows[column].notna().all()
    assert (rows["peak_memory"] >= 0).all()
    assert rows["versions"].iloc[0]["manyview"]
    stored = pd.read_parquet(tmp_path / "out" / "rows.parquet")
    assert len(stored) == len(pd.read_csv(tmp_path / "out" / "rows.csv")) == 8
    labels = np.load(tmp_path / "out" / "labels" / f"{rows['key'][0]}.npy")
    assert labels.shape == (40,)


def test_scores_of_single_kmeans_runs_are_means_with_their_deviation(sets, tmp_path):
    """Of one embedding, in the order of the shuffled rows; a run of its own for the cache."""
    methods = [find_method("smvsc")]
    plain = Conditions(seeds=(0,))
    several = Conditions(seeds=(0,), n_kmeans=7)
    first = run_benchmark(["a"], methods, tmp_path, conditions=plain)
    rows = run_benchmark(["a"], methods, tmp_path, conditions=several)
    assert rows["key"][0] != first["key"][0]
    assert rows["n_kmeans"][0] == 7
    assert 0 < rows["acc"][0] <= 1
    assert 0 <= rows["acc_std"][0] < 0.5
    assert "acc_std" not in first


def test_kmeans_scores_are_those_of_each_run():
    corners = np.repeat(np.eye(3), 10, axis=0)
    scores = kmeans_scores(corners, np.repeat(np.arange(3), 10), 5)
    assert 0.6 < scores["acc"] <= 1  # random rows of one cluster may be both of the seeds
    assert (scores["acc"] == 1) == (scores["acc_std"] == 0)


@pytest.mark.slow
def test_labels_are_kept_in_the_order_of_the_file(sets, tmp_path):
    from manyview.datasets import load_benchmark
    from manyview.metrics import evaluate

    rows = run_benchmark(["a"], [find_method("omvcdr")], tmp_path / "out")
    labels = np.load(tmp_path / "out" / "labels" / f"{rows['key'][0]}.npy")
    scores = evaluate(load_benchmark("a").target, labels)
    assert scores["acc"] == rows["acc"][0]


@pytest.mark.slow
def test_what_was_done_is_skipped_and_only_what_is_new_is_run(sets, stranger, tmp_path):
    out, plain = tmp_path / "out", find_method("stranger:Plain")
    run_benchmark(["a"], [plain], out, conditions=Conditions(seeds=(0, 1)))
    rows = run_benchmark(["a", "b"], [plain], out, conditions=Conditions(seeds=(0, 1)))
    assert len(rows) == 4
    assert calls(stranger) == {f"Plain-{n}-{s}": 1 for n in (40, 41) for s in (0, 1)}


@pytest.mark.slow
def test_a_method_that_changed_is_run_again(sets, stranger, tmp_path):
    out = tmp_path / "out"
    run_benchmark(["a"], [find_method("stranger:Plain")], out)
    source = tmp_path / "code" / "stranger.py"
    source.write_text(source.read_text() + "\n# better now\n")
    run_benchmark(["a"], [find_method("stranger:Plain")], out)
    assert calls(stranger) == {"Plain-40-0": 2}


def test_a_data_set_that_changed_is_run_again_and_one_that_was_stored_anew_is_not(
    sets, stranger, tmp_path
):
    out, plain = tmp_path / "out", find_method("stranger:Plain")
    before = run_benchmark(["a", "b"], [plain], out)
    with np.load(sets / "a.npz") as file:
        arrays = dict(file)
    np.savez_compressed(sets / "a.npz", **arrays)
    again = run_benchmark(["a", "b"], [plain], out)
    assert list(again["key"]) == list(before["key"])
    np.savez(sets / "a.npz", **{**arrays, "y": arrays["y"][::-1]})
    after = run_benchmark(["a", "b"], [plain], out)
    assert calls(stranger) == {"Plain-40-0": 2, "Plain-41-0": 1}
    assert list(after["key"] == before["key"]) == [False, True]
    assert list(after["content"] == before["content"]) == [False, True]
    back = np.load(out / "labels" / f"{before['key'][0]}.npy")
    assert len(back) == 40  # what the earlier file gave is still there


def test_a_row_without_a_digest_belongs_to_the_file_that_is_found_first(sets, stranger, tmp_path):
    """Rows were keyed by the name of a data set alone before."""
    out, plain = tmp_path / "out", find_method("stranger:Plain")
    done = run_benchmark(["a"], [plain], out)
    (run,) = plan(["a"], [plain], Conditions())
    row = {**json.loads((out / "rows.jsonl").read_text()), "key": run.key_by_name}
    del row["content"]
    (out / "rows.jsonl").write_text(json.dumps(row) + "\n")
    adopted = run_benchmark(["a"], [plain], out)
    assert (adopted["key"][0], adopted["acc"][0]) == (run.key_by_name, done["acc"][0])
    assert calls(stranger) == {"Plain-40-0": 1}
    (sets / "b.npz").replace(sets / "a.npz")
    assert run_benchmark(["a"], [plain], out)["n_samples"][0] == 41


@pytest.mark.slow
def test_a_raised_version_runs_that_method_again_and_no_other(sets, tmp_path, monkeypatch):
    out, methods = tmp_path / "out", [find_method("concat_kmeans"), find_method("ksums")]
    first = run_benchmark(["a"], methods, out)
    monkeypatch.setitem(VERSIONS, "ksums", 2)
    second = run_benchmark(["a"], methods, out)
    assert list(second["version"]) == ["1", "2"]
    assert list(first["key"] == second["key"]) == [True, False]
    assert len((out / "rows.jsonl").read_text().splitlines()) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "status", "reason"),
    [
        ("stranger:Broken", "failed", "KeyError: 'lost' (stranger.py"),
        ("stranger:Dying", "failed", "ended with code 3"),
        ("stranger:Hanging", "declined", "not finished within time_limit=0.5 s"),
    ],
)
def test_a_method_that_goes_wrong_is_a_row_and_the_rest_goes_on(
    sets, stranger, tmp_path, monkeypatch, method, status, reason
):
    monkeypatch.setattr(runner_module, "SLACK_SECONDS", 10.0)
    methods = [find_method(method), find_method("stranger:Plain")]
    rows = run_benchmark(
        ["a"], methods, tmp_path / "out", conditions=Conditions(time_limit=0.5), n_jobs=2
    )
    bad = rows[rows["method"] == method]
    assert set(bad["status"]) == {status}
    assert bad["reason"].str.contains(reason, regex=False).all()
    assert set(rows.loc[rows["method"] == "stranger:Plain", "status"]) == {"done"}


@pytest.mark.slow
def test_a_looser_limit_tries_again_what_a_tighter_one_stopped(sets, tmp_path):
    out, method = tmp_path / "out", find_method("published_omvcdr")
    tight = run_benchmark(["a"], [method], out, conditions=Conditions(memory_limit=10))
    assert tight["status"][0] == "declined"
    assert "memory_limit" in tight["reason"][0]
    loose = run_benchmark(["a"], [method], out, conditions=Conditions(memory_limit=10**9))
    assert loose["status"][0] == "done"


@pytest.mark.slow
def test_hidden_rows_are_missing_views_and_a_method_that_needs_all_declines(sets, tmp_path):
    conditions = Conditions(missing_rates=(0.0, 0.4))
    methods = [find_method("omvcdr"), find_method("published_omvcdr")]
    rows = run_benchmark(["a"], methods, tmp_path / "out", conditions=conditions)
    status = rows.set_index(["method", "missing_rate"])["status"]
    assert status["omvcdr", 0.4] == "done"
    assert status["published_omvcdr", 0.4] == "declined"
    assert "row(s) of the views are missing" in " ".join(rows["reason"])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_a_killed_benchmark_goes_on_where_it_was(sets, stranger, tmp_path):
    """A real process, killed with SIGKILL in the middle of a run, then started again."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "manyview", "benchmark", "a", "b", "c", "--seeds", "2"]
    command += ["--method", "stranger:Slow", "--out", str(out)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    log = out / "rows.jsonl"
    for _ in range(600):
        if log.exists() and log.read_text().count("\n") >= 2:
            break
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = [json.loads(line)["key"] for line in log.read_text().splitlines()]
    assert 2 <= len(before) < 6
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after = [json.loads(line)["key"] for line in log.read_text().splitlines()]
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == 6
    repeated = [name for name, n in calls(stranger).items() if n > 1]
    assert len(repeated) <= 1  # at most the run that the kill cut off
    assert (out / "tables.md").exists()


def test_the_processes_of_a_killed_benchmark_end_in_the_middle_of_their_runs(
    sets, stranger, tmp_path
):
    """Only the process that a user started is killed, as by a system that is out of memory."""
    command = [sys.executable, "-m", "manyview", "benchmark", "a", "b", "--seeds", "1"]
    command += ["--method", "stranger:Hanging", "--jobs", "2", "--out", str(tmp_path / "out")]
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while len(calls(stranger)) < 2:
        assert parent.poll() is None
        time.sleep(0.05)
    children = psutil.Process(parent.pid).children(recursive=True)
    assert len(children) >= 2
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(children, timeout=20)  # they would sleep for ten minutes
    for child in alive:
        child.kill()
    assert alive == []
