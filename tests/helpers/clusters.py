"""Clusters of processes that tests start and end."""

import os
import signal
import threading
from contextlib import contextmanager

import dask
import distributed
from distributed.diagnostics.plugin import SchedulerPlugin

QUIET = {
    "distributed.logging.distributed": "critical",
    "distributed.scheduler.allowed-failures": 20,
}


@contextmanager
def local_cluster(n_workers):
    """Workers of one thread in processes of their own, their scheduler, and a client."""
    with (
        dask.config.set(QUIET),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class Visits(SchedulerPlugin):
    """Counts how often each visit of a part was done."""

    def __init__(self):
        self.times = {}

    def transition(self, key, start, finish, *args, **kwargs):
        if (start, finish) == ("processing", "memory") and "_visit-" in str(key):
            self.times[key] = self.times.get(key, 0) + 1

    @property
    def n_done(self):
        return sum(self.times.values())


@contextmanager
def counted_visits(client):
    """The visits inside a `with` block."""
    visits = Visits()
    client.cluster.scheduler.add_plugin(visits, name="visits")
    try:
        yield visits
    finally:
        client.cluster.scheduler.remove_plugin("visits")


def pids(client):
    """Process of each worker."""
    return client.run(os.getpid)


@contextmanager
def killed_after(seconds, pid):
    """A process that gets SIGKILL some time after the beginning of the block."""
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGKILL))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
