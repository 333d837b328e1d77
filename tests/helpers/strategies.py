"""Hypothesis strategies: small problems of every awkward kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

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


def _every_second(X):
    wide = np.zeros((2 * X.shape[0], 2 * X.shape[1]), X.dtype)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


# the same values, stored in other ways
LAYOUTS = {
    "contiguous": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "transposed": lambda X: np.ascontiguousarray(X.T).T,
    "reversed rows": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "reversed columns": lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
    "every second": _every_second,
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "read-only": _read_only,
    "sparse": sparse.csr_array,
}
ROUND_THE_SAME = sorted(set(LAYOUTS) - {"sparse"})


@st.composite
def uneven_weights(draw, n_samples, *, n_positive=1):
    """Weights of any unit: equal ones, or some that differ by up to twelve orders, and zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0, 1, 6]))
    weights = 10.0 ** rng.uniform(-spread, spread, size=n_samples)
    if draw(st.booleans()):
        weights[rng.permutation(n_samples)[: (n_samples - n_positive) // 3]] = 0
    return weights * draw(st.sampled_from([1e-12, 1 / 3, 1.0, 1e9]))
