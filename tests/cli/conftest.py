"""Three views of 90 samples as a user has them: shuffled, incomplete, in three formats."""

import sys

import numpy as np
import pandas as pd
import pytest

from manyview.cli import main
from manyview.datasets import make_multiview_blobs

NAMES = np.array([f"P{i:02d}" for i in range(90)])


@pytest.fixture(scope="session")
def truth():
    return make_multiview_blobs(90, n_features=(20, 24, 12), random_state=0).target


@pytest.fixture(scope="session")
def tables():
    """The views, with names of samples and features, complete and in order."""
    data = make_multiview_blobs(90, n_features=(20, 24, 12), random_state=0).data
    return {
        name: pd.DataFrame(
            np.asarray(view),
            index=pd.Index(NAMES, name="sample"),
            columns=[f"{name}{j}" for j in range(view.shape[1])],
        )
        for name, view in zip(["rna", "protein", "meth"], data.views, strict=True)
    }


@pytest.fixture(scope="session")
def files(tables, truth, tmp_path_factory):
    """Shuffled rows; five samples missing in each; one table turned, one with decimal commas."""
    folder = tmp_path_factory.mktemp("files")
    shuffled = {
        name: table.drop(index=NAMES[5 * v : 5 * v + 5]).sample(frac=1, random_state=v)
        for v, (name, table) in enumerate(tables.items())
    }
    shuffled["rna"].to_csv(folder / "rna.csv", sep=";", decimal=",")
    shuffled["protein"].T.to_csv(folder / "protein.csv")
    shuffled["meth"].to_parquet(folder / "meth.parquet")
    clinical = pd.DataFrame(
        {
            "patient": NAMES,
            "stage": [f"stage {c}" for c in truth],
            "age": np.arange(90) % 41 + 0.5,
            "site": "here",
        }
    )
    clinical.iloc[::-1].to_csv(folder / "clinical.csv", index=False)
    return folder


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run a command in this process, inside an empty folder: exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["manyview", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return run
