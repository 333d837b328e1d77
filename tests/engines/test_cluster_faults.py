"""Fits on clusters that lose workers or their scheduler: the same labels, or an error in time."""

import gc
import os
import random
import signal
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from manyview.engines import waiting
from manyview.engines.parts import rows_per_part
from manyview.exceptions import ClusterError

pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
clusters = pytest.importorskip("helpers.clusters")
its = pytest.importorskip("helpers.on_clusters")

few_rows, no_hang, client = its.few_rows, its.no_hang, its.client  # fixtures
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, when workers are killed
N = its.N
blobs, partitioned, on_cluster = its.blobs, its.partitioned, its.on_cluster


def test_one_lost_worker_costs_at_most_one_pass(client):
    check_kills(client, 1)


@pytest.mark.slow
@pytest.mark.skipif("MANYVIEW_KILLS" not in os.environ, reason="MANYVIEW_KILLS is not set")
@pytest.mark.parametrize("seed", range(4))
def test_twenty_lost_workers_cost_at_most_one_pass_each(seed):
    with clusters.local_cluster(2) as client:
        check_kills(client, 5, seed)


def check_kills(client, n_kills, seed=0):
    """Fits that lose a worker at random moments have the same labels, for few more visits."""
    X, draw = partitioned(blobs()), random.Random(seed)
    fit = partial(on_cluster, client, X, scale=None, max_iter=3)
    with clusters.counted_visits(client) as visits:
        start = time.monotonic()
        wanted = np.asarray(fit().labels_)
        seconds, n_plain = time.monotonic() - start, visits.n_done
    n_parts = -(-N // rows_per_part(N, 32 * 8))
    for _ in range(n_kills):
        clusters.refill(client, 2)
        pid = draw.choice(list(clusters.pids(client).values()))
        with clusters.counted_visits(client) as visits:
            with clusters.killed_after(draw.uniform(0.1, 0.9) * seconds, pid):
                found = np.asarray(fit().labels_)
            assert visits.n_done - n_plain <= n_parts
            assert max(visits.times.values()) <= 2
        np.testing.assert_array_equal(found, wanted)


def test_what_a_pass_made_is_let_go_at_its_end(client, monkeypatch):
    """Even if the wait took long: errors of time limits once held the tasks of a pass."""
    from manyview.engines.cluster import OnCluster

    held = []
    run = OnCluster._run

    def counted(self, *given, **more):
        total = run(self, *given, **more)
        self.client.sync(self.client.scheduler.identity)  # what was let go is told by then
        held.append([key for key in self.client.futures if "_visit-" in key or "_sum-" in key])
        return total

    monkeypatch.setattr(OnCluster, "_run", counted)
    monkeypatch.setattr(waiting, "LOOK", 0.01)
    gc.disable()
    try:
        on_cluster(client, partitioned(blobs()), scale=None, max_iter=3)
    finally:
        gc.enable()
    assert len(held) > 10
    assert not any(held)


def test_a_slow_worker_and_one_that_spills_go_on():
    views, settings = blobs(), {"scale": None, "max_iter": 3}
    wanted = its.in_memory(views, **settings).labels_
    low = {"target": 0.002, "spill": 0.004, "pause": False, "terminate": False}
    limits = {f"distributed.worker.memory.{name}": value for name, value in low.items()}
    with clusters.local_cluster(2, limits, memory_limit="1GB") as client:
        pid = min(clusters.pids(client).values())
        with (
            clusters.after(1.0, partial(os.kill, pid, signal.SIGSTOP)),
            clusters.after(4.0, partial(os.kill, pid, signal.SIGCONT)),
        ):
            found = np.asarray(on_cluster(client, partitioned(views), **settings).labels_)
    np.testing.assert_array_equal(found, wanted)


def test_workers_that_have_all_paused_end_a_fit_with_a_sentence(monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 2.0)
    low = {"pause": 0.01, "terminate": False}
    settings = {f"distributed.worker.memory.{name}": value for name, value in low.items()}
    with (
        clusters.local_cluster(1, settings, memory_limit="1GB") as client,
        pytest.raises(ClusterError, match="All 1 workers .* have paused for 2 seconds"),
    ):
        on_cluster(client, blobs(), scale=None)


def test_without_workers_a_fit_ends_with_a_sentence(monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 2.0)
    views = partitioned(blobs())
    with clusters.local_cluster(0) as client:
        # the lengths of partitions of the second are not known
        for X in (views, [dd.from_dask_array(view) for view in views]):
            start = time.monotonic()
            with pytest.raises(ClusterError, match="no worker for 2 seconds"):
                on_cluster(client, X, scale=None)
            assert time.monotonic() - start < 30


LONG = {"scale": None, "tol": 0, "max_iter": 10_000}


def test_without_workers_or_scheduler_in_the_middle_a_fit_ends_with_a_sentence(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(waiting, "PATIENCE", 3.0)
    monkeypatch.setattr(waiting, "ANSWER", 2.0)
    views = partitioned(blobs(), (N,))
    with clusters.by_hand(tmp_path, 2) as (client, processes):
        scheduler = processes.scheduler
        with (
            clusters.after(3.0, lambda: [worker.kill() for worker in processes.workers]),
            pytest.raises(ClusterError, match="no worker for 3 seconds"),
        ):
            on_cluster(client, views, **LONG)
        processes.add_worker()
        client.wait_for_workers(1, timeout=60)
        frozen = clusters.after(3.0, partial(scheduler.send_signal, signal.SIGSTOP))
        with frozen, pytest.raises(ClusterError, match="gone"):
            on_cluster(client, views, **LONG)
        scheduler.send_signal(signal.SIGCONT)
        killed = clusters.after(3.0, scheduler.kill)
        with killed, pytest.raises(ClusterError, match="gone"):
            on_cluster(client, views, **LONG)


def test_a_time_limit_inside_a_task_is_an_error_not_a_reason_to_wait():
    def result():
        raise TimeoutError("of a file")

    future = SimpleNamespace(status="error", result=result)
    with pytest.raises(TimeoutError, match="of a file"):
        waiting.Waiting(None).result(future)
