"""What every estimator shares: parameters, their constraints, and what docstrings say of them."""

import inspect
import re
from dataclasses import MISSING, fields

import numpy as np
import pytest
from sklearn.base import clone

from manyview import OMVCDR
from manyview.base import (
    COUNT,
    COUNTS,
    FLAG,
    NONE,
    allowed_values,
    check_parameter,
    check_parameters,
    either,
    number,
    one_of,
    scale_option,
)
from manyview.baselines import BASELINES

ESTIMATORS = {"omvcdr": OMVCDR, **BASELINES}


@pytest.mark.parametrize(
    ("allowed", "good", "bad"),
    [
        (COUNT, [1, np.int64(7)], [0, -1, 1.0, True, "1", None]),
        (COUNTS, [[1, 2], (3,), np.array([4, 5])], [[], [0], "12", None, 3]),
        (FLAG, [True, False], [1, 0, None, "yes"]),
        (NONE, [None], [0, False, ""]),
        (number(above=0), [1e-9, 3, np.float32(2)], [0, -1, np.inf, np.nan, True, "1"]),
        (number(least=0), [0, 0.5], [-1e-9, np.nan, None]),
        (number(above=0, most=1), [0.1, 1], [0, 1.1]),
        (one_of("a", None), ["a", None], ["b", 0]),
        (either(NONE, COUNT), [None, 2], [0, "auto"]),
        (scale_option("row-z"), ["auto", None, "l2", ["l2", "z"], "row-z"], ["log", [], 3]),
    ],
)
def test_a_constraint_allows_what_it_should_and_nothing_else(allowed, good, bad):
    assert all(allowed.allows(value) for value in good)
    assert not any(allowed.allows(value) for value in bad)


def test_a_refusal_says_what_was_expected_and_what_came():
    with pytest.raises(ValueError, match=r"tol=-1 is not usable; expected a number >= 0\."):
        check_parameter("tol", -1, number(least=0))
    assert one_of("a", "b", None).expected == "'a', 'b' or None"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_default_is_allowed(name):
    check_parameters(ESTIMATORS[name]())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_has_a_constraint_or_is_free_by_its_nature(name):
    free = {field.name for field in fields(ESTIMATORS[name])} - set(
        allowed_values(ESTIMATORS[name])
    )
    assert free <= {"random_state", "view_sizes", "verbose"}


def documented(kind):
    """Type lines of the section Parameters of a docstring, by name."""
    text = inspect.cleandoc(kind.__doc__).split("\nAttributes\n")[0].split("\nParameters\n")[1]
    return dict(re.findall(r"^(\w+) : (.+)$", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_docstrings_name_all_parameters_with_their_defaults_and_options(name):
    kind = ESTIMATORS[name]
    lines = documented(kind)
    assert set(lines) == {field.name for field in fields(kind)}
    table = allowed_values(kind)
    for field in fields(kind):
        line = lines[field.name]
        assert field.default is not MISSING
        if field.default is None:
            assert "optional" in line or "default=None" in line, line
        else:
            stated = re.search(r"default=(\S+)$", line)
            assert stated, line
            assert eval(stated[1]) == field.default, line
        if field.name in table and field.name != "scale":
            for option in re.findall(r"'([^']+)'", table[field.name].expected):
                assert f'"{option}"' in line, line


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_is_what_scikit_learn_expects_of_one(name):
    model = ESTIMATORS[name](n_clusters=3)
    assert model.get_params()["n_clusters"] == 3
    assert clone(model).get_params() == model.get_params()
    assert repr(model) == f"{type(model).__name__}(n_clusters=3)"
    assert model != clone(model)
    assert len({model, clone(model)}) == 2
