"""Kernels of several views, and spectral embeddings of dense affinities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from manyview.baselines._base import Budget
from manyview.baselines._finish import dense, unit_rows
from manyview.data.conversion import View
from manyview.utils.types import FloatArray

_NEGLIGIBLE = 1e-10  # of the largest eigenvalue
_SMALL = 500  # samples; below, a dense decomposition is as fast as Lanczos'


@dataclass(frozen=True)
class KernelSpectrum:
    """Non-negligible eigenvalues of a kernel, and their eigenvectors."""

    values: FloatArray  # (r,)
    vectors: FloatArray  # (n, r)


def kernel_spectrum(views: Sequence[View], budget: Budget) -> KernelSpectrum:
    """Spectrum of Σ_v L X_v X_vᵀ L, with rows of unit norm, from the smaller side.

    Parameters
    ----------
    views : sequence of arrays or CSR arrays of shape (n_samples, d_v)
    budget : Budget
        Asked for the memory.

    Returns
    -------
    KernelSpectrum
    """
    n, width = views[0].shape[0], sum(X.shape[1] for X in views)
    units = [_unit_rows(X) for X in views]
    if width > n:
        budget.need(24.0 * n * n, f"a kernel of {n} x {n}")
        kernel = np.zeros((n, n))
        for X in units:
            kernel += dense(X @ X.T)
        kernel -= kernel.mean(axis=0)
        kernel -= kernel.mean(axis=1, keepdims=True)
        values, vectors = linalg.eigh(kernel)
        is_kept = values > _NEGLIGIBLE * values[-1]
        return KernelSpectrum(values[is_kept], vectors[:, is_kept])
    budget.need(24.0 * n * width, "the concatenated views")
    joined = np.hstack([dense(X) for X in units])
    joined -= joined.mean(axis=0)
    values, vectors = linalg.eigh(joined.T @ joined)
    is_kept = values > _NEGLIGIBLE * values[-1]
    values = values[is_kept]
    return KernelSpectrum(values, joined @ (vectors[:, is_kept] / np.sqrt(values)))


def spectral_rows(
    Z: FloatArray, n_clusters: int, rng: np.random.Generator, budget: Budget
) -> FloatArray:
    """Rows of norm one of the leading eigenvectors of D^(-1/2) (|Z| + |Z|ᵀ) D^(-1/2).

    Parameters
    ----------
    Z : array of shape (n_samples, n_samples)
        Overwritten.
    n_clusters : int
        Number of eigenvectors.
    rng : Generator
        For the start of Lanczos' iterations.
    budget : Budget
        Asked between the products.

    Returns
    -------
    array of shape (n_samples, n_clusters)
    """
    n = len(Z)
    budget.tick("the coefficients are done")
    np.abs(Z, out=Z)
    Z += Z.T  # numpy copies where operands overlap
    budget.tick("the affinities are done")
    degree = Z.sum(axis=1)
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
    Z *= scale
    Z *= scale[:, None]
    if n <= _SMALL or n_clusters > n // 4:
        vectors = linalg.eigh(Z, subset_by_index=[n - n_clusters, n - 1])[1]
    else:

        def multiply(x: FloatArray) -> FloatArray:
            budget.tick("embedding the affinities")
            return Z @ x

        operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
        vectors = eigsh(operator, n_clusters, which="LA", v0=rng.normal(size=n))[1]
    return unit_rows(vectors)


def _unit_rows(X: View) -> Any:
    """Rows divided by their norms; zero rows are unchanged."""
    X = X.astype(np.float64)
    norms = np.sqrt(np.asarray((X * X).sum(axis=1)).ravel())
    return sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ X
