"""`manyview predict`: new samples from all views or from some."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from manyview import OMVCDR

SETTINGS = ("--clusters", "3", "--quiet", "--starts", "2")


@pytest.fixture
def model(tables, tmp_path):
    """A model of the first 60 samples, in a folder of a run."""
    (tmp_path / "run").mkdir()
    model = OMVCDR(n_clusters=3, n_init=2, random_state=0)
    model.fit({name: table.iloc[:60] for name, table in tables.items()})
    model.save(tmp_path / "run" / "model.mv")
    return model


@pytest.fixture
def expected(model, tables):
    """The clusters of the other 30, by name."""
    new = {name: table.iloc[60:] for name, table in tables.items()}
    return pd.Series(model.predict(new), index=tables["rna"].index[60:])


def labels(path):
    table = pd.read_csv(path, index_col="sample")
    assert list(table.columns) == ["cluster", "confidence", "outlier_score", "is_outlier"]
    assert table["confidence"].between(0, 1).all()
    return table["cluster"]


@pytest.mark.slow
def test_a_process_predicts_from_shuffled_turned_and_renamed_tables(
    model, expected, tables, tmp_path
):
    tables["rna"].iloc[:59:-1, ::-1].to_csv(tmp_path / "new_a.csv", sep=";", decimal=",")
    tables["protein"].iloc[60:].T.to_csv(tmp_path / "new_b.csv")
    tables["meth"].iloc[60:].to_parquet(tmp_path / "new_c.parquet")
    files = ("new_a.csv", "new_b.csv", "new_c.parquet")
    arguments = ("predict", "--model", "run/model.mv", *files, "--out", "new.csv")
    ended = subprocess.run(
        [sys.executable, "-m", "manyview", *arguments],
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "80", "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "30 samples in 3 clusters" in ended.stdout
    found = labels(tmp_path / "new.csv")
    assert found[expected.index].tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["run", "run/model", "run/model.mv"])
def test_one_view_is_enough_and_the_others_are_named(command, model, expected, tables, name):
    tables["protein"].iloc[60:].to_csv("anything.csv")
    code, out, _ = command("predict", "--model", name, "anything.csv", "--out", "new.parquet")
    assert code == 0
    for missing in ("rna", "meth"):
        assert f"The view '{missing}' is missing" in out
    found = pd.read_parquet("new.parquet").set_index("sample")["cluster"]
    assert (found == expected).mean() >= 0.95


def test_a_sample_may_lack_some_views(command, model, expected, tables):
    tables["rna"].iloc[60:80].to_csv("rna.csv")
    tables["meth"].iloc[70:].to_csv("meth.csv")
    code, out, _ = command("predict", "--model", "run", "rna.csv", "meth.csv", "--json")
    summary = json.loads(out)
    assert (code, summary["n_samples"], summary["missing_views"]) == (0, 30, ["protein"])
    assert (labels("new_labels.csv")[expected.index] == expected).mean() >= 0.95


def test_features_that_are_missing_are_named_or_filled(command, model, expected, tables):
    new = tables["rna"].iloc[60:].drop(columns=["rna3", "rna5"])
    new.assign(shoe_size=40.0).to_csv("rna.csv")
    code, _, err = command("predict", "--model", "run", "rna.csv")
    assert code == 2
    assert "lacks 2 of 20 features of 'rna': rna3, rna5." in err
    code, out, _ = command("predict", "--model", "run", "rna.csv", "--nan", "feature-mean")
    assert code == 0
    assert "ignored 1 of 19 features that are not in the fit: shoe_size" in " ".join(out.split())
    assert (labels("new_labels.csv")[expected.index] == expected).mean() >= 0.95


def test_arrays_without_names_need_the_names_of_their_views(command, tables, tmp_path):
    for name in ("a", "b"):
        np.save(f"{name}.npy", np.asarray(tables["rna"]) * (1 if name == "a" else -2))
    assert command("fit", "a.npy", "b.npy", *SETTINGS)[0] == 0
    (tmp_path / "a.npy").rename("x.npy")
    code, _, err = command("predict", "--model", "manyview-run", "x.npy")
    assert code == 2
    assert "Name the views in the order of the files with --views" in err
    assert command("predict", "--model", "manyview-run", "x.npy", "--views", "a", "--quiet")[0] == 0
    fitted = pd.read_csv("manyview-run/labels.csv")["cluster"]
    assert (labels("new_labels.csv").to_numpy() == fitted).mean() >= 0.95


MISTAKES = {
    "no model": (["rna.csv"], "Missing option '--model'"),
    "no such model": (["rna.csv", "--model", "none.mv"], "none.mv"),
    "not a model": (["rna.csv", "--model", "rna.csv"], "is not a complete manyview model"),
    "strange file": (["strange.csv", "--model", "run"], "could not be matched with one view"),
    "strange view": (["rna.csv", "--model", "run", "--views", "dna"], "has no view 'dna'"),
    "a view twice": (["rna.csv", "copy.csv", "--model", "run"], "both hold the view 'rna'"),
    "bad ending": (["rna.csv", "--model", "run", "--out", "x.doc"], "ends in .csv or .parquet"),
    "no folder": (["rna.csv", "--model", "run", "--out", "no/x.csv"], "Create the folder first"),
    "its own input": (["rna.csv", "--model", "run", "--out", "rna.csv"], "Set another --out"),
    "same name twice": (["twice.csv", "--model", "run"], "has sample 'P01' twice"),
    "gaps": (["gaps.csv", "--model", "run"], "--nan feature-mean."),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_code_2(command, model, tables, tmp_path, mistake):
    rna = tables["rna"]
    for name in ("rna", "copy"):
        rna.to_csv(f"{name}.csv")
    rna.add_prefix("x").to_csv("strange.csv")
    rna.rename({"P02": "P01"}).to_csv("twice.csv")
    rna.where(rna < rna.quantile(0.99)).to_csv("gaps.csv")
    before = sorted(tmp_path.rglob("*"))
    arguments, expected = MISTAKES[mistake]
    code, out, err = command("predict", *arguments)
    assert (code, len(err.splitlines())) == (2, 1)
    assert expected in err
    assert sorted(tmp_path.rglob("*")) == before


def new_tables(tables):
    return {name: table.iloc[60:].copy() for name, table in tables.items()}


def predict_json(command, new):
    for name, table in new.items():
        table.to_csv(f"{name}.csv")
    code, out, _ = command("predict", "--model", "run", *(f"{name}.csv" for name in new), "--json")
    assert code == 0
    return json.loads(out)


def test_patients_from_nowhere_are_flagged(command, model, tables, rng):
    new = {
        name: pd.DataFrame(
            rng.uniform(table.min(), table.max(), (15, table.shape[1])),
            index=pd.Index([f"N{i}" for i in range(15)], name="sample"),
            columns=table.columns,
        )
        for name, table in tables.items()
    }
    summary = predict_json(command, new)
    table = pd.read_csv("new_labels.csv")
    assert summary["n_outliers"] == table["is_outlier"].sum() >= 14
    assert (table["outlier_score"] > summary["outlier_threshold"]).equals(table["is_outlier"])
    files = [f"{name}.csv" for name in new]
    _, out, _ = command("predict", "--model", "run", *files)
    assert f"{summary['n_outliers']} of 15 samples are unlike all clusters of the fit" in " ".join(
        out.split()
    )


def test_patients_like_those_of_the_fit_raise_no_alarm(command, model, tables):
    summary = predict_json(command, new_tables(tables))
    assert summary["shifts"] == []
    assert summary["n_outliers"] <= 1


def test_a_view_in_another_unit_and_constant_features_are_told(command, model, tables):
    new = new_tables(tables)
    new["rna"] *= 1000
    new["protein"]["protein4"] = 0.0
    summary = predict_json(command, new)
    assert [(shift["view"], shift["kind"]) for shift in summary["shifts"]] == [
        ("rna", "spread"),
        ("protein", "constant"),
    ]
    told = " ".join(summary["warnings"])
    assert "perhaps another unit, or not log-transformed" in told
    assert "1 feature is constant, which was not in the fit: protein4." in told
