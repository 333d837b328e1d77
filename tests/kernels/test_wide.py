"""Products of views wider than samples against their definition."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernels.test_cpu import PARTS, view_rows
from manyview.kernels import cpu, products
from manyview.kernels.block import ViewRows
from manyview.kernels.wide import are_alike


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of a few columns."""
    monkeypatch.setattr(products, "PIECE_BYTES", 1)
    monkeypatch.setattr(products, "FEWEST_COLUMNS", 3)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("parts", PARTS)
def test_products_over_all_blocks_are_those_of_the_scaled_rows(
    rng, small_pieces, kind, dtype, parts
):
    found = [view_rows(rng, kind=kind, dtype=dtype, **PARTS[parts](rng)) for _ in range(2)]
    first = found[0][0]
    # both blocks of a view are scaled alike
    found = [
        view_rows(
            rng, kind=kind, dtype=dtype, map=first.map, scale=first.scale, offset=first.offset,
            factor=view.factor,
        )
        for view, _ in found
    ]  # fmt: skip
    rows, X = [view for view, _ in found], np.vstack([X for _, X in found])
    factor = np.concatenate([np.ones(30) if v.factor is None else v.factor for v in rows])
    tolerance = 1e-11 if dtype == np.float64 else 1e-5
    gram = factor[:, None] * cpu.gram(rows) * factor
    assert_allclose(gram, X @ X.T, atol=tolerance)
    Z = rng.standard_normal((60, 4))
    assert_allclose(cpu.combine(rows, Z), X.T @ Z, atol=tolerance)


@pytest.mark.parametrize("factor", [None, "some"])
def test_moments_of_the_columns_do_not_depend_on_the_pieces(rng, monkeypatch, factor):
    X = np.abs(rng.standard_normal((5, 200))) * (rng.random((5, 200)) < 0.7)
    factor = None if factor is None else np.array([1.0, 0, 1, 1, 0])
    absent = None if factor is None else np.array([1, 4])
    view, weights = ViewRows(X, factor=factor, absent=absent), rng.random(5)
    whole = cpu.columns(view, weights)
    monkeypatch.setattr(products, "PIECE_BYTES", 1)
    monkeypatch.setattr(products, "FEWEST_COLUMNS", 7)
    parts = cpu.columns(view, weights)
    assert_allclose(parts.mean, whole.mean, rtol=1e-14)
    assert_allclose(parts.scatter, whole.scatter, rtol=1e-12)
    assert (parts.weight, parts.smallest) == (whole.weight, whole.smallest)
    assert parts.zeros == pytest.approx(whole.zeros)
    assert parts.is_integer == whole.is_integer


def test_components_of_a_wide_view_are_summed_over_pieces(rng, small_pieces):
    X, W = rng.standard_normal((4, 50)), rng.standard_normal((50, 3))
    view = ViewRows(X, scale=rng.random(50), offset=rng.random(50), table=W)
    expected = (X * view.scale - view.offset) @ W
    assert_allclose(products.unfactored(view), expected, atol=1e-12)
    assert_allclose(cpu.row_squares(view), np.square(expected).sum(axis=1))


def test_views_are_alike_only_at_the_same_place_and_scaled_alike(rng):
    X = rng.random((4, 9))
    view = ViewRows(X, scale=np.ones(9), factor=np.ones(4))
    assert are_alike([view], [replace(view, values=X[:], scale=np.ones(9), factor=None)])
    assert not are_alike([view], [replace(view, values=X.copy())])
    assert not are_alike([view], [replace(view, scale=np.full(9, 2.0))])
    assert not are_alike([view], [replace(view, map="sqrt")])
    assert not are_alike([view], [view, view])
    stored = sparse.csr_array(X)
    assert are_alike([ViewRows(stored)], [ViewRows(stored)])
    assert not are_alike([ViewRows(stored)], [ViewRows(stored.copy())])


def test_narrow_views_are_not_split(rng, small_pieces):
    view = ViewRows(rng.random((20, 20)))
    assert products.split_columns(view)[0] is view
    pieces = products.split_columns(ViewRows(rng.random((2, 20))))
    assert_array_equal([piece.values.shape[1] for piece in pieces], [3] * 6 + [2])
