"""What holds for every method: the same sentences, the same limits, the same interface."""

import inspect
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from helpers.bad_inputs import BAD_INPUTS as CASES
from manyview import OMVCDR, MultiViewData
from manyview.baselines import BASELINES
from manyview.baselines._finish import lowest
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import DeclinedError, ViewError
from manyview.study.grids import published_grids, resolved


@pytest.fixture(scope="module")
def blobs():
    return make_multiview_blobs(60, (9, 14), n_clusters=3, random_state=0, return_X_y=True)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("case", CASES)
def test_bad_input_gets_the_sentence_that_omvcdr_gives(name, case):
    X, _ = CASES[case]
    sentences = []
    for model in (OMVCDR(3), BASELINES[name](3)):
        before = dict(vars(model))
        with pytest.raises(ViewError) as caught:
            model.fit(X)
        sentences.append(str(caught.value))
        assert vars(model) == before
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("name", BASELINES)
def test_missing_views_are_refused_by_name(name, blobs):
    data, _ = blobs
    present = np.ones((60, 2), dtype=bool)
    present[5, 0] = False
    kind = BASELINES[name]
    with pytest.raises(ViewError, match=f"{kind.__name__} expects every sample in every view"):
        kind(3).fit(MultiViewData.of(data, present=present))


@pytest.mark.parametrize("name", BASELINES)
def test_a_method_declines_by_a_sentence_that_names_the_limit(name, blobs):
    data, _ = blobs
    kind = BASELINES[name]
    with pytest.raises(DeclinedError, match=f"^{kind.__name__} .*memory_limit"):
        kind(3, memory_limit=1).fit(data)
    with pytest.raises(DeclinedError, match=f"^{kind.__name__} .*time_limit"):
        kind(3, time_limit=1e-9).fit(data)


@pytest.mark.parametrize("name", BASELINES)
def test_the_interface_is_that_of_scikit_learn(name):
    kind = BASELINES[name]
    parameters = inspect.signature(kind).parameters
    assert next(iter(parameters)) == "n_clusters"
    assert {"time_limit", "memory_limit", "view_sizes"} <= set(parameters)
    model = kind(n_clusters=4)
    assert clone(model).get_params() == model.get_params()
    documented = inspect.getmodule(kind).__doc__
    assert "omplexity" in documented
    assert "ifferences" in documented


@pytest.mark.parametrize("name", published_grids())
def test_the_grids_name_parameters_that_exist(name):
    for point in published_grids()[name]:
        BASELINES[name](3).set_params(**resolved(point, 3))


def test_a_grid_may_speak_of_the_number_of_clusters():
    assert resolved({"n_anchors": "2k", "alpha": 1.0}, 5) == {"n_anchors": 10, "alpha": 1.0}


def test_importing_the_baselines_loads_nothing_heavy():
    code = (
        "import sys, manyview.baselines; "
        "print([m for m in ('numba', 'matplotlib', 'plotly') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_of_runs_that_differ_by_rounding_the_first_is_kept():
    runs = [SimpleNamespace(history=[9.0, end]) for end in (2.0, 1.0, 1.0 - 1e-15, 1.0 + 1e-15)]
    assert lowest(runs) is runs[1]
    assert lowest(reversed(runs)) is runs[3]
