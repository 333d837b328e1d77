"""The bytes of a fit: by hand, and beside what a fit allocates."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.engines import rows_per_block
from manyview.solver.footprint import Footprint
from manyview.utils.threads import limit_threads

SIZES = Footprint(
    n_samples=5000,
    n_subset=1000,
    n_features=(3, 4),
    itemsize=4,
    dims=(2, 4),
    n_scalings=2,
    n_anchors=0,
)


def test_the_bytes_of_a_small_fit_by_hand():
    """A row of the views has 28 bytes; b 24, two factors 16, slack 12, weight, group and label 20.

    All samples: 5000 · 20 and 5000 · 52. A block: 2 · 24 · 2048, or, of each of two threads,
    (16 + 8 · 24) · 2048. The few take less, and are forgotten before.
    """
    always = 100_000 + 260_000
    with limit_threads(1):
        assert SIZES.bytes_held(2048) == always + 98_304
        assert SIZES.bytes_held(2048, n_blocks=3) == SIZES.bytes_held(2048) + 3 * 2048 * 28
    with limit_threads(2):
        assert SIZES.bytes_held(2048) == always + 2 * 2048 * (16 + 192)


def test_what_exceeds_the_room_is_not_in_memory():
    assert SIZES.bytes_held(2048, room=150_000) == SIZES.bytes_held(2048) - 110_000
    larger = replace(SIZES, n_samples=10_000)
    grown = larger.bytes_held(2048, room=1.5e5) - SIZES.bytes_held(2048, room=1.5e5)
    assert grown == 5000 * 20


def test_where_all_samples_are_few_there_is_no_copy_of_them():
    """Starts hold 16 · 4 bytes a sample, beside the products of a block."""
    all_few = replace(SIZES, n_samples=1000)
    assert all_few.bytes_held(2048) == 1000 * (20 + 52 + 64 + 48)


@pytest.mark.parametrize("scale", ["auto", None])
@pytest.mark.parametrize(("n", "k"), [(4000, 20), (24_000, 6)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_allocates_about_as_much(n, k, scale):
    views = make_multiview_blobs(n, (40, 60), n_clusters=k, dtype=np.float32, random_state=0)
    model = OMVCDR(k, n_init=2, max_iter=2, scale=scale, n_jobs=1, random_state=0)
    model.set_params(check_structure=False).fit(views.data[:300])
    tracemalloc.start()
    model.fit(views.data)
    measured = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sizes = Footprint(
        n_samples=n,
        n_subset=min(n, 10_000),
        n_features=(40, 60),
        itemsize=4,
        dims=tuple(min(p * k, 100) for p in (1, 2, 3)),
        n_scalings=2 if scale is None else 4,
        n_anchors=0 if scale is None else 600,
    )
    with limit_threads(1):  # what several keep back is not traced
        assert 1 / 1.5 < measured / sizes.bytes_held(rows_per_block(400)) < 1.5


@pytest.mark.parametrize("scale", ["auto", None])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_of_wide_views_allocates_about_as_much(scale):
    widths, n, k = (3000, 60, 4000), 400, 4
    views = make_multiview_blobs(n, widths, n_clusters=k, dtype=np.float32, random_state=0)
    model = OMVCDR(k, scale=scale, n_jobs=1, random_state=0)
    model.set_params(check_structure=False).fit(views.data[:300])
    tracemalloc.start()
    model.fit(views.data)
    measured = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sizes = Footprint(
        n_samples=n,
        n_subset=n,
        n_features=widths,
        itemsize=4,
        dims=(4, 8, 12),
        n_scalings=3 if scale is None else 6,
        n_anchors=0 if scale is None else 400,
    )
    with limit_threads(1):
        assert 1 / 1.5 < measured / sizes.bytes_held(rows_per_block(sum(widths) * 4)) < 1.5
