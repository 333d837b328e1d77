"""`manyview fit` of files of cells: what they say about cells, and results written back."""

import json

import numpy as np
import pytest

from helpers.cells import counts_of, mtx_files, write_annotated, write_tenx_h5

h5py = pytest.importorskip("h5py")
N = 60
NAMES = [f"cell{i}" for i in range(N)]


@pytest.fixture
def annotated(tmp_path):
    """Two groups of cells, whose donor, type and survival are in obs."""
    rng = np.random.default_rng(0)
    group = np.arange(N) % 2
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        about = {
            "type": np.array(["b", "t"])[group].astype("S"),
            "donor": rng.integers(3, size=N),
            "days": rng.exponential(size=N) + group,
            "dead": group,
        }
        values = rng.normal(size=(N, 6)) + 6 * group[:, None]
        write_annotated(file, values, NAMES, [f"g{j}" for j in range(6)], about)
    return tmp_path / "a.h5ad"


def test_obs_is_the_metadata(command, annotated, tmp_path):
    options = ("--truth", "type", "--batch", "donor", "--time", "days", "--event", "dead")
    code, out, err = command("fit", annotated, "-k", 2, "--out", tmp_path / "run", *options)
    assert (code, err) == (0, "")
    assert "Taken as metadata: the 4 columns about the samples (obs)" in " ".join(out.split())
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert {row["column"] for row in result["meta"]} == {"type", "donor"}
    assert result["truth"]["methods"][0]["metrics"]["acc"] == 1
    assert result["batch"] is not None or result["survival"]
    assert result["survival"]["time"] == "days"


def test_metadata_in_a_file_and_in_obs_are_joined(command, annotated, tmp_path):
    rows = "\n".join(f"{name},{i % 4}" for i, name in enumerate(NAMES))
    (tmp_path / "m.csv").write_text(f"cell,donor\n{rows}\n")
    out = tmp_path / "run"
    assert command("fit", annotated, "-k", 2, "--meta", tmp_path / "m.csv", "--out", out)[0] == 0
    columns = {row["column"] for row in json.loads((out / "result.json").read_text())["meta"]}
    assert {"donor", "type"} <= columns


def test_results_are_written_into_a_copy(command, annotated, tmp_path):
    before = annotated.read_bytes()
    out = tmp_path / "run"
    code, said, _ = command("fit", annotated, "-k", 2, "--write-back", "--json", "--out", out)
    assert code == 0
    assert "annotated" in json.loads(said)["files"]
    assert annotated.read_bytes() == before
    with h5py.File(out / "annotated" / "a.h5ad") as file:
        assert set(file["obs/manyview/codes"][:]) == {0, 1}
        assert file["obsm/X_manyview"].shape[0] == N
        assert "manyview_confidence" in list(file["obs"].attrs["column-order"])
        assert set(file["uns/manyview"]) == {"params", "view_weights", "stability", "versions"}
    # a run without it leaves no copy of an earlier one
    assert command("fit", annotated, "-k", 2, "--out", out)[0] == 0
    assert not (out / "annotated").exists()
    assert "write-back" not in (out / "run.toml").read_text()


def test_what_cannot_be_written_back_is_refused_before_the_fit(command, tmp_path):
    code, _, err = command("fit", "none.csv", "-k", 2, "--write-back", "--out", tmp_path / "run")
    assert code == 2
    assert "writes into copies of .h5ad and .h5mu files; received none" in err


def test_new_cells_are_predicted_from_another_kind_of_file(command, tmp_path):
    """The fit reads a folder, predict an HDF5 file with more kinds of features."""
    views, barcodes = counts_of(40, sizes=(6, 5, 4))
    folder = tmp_path / "filtered_feature_bc_matrix"
    folder.mkdir()
    for name, content in mtx_files(views, barcodes).items():
        (folder / name).write_bytes(content)
    options = ("-k", 2, "--views", "rna,prot", "--out", tmp_path / "run")
    assert command("fit", folder, *options)[0] == 0
    with h5py.File(tmp_path / "new.h5", "w") as file:
        write_tenx_h5(file, views, barcodes)
    new = ("--model", tmp_path / "run", "--views", "rna,prot", "--out", tmp_path / "new.csv")
    code, _, err = command("predict", tmp_path / "new.h5", *new)
    assert (code, err) == (0, "")
    fitted = [line.split(",")[:2] for line in (tmp_path / "run/labels.csv").read_text().split()]
    predicted = [line.split(",")[:2] for line in (tmp_path / "new.csv").read_text().split()]
    assert fitted == predicted
