"""The contract of engines, run on each of them."""

from dataclasses import replace

import numpy as np
import pytest

from manyview import OMVCDR
from manyview.data.scaling import ViewScaling
from manyview.data.views import MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.engines.memory import InMemory
from manyview.kernels import choose_kernels
from manyview.kernels.block import CHUNK_ROWS
from manyview.kernels.statistics import ArraySums
from manyview.solver import alternation
from manyview.solver.alternation import Schedule, solve
from manyview.solver.problem import Settings, build_problem
from manyview.solver.updates import contingency, restore_labels, stash_labels
from manyview.utils.threads import limit_threads


@pytest.fixture(scope="module")
def data():
    return make_multiview_blobs(
        3 * CHUNK_ROWS + 100,
        (9, 14),
        n_clusters=6,
        cluster_std=3.0,
        missing_rate=0.1,
        random_state=0,
        return_X_y=True,
    )[0]


def record_rows(block, kernels, seen, order):
    """Visit that notes which rows come in which order, by their only feature."""
    return block, [*seen, *block.projection[order, 0].astype(int)]


def number_rows(block, kernels):
    """Visit that stores the values of the only view as the projection."""
    return replace(block, projection=block.views[0].values), ArraySums(
        (np.array(float(len(block.labels))),)
    )


def test_a_scan_visits_every_row_once_whole_chunks_in_the_order_of_the_seed(engine):
    n = 3 * CHUNK_ROWS + 100
    engine.load(MultiViewData.of(np.arange(n, dtype=float)[:, None]), None)
    assert engine.map_reduce(number_rows).arrays[0] == n
    rows = np.array(engine.scan(record_rows, [], 5))
    np.testing.assert_array_equal(np.sort(rows), np.arange(n))
    chunks = rows // CHUNK_ROWS
    visited = chunks[np.r_[True, np.diff(chunks) != 0]]
    np.testing.assert_array_equal(visited, np.random.default_rng(5).permutation(4))
    assert not np.array_equal(rows, engine.scan(record_rows, [], 6))
    other = InMemory(choose_kernels("cpu"), block_rows=2 * CHUNK_ROWS)
    other.load(MultiViewData.of(np.arange(n, dtype=float)[:, None]), None)
    other.map_reduce(number_rows)
    np.testing.assert_array_equal(other.scan(record_rows, [], 5), rows)


def test_a_scan_of_chosen_rows_gathers_them_in_the_order_of_the_seed(engine, monkeypatch):
    n = 3 * CHUNK_ROWS + 100
    engine.load(MultiViewData.of(np.arange(n, dtype=float)[:, None]), None)
    engine.map_reduce(number_rows)
    monkeypatch.setattr("manyview.engines.memory.rows_per_block", lambda n_bytes: 50)

    def row_filter(block, kernels, carry, divisor):
        assert carry == []
        return block.projection[:, 0] % divisor == 0

    def mark_rows(block, kernels, seen, order, divisor):
        assert block.views == ()
        assert len(order) <= 50
        labels = block.projection[:, 0].astype(np.int32)
        return replace(block, labels=labels), [*seen, *labels[order]]

    rows = engine.scan(mark_rows, [], 5, 7, row_filter=row_filter)
    every = np.arange(0, n, 7)
    np.testing.assert_array_equal(rows, np.random.default_rng(5).permutation(every))
    np.testing.assert_array_equal(np.flatnonzero(engine.gather("labels")), every[1:])
    np.testing.assert_array_equal(engine.gather("labels")[every], every)


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_whole", [False, True])  # late sweeps skip rows of whole data only
def test_the_partition_into_blocks_does_not_change_the_labels(data, dtype, is_whole, monkeypatch):
    monkeypatch.setattr(alternation, "BOUND_ROWS", 1)
    views = [np.nan_to_num(X.astype(dtype)) if is_whole else X.astype(dtype) for X in data.views]
    found = []
    for block_rows in (CHUNK_ROWS, 2 * CHUNK_ROWS, 8 * CHUNK_ROWS):
        engine = InMemory(choose_kernels("cpu"), block_rows=block_rows)
        engine.load(type(data).of(views), None)
        problem = build_problem(engine, Settings(6, 0.1, 3, None, "auto", 3.0), data.view_names)
        schedule = Schedule(n_init=2, max_iter=20, tol=1e-5)
        solution = solve(engine, problem, schedule, np.random.default_rng(0), lambda progress: None)
        found.append((engine.gather("labels"), solution.objective))
    for labels, objective in found[1:]:
        if dtype == np.float64:
            np.testing.assert_array_equal(labels, found[0][0])
        assert objective == pytest.approx(found[0][1], rel=1e-10 if dtype == np.float64 else 1e-5)


