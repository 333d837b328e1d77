"""Methods by name."""

import pytest

from manyview import OMVCDR
from manyview.baselines import BASELINES
from manyview.exceptions import ViewError
from manyview.study import find_method, known_methods
from manyview.study.methods import SOURCE, _imported_files


def test_ours_are_known_by_name():
    assert find_method("omvcdr").load() is OMVCDR
    assert set(BASELINES) < set(known_methods())


def test_parameters_reach_a_method_that_takes_them(stranger):
    assert find_method("omvcdr").make(n_clusters=4, time_limit=3).n_clusters == 4
    assert find_method("stranger:Plain").make(n_clusters=4, time_limit=3).n_clusters == 4


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("kmeanz", "There is no method 'kmeanz'; expected one of"),
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
    with pytest.raises(ViewError, match=r"expected|no parameter"):
        find_method(name)


def test_what_only_tells_of_a_fit_does_not_make_a_new_version():
    source = "from manyview.reported import Reported\nfrom manyview.kernels.block import Block"
    found = {file for file in _imported_files(source) if file.is_file()}
    assert found == {SOURCE / "blocks.py"}
