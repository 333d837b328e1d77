"""The first pages: what they tell a newcomer to type works, and the examples stay short."""

import re
from pathlib import Path

import pandas as pd
import pytest

from manyview.datasets import make_multiview_blobs

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with the two tables that the pages read."""
    data = make_multiview_blobs(60, (5, 8), n_clusters=4, random_state=0).data
    for name, view in zip(["rna", "protein"], data.views, strict=True):
        table = pd.DataFrame(view, index=[f"s{i}" for i in range(60)])
        table.add_prefix(name).to_csv(tmp_path / f"{name}.csv", index_label="sample")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_python_of(page):
    known = {}
    for source in PYTHON.findall(text_of(page)):
        exec(compile(source, page, "exec"), known)
    return known


def test_the_python_of_the_readme_labels_samples_and_writes_a_report(folder):
    known = run_python_of("README.md")
    assert (known["new"] == known["model"].labels_[:5]).all()
    assert (folder / "report.html").exists()


def test_the_first_steps_leave_labels_and_a_model(folder):
    run_python_of("docs/start.md")
    labels = pd.read_csv(folder / "labels.csv", index_col="sample")
    assert list(labels.columns) == ["cluster", "confidence"]
    assert len(labels) == 60
    assert (folder / "products.mv").exists()


def test_the_readme_says_what_the_scoreboard_says():
    board = pd.read_csv(ROOT / "docs" / "results" / "scoreboard.csv").query("not is_variant")
    sentence = f"first by mean rank of {len(board)} methods over {board['n_sets'].max()} data sets"
    assert sentence in " ".join(text_of("README.md").split())
    assert (board.set_index("method")[["rank_acc", "rank_nmi"]].idxmin() == "omvcdr").all()


def test_the_examples_are_in_the_order_of_the_course():
    # by name, as the gallery sorts them
    assert [path.name.split("_")[1] for path in EXAMPLES] == [*"123456789", "a"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_draws_something(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert "plt.show()" in text


def test_the_readme_is_short_and_begins_with_its_title_and_two_commands():
    lines = text_of("README.md").splitlines()
    assert lines[0] == "# manyview"
    assert len(lines) < 100
    assert [line.split("#")[0].strip() for line in lines if line.startswith("make ")][:2] == [
        "make demo",
        "make test",
    ]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_and_paths_of_the_first_pages_lead_somewhere(page):
    text = text_of(page)
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text)]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_files_that_contributing_names_exist():
    names = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./]+)`", text_of("CONTRIBUTING.md"))
    assert len(names) > 20
    assert [name for name in names if not (ROOT / name).exists()] == []
