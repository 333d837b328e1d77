"""The kernels of torch against those of the CPU, on every kind of block."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from manyview.data.views import MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.kernels import choose_kernels, cpu
from manyview.kernels.statistics import Clusters, Frozen
from manyview.solver.updates import shrinkage
from solver.test_updates import posed

K = 5
TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 3e-4}
SCALES = [None, "z", "z-l2", "sqrt-l2", "pca-l2", "log-pca-l2", "auto"]


def on_device(block, kernels):
    """The same block with tensors."""
    from manyview.kernels.gpu.sparse_rows import SparseRows

    def moved(view):
        is_sparse = sparse.issparse(view.values)
        values = SparseRows.of(view.values, kernels.device) if is_sparse else view.values
        names = ("factor", "level", "absent")
        parts = {name: getattr(view, name) for name in names}
        there = {n: None if part is None else kernels.rows(part) for n, part in parts.items()}
        return replace(view, values=kernels.rows(values), **there)

    fields = ("weights", "group", "labels", "projection")
    return replace(
        block,
        views=tuple(map(moved, block.views)),
        given=tuple(map(moved, block.given)),
        **{name: kernels.rows(getattr(block, name)) for name in fields},
    )


def near(expected, found, dtype):
    """Equal up to the rounding of a dtype, relative to the largest value."""
    expected, found = np.asarray(expected, np.float64), np.asarray(found, np.float64)
    scale = max(float(np.abs(expected).max(initial=0)), 1e-30)
    np.testing.assert_allclose(found / scale, expected / scale, atol=TOLERANCE[np.dtype(dtype)])


def a_case(dtype, missing, scale, kind="dense", weights=None):
    """Counts for logarithms, else blobs; a block on the CPU, its model and moments."""
    data = make_multiview_blobs(
        500, (9, 14), n_clusters=K, missing_rate=missing, random_state=0, dtype=dtype
    ).data
    views = [np.nan_to_num(X) for X in data.views]
    if scale in ("sqrt-l2", "log-pca-l2"):
        views = [np.round(np.abs(20 * X)).astype(dtype) for X in views]
    if kind == "sparse":
        views = [sparse.csr_array(X * (np.abs(X) > 1)) for X in views]
    data = MultiViewData.of(views, present=data.present)
    engine, model, moments = posed(data, K, scale=scale, weights=weights)
    return engine.sample(10**6, None)[0], model, moments


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_kernels_equal_those_of_the_cpu(device, dtype, missing, scale, kind):
    kernels = choose_kernels(device)
    block, model, moments = a_case(dtype, missing, scale, kind)
    there = on_device(block, kernels)
    host = kernels.to_host
    near(
        cpu.project(block.views, model.bases),
        host(kernels.project(there.views, model.bases)),
        dtype,
    )
    pair = (
        cpu.accumulate(block.views, block.projection).arrays,
        kernels.accumulate(there.views, there.projection).arrays,
    )
    for expected, found in zip(*pair, strict=True):
        assert found.dtype == np.float64
        near(expected, found, dtype)
    shares = cpu.cluster_shares(block, K), kernels.cluster_shares(there, K)
    for own, view in zip(block.views + block.given, there.views + there.given, strict=True):
        near(cpu.row_squares(own), host(kernels.row_squares(view)), dtype)
        squares = (
            cpu.total_squares(own, block.weights),
            kernels.total_squares(view, there.weights),
        )
        near(*squares, dtype)
        near(cpu.shared_sums(own, shares[0]), kernels.shared_sums(view, shares[1]), dtype)
        near(cpu.present_shares(own, shares[0]), kernels.present_shares(view, shares[1]), dtype)
        stored = kernels.store_scaled(view)
        near(cpu.store_scaled(own).values, host(stored.values), dtype)
    for own, view in zip(block.given, there.given, strict=True):
        expected, found = cpu.columns(own, block.weights), kernels.columns(view, there.weights)
        for name in ("weight", "mean", "scatter", "smallest", "resolution", "zeros", "is_integer"):
            near(getattr(expected, name), getattr(found, name), dtype)
    clusters = Clusters(moments, model.problem.n_present, model.coupling)
    expected, found = cpu.moments(block, moments), kernels.moments(there, moments)
    for name in ("rows", "count", "mean", "scatter"):
        near(getattr(expected, name), getattr(found, name), dtype)
    shrink = shrinkage(moments, model)
    near(cpu.embed(block, shrink), host(kernels.embed(there, shrink)), dtype)
    shared = kernels.embed_with_shares(there, shrink)
    near(cpu.embed_with_shares(block, shrink), host(shared), dtype)
    near(cpu.cluster_costs(block, clusters), host(kernels.cluster_costs(there, clusters)), dtype)
    np.testing.assert_array_equal(
        cpu.nearest(block, clusters), host(kernels.nearest(there, clusters))
    )
    labels, moved = kernels.move(there, clusters)
    expected_labels, expected_moved = cpu.move(block, clusters)
    np.testing.assert_array_equal(host(labels), expected_labels)
    assert moved.n_moved == expected_moved.n_moved > 0
    near(expected_moved.after.mean, moved.after.mean, dtype)
    expected, found = cpu.margins(block, clusters), host(kernels.margins(there, clusters))
    near(expected[:, 0], found[:, 0], np.float32 if dtype == np.float32 else dtype)
    np.testing.assert_array_equal(expected[:, 1], found[:, 1])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_one_number_as_the_weight_of_all_rows(device, kind):
    kernels = choose_kernels(device)
    block, _, moments = a_case(np.float64, 0.0, None, kind)
    there = replace(on_device(block, kernels), weights=kernels.full(500, 1.0, np.float64))
    shares = kernels.cluster_shares(there, K)
    for own, view in zip(block.given, there.given, strict=True):
        expected, found = cpu.columns(own, block.weights), kernels.columns(view, there.weights)
        for name in ("weight", "mean", "scatter"):
            near(getattr(expected, name), getattr(found, name), np.float64)
        near(
            cpu.shared_sums(own, cpu.cluster_shares(block, K)),
            kernels.shared_sums(view, shares),
            np.float64,
        )
    near(cpu.moments(block, moments).mean, kernels.moments(there, moments).mean, np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_that_differ(device, rng, dtype):
    kernels = choose_kernels(device)
    weights = rng.uniform(0.5, 2, 500)
    block, model, moments = a_case(dtype, 0.2, "z", weights=weights)
    there, clusters = (
        on_device(block, kernels),
        Clusters(moments, model.problem.n_present, model.coupling),
    )
    labels, moved = kernels.move(there, clusters)
    expected_labels, expected_moved = cpu.move(block, clusters)
    np.testing.assert_array_equal(kernels.to_host(labels), expected_labels)
    near(expected_moved.after.count, moved.after.count, dtype)
    found = kernels.moments(there, moments)
    near(cpu.moments(block, moments).scatter, found.scatter, dtype)
    shrink = shrinkage(moments, model)
    near(cpu.embed(block, shrink), kernels.to_host(kernels.embed(there, shrink)), dtype)


def test_anchor_weights_and_smoothed_rows(device, rng):
    kernels = choose_kernels(device)
    block, _, _ = a_case(np.float64, 0.0, None)
    anchors = rng.standard_normal((40, block.projection.shape[1]))
    here = cpu.anchor_weights(block.projection, anchors, 7)
    there = kernels.anchor_weights(kernels.rows(block.projection), anchors, 7)
    near(here.toarray(), kernels.to_host(there.to_dense()), np.float64)


def test_rows_that_may_move_are_found(device):
    kernels = choose_kernels(device)
    block, model, moments = a_case(np.float64, 0.0, None)
    there, clusters = (
        on_device(block, kernels),
        Clusters(moments, model.problem.n_present, model.coupling),
    )
    moving = cpu.move(block, clusters)[0] != block.labels
    found = kernels.to_host(kernels.bound_violated(there, clusters, moments))
    assert found[moving].all()
    assert not found.all()


def test_moments_after_a_batch_are_those_of_the_new_labels():
    block, model, moments = a_case(np.float64, 0.2, None)
    clusters = Clusters(moments, model.problem.n_present, model.coupling)
    few = replace(
        block,
        **{
            name: getattr(block, name)[:100]
            for name in ("weights", "group", "labels", "projection")
        },
    )
    labels, moved = cpu.move(few, clusters)
    new = replace(block, labels=np.concatenate([labels, block.labels[100:]]))
    expected, found = cpu.moments(new, moments), Frozen(moments, 1).after(moved).moments
    for name in ("rows", "count", "mean", "scatter"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-9)
