"""Hypothesis strategies: small problems of every awkward kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from manyview.data.views import MultiViewData


@st.composite
def problems(draw, *, missing=True, max_samples=40):
    """(data, n_clusters, weights): few samples, odd widths, offsets, low rank, missing views."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(6, max_samples))
    widths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    k = draw(st.integers(1, min(5, n)))
    kind = draw(
        st.sampled_from(["blobs", "noise", "offset", "rank one", "zero view", "duplicates"])
    )
    truth = rng.integers(k, size=n)
    views = [3 * rng.standard_normal((k, d))[truth] + rng.standard_normal((n, d)) for d in widths]
    if kind == "noise":
        views = [rng.standard_normal((n, d)) for d in widths]
    elif kind == "offset":
        views = [X + 1e3 * rng.standard_normal(X.shape[1]) for X in views]
    elif kind == "rank one":
        views = [np.outer(rng.standard_normal(n), rng.standard_normal(d)) for d in widths]
    elif kind == "zero view":
        views[0] = np.zeros_like(views[0])
    elif kind == "duplicates":
        views = [X[rng.integers(n, size=n)] for X in views]
    present = None
    if missing and len(widths) > 1 and draw(st.booleans()):
        present = rng.random((n, len(widths))) < 0.7
        present[np.arange(n), rng.integers(len(widths), size=n)] = True
    weights = rng.integers(1, 4, size=n).astype(float) if draw(st.booleans()) else None
    return MultiViewData.of(views, present=present), k, weights
