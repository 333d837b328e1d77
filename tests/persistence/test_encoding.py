"""Types of what is in a file."""

from types import GenericAlias
from typing import Any, TypeVar

import numpy as np
import pytest

from manyview.persistence.encoding import has_type
from manyview.utils.types import FloatArray, IntArray

S = TypeVar("S", bound=np.generic)


class Alias:
    """As `NDArray` is from numpy 2.5 on: a type alias with a parameter."""

    __value__ = np.ndarray[tuple[Any, ...], np.dtype[S]]


@pytest.mark.parametrize("hint", [FloatArray, GenericAlias(Alias(), (np.float64,))])
def test_an_array_has_the_type_of_its_numbers(hint):
    assert has_type(np.ones(2), hint)
    assert not has_type(np.ones(2, dtype=np.int64), hint)
    assert not has_type([1.0], hint)
    assert has_type(None, hint | None)


def test_integers_of_any_size_are_integers():
    assert has_type(np.ones(2, dtype=np.int32), IntArray)
    assert not has_type(np.ones(2), IntArray)
