"""`manyview fit`: from files to a folder, as a process and step by step."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from helpers.cells import counts_of, write_annotated, write_obs, write_tenx_h5
from manyview import OMVCDR
from manyview.cli.folder import FILES
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.io import read_views
from manyview.metrics import clustering_accuracy

VIEWS = ("rna.csv", "protein.csv", "meth.parquet")


def process(*arguments, cwd, **options):
    """The command as a user starts it, on a terminal of 80 columns."""
    return subprocess.Popen(
        [sys.executable, "-m", "manyview", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "80", "PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        **options,
    )


def inside(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def run(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    paths = [files / name for name in VIEWS]
    arguments = ["fit", *paths, "--clusters", 3, "--meta", files / "clinical.csv", "--out", "run"]
    running = process(*arguments, cwd=folder)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    return folder / "run", out, err


def test_the_folder_holds_exactly_its_files(run):
    folder, _, _ = run
    assert inside(folder) == sorted(FILES)
    assert inside(folder.parent) == ["run"]


def test_labels_are_those_of_the_estimator_and_right(run, files, truth):
    folder, _, _ = run
    labels = pd.read_csv(folder / "labels.csv", index_col="sample")
    data = read_views([files / name for name in VIEWS]).data
    model = OMVCDR(n_clusters=3, random_state=0).fit(data)
    assert list(labels.index) == list(data.sample_names)
    assert labels["cluster"].tolist() == model.labels_.tolist()
    assert labels["confidence"].to_numpy() == pytest.approx(model.confidence_, rel=1e-5)
    expected = truth[[int(name[1:]) for name in labels.index]]
    assert clustering_accuracy(expected, labels["cluster"]) == 1.0
    parquet = pd.read_parquet(folder / "labels.parquet")
    assert list(parquet.columns) == ["sample", "cluster", "confidence", "outlier_score"]
    assert parquet["confidence"].to_numpy() == pytest.approx(model.confidence_)


def test_tables_of_clusters_and_features_are_those_of_the_model(run, files):
    folder, _, _ = run
    clusters = pd.read_csv(folder / "clusters.csv", index_col="cluster")
    labels = pd.read_csv(folder / "labels.csv")
    assert clusters["size"].tolist() == np.bincount(labels["cluster"]).tolist()
    weights = clusters[["weight_rna", "weight_protein", "weight_meth"]]
    assert weights.sum(axis=1).to_numpy() == pytest.approx(np.ones(3), abs=1e-5)
    features = pd.read_csv(folder / "features.csv")
    assert len(features) == 3 * (20 + 24 + 12)
    data = read_views([files / name for name in VIEWS]).data
    expected = OMVCDR(n_clusters=3, random_state=0).fit(data).rank_features()
    pd.testing.assert_frame_equal(features, expected, rtol=1e-4, check_dtype=False)


def test_the_model_can_be_loaded(run, files):
    folder, _, _ = run
    labels = pd.read_csv(folder / "labels.csv")["cluster"]
    data = read_views([files / name for name in VIEWS]).data
    assert OMVCDR.load(folder / "model.mv").predict(data).tolist() == labels.tolist()


def test_the_terminal_tells_what_was_found_and_what_came_out(run):
    _, out, err = run
    assert err == ""
    assert max(map(len, out.splitlines())) <= 80
    (row,) = [line.split() for line in out.splitlines() if line.startswith(" protein")]
    assert row[1:] == ["columns", "85", "24", "85", "5", "0"]
    for text in ("90 samples in 3 clear clusters", "90 of 90 samples found", "'site'", "constant"):
        assert text in " ".join(out.split())
    assert "report.html" in out


def test_result_has_the_command_the_files_and_the_columns(run):
    folder, _, _ = run
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert result["run"]["repeat"][0].startswith("manyview fit ")
    assert [source["view"] for source in result["sources"]] == ["rna", "protein", "meth"]
    stage, age = result["meta"]
    assert (stage["column"], stage["kind"], age["column"]) == ("stage", "categorical", "age")
    assert stage["effect"] == pytest.approx(1)
    assert stage["p_adjusted"] < 1e-20 < 0.001 < age["p_adjusted"]
    assert "Not tested for association: 'site' (constant)." in result["notes"]


def test_the_page_is_whole(run):
    folder, _, _ = run
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "stage" in page


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C cannot be sent to one process elsewhere")
def test_ctrl_c_is_one_sentence_and_leaves_nothing(files, tmp_path):
    arguments = ["fit", files / "rna.csv", "--clusters", 3, "--starts", 100_000, "--out", "a/run"]
    # a shell starts what runs in the background deaf to Ctrl-C
    running = process(*arguments, cwd=tmp_path, preexec_fn=_hear_ctrl_c)
    while running.poll() is None and not list(tmp_path.glob("a/run/.*")):
        time.sleep(0.05)
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (
        130,
        "manyview: stopped by Ctrl-C; no incomplete file was left.\n",
    )
    assert inside(tmp_path) == []


def _hear_ctrl_c():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_json_is_all_that_stdout_gets(command, files):
    code, out, err = command("fit", files / "rna.csv", "--clusters", 3, "--json")
    summary = json.loads(out)
    assert (code, summary["out"], summary["n_clusters"]) == (0, "manyview-run", 3)
    assert sum(summary["sizes"]) == summary["n_samples"] == 85
    assert sum(summary["view_weights"].values()) == pytest.approx(1)
    assert "85 samples in 3 clear clusters" in err


@pytest.fixture(scope="module")
def patients(files, truth, tmp_path_factory):
    """Clinical data with survival that depends on the group."""
    rng = np.random.default_rng(0)
    table = pd.read_csv(files / "clinical.csv").sort_values("patient")
    table["OS_days"] = rng.exponential(np.array([100, 300, 900])[truth]).round()
    table["OS_status"] = np.where(rng.random(90) < 0.8, "dead", "alive")
    path = tmp_path_factory.mktemp("patients") / "clinical.csv"
    table.to_csv(path, index=False)
    return path


def test_survival_is_in_the_result_on_the_terminal_and_in_the_page(command, files, patients):
    options = ["--clusters", 3, "--meta", patients, "--time", "OS_days", "--event", "OS_status"]
    code, out, err = command("fit", files / "rna.csv", *options, "--out", "run")
    assert (code, err) == (0, "")
    result = json.loads(Path("run/result.json").read_text(encoding="utf-8"))
    assert result["survival"]["n"] == 85
    assert result["survival"]["test"]["p"] < 1e-4
    assert {row["column"] for row in result["meta"]} == {"stage", "age"}
    assert "The clusters differ in survival (log-rank" in " ".join(out.split())
    assert "median OS_days" in out
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert "Do the clusters differ in survival?" in page
    assert Path("run/survival.svg").read_text(encoding="utf-8").startswith("<svg xmlns=")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--time", "OS_days"], "--event is not given. Add it."),
        (["--time", "x", "--event", "y"], "have no column 'x'; expected one of stage, age"),
    ],
)
def test_survival_that_is_not_there_is_refused_before_the_fit(
    command, files, patients, options, said
):
    arguments = ["fit", files / "rna.csv", "--clusters", 3, "--meta", patients, *options]
    code, _, err = command(*arguments)
    assert (code, Path("manyview-run").exists()) == (2, False)
    assert said in err


def test_columns_that_look_like_survival_are_a_hint(command, files, patients):
    _, out, _ = command("fit", files / "rna.csv", "--clusters", 3, "--meta", patients)
    said = " ".join(out.split())
    assert "add --time OS_days --event OS_status for Kaplan-Meier curves" in said


def test_columns_that_are_not_tested_are_one_sentence_a_reason(command, files, tmp_path):
    clinical = files / "clinical.csv"
    code, out, _ = command("fit", files / "rna.csv", "--clusters", 1, "--meta", clinical)
    said = " ".join(out.split())
    assert code == 0
    assert "note Not tested for association: 'stage', 'age' (there is one cluster)." in said
    assert "5 rows about other samples left out" in said


def test_one_column_set_aside_is_told_as_one(command, tables):
    tables["rna"].assign(batch="north").to_csv("batch.csv")
    assert "batch: 1 column ignored: batch." in command("fit", "batch.csv", "--clusters", 3)[1]


def test_quiet_says_nothing_and_an_earlier_run_is_replaced(command, files, tmp_path):
    for k in (2, 3):
        ended = command("fit", files / "rna.csv", "--clusters", k, "--quiet", "--starts", 1)
        assert ended == (0, "", "")
        labels = pd.read_csv(tmp_path / "manyview-run" / "labels.csv")["cluster"]
        assert labels.nunique() == k
        assert inside(tmp_path / "manyview-run") == sorted(FILES)


def test_settings_reach_the_estimator(command, files, tmp_path):
    settings = ["--seed", 7, "--lam", 0.2, "--starts", 2, "--scale", "z,l2", "--max-iter", 9]
    assert command("fit", files / "rna.csv", "--clusters", 3, *settings, "--quiet")[0] == 0
    model = OMVCDR.load(tmp_path / "manyview-run" / "model.mv")
    assert (model.random_state, model.lam, model.n_init) == (7, 0.2, 2)
    assert (list(model.scale), model.max_iter) == (["z", "l2"], 9)


def test_samples_without_names_are_numbered(command, tables, tmp_path):
    np.savez(tmp_path / "both.npz", a=tables["rna"], b=tables["meth"])
    pd.DataFrame({"batch": ["x", "y"] * 45}).to_csv(tmp_path / "batch.csv", index=False)
    code, out, _ = command("fit", "both.npz", "--clusters", 3, "--meta", "batch.csv")
    assert code == 0
    assert "matched with the samples by position" in " ".join(out.split())
    assert pd.read_csv("manyview-run/labels.csv")["sample"].tolist() == list(range(90))


def test_what_the_fit_warns_of_is_a_note(command, tmp_path):
    (tmp_path / "few.csv").write_text("name,x,y\n" + "".join(f"n{i},{i % 2},1\n" for i in range(9)))
    code, out, err = command("fit", "few.csv", "--clusters", 3)
    assert (code, err) == (0, "")
    assert "note Found 2 distinct samples" in " ".join(out.split())


MISTAKES = {
    "no clusters": (["rna.csv"], "Missing option '--clusters'"),
    "zero clusters": (["rna.csv", "--clusters", 0], "--clusters is '0'; expected a number"),
    "words for clusters": (["rna.csv", "--clusters", "many"], "--clusters is 'many'; expected"),
    "too many clusters": (["rna.csv", "--clusters", 86], "--clusters is 86, and there are 85"),
    "bad flag": (["rna.csv", "--cluster", 3], "--cluster"),
    "bad choice": (["rna.csv", "--clusters", 3, "--missing", "no"], "'no' is not one of"),
    "bad scale": (["rna.csv", "--clusters", 3, "--scale", "big"], "scale='big' is not usable"),
    "bad lam": (["rna.csv", "--clusters", 3, "--lam", -1], "lam=-1.0 is not usable"),
    "no file": (["none.csv", "--clusters", 3], "There is no file"),
    "no meta": (["rna.csv", "--clusters", 3, "--meta", "none.csv"], "There is no file"),
    "unreadable": (["broken.parquet", "--clusters", 3], "broken.parquet"),
    "bad id": (["rna.csv", "--clusters", 3, "--id", "who"], "No file has a column 'who'"),
    "same name twice": (["twice.csv", "--clusters", 3], "has sample 'P01' twice"),
    "no overlap": (["rna.csv", "others.csv", "--clusters", 3], "shares no sample name"),
    "gaps": (["gaps.csv", "--clusters", 3], "--nan feature-mean"),
    "mixed encodings": (["mixed.csv", "--clusters", 3], "mixes encodings: some of its text is"),
    "strange meta": (["rna.csv", "--clusters", 3, "--meta", "others.csv"], "names no sample"),
}


@pytest.fixture(scope="module")
def mistaken(files, tables):
    """Files that cannot be used."""
    rna = tables["rna"]
    (files / "broken.parquet").write_bytes(b"PAR1 and no more")
    rna.rename({"P02": "P01"}).to_csv(files / "twice.csv")
    rna.rename(lambda name: f"other {name}").add_prefix("x").to_csv(files / "others.csv")
    rna.where(rna < rna.quantile(0.99)).to_csv(files / "gaps.csv")
    lines = "name,x\nZoë,1\n".encode() + "Jürgen,2\nAnn,5\nBob,6\n".encode("latin-1")
    (files / "mixed.csv").write_bytes(lines)
    return files


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_code_2(command, mistaken, tmp_path, mistake):
    arguments, expected = MISTAKES[mistake]
    named = [mistaken / x if str(x).endswith(("csv", "parquet")) else x for x in arguments]
    code, _, err = command("fit", *named, "--out", "a/run")
    assert code == 2
    assert len(err.splitlines()) == 1
    assert err.startswith("manyview: ")
    assert expected in err
    assert inside(tmp_path) == []


def test_a_folder_with_other_things_is_left_alone(command, files, tmp_path):
    (tmp_path / "labels.csv").write_text("mine")
    code, _, err = command("fit", files / "rna.csv", "--clusters", 3, "--out", ".")
    assert code == 2
    assert "holds labels.csv; expected a new or empty one" in err
    assert inside(tmp_path) == ["labels.csv"]


def test_a_folder_below_a_file_is_refused_before_anything_is_read(command, tmp_path):
    (tmp_path / "taken").write_text("mine")
    code, _, err = command("fit", "none.csv", "--clusters", 3, "--out", "taken/run")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "The folder taken/run cannot be written to (Not a directory)" in err


def test_the_help_shows_examples_in_80_columns(command):
    code, out, _ = command("fit", "--help")
    assert code == 0
    lines = out.splitlines()
    assert sum(line.strip().startswith("manyview fit ") for line in lines) == 15
    assert max(map(len, lines)) <= 80
    lines = command("predict", "--help")[1].splitlines()
    assert sum(line.strip().startswith("manyview predict ") for line in lines) == 3


def test_a_flag_does_not_look_as_if_it_took_a_value(command):
    for name in ("fit", "predict", "demo", "choose"):
        lines = command(name, "--help")[1].splitlines()
        (quiet,) = [line for line in lines if "--quiet" in line]
        assert quiet.split()[2:4] == ["-q", "Print"]


@pytest.mark.slow
@pytest.mark.data
def test_missing_view_rows_cost_little_accuracy(data_home):
    """30 % of the view rows of handwritten_6v, deleted at random, cost at most 0.05 ACC."""
    bunch = load_benchmark("handwritten_6v", data_home=data_home)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        present = rng.random((bunch.data.n_samples, bunch.data.n_views)) >= 0.3
        lost = np.flatnonzero(~present.any(axis=1))
        present[lost, rng.integers(bunch.data.n_views, size=lost.size)] = True
        model = OMVCDR(n_clusters=10, random_state=seed)
        complete = clustering_accuracy(bunch.target, model.fit_predict(bunch.data))
        labels = model.fit(bunch.data, present=present).labels_
        assert clustering_accuracy(bunch.target, labels) >= complete - 0.05


def write_cells(folder):
    """The files of cells on the page."""
    h5py = pytest.importorskip("h5py")
    views, names = counts_of(90, (9, 6))
    with h5py.File(folder / "filtered_feature_bc_matrix.h5", "w") as file:
        write_tenx_h5(file, views, names)
    with h5py.File(folder / "cells.h5mu", "w") as file:
        for view, counts in views.items():
            features = [f"{view}{j}" for j in range(counts.shape[1])]
            write_annotated(file.create_group(f"mod/{view}"), counts, names, features, {})
        write_obs(file, {}, names)


@pytest.mark.slow
def test_the_commands_of_the_docs_work(command, tables, truth, tmp_path):
    page = Path(__file__).parents[2] / "docs" / "fitting.md"
    shown = re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    tables["rna"].to_csv(tmp_path / "rna.csv")
    tables["rna"].iloc[:9].to_csv(tmp_path / "new_rna.csv")
    tables["protein"].to_parquet(tmp_path / "protein.parquet")
    tables["meth"].iloc[::-1].T.to_csv(tmp_path / "methylation.csv")
    clinical = {
        "patient": tables["rna"].index,
        "stage": truth,
        "OS_days": np.arange(90) % 37 + 10 * truth,
        "OS_status": np.arange(90) % 3 > 0,
    }
    pd.DataFrame(clinical).to_csv(tmp_path / "clinical.csv", index=False)
    np.save(tmp_path / "image.npy", tables["rna"])
    np.save(tmp_path / "text.npy", tables["meth"])
    np.save(tmp_path / "new_text.npy", tables["meth"].iloc[:9])
    for part, rows in enumerate(np.array_split(tables["rna"].to_numpy(), 2)):
        np.save(tmp_path / f"img_{part}.npy", rows)
    np.save(tmp_path / "captions.npy", np.ascontiguousarray(tables["meth"]))
    for v, (name, view) in enumerate((("images", "rna"), ("captions", "meth"))):
        columns = {"product_id": np.arange(90) + 1000, "embedding": list(tables[view].to_numpy())}
        shuffled = pd.DataFrame(columns).sample(frac=1, random_state=v)
        shuffled.to_parquet(tmp_path / f"{name}.parquet", index=False)
    views = np.empty((1, 2), dtype=object)
    views[0, 0], views[0, 1] = tables["rna"].to_numpy(), tables["protein"].to_numpy()
    savemat(tmp_path / "handwritten.mat", {"X": views, "Y": truth})
    write_cells(tmp_path)
    assert len(shown) == 14
    for line in shown:
        program, *arguments = shlex.split(line)
        assert program == "manyview"
        assert command(*arguments)[0] == 0, line


def test_no_command_shows_the_help(command):
    code, out, err = command()
    assert (code, err) == (2, "")
    assert "Usage: manyview" in out
    assert "Cluster the samples of your files" in " ".join(out.split())


class TestMatching:
    """What the samples were matched by is decided rightly, or asked for, and it is said."""

    IDS = np.random.default_rng(2).choice(np.arange(1000, 9000), 90, replace=False)

    @pytest.fixture
    def numbered(self, tables, tmp_path):
        """Two tables with numbers as names, the second in another order."""
        for v, name in enumerate(("rna", "protein")):
            table = tables[name].reset_index(drop=True)
            table.insert(0, "patient_id", self.IDS)
            table.sample(frac=1, random_state=v).to_csv(tmp_path / f"{name}.csv", index=False)
        return ["fit", "rna.csv", "protein.csv", "--clusters", 3]

    def test_numbers_that_both_files_have_name_the_samples(self, numbered, command, truth):
        code, out, err = command(*numbered, "--json")
        assert code == 0, err
        said = "Samples were matched by the column 'patient_id' of rna.csv and protein.csv."
        result = json.loads(Path("manyview-run/result.json").read_text(encoding="utf-8"))
        assert json.loads(out)["matching"] == result["matching"] == said
        assert said in " ".join(err.split())
        labels = pd.read_csv("manyview-run/labels.csv").set_index("sample")["cluster"]
        assert clustering_accuracy(truth, labels[self.IDS].to_numpy()) > 0.95

    def test_names_in_one_file_are_asked_for(self, numbered, command):
        pd.read_csv("protein.csv").drop(columns="patient_id").to_csv("protein.csv", index=False)
        code, _, err = command(*numbered)
        assert (code, len(err.splitlines())) == (2, 1)
        assert "'patient_id' of rna.csv may name its samples" in err
        assert "--by-position" in err
        code, out, _ = command(*numbered, "--by-position")
        assert code == 0
        assert "by position, as asked" in " ".join(out.split())

    def test_a_file_given_twice_and_as_many_clusters_as_samples_are_told(self, command):
        pd.DataFrame({"sample": list("abcd"), "x": [1.5, 2, 7, 9], "y": [3.5, 1, 1, 0]}).to_csv(
            "a.csv", index=False
        )
        code, out, err = command("fit", "a.csv", "a.csv", "--clusters", 4)
        assert code == 0, err
        said = " ".join(out.split())
        assert "a.csv was given more than once" in said
        assert "Views 'a' and 'a_2' hold the same values" in said
        assert "every sample is a cluster of its own" in said

    def test_new_samples_are_matched_alike(self, numbered, command):
        assert command(*numbered)[0] == 0
        code, out, err = command(
            "predict", "--model", "manyview-run", "rna.csv", "protein.csv", "--json"
        )
        assert code == 0, err
        assert "by the column 'patient_id'" in json.loads(out)["matching"]
        fitted, new = (
            pd.read_csv(path).set_index("sample")["cluster"]
            for path in ("manyview-run/labels.csv", "new_labels.csv")
        )
        assert (fitted == new[fitted.index]).all()


def tables(folder, views):
    """Views as CSV files with names of samples."""
    for v, view in enumerate(views):
        names = [f"s{i}" for i in range(len(view))]
        pd.DataFrame(view, index=names).add_prefix(f"v{v}_").to_csv(folder / f"v{v}.csv")
    return [f"v{v}.csv" for v in range(len(views))]


def test_noise_is_called_noise_in_the_first_line_and_on_the_page(command, tmp_path, rng):
    files = tables(tmp_path, [rng.standard_normal((300, 50)), rng.standard_normal((300, 30))])
    code, out, err = command("fit", *files, "--clusters", 4)
    assert (code, err) == (0, "")
    assert "No cluster structure in 300 samples" in out
    assert "are clear" not in out
    page = (tmp_path / "manyview-run" / "report.html").read_text(encoding="utf-8")
    assert "<h1>No cluster structure in 300 samples</h1>" in page
    assert 'class="plain greyed"' in page
    assert "are clear" not in page
    result = json.loads((tmp_path / "manyview-run" / "result.json").read_text(encoding="utf-8"))
    assert result["structure"]["verdict"] == "none"
    assert pd.read_csv("manyview-run/labels.csv")["confidence"].median() <= 0.2


def test_unequal_groups_are_told(command, tmp_path):
    blobs = make_multiview_blobs(
        600, (50, 30), n_clusters=8, proportions=np.geomspace(30, 2, 8), random_state=0
    )
    balanced = ("--lam", 0.1, "--scale", "sqrt-l2,z-l2")
    code, out, _ = command("fit", *tables(tmp_path, blobs.data.views), "--clusters", 8, *balanced)
    assert code == 0
    sentence = "The model prefers clusters of equal size, and the groups look unequal"
    assert sentence in " ".join(out.split())
    assert sentence in (tmp_path / "manyview-run" / "report.html").read_text(encoding="utf-8")


def test_names_that_are_formulas_are_not_run_and_come_back(command, files):
    table = pd.read_csv(files / "rna.csv", sep=";", decimal=",", index_col=0)
    names = [
        "=cmd|' /C calc'!A0",
        "+1",
        "-2",
        "@x",
        "a\rb",
        "c\u2028d",
        "e\x1b[2J",
        *table.index[7:],
    ]
    table.set_axis(pd.Index(names, name="sample")).to_parquet("named.parquet")
    code, out, err = command("fit", "named.parquet", "--clusters", 3, "--out", "run")
    assert code == 0, err
    assert "7 of 85 names would be formulas" in " ".join(out.split())
    cells = Path("run/labels.csv").read_text(encoding="utf-8").splitlines()[1:8]
    assert all(cell.startswith(("'", "\"'")) for cell in cells)
    assert "\x1b[2J" not in out
    assert pd.read_parquet("run/labels.parquet")["sample"].tolist() == names
    code, _, err = command("fit", "named.parquet", "--clusters", 3, "--meta", "run/labels.csv")
    assert code == 0, err
