"""Clusters of processes that tests start and end."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial

import dask
import distributed
from distributed.diagnostics.plugin import SchedulerPlugin

QUIET = {
    "distributed.logging.distributed": "critical",
    "distributed.scheduler.allowed-failures": 20,
}


@contextmanager
def local_cluster(n_workers, settings=None, **more):
    """Workers of one thread in processes of their own, their scheduler, and a client."""
    with (
        dask.config.set({**QUIET, **(settings or {})}),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs="CRITICAL",
            **more,
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


def refill(client, n_workers):
    """Wait until workers that were lost are replaced; start another if their nanny gave up."""
    try:
        client.wait_for_workers(n_workers, timeout=40)
    except TimeoutError:
        client.cluster.scale(len(client.cluster.workers) + 1)
        client.wait_for_workers(n_workers, timeout=60)


def pids(client):
    """Process of each worker."""
    return client.run(os.getpid)


@contextmanager
def killed_after(seconds, pid):
    """A process that gets SIGKILL some time after the beginning of the block."""
    with after(seconds, partial(os.kill, pid, signal.SIGKILL)):
        yield


SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"
WORKER = "from distributed.cli.dask_worker import main; main()"


class ByHand:
    """Processes of a scheduler and its workers, which nobody replaces."""

    def __init__(self, folder):
        self._file = str(folder / "scheduler.json")
        self.workers = []
        self.scheduler = self._start(SCHEDULER, "--port", "0")

    def add_worker(self):
        more = ("--nthreads", "1", "--no-nanny", "--death-timeout", "20")
        self.workers.append(self._start(WORKER, *more))

    def _start(self, code, *more):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        given = ("--scheduler-file", self._file, "--no-dashboard", *more)
        quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-c", code, *given], env=env, **quiet)

    def client(self):
        return distributed.Client(scheduler_file=self._file, set_as_default=False, timeout=15)

    def end(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@contextmanager
def by_hand(folder, n_workers):
    """A client of processes that end with the block, and the processes."""
    processes = ByHand(folder)
    try:
        for _ in range(n_workers):
            processes.add_worker()
        client = processes.client()
        try:
            client.wait_for_workers(n_workers, timeout=60)
            yield client, processes
        finally:
            client.close(timeout=1)
    finally:
        processes.end()


@contextmanager
def after(seconds, action):
    """Something that is done some time after the beginning of the block."""
    timer = threading.Timer(seconds, action)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextmanager
def time_limit(seconds):
    """An error in a block that takes longer."""

    def stop(*_):
        msg = f"a test took more than {seconds} seconds"
        raise RuntimeError(msg)

    if not hasattr(signal, "setitimer"):  # on Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