def test_the_number_of_threads_does_not_change_the_result(data):
    found = []
    for n_threads in (1, 2, 2):
        engine = InMemory(choose_kernels("cpu"), block_rows=CHUNK_ROWS)
        engine.load(data, None)
        with limit_threads(n_threads):
            problem = build_problem(engine, Settings(6, 0.1, 3, None, "auto", 3.0), data.view_names)
            rng = np.random.default_rng(0)
            solution = solve(engine, problem, Schedule(1, 10, 1e-5), rng, lambda progress: None)
        found.append((engine.gather("labels"), solution.objective))
    for labels, objective in found[1:]:
        np.testing.assert_array_equal(labels, found[0][0])
        assert objective == pytest.approx(found[0][1], rel=1e-12)
    assert found[2][1] == found[1][1]


def test_partial_results_are_added_in_the_order_of_the_blocks(engine, data):
    engine.load(data, None)

    def first_value(block, kernels):
        return block, Notes([float(np.nan_to_num(block.views[0].values[0, 0]))])

    class Notes(list):
        def __add__(self, other):
            return Notes([*self, *other])

    starts = range(0, len(data), CHUNK_ROWS)
    expected = [float(np.nan_to_num(data.views[0][i, 0])) for i in starts]
    seen = engine.map_reduce(first_value)
    assert seen == [value for value in expected if value in seen]


def test_statistics_are_float64_even_for_float32_rows(engine, data):
    engine.load(type(data).of([X.astype(np.float32) for X in data.views]), None)
    problem = build_problem(engine, Settings(6, 0.1, 3, None, "auto", 3.0), data.view_names)
    solution = solve(
        engine, problem, Schedule(1, 3, 1.0), np.random.default_rng(0), lambda progress: None
    )
    assert engine.gather("projection").dtype == np.float32
    assert solution.moments.mean.dtype == np.float64
    assert all(H.dtype == np.float64 for H in solution.model.bases)


def test_a_sample_holds_whole_rows(engine, data, rng):
    engine.load(data, np.arange(len(data), dtype=float) + 1)
    engine.apply_scalings([ViewScaling(1)])
    blocks = engine.sample(500, rng)
    rows = np.concatenate([block.weights for block in blocks]).astype(int) - 1
    assert len(rows) == len(np.unique(rows)) == 500
    values = np.concatenate([block.views[0].values for block in blocks])
    np.testing.assert_array_equal(values, data.views[1][rows])
    absent = np.concatenate([block.views[0].factor == 0 for block in blocks])
    np.testing.assert_array_equal(absent, ~data.present[rows, 1])
    assert sum(len(block.labels) for block in engine.sample(10**9, rng)) == len(data)


def test_kept_labels_come_back(engine, data):
    engine.load(data, None)
    engine.map_reduce(set_all, 3)
    engine.map_reduce(stash_labels)
    engine.map_reduce(set_all, 4)
    engine.map_reduce(stash_labels)
    counts = engine.map_reduce(contingency, 0, 1, 5)
    assert counts[3, 4] == counts.sum() == len(data)
    engine.map_reduce(restore_labels, 0)
    assert np.all(engine.gather("labels") == 3)


def set_all(block, kernels, label):
    return replace(block, labels=np.full_like(block.labels, label)), ArraySums(())


@pytest.mark.parametrize(("engine_name", "device"), [("dusk", "cpu"), ("auto", "tpu")])
def test_an_unknown_engine_or_device_is_refused_by_name(engine_name, device, data):
    with pytest.raises(ValueError, match="is not usable; expected 'auto'"):
        OMVCDR(3, engine=engine_name, device=device).fit(data)
