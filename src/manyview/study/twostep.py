"""The two-step variant: factorize without labels (λ = 0), then run k-means many times.

At λ = 0 the published model is Σ_p Σ_v ‖X_v − Z_p H_pvᵀ‖², H_pvᵀH_pv = I. Labels and weights
then have no influence on Z; k-means clusters the concatenated Z_1 … Z_m.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.cluster import KMeans

from manyview.data.conversion import View
from manyview.data.views import MultiViewData
from manyview.metrics import evaluate
from manyview.utils.types import FloatArray

MAX_ITER = 101  # as in the published program
TOL = 1e-5


def factorize(views: Sequence[View], dims: Sequence[int]) -> tuple[FloatArray, list[float]]:
    """Alternate Z_p = Σ_v X_v H_pv / V and H_pv = polar(X_vᵀ Z_p) as the published program does.

    Parameters
    ----------
    views : sequence of arrays of shape (n_samples, d_v)
        Dense or sparse.
    dims : sequence of int
        Dimension of each space.

    Returns
    -------
    (array of shape (n_samples, Σ_p d_p), list of float)
        The concatenated spaces, and the objective after each iteration.
    """
    bases = [[np.eye(X.shape[1], d_p) for X in views] for d_p in dims]
    sqnorm = sum(float((X.multiply(X) if hasattr(X, "multiply") else X * X).sum()) for X in views)
    history: list[float] = []
    while True:
        embedding = [
            np.sum([X @ H for X, H in zip(views, row, strict=True)], axis=0) / len(views)
            for row in bases
        ]  # p: (n, d_p)
        cross = [[np.asarray(X.T @ Z) for X in views] for Z in embedding]
        bases = [[linalg.polar(C)[0] for C in row] for row in cross]
        history.append(len(dims) * sqnorm + sum(map(_excess, embedding, cross, bases)))
        gain = abs(history[-1] - history[-2]) if len(history) > 2 else np.inf
        if len(history) == MAX_ITER or gain < TOL * abs(history[-1]):
            return np.hstack(embedding), history


def _excess(Z: FloatArray, cross: list[FloatArray], row: list[FloatArray]) -> float:  # noqa: N803
    """Σ_v ‖Z H_vᵀ‖² − 2 tr(H_vᵀ X_vᵀ Z)."""
    gram = Z.T @ Z
    return sum(
        float((gram * (H.T @ H)).sum() - 2 * (C * H).sum()) for C, H in zip(cross, row, strict=True)
    )


def two_step_scores(
    data: MultiViewData, target: NDArray[Any], *, n_spaces: int = 3, n_runs: int = 50
) -> list[dict[str, float]]:
    """Scores of repeated k-means runs on the factors of the model without labels.

    Parameters
    ----------
    data : MultiViewData
        Complete views.
    target : array of shape (n_samples,)
        Known classes.
    n_spaces : int, default=3
        Number of latent spaces, of k, 2k, … dimensions.
    n_runs : int, default=50
        Number of k-means runs, one start each.

    Returns
    -------
    list of dict
        Metrics of each run.
    """
    k = len(np.unique(target))
    views = [X.astype(np.float64, copy=False) for X in data.arrays]
    rows, _ = factorize(views, [p * k for p in range(1, n_spaces + 1)])
    runs = (KMeans(k, n_init=1, random_state=seed).fit_predict(rows) for seed in range(n_runs))
    return [evaluate(target, labels) for labels in runs]
