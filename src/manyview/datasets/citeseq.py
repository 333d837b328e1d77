"""Simulated CITE-seq: counts of RNA and of surface proteins in the same cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from manyview.datasets._bundle import bundle
from manyview.datasets.blobs import draw_labels
from manyview.exceptions import ViewError
from manyview.utils.types import FloatArray

PROPORTIONS = (0.30, 0.20, 0.15, 0.12, 0.10, 0.06, 0.05, 0.02)
ONLY_IN_PROTEIN, ONLY_IN_RNA = (2, 4), (5, 6)  # pairs of types that one view cannot tell apart


def make_citeseq(
    n_samples: int = 3000,
    *,
    n_genes: int = 1500,
    n_proteins: int = 30,
    proportions: Sequence[float] = PROPORTIONS,
    markers: float = 0.04,
    fold_change: float = 3.0,
    protein_fold_change: float = 4.0,
    depth: float = 2500.0,
    depth_spread: float = 0.35,
    dispersion: float = 0.3,
    dropout: float = 0.0,
    only_in_protein: tuple[int, int] | None = ONLY_IN_PROTEIN,
    only_in_rna: tuple[int, int] | None = ONLY_IN_RNA,
    random_state: int | np.random.Generator | None = None,
    return_X_y: bool = False,
) -> Bunch:
    """Simulate counts of genes and proteins in cells of several types, of unequal frequency.

    Each type raises the rate of its marker genes and proteins. A cell has a depth of sequencing in
    each view, and counts are Poisson draws whose rates vary by a Gamma factor.

    Parameters
    ----------
    n_samples : int, default=3000
        Number of cells, in random order.
    n_genes : int, default=1500
        Number of genes.
    n_proteins : int, default=30
        Number of proteins.
    proportions : sequence of float, default=(0.30, 0.20, 0.15, 0.12, 0.10, 0.06, 0.05, 0.02)
        Relative frequency of each type.
    markers : float, default=0.04
        Share of the genes that are markers of a type; a type has at least two proteins as markers.
    fold_change : float, default=3.0
        Factor of the rate of a marker gene in its type.
    protein_fold_change : float, default=4.0
        The same for proteins.
    depth : float, default=2500.0
        Mean number of RNA molecules of a cell; there are ten times fewer proteins.
    depth_spread : float, default=0.35
        Standard deviation of the logarithm of the depth.
    dispersion : float, default=0.3
        Variance of the Gamma factor: the variance of counts is μ + dispersion · μ².
    dropout : float, default=0.0
        Share of the counts of genes that are set to zero.
    only_in_protein : pair of int or None, default=(2, 4)
        Two types with the same rates of RNA, which only proteins tell apart; None: no such pair.
    only_in_rna : pair of int or None, default=(5, 6)
        Two types with the same rates of proteins; None: no such pair.
    random_state : int, Generator or None, default=None
        Seed or generator; the same seed gives the same counts.
    return_X_y : bool, default=False
        Return `(data, target)` instead of a Bunch.

    Returns
    -------
    Bunch or (MultiViewData, array of shape (n_samples,))
        `data` with the views "rna" (CSR) and "protein", `target` (type of each cell), `view_names`
        and `DESCR`.

    Examples
    --------
    >>> from manyview.datasets import make_citeseq
    >>> make_citeseq(500, n_genes=200, random_state=0).data
    MultiViewData(500 samples; rna (200), protein (30))
    """
    _check(len(proportions), only_in_protein, only_in_rna)
    rng = np.random.default_rng(random_state)
    labels = draw_labels(n_samples, len(proportions), proportions, rng)
    genes = rng.gamma(0.5, 1.0, n_genes)
    rates = _rates(genes, len(proportions), max(round(markers * n_genes), 1), fold_change, rng)
    _make_equal(rates, only_in_protein)
    rna = _counts(rates[labels], depth, depth_spread, dispersion, rng)
    rna *= rng.random(rna.shape) >= dropout
    background = rng.gamma(2.0, 1.0, n_proteins)
    n_marked = max(n_proteins // len(proportions), 2)
    rates = _rates(background, len(proportions), n_marked, protein_fold_change, rng)
    _make_equal(rates, only_in_rna)
    protein = _counts(rates[labels], depth / 10, depth_spread, dispersion, rng)
    description = (
        f"Simulated CITE-seq: {n_genes} genes and {n_proteins} proteins as Poisson-Gamma counts, "
        f"{len(proportions)} types."
    )
    views = {"rna": sparse.csr_array(rna), "protein": protein}
    return bundle(views, labels, description, as_pair=return_X_y)


def _rates(
    base: FloatArray, n_types: int, n_markers: int, fold_change: float, rng: np.random.Generator
) -> FloatArray:
    """Rates of each type, with its own markers raised: (types, features)."""
    rates = np.tile(base, (n_types, 1))
    for of_type in rates:
        of_type[rng.choice(len(base), n_markers, replace=False)] *= fold_change
    return rates


def _make_equal(rates: FloatArray, pair: tuple[int, int] | None) -> None:
    if pair is not None:
        rates[pair[1]] = rates[pair[0]]


def _counts(
    rates: FloatArray,
    depth: float,
    depth_spread: float,
    dispersion: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Poisson-Gamma counts with the given rates, up to the depth of each cell."""
    depths = depth * np.exp(depth_spread * rng.standard_normal((len(rates), 1)))
    means = depths * rates / rates.sum(axis=1, keepdims=True)
    if dispersion > 0:
        means = means * rng.gamma(1 / dispersion, dispersion, means.shape)
    return np.asarray(rng.poisson(means), dtype=np.float64)


def _check(n_types: int, *pairs: tuple[int, int] | None) -> None:
    """Refuse pairs of types that do not exist."""
    for pair in pairs:
        if pair is not None and (len(set(pair)) != 2 or not all(0 <= c < n_types for c in pair)):
            msg = f"Found a pair of types {pair!r}; expected two different numbers below {n_types}."
            raise ViewError(msg)
