"""Where fits start."""

import numpy as np
import pytest

from manyview.data.views import MultiViewData
from manyview.solver.initialization import begin, count_distinct
from manyview.solver.problem import Settings, rebuild_on
from solver.test_updates import posed


def lengths_of_first_coordinates(views):
    """Of half of the samples, in a problem that was stated for all."""
    engine, model, _ = posed(MultiViewData.of(views), 3)
    few = engine.subsample(40, np.random.default_rng(1))
    problem = rebuild_on(few, Settings(3, 0.3, 3, None, None, 2.0), model.problem)
    found = begin(few, problem, np.random.default_rng(0)).coordinates
    return np.linalg.norm(found - found.mean(axis=0), axis=0)


@pytest.mark.parametrize("offset", [1000.0, 2.0**20])
def test_the_first_coordinates_of_a_sample_do_not_see_where_the_data_lie(rng, offset):
    views = [rng.standard_normal((80, d)) * np.geomspace(5, 0.5, d) for d in (30, 40)]
    views = [view - view.mean(axis=0) for view in views]
    near = lengths_of_first_coordinates(views)
    far = lengths_of_first_coordinates([view + offset for view in views])
    np.testing.assert_allclose(far, near, rtol=0.05)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distinct_samples_are_counted_however_many(rng, dtype):
    """Of ten thousand values along one direction, float32 cannot tell all apart; rows differ."""
    rows = rng.standard_normal((9000, 6)).astype(dtype)
    engine, model, _ = posed(MultiViewData.of([np.repeat(rows, 2, axis=0)[:10_000]]), 3)
    beginning = begin(engine, model.problem, np.random.default_rng(0))
    assert count_distinct(beginning, rng) == pytest.approx(5000, abs=50)
    engine, model, _ = posed(MultiViewData.of([rows]), 3)
    beginning = begin(engine, model.problem, np.random.default_rng(0))
    assert count_distinct(beginning, rng) == 9000
