"""The study as a process: what it writes, that it survives a kill, and that it repeats nothing."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from manyview.study.reproduction import ReproduceRequest, reproduce
from manyview.study.reproduction import runs as runs_module
from manyview.study.reproduction import scope as scope_module
from manyview.study.reproduction.claims import CLAIMS, VERDICTS
from manyview.study.reproduction.judges import UNCHECKED
from manyview.study.reproduction.scope import find_sets, set_scope

pytestmark = pytest.mark.slow  # whole studies, in processes of their own

TABLES = ("table1_sets", "table2_oracle", "table2_label_free", "row_order", "ablation", "claims")
FIGURES = ("table2_oracle", "table2_label_free", "row_order", "ablation")
BOTH = ("running_time", "objective", "sensitivity")


def keys(out):
    """Keys of all rows in all logs, in their order."""
    return [
        json.loads(line)["key"]
        for log in sorted((out / "runs").rglob("*.jsonl"))
        for line in log.read_text().splitlines()
    ]


def test_every_part_is_a_csv_and_every_figure_an_svg(study):
    for name in (*TABLES, *BOTH):
        assert len(pd.read_csv(study / f"{name}.csv")) > 0, name
    for name in (*FIGURES, *BOTH):
        root = ElementTree.parse(study / f"{name}.svg").getroot()
        assert root.tag.endswith("svg")


def test_the_protocols_are_never_in_one_table(study):
    oracle = pd.read_csv(study / "table2_oracle.csv")
    free = pd.read_csv(study / "table2_label_free.csv")
    assert set(oracle["protocol"]) == {"oracle"}
    assert set(free["protocol"]) == {"label-free"}
    assert set(oracle["method"]) == set(free["method"]) == {"published_omvcdr", "omvcdr"}
    for folder, order in (("oracle", "file"), ("label-free", "shuffled")):
        for path in (study / "runs" / folder).rglob("rows.csv"):
            rows = pd.read_csv(path)
            assert set(rows["rows"]) == {order}
            assert ("lam" in "".join(rows["parameters"])) <= (folder == "oracle")


def test_each_value_is_that_of_a_run(study):
    """The oracle's ACC of the published method is the largest of its rows."""
    rows = pd.read_csv(study / "runs" / "oracle" / "not-random" / "rows.csv")
    table = pd.read_csv(study / "table2_oracle.csv").set_index(["data", "method", "metric"])
    assert len(rows) == 2 * 2
    for data, group in rows.groupby("data"):
        own = table.loc[(data, "published_omvcdr", "acc")]
        assert own["mean"] == pytest.approx(group["acc"].max())


def test_the_two_step_row_has_fifty_runs(study):
    table = pd.read_csv(study / "ablation.csv")
    own = table[table["method"] == "two_step"]
    assert set(own["n_runs"]) == {50}
    assert own["paper_mean"].isna().all()


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.references += [attributes[key] for key in ("src", "href") if key in attributes]
        self.ids += [attributes["id"]] if tag == "section" else []  # not those inside figures
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(study):
    text = (study / "index.html").read_text()
    page = Page(text)
    assert page.references == ["data:,"]
    assert "http" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert page.ids == [
        "about", "claims", "beside", "sets", "oracle", "label-free", "order", "ablation", "time",
        "objective", "sensitivity", "run",
    ]  # fmt: skip
    assert "A quick study." in text
    assert "Not complete." not in text


def section(study, name):
    text = (study / "index.html").read_text()
    return text.split(f'<section id="{name}">')[1].split("</section>")[0]


def test_the_claims_are_judged_in_a_table_in_markdown_and_on_the_page(study):
    table = pd.read_csv(study / "claims.csv")
    markdown = (study / "claims.md").read_text()
    assert list(table["claim"]) == [claim.text for claim in CLAIMS]
    assert section(study, "claims").count("<li>") == len(table)
    for row in table.itertuples():
        assert f"| {row.claim} | {row.section} | **{row.verdict}** | {row.evidence} |" in markdown
    for verdict in VERDICTS:
        n = (table["verdict"] == verdict).sum()
        assert f"| {verdict} | {n} |" in markdown
        assert (f">{verdict}: {n}</span>" in section(study, "claims")) == (n > 0)


