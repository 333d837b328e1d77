"""Rows and fits of the tests on clusters."""

import dask.array as da
import numpy as np
import pytest

from helpers import clusters
from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.kernels.block import CHUNK_ROWS
from manyview.solver import fitting

SETTINGS = {"n_init": 1, "random_state": 0, "check_structure": False, "max_iter": 6}
N = 20 * CHUNK_ROWS + 77


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 1000)


@pytest.fixture(autouse=True)
def no_hang(request):
    is_slow = request.node.get_closest_marker("slow")
    with clusters.time_limit(900 if is_slow else 150):
        yield


@pytest.fixture(scope="module")
def client():
    with clusters.local_cluster(2) as client:
        yield client


def blobs(seed=0, missing_rate=0.0, n=N):
    """Two views, a row of NaN where one is missing."""
    data = make_multiview_blobs(
        n, (12, 20), n_clusters=6, cluster_std=4.0, missing_rate=missing_rate, random_state=seed
    ).data
    if data.present is None:
        return list(data.views)
    return [np.where(data.present[:, [v]], X, np.nan) for v, X in enumerate(data.views)]


def partitioned(views, cut=None):
    return [da.from_array(X, chunks=(cut or 7000, -1)) for X in views]


def in_memory(views, **more):
    return OMVCDR(6, label_step="sharded", **{**SETTINGS, **more}).fit(views)


def on_cluster(client, X, **more):
    return OMVCDR(6, engine=client, **{**SETTINGS, **more}).fit(X)
