"""Methods by name."""

import pytest

from manyview import OMVCDR
from manyview.baselines import BASELINES
from manyview.exceptions import ViewError
from manyview.study import find_method, known_methods
from manyview.study.methods import VERSIONS


def test_ours_are_known_by_name():
    assert find_method("omvcdr").load() is OMVCDR
    assert set(BASELINES) < set(known_methods())


def test_parameters_reach_a_method_that_takes_them(stranger):
    assert find_method("omvcdr").make(n_clusters=4, time_limit=3).n_clusters == 4
    assert find_method("stranger:Plain").make(n_clusters=4, time_limit=3).n_clusters == 4


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("kmeanz", "There is no method 'kmeanz'. .*Expected one of"),
        ("lmvcs", "Did you mean 'lmvsc'"),
        ("nowhere:Thing", "could not be imported"),
        ("stranger:Thing", "could not be imported"),
        ("stranger:NoClusterer", "has no fit_predict"),
    ],
)
def test_unknown_methods_are_refused(stranger, name, sentence):
    with pytest.raises(ViewError, match=sentence):
        find_method(name)


def test_a_method_may_be_given_parameters():
    method = find_method("concat_kmeans(scale='l2', n_init=3)")
    assert method.make(n_clusters=2).get_params()["n_init"] == 3
    assert method.make(n_clusters=2).scale == "l2"
    assert method.version == find_method("concat_kmeans").version


@pytest.mark.parametrize(
    "name", ["concat_kmeans(3)", "concat_kmeans(scale=open('x'))", "concat_kmeans(depth=3)",
             "concat_kmeans(scale=)", "nothing(scale=3)"]
)  # fmt: skip
def test_parameters_that_cannot_be_read_are_refused(name):
    with pytest.raises(ViewError, match=r"[Ee]xpected|no parameter"):
        find_method(name)


def test_our_methods_have_a_number_as_version_and_it_can_be_raised(monkeypatch):
    assert find_method("lmvsc").version == "1"
    monkeypatch.setitem(VERSIONS, "concat_kmeans", 2)
    assert find_method("concat_kmeans").version == "2"
    assert find_method("concat_kmeans(scale='l2')").version == "2"
    assert find_method("omvcdr").version == "2"


def test_the_table_of_versions_names_methods_that_exist():
    assert set(VERSIONS) <= {*known_methods(), "two_step"}


def test_the_version_of_another_class_is_a_digest_of_its_file(stranger, tmp_path):
    method = find_method("stranger:Plain")
    before = method.version
    assert before == find_method("stranger:Slow").version != "1"
    source = tmp_path / "code" / "stranger.py"
    source.write_text(source.read_text() + "\n# better now\n")
    assert method.version != before
