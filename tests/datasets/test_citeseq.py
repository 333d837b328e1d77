"""Simulated CITE-seq: what is drawn, and what it asks of a method."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from manyview import OMVCDR
from manyview.datasets import make_citeseq
from manyview.exceptions import ViewError


def test_counts_of_two_views_with_types_of_the_given_frequency():
    cells = make_citeseq(1000, n_genes=300, random_state=0)
    rna, protein = cells.data.views
    assert cells.view_names == ("rna", "protein")
    assert sparse.issparse(rna)
    assert (rna.shape, protein.shape) == ((1000, 300), (1000, 30))
    for counts in (rna.data, protein):
        assert (counts >= 0).all()
        assert (counts % 1 == 0).all()
    assert np.bincount(cells.target).tolist() == [300, 200, 150, 120, 100, 60, 50, 20]


def test_the_same_seed_gives_the_same_cells():
    first, again, other = (make_citeseq(200, n_genes=50, random_state=s) for s in (1, 1, 2))
    assert (first.data.views[0] != again.data.views[0]).nnz == 0
    assert np.array_equal(first.target, again.target)
    assert not np.array_equal(first.data.views[1], other.data.views[1])


@pytest.mark.parametrize(("pair", "blind", "seeing"), [((2, 4), 0, 1), ((5, 6), 1, 0)])
def test_one_view_cannot_tell_a_pair_apart(pair, blind, seeing):
    """Means of the two types differ by chance alone in one view, by markers in the other."""
    cells = make_citeseq(8000, n_genes=100, dispersion=0, depth_spread=0, random_state=0)
    gap = []
    for view in cells.data.views:
        X = view.toarray() if sparse.issparse(view) else view
        a, b = (X[cells.target == c] for c in pair)
        error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b) + 1e-12)
        gap.append(np.abs(a.mean(axis=0) - b.mean(axis=0)) / error)
    assert gap[blind].max() < 4.5
    assert gap[seeing].max() > 10


def test_depth_dispersion_and_dropout():
    plain = make_citeseq(500, n_genes=200, depth_spread=0, dispersion=0, random_state=0)
    depth = plain.data.views[0].sum(axis=1)
    assert depth.mean() == pytest.approx(2500, rel=0.02)
    assert depth.std() == pytest.approx(50, rel=0.1)  # Poisson
    half = make_citeseq(500, n_genes=200, dropout=0.5, random_state=0).data.views[0]
    whole = make_citeseq(500, n_genes=200, random_state=0).data.views[0]
    assert half.nnz == pytest.approx(whole.nnz / 2, rel=0.03)


@pytest.mark.parametrize("pair", [(0, 0), (0, 8), (-1, 2)])
def test_a_pair_is_two_types(pair):
    with pytest.raises(ViewError, match="expected two different numbers below 8"):
        make_citeseq(100, only_in_rna=pair)


@pytest.mark.slow
def test_unequal_types_are_hard_for_a_model_of_equal_clusters():
    """A reminder of where the model stands: raise the bound when it learns the sizes."""
    data, types = make_citeseq(random_state=0, return_X_y=True)
    found = OMVCDR(8, random_state=0, check_structure=False).fit_predict(data)
    assert adjusted_rand_score(types, found) > 0.6
