"""Batch means: what is taken off, what is refused, and that groups come out from behind them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from manyview import OMVCDR, MultiViewData
from manyview.data.batches import center_batches
from manyview.exceptions import ViewError
from manyview.metrics import clustering_accuracy
from manyview.report import describe_fit

N = 120


@pytest.fixture
def confounded(rng):
    """Two groups in two batches that lie much further apart than the groups."""
    group, batch = np.arange(N) % 2, np.arange(N) // 2 % 2
    views = []
    for d in (6, 9):
        views.append(
            rng.normal(size=(N, d))
            + 2.5 * np.outer(group, rng.choice([-1, 1], d))
            + 12 * np.outer(batch, rng.choice([-1, 1], d))
        )
    return views, group, batch + 7  # batches may be numbered


def test_each_batch_gets_the_mean_of_all_and_keeps_its_spread(confounded):
    views, _, batch = confounded
    data = MultiViewData.of(views)
    centered = center_batches(data, pd.Series(batch))
    for before, after in zip(data.views, centered.views, strict=True):
        for b in (7, 8):
            rows = batch == b
            np.testing.assert_allclose(after[rows].mean(axis=0), before.mean(axis=0))
            np.testing.assert_allclose(after[rows].std(axis=0), before[rows].std(axis=0))


def test_missing_rows_count_for_no_mean_and_stay(confounded):
    views, _, batch = confounded
    present = np.ones((N, 2), dtype=bool)
    present[:9, 1] = False
    views[1][:9] = 1e3
    centered = center_batches(MultiViewData.of(views, present=present), pd.Series(batch))
    assert (centered.views[1][:9] == 1e3).all()
    assert np.abs(centered.views[1][9:]).max() < 100


@pytest.mark.parametrize(
    ("views", "batch", "sentence"),
    [
        ([np.ones((4, 2))], [1, 1, 2, None], "1 samples have no batch"),
        ([np.ones((4, 2))], [1, 1, 1, 2], "has one sample"),
        ([sparse.csr_array(np.eye(4))], [1, 1, 2, 2], "is sparse; batch means are"),
    ],
)
def test_what_cannot_be_centered_is_refused(views, batch, sentence):
    with pytest.raises(ViewError, match=sentence):
        center_batches(MultiViewData.of(views), pd.Series(batch, name="site"))


def described(views, group, batch):
    model = OMVCDR(n_clusters=2, random_state=0).fit(views)
    meta = pd.DataFrame({"site": batch, "group": group, "age": np.arange(N) % 17 / 3})
    return model.labels_, describe_fit(model, MultiViewData.of(views), meta=meta, batch="site")


def test_clusters_that_follow_the_batch_are_told_and_centering_mends_it(confounded):
    views, group, batch = confounded
    labels, result = described(views, group, batch)
    assert clustering_accuracy(batch, labels) == 1
    assert result["batch"]["follows"]
    assert "follow the batch (site) more than any other column" in result["batch"]["sentence"]
    (row,) = [row for row in result["meta"] if row["column"] == "site"]
    assert row["table"]["categories"] == ["7", "8"]
    centered = list(center_batches(MultiViewData.of(views), pd.Series(batch)).views)
    labels, result = described(centered, group, batch)
    assert clustering_accuracy(group, labels) > 0.95
    assert result["batch"]["follows"] is False


@pytest.fixture
def files(confounded, tmp_path):
    views, group, batch = confounded
    names = [f"p{i}" for i in range(N)]
    for name, view in zip(("rna", "protein"), views, strict=True):
        table = pd.DataFrame(view, index=names).add_prefix(name)
        table.to_csv(tmp_path / f"{name}.csv", index_label="sample")
    clinical = pd.DataFrame({"sample": names, "site": batch, "group": group})
    clinical.to_csv(tmp_path / "clinical.csv", index=False)
    return tmp_path


def test_the_command_warns_and_takes_the_means_off(files, monkeypatch, capsys):
    import sys

    from manyview.cli import main

    monkeypatch.chdir(files)
    options = ["rna.csv", "protein.csv", "-k", "2", "-m", "clinical.csv", "--batch", "site"]
    found = []
    for more in ([], ["--center-batches"]):
        monkeypatch.setattr(sys, "argv", ["manyview", "fit", *options, *more, "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        found.append(json.loads(capsys.readouterr().out))
    assert [one["batch"]["follows"] for one in found] == [True, False]
    assert any("were taken off each view" in note for note in found[1]["notes"])
    page = Path("manyview-run/report.html").read_text(encoding="utf-8")
    assert "do not follow the batch" in page


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--batch", "sites", "-m", "clinical.csv"], "Did you mean 'site'?"),
        (["--batch", "site"], "expected a column of --meta, which is not given. Add it."),
        (["--center-batches"], "--center-batches needs --batch"),
    ],
)
def test_batches_that_are_not_there_are_one_sentence(files, monkeypatch, capsys, options, sentence):
    import sys

    from manyview.cli import main

    monkeypatch.chdir(files)
    monkeypatch.setattr(sys, "argv", ["manyview", "fit", "rna.csv", "-k", "2", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
