"""The paper's numbers, as data."""

import re
from pathlib import Path

import pytest

from manyview._version import __version__
from manyview.datasets.registry import PAPER_SETS
from manyview.exceptions import ViewError
from manyview.study import known_methods
from manyview.study.paper import CITATIONS, cite, paper_ablation, paper_results


def test_the_tables_are_complete():
    results, ablation = paper_results(), paper_ablation()
    assert len(results) == 7 * 8 * 4
    assert len(ablation) == 7 * 4 * 4
    names = {paper_set.name for paper_set in PAPER_SETS}
    assert set(results["data"]) == set(ablation["data"]) == names
    assert results["mean"].dropna().between(0, 1).all()


def test_the_full_method_has_the_same_numbers_in_both_tables():
    key = ["data", "metric"]
    full = [
        table.query("method == 'omvcdr'").set_index(key)["mean"].sort_index()
        for table in (paper_results(), paper_ablation())
    ]
    assert (full[0] == full[1]).mean() > 0.9


def test_known_values():
    table = paper_results().set_index(["data", "method", "metric"])
    assert table.loc[("HandWritten", "omvcdr", "acc"), "mean"] == 0.9250
    assert table.loc[("BDGP", "lmvsc", "acc"), "std"] == 0.0211
    assert table["mean"].isna()[("BDGP", "sfmc", "acc")]


def test_every_published_method_can_be_cited():
    ours = {"concat_kmeans", "concat_spectral", "best_single_view", "matrix_factorization"}
    assert set(known_methods()) - ours <= set(CITATIONS)
    entry = cite("lmvsc")
    assert entry.startswith("@inproceedings{kang2020lmvsc,")
    assert entry.count("{") == entry.count("}")


def test_an_unknown_method_is_refused_with_the_names():
    with pytest.raises(ViewError, match="Expected one of manyview, awmvc"):
        cite("kmeans")
    with pytest.raises(ViewError, match="Did you mean 'lmvsc'"):
        cite("lmvcs")


def test_the_package_cites_itself_with_its_version():
    entry = cite("manyview")
    assert entry.startswith("@software{manyview,")
    assert f"version = {{{__version__}}}" in entry
    assert entry.count("{") == entry.count("}")
    card = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in card
    for part in re.findall(r"family-names: (\w+), given-names: (\w+)", card):
        assert ", ".join(part) in cite("omvcdr")


@pytest.mark.parametrize("method", sorted(CITATIONS))
def test_identifiers_look_like_what_they_are(method):
    entry = cite(method)
    for doi in re.findall(r"doi = {(.*)}", entry):
        assert re.fullmatch(r"10\.\d{4,5}/\S+", doi)
    for number in re.findall(r"eprint = {(.*)}", entry):
        assert re.fullmatch(r"\d{4}\.\d{5}", number)
