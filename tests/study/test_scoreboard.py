"""The scoreboard against hand-made rows."""

import pandas as pd
import pytest

from manyview.datasets import make_multiview_blobs
from manyview.metrics import clustering_accuracy
from manyview.study.ablation import VARIANTS, TwoStepOMVCDR
from manyview.study.methods import find_method
from manyview.study.scoreboard import scoreboard, write_scoreboard

VARIANT = "omvcdr(n_spaces=1)"
NMI = {  # method: a value a set and seed
    "omvcdr": {"first": (0.8, 0.6), "second": (0.5, 0.5)},
    "concat_kmeans": {"first": (0.5, 0.5), "second": (0.9, 0.9)},
    "ksums": {"first": (0.1, 0.1)},
    VARIANT: {"first": (1.0, 1.0), "second": (1.0, 1.0)},
}


@pytest.fixture
def rows():
    lines = []
    for method, sets in NMI.items():
        for data in ("first", "second"):
            for seed in range(2):
                line = {"data": data, "method": method, "seed": seed, "rows": "shuffled",
                        "time_limit": 60.0, "status": "declined"}  # fmt: skip
                if data in sets:
                    value = sets[data][seed]
                    line |= dict.fromkeys(("acc", "nmi", "ari", "fscore"), value)
                    line |= {"status": "done", "seconds": 2.0 if method == "omvcdr" else 4.0}
                lines.append(line)
    return pd.DataFrame(lines)


def test_means_spread_ranks_and_wins(rows):
    board = scoreboard(rows)
    ours, kmeans, ksums = (board.loc[name] for name in ("omvcdr", "concat_kmeans", "ksums"))
    assert ours["nmi"] == pytest.approx(0.6)
    assert ours["nmi_spread"] == pytest.approx(0.05)
    assert (ours["rank_nmi"], kmeans["rank_nmi"], ksums["rank_nmi"]) == (1.5, 1.5, 3)
    assert (kmeans["wins"], kmeans["losses"]) == (1, 1)
    assert (ksums["n_sets"], ksums["losses"]) == (1, 1)
    assert ours["relative_time"] == 0.5


def test_variants_have_no_rank_and_come_last(rows):
    board = scoreboard(rows)
    assert board.index[-1] == VARIANT
    assert pd.isna(board.loc[VARIANT, "rank_nmi"])


def test_the_page_holds_every_method_and_set_and_needs_nothing_else(rows, tmp_path):
    write_scoreboard(rows, tmp_path)
    page = (tmp_path / "scoreboard.html").read_text()
    for text in ("concat_kmeans", "ksums", VARIANTS[VARIANT], "first", "second"):
        assert text in page
    assert "http" not in page
    assert pd.read_csv(tmp_path / "scoreboard.csv", index_col=0).loc["omvcdr", "nmi"] == 0.6
    assert len(pd.read_csv(tmp_path / "scoreboard_sets.csv")) == 7


def test_methods_on_scaled_views_have_short_titles(rows, tmp_path):
    long = "manyview.study.prescaled:Prescaled(method='ksums', scale='l2')"
    write_scoreboard(rows.replace({"method": {"ksums": long}}), tmp_path)
    page = (tmp_path / "scoreboard.html").read_text()
    assert "ksums, l2" in page
    assert "Prescaled" not in page


def test_variants_alone_have_a_page_too(rows, tmp_path):
    write_scoreboard(rows[rows["method"] == VARIANT], tmp_path)
    assert VARIANTS[VARIANT] in (tmp_path / "scoreboard.html").read_text()


def test_every_variant_can_be_made():
    for name in VARIANTS:
        assert find_method(name).make(n_clusters=3, random_state=0).n_clusters == 3


def test_two_steps_find_clear_clusters():
    data, y = make_multiview_blobs(random_state=0, return_X_y=True)
    assert clustering_accuracy(y, TwoStepOMVCDR(3, random_state=0).fit_predict(data)) > 0.95
