"""Rows are spread over workers in proportion to their threads."""

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyview import OMVCDR
from manyview.data.partitions import PartitionedViews
from manyview.engines.balance import find_moves
from manyview.engines.cluster import TRIMMING, OnCluster, started_client
from manyview.kernels import choose_kernels
from manyview.solver.problem import measure

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
clusters = pytest.importorskip("helpers.clusters")
its = pytest.importorskip("helpers.on_clusters")

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, when a port is taken
WORKERS = "abcd"


@given(
    st.lists(st.sampled_from([*WORKERS, "gone", None]), max_size=40),
    st.dictionaries(st.sampled_from(WORKERS), st.integers(1, 3)),
)
def test_no_move_more_would_help_and_none_is_without_need(holders, n_threads):
    found = find_moves(holders, n_threads)
    after = [found.get(p, holder) for p, holder in enumerate(holders)]
    before, now = (Counter(h for h in some if h in n_threads) for some in (holders, after))
    assert sum(before.values()) == sum(now.values())
    if not n_threads:
        assert not found
        return
    most = max(now[w] / n for w, n in n_threads.items())
    assert all((now[w] + 1) / n >= most for w, n in n_threads.items())
    left = {w for w in n_threads if now[w] < before[w]}
    assert not left & set(found.values())  # nobody gives and takes
    assert len(found) == sum(before[w] - now[w] for w in left)


def test_rows_that_lie_on_one_worker_are_spread():
    with clusters.local_cluster(2) as client, clusters.time_limit(150):
        first, _ = sorted(client.nthreads())
        views = client.persist(its.partitioned(its.blobs()), workers=[first])
        distributed.wait(views)
        engine = OnCluster(client, choose_kernels("cpu"))
        engine.load(PartitionedViews.of(views), None)
        engine.map_reduce(measure)
        held = Counter(holders[0] for holders in client.who_has(engine._rows).values())
        engine.close()
    assert engine.n_parts > 2
    assert max(held.values()) - min(held.values()) <= 1
    assert len(held) == 2


def test_a_client_of_workers_that_are_started_need_not_be_the_default():
    with pytest.raises(ValueError, match="client"):
        distributed.default_client()
    with started_client(1) as client, clusters.time_limit(150):
        X = its.partitioned(its.blobs(n=3000))
        model = OMVCDR(3, engine=client, **its.SETTINGS).fit(client.persist(X))
        labels = client.compute(model.labels_).result()
        assert np.unique(labels).size == 3
        assert client.run(os.environ.get, TRIMMING).popitem()[1] is None
