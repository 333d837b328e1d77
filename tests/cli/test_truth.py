"""`manyview fit --truth`: where the known classes may be, and what is made of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview import OMVCDR
from manyview.metrics import evaluate

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def inside(tables, truth, tmp_path):
    """Two views and a table about the samples; the classes are in all of them, as text."""
    kinds = pd.Series(np.array(["basal", "luminal", EVIL])[truth], index=tables["rna"].index)
    tables["rna"].assign(kind=kinds.where(np.arange(90) % 9 > 0)).to_csv(tmp_path / "rna.csv")
    tables["meth"].iloc[::-1].assign(grade=truth[::-1]).to_csv(tmp_path / "meth.csv")
    clinical = pd.DataFrame({"patient": kinds.index, "stage": kinds.to_numpy(), "age": 50})
    clinical.iloc[10:].to_csv(tmp_path / "clinical.csv", index=False)
    return tmp_path


@pytest.fixture
def fit(command, inside):
    """Fit both views with some options, and return the result."""

    def run(*arguments, views=("rna.csv", "meth.csv")):
        options = ["--clusters", 3, "--starts", 1, "--quiet", *arguments]
        code, _, err = command("fit", *views, *options)
        assert (code, err) == (0, "")
        return json.loads((inside / "manyview-run" / "result.json").read_text(encoding="utf-8"))

    return run


def widths(result):
    return [view["n_features"] for view in result["data"]["views"]]


def test_text_of_a_view_with_samples_that_have_no_class(fit, truth):
    part = fit("--truth", "kind")["truth"]
    assert (part["name"], part["n_samples"], part["n_without"]) == ("kind", 80, 10)
    labels = pd.read_csv("manyview-run/labels.csv", index_col="sample")["cluster"]
    expected = pd.Series(truth, index=[f"P{i:02d}" for i in range(90)])[labels.index]
    is_in = np.array([int(name[1:]) % 9 > 0 for name in labels.index])
    assert part["methods"][0]["metrics"] == pytest.approx(evaluate(expected[is_in], labels[is_in]))


def test_whole_numbers_of_a_view_are_no_feature(fit):
    assert widths(fit()) == [20, 13]
    result = fit("--truth", "grade")
    assert widths(result) == [20, 12]
    assert result["truth"]["table"]["classes"] == ["0", "1", "2"]
    assert result["sources"][1]["set_aside"] == "grade"
    assert OMVCDR.load("manyview-run/model.mv").n_features_in_ == 32


def test_the_classes_have_no_part_in_the_fit(fit, tables, inside):
    fit("--truth", "grade")
    labels = pd.read_csv("manyview-run/labels.csv")
    tables["meth"].iloc[::-1].to_csv(inside / "meth.csv")
    fit()
    pd.testing.assert_frame_equal(labels, pd.read_csv("manyview-run/labels.csv"))


def test_numbers_with_gaps_and_in_a_turned_table(fit, tables, truth, inside):
    grade = pd.Series(truth, index=tables["meth"].index, dtype=float)
    grade[:4] = np.nan
    turned = tables["meth"].assign(grade=grade).T.rename_axis("feature")
    turned.to_csv(inside / "turned.csv")
    result = fit("--truth", "grade", views=("rna.csv", "turned.csv"))
    assert widths(result) == [20, 12]
    assert (result["truth"]["n_without"], result["truth"]["n_classes"]) == (4, 3)


def test_a_column_of_meta_is_matched_by_name(fit):
    result = fit("--meta", "clinical.csv", "--truth", "stage")
    assert (result["truth"]["n_samples"], result["truth"]["n_without"]) == (80, 10)
    assert result["meta"][0]["column"] == "stage"
    assert len(result["notes"]) == len(set(result["notes"]))


@pytest.mark.parametrize("where", ["clinical.csv::stage", "kinds.csv", "kinds.csv::grade"])
def test_a_file_of_its_own(fit, inside, where):
    clinical = pd.read_csv(inside / "clinical.csv")
    clinical = clinical.drop(columns="age").rename(columns={"stage": "grade"})
    clinical.to_csv(inside / "kinds.csv", index=False)
    result = fit("--truth", where)
    assert result["truth"]["n_samples"] == 80
    # a column of that name in a view is set aside, too, whichever way it was named
    assert widths(result) == ([20, 12] if "kinds" in where else [20, 13])


@pytest.mark.parametrize("file", ["y.npy", "y.csv"])
def test_samples_without_names_are_matched_by_position(fit, tables, truth, inside, file):
    for name in ("rna", "meth"):
        np.save(inside / f"{name}.npy", tables[name])
    np.save(inside / "y.npy", truth)
    pd.DataFrame({"y": truth}).to_csv(inside / "y.csv", index=False)
    result = fit("--truth", file, views=("rna.npy", "meth.npy"))
    assert (result["truth"]["name"], result["truth"]["n_samples"]) == ("y", 90)
    assert result["truth"]["methods"][0]["metrics"]["acc"] == 1.0


def test_the_terminal_shows_one_table_in_80_columns(command, inside):
    arguments = ["--clusters", 3, "--starts", 1, "--truth", "kind", "--json"]
    code, out, err = command("fit", "rna.csv", "meth.csv", *arguments)
    assert code == 0
    assert json.loads(out)["truth"]["n_without"] == 10
    assert max(map(len, err.splitlines())) <= 80
    said = " ".join(err.split())
    assert "method ACC NMI ARI purity F-score seconds" in said
    assert "Known classes (kind) of 80 samples, 10 have no known class" in said


def test_a_name_of_a_class_cannot_break_the_page_of_a_run(fit):
    fit("--truth", "kind")
    page = Path("manyview-run/report.html").read_text(encoding="utf-8")
    assert EVIL not in page
    assert page.count("<script") == 3


MISTAKES = {
    "misspelled": (["--truth", "Kin"], "has a column 'Kin' for --truth; did you mean 'kind'"),
    "of a file": (["--truth", "clinical.csv::stag"], "no column 'stag' for --truth; did you mean"),
    "nowhere": (["--truth", "xyz"], "expected a column of the --meta table or of a view"),
    "no file": (["--truth", "none.csv::kind"], "There is no file none.csv"),
    "which column": (["--truth", "clinical.csv"], "say which one holds the classes"),
    "other samples": (["--truth", "others.csv"], "names no sample of the views"),
    "too long": (["--truth", "long.npy"], "long.npy has shape (91,); expected one class"),
    "no classes": (["--truth", "rna1"], "expected classes as text or whole numbers"),
    "all empty": (["--truth", "empty.csv"], "No sample has a known class"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_code_2(command, inside, mistake):
    arguments, expected = MISTAKES[mistake]
    (inside / "others.csv").write_text("patient,kind\nQ1,a\nQ2,b\n")
    (inside / "empty.csv").write_text("patient,kind\nP01,\nP02,\nQ1,a\n")
    np.save(inside / "long.npy", np.arange(91))
    code, _, err = command("fit", "rna.csv", "meth.csv", "--clusters", 3, *arguments)
    assert (code, len(err.splitlines())) == (2, 1)
    assert expected in err
    assert not (inside / "manyview-run").exists()
