"""`manyview fit --categorical keep`, and `predict` with a category that the fit had not."""

import json

import numpy as np
import pandas as pd
import pytest

N = 80


@pytest.fixture
def clinic(tmp_path):
    """Two groups that differ in text alone, beside numbers that say nothing."""
    rng = np.random.default_rng(0)
    group = np.arange(N) % 2

    def drawn(*words):
        return np.array(words)[np.where(rng.random(N) < 0.9, group, 1 - group)]

    table = pd.DataFrame(
        {
            "patient": [f"P{i:02d}" for i in range(N)],
            "age": rng.normal(60, 9, N),
            "bmi": rng.normal(25, 3, N),
            "stage": drawn("early", "late"),
            "smoker": rng.choice(["no", "yes"], N),
            "organ": drawn("lung", "liver"),
            **{f"drug{j}": drawn("A", "B") for j in range(4)},
            "class": drawn("x", "y"),
        }
    )
    table.to_csv(tmp_path / "clinic.csv", index=False)
    return table


def test_text_decides_where_it_is_kept(command, clinic, tmp_path):
    fit = ("fit", tmp_path / "clinic.csv", "-k", 2, "--truth", "class")
    found = {}
    for how in ("drop", "keep"):
        out = tmp_path / how
        code, _, err = command(*fit, "--categorical", how, "--out", out)
        assert (code, err) == (0, "")
        result = json.loads((out / "result.json").read_text())
        found[how] = result["truth"]["methods"][0]["metrics"]["acc"]
    assert found["keep"] > 0.8 > found["drop"]
    features = pd.read_csv(tmp_path / "keep" / "features.csv")
    assert {"stage=early", "smoker=yes"} <= set(features["feature"])
    assert "class=x" not in set(features["feature"])
    assert 'categorical = "keep"' in (tmp_path / "keep" / "run.toml").read_text()


def test_new_samples_are_predicted_from_text(command, clinic, tmp_path):
    out = tmp_path / "run"
    fit = ("fit", tmp_path / "clinic.csv", "-k", 2, "--categorical", "keep", "--truth", "class")
    assert command(*fit, "--out", out)[0] == 0
    predict = ("predict", tmp_path / "clinic.csv", "--model", out, "--out", tmp_path / "new.csv")
    assert command(*predict)[0] == 0
    same = [pd.read_csv(path)["cluster"] for path in (out / "labels.csv", tmp_path / "new.csv")]
    assert (same[0] == same[1]).all()
    clinic.assign(organ="spleen").to_csv(tmp_path / "clinic.csv", index=False)
    code, said, _ = command(*predict)
    assert code == 0
    assert "the fit had no organ=spleen" in " ".join(said.split())


def test_files_on_disk_have_no_text(command, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((5, 2)))
    command_line = ("fit", tmp_path / "a.npy", "-k", 2, "--engine", "stream")
    code, _, err = command(*command_line, "--categorical", "keep", "--out", tmp_path / "run")
    assert code == 2
    assert "--categorical: only for tables" in err