def test_a_claim_whose_runs_are_not_all_there_is_open_unless_no_run_can_change_it(study):
    table = pd.read_csv(study / "claims.csv").set_index("claim")
    lacks = table["n_done"] < table["n_needed"]  # of the rivals, which this study leaves out
    assert {"OMVCDR is better than LMVSC."} <= set(table.index[lacks])
    final = {verdict for claim in CLAIMS for verdict in claim.final}
    assert set(table.loc[lacks, "verdict"]) <= {UNCHECKED, *final}
    own = table.loc["OMVCDR is better than LMVSC."]
    assert own["evidence"].startswith("Not decided: ")
    fits = table.loc["The objective falls monotonically."]  # one fit for each set, all are there
    assert (fits["verdict"], fits["n_done"], fits["n_needed"]) == ("holds", 2, 2)
    n_open = (lacks & (table["verdict"] == UNCHECKED)).sum()
    waiting = f"{n_open} claims wait for runs"
    assert waiting in section(study, "claims")
    assert waiting in (study / "claims.md").read_text()


def test_a_quick_study_is_the_beginning_of_the_whole_one(folder, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    quick, whole = (
        runs_module.stages(set_scope(ReproduceRequest(quick=quick), find_sets()))
        for quick in (True, False)
    )
    others = {part.folder: part for part in whole}
    for one in quick:
        other = others[one.folder]
        assert one.conditions.grids == other.conditions.grids  # no part of a grid is a grid
        assert set(one.conditions.seeds) <= set(other.conditions.seeds)
        assert one.conditions.time_limit < other.conditions.time_limit
    folders = [part.folder for part in quick]
    assert folders.index("oracle/one-step") < folders.index("order") < folders.index("ablation")
    assert "ablation-shuffled" not in folders
    variants = others["ablation-shuffled"]
    assert variants.conditions.rows == "shuffled"
    assert {method.name for method in variants.methods} == set(runs_module.ABLATION)
    assert all(len(grid) == 11 for grid in variants.conditions.grids.values())


def test_best_is_bold_and_second_underlined_in_every_column(study):
    table = pd.read_csv(study / "table2_label_free.csv")
    text = section(study, "label-free")
    assert text.count('<td class="best"') == (table["place"] == 1).sum()
    assert text.count('<td class="second"') == (table["place"] == 2).sum()


def test_the_papers_tables_are_written_in_latex_too(study):
    table = pd.read_csv(study / "table2_oracle.csv").set_index(["data", "method", "metric"])
    text = (study / "table2_oracle.tex").read_text()
    ours = table.loc[("bdgp", "published_omvcdr", "acc"), "mean"]
    assert text.count("\\begin{tabular}") == 4
    assert f"\\textbf{{{ours:.4f}}} (0.5696) \\\\" in text
    assert "YTF-20 (no file) & -- (--)" in text
    assert (study / "ablation.tex").exists()


def test_a_report_runs_nothing_and_times_only_what_they_are(study, folder, monkeypatch, tmp_path):
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    request = ReproduceRequest(only="report", methods=("published_omvcdr", "omvcdr"))
    summary = reproduce(request, tmp_path)
    assert summary["facts"]["n_done"] == 0
    assert keys(tmp_path) == []
    summary = reproduce(replace(request, only="times"), tmp_path)
    assert summary["facts"]["n_done"] == 0
    times = pd.read_csv(tmp_path / "running_time.csv")
    assert times["data"].tolist() == ["handwritten_2v", "bdgp"]
    assert (times["n_runs"] == 5).all()
    assert len(keys(tmp_path)) == 10


def test_the_papers_values_are_on_the_page_of_its_own_protocol_only(study):
    assert '<td class="paper">0.9250</td>' in section(study, "oracle")
    assert "<small>0.9250</small></td>" in section(study, "beside")
    assert 'class="paper"' not in section(study, "label-free")


def test_a_finished_study_runs_nothing_again(study, folder, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    monkeypatch.setattr(scope_module, "POWERS", (0, 3))
    before = keys(study)
    page = (study / "index.html").read_text()
    reproduce(ReproduceRequest(quick=True, methods=("published_omvcdr", "omvcdr")), study)
    assert keys(study) == before
    assert (study / "index.html").read_text() == page


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_a_killed_study_goes_on_where_it_was(folder, start, tmp_path):
    """A real process, killed with SIGKILL in the middle of its runs, then started again."""
    out = tmp_path / "out"
    first = start(folder, out)
    log = out / "runs" / "oracle" / "not-random" / "rows.jsonl"
    for _ in range(2400):
        if log.exists() and log.read_text().count("\n") >= 2:
            break
        assert first.poll() is None
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert not (out / "index.html").exists()
    before = keys(out)
    done = {path: path.read_text() for path in (out / "runs").rglob("*.jsonl")}
    second = start(folder, out, stderr=subprocess.PIPE, text=True)
    _, errors = second.communicate()
    assert second.returncode == 0, errors
    after = keys(out)
    assert len(after) == len(set(after)) > len(before)
    for path, text in done.items():
        whole = text[: text.rfind("\n") + 1]  # the kill may have torn the last line
        assert path.read_text().startswith(whole)
    assert (out / "index.html").exists()


def test_a_study_without_time_left_says_so_and_draws_what_there_is(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    monkeypatch.setattr(scope_module, "QUICK_SECONDS", -1.0)
    summary = reproduce(
        ReproduceRequest(quick=True, methods=("published_omvcdr", "omvcdr")), tmp_path
    )
    facts = summary["facts"]
    assert facts["n_waiting"] == facts["n_runs"] > 0
    assert keys(tmp_path) == []
    text = (tmp_path / "index.html").read_text()
    Page(text)
    assert "Not complete." in text
    assert not (tmp_path / "objective.svg").exists()
    table = pd.read_csv(tmp_path / "claims.csv")
    assert set(table.loc[table["n_needed"] > 0, "verdict"]) == {UNCHECKED}


def test_a_method_that_declined_a_set_is_not_asked_again_with_another_seed(folder, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    scope = set_scope(
        ReproduceRequest(quick=True, methods=("published_omvcdr", "omvcdr")), find_sets()
    )
    part = next(one for one in runs_module.stages(scope) if one.stage == "label-free")
    part = replace(part, conditions=replace(part.conditions, seeds=range(3)))
    rows = [(one.file, method.name, "done") for one in part.sets for method in part.methods]
    first = pd.DataFrame(rows, columns=["data", "method", "status"])
    first.loc[first["data"].eq("bdgp") & first["method"].eq("omvcdr"), "status"] = "declined"
    rest = runs_module._other_seeds(part, first)
    asked = {
        (one.file, method.name) for part in rest for one in part.sets for method in part.methods
    }
    assert asked == {(data, method) for data, method, _ in rows} - {("bdgp", "omvcdr")}
    assert all(list(part.conditions.seeds) == [1, 2] for part in rest)


def test_the_command_line(folder, tmp_path):
    command = [sys.executable, "-m", "manyview", "reproduce", "--quick", "--out", "study"]
    command += ["--report", "--data", str(folder)]
    environment = {**os.environ, "MANYVIEW_DATA": str(tmp_path)}
    done = subprocess.run(
        [*command, "--jobs", "2", "--time-limit", "5"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "index.html in study" in " ".join(done.stdout.split())
    assert "claims wait for runs" in " ".join(done.stdout.split())
    assert re.search(r"of\s+the\s+paper's\s+7\s+sets\s+were\s+found", done.stdout)
    assert (tmp_path / "study" / "index.html").exists()


def test_no_data_is_one_sentence_and_code_2(tmp_path):
    command = [sys.executable, "-m", "manyview", "reproduce", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "MANYVIEW_DATA": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Set MANYVIEW_DATA" in done.stderr


def test_the_papers_sets_come_first_and_a_quick_study_takes_the_small_ones(folder, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    others = ("aaa", "ccv", "flower17_derived_7v", "ytf10")
    for name in others:
        np.savez(folder / f"{name}.npz", view_0=np.eye(8), view_1=np.eye(8), y=[0, 1] * 4)
    try:
        found = find_sets()
        quick = set_scope(ReproduceRequest(quick=True), found)
        assert [one.title for one in quick.sets] == ["HandWritten", "BDGP"]
        assert [one.title for one in quick.traced] == ["YTF-10"]
        full = set_scope(ReproduceRequest(), found)
        assert [one.title for one in full.sets] == [
            "HandWritten", "BDGP", "YTF-10", "Flower17 (derived features)", "ccv",
        ]  # fmt: skip
        assert [one.file for one in full.paper_sets][-1] == "flower17_derived_7v"
        assert len(full.grids["published_omvcdr"]) == 11
        named = find_sets(["aaa"])
        assert [one.file for one in set_scope(ReproduceRequest(sets=["aaa"]), named).sets] == [
            "aaa"
        ]
    finally:
        for name in others:
            (folder / f"{name}.npz").unlink()
