"""The tables of the study's rows: what is saved comes back."""

import json

import pytest

from benchmarks.paper import study_rows


@pytest.fixture
def log(tmp_path):
    row = {
        "key": "one", "data": "bdgp", "content": "c", "method": "lmvsc", "version": "1", "seed": 0,
        "rows": "file", "missing_rate": 0.0, "n_kmeans": 50, "time_limit": 600.0, "memory_limit": 8,
        "parameters": {"n_anchors": "1k", "alpha": 0.01}, "status": "done", "reason": "",
        "acc": 0.4236123456, "acc_std": 0.02, "nmi": 0.2, "purity": 0.4, "fscore": 0.3,
        "seconds": 1.5, "n_iter": 9,
    }  # fmt: skip
    declined = {**row, "key": "two", "status": "declined", "reason": "too long, it says"}
    for name in ("acc", "acc_std", "nmi", "purity", "fscore", "seconds", "n_iter"):
        declined.pop(name)
    path = tmp_path / "from" / "runs" / "oracle" / "two-step" / "rows.jsonl"
    path.parent.mkdir(parents=True)
    lines = [json.dumps(one) for one in (row, declined, {**row, "acc": 0.5})]
    path.write_text("\n".join(lines) + '\n{"key": "torn')
    trace = {"key": "t", "trace": "two_step", "data": "bdgp", "result": [{"acc": 0.25}]}
    (tmp_path / "from" / "runs" / "traces.jsonl").write_text(json.dumps(trace) + "\n")
    return tmp_path


def test_what_is_saved_comes_back(log, monkeypatch):
    monkeypatch.setattr(study_rows, "RESULTS", log)
    study_rows.save(log / "from")
    study_rows.restore(log / "to")
    back = study_rows.last_by_key(log / "to" / "runs" / "oracle" / "two-step" / "rows.jsonl")
    assert set(back) == {"one", "two"}
    assert back["one"]["acc"] == 0.5  # the last row of a key counts, and a torn one does not
    assert back["one"]["parameters"] == {"n_anchors": "1k", "alpha": 0.01}
    assert back["one"]["version"] == "1"
    assert back["two"]["reason"] == "too long, it says"
    assert "acc" not in back["two"]
    (trace,) = study_rows.last_by_key(log / "to" / "runs" / "traces.jsonl").values()
    assert trace["result"] == [{"acc": 0.25}]
