"""The profile solver against the published algorithm, and the order of the rows against both.

Both label vectors are judged by F with bases and weights re-optimized from the labels, on shuffled
rows and at the same λ (72 in the paper's units).
"""

import numpy as np
import pytest

from manyview import OMVCDR, MultiViewData
from manyview.baselines import PublishedOMVCDR
from manyview.datasets import load_benchmark
from manyview.engines import choose_engine
from manyview.metrics import clustering_accuracy
from manyview.solver.initialization import begin
from manyview.solver.problem import Settings, build_problem
from manyview.solver.updates import (
    accumulate,
    objective,
    project,
    shrinkage,
    update_alpha,
    update_H,
)

pytestmark = pytest.mark.data
SETS = ["handwritten_2v", "bdgp", "hdigit"]


def load(name, data_home):
    data, target = load_benchmark(name, data_home=data_home, return_X_y=True)
    return MultiViewData.of([X.astype(np.float64) for X in data.views]), target


def judged(data, k, lam, labels, n_steps=30):
    """F of labels at bases and weights that are optimized for them."""
    engine = choose_engine("memory", "auto", data)
    engine.load(data, None)
    problem = build_problem(engine, Settings(k, lam, 3, None, None, 2.0), data.view_names)
    model = begin(engine, problem, np.random.default_rng(0)).model
    engine.put_labels(labels.astype(np.int32))
    moments = engine.map_reduce(project, model)
    for _ in range(n_steps):
        model = update_alpha(moments, model)
        model = update_H(engine.map_reduce(accumulate, shrinkage(moments, model)), model)
        moments = engine.map_reduce(project, model)
    return objective(moments, update_alpha(moments, model))


@pytest.mark.parametrize("name", SETS)
def test_ours_ends_no_higher_in_F(name, data_home):
    data, y = load(name, data_home)
    data = data[np.random.default_rng(0).permutation(len(y))]
    k, V = len(np.unique(y)), data.n_views
    lam = 72 * len(y) / (V * k * 9)
    ours = OMVCDR(k, lam=lam, weight_exponent=2, scale=None, random_state=0)
    published = PublishedOMVCDR(k, lam=8)
    scores = [judged(data, k, lam, model.fit(data).labels_) for model in (ours, published)]
    assert scores[0] <= scores[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_order_of_the_rows_leaks_nothing(name, data_home):
    data, y = load_benchmark(name, data_home=data_home, return_X_y=True)
    k = len(np.unique(y))
    in_order, shuffled = [], []
    for seed in range(10):
        in_order.append(clustering_accuracy(y, OMVCDR(k, random_state=seed).fit_predict(data)))
        rows = np.random.default_rng(seed).permutation(len(y))
        labels = OMVCDR(k, random_state=seed).fit_predict(data[rows])
        shuffled.append(clustering_accuracy(y[rows], labels))
    assert abs(np.mean(in_order) - np.mean(shuffled)) < 0.01


def test_the_published_algorithm_gains_from_rows_sorted_by_class(data_home):
    """On handwritten_2v; the loss of shuffled rows is the reason for the seeded sweep of ours."""
    data, y = load("handwritten_2v", data_home)
    sorted_rows = clustering_accuracy(y, PublishedOMVCDR(10, lam=8).fit_predict(data))
    for seed in range(2):
        rows = np.random.default_rng(seed).permutation(len(y))
        labels = PublishedOMVCDR(10, lam=8).fit_predict(data[rows])
        assert clustering_accuracy(y[rows], labels) < sorted_rows - 0.01
