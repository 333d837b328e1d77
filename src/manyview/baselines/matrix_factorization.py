"""MatrixFactorizationClustering: an orthogonal factorization, then k-means on the coefficients.

Eq. (ORTHO_MFSVC) of X. Wan et al., "One-step Multi-view Clustering with Diverse Representation",
IEEE Transactions on Neural Networks and Learning Systems, 2024: the model that OMVCDR builds on.

Objective, over HᵀH = I, X being one view or all views concatenated::

    J = ‖X − Z Hᵀ‖²

The minimum is known: H holds the first right singular vectors of X, and Z = X H.

Complexity: O(n d k) time per step of the Lanczos method, which takes tens of steps; memory is
O((n + d) k) in addition to X.

Differences from the literature:

1. H and Z are computed directly, not by alternation.
2. H has fewer than k columns if X has fewer rows or columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import svds

from manyview.base import COUNT, NONE, either, generator, param, scale_option
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._finish import best_kmeans
from manyview.baselines._scaling import VIEW, Rows, Scale, joined_views
from manyview.data.views import MultiViewData
from manyview.utils.types import FloatArray


@dataclass(eq=False, repr=False, kw_only=True)
class MatrixFactorizationClustering(Baseline):
    """The best orthogonal factorization, then k-means on its coefficients.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    n_components : int, optional
        Number of columns of H; None uses `n_clusters`.
    view : int, optional
        Index of the view to cluster; None concatenates all views.
    scale : None, "auto", "unit", "l2", "sqrt-l2", "z", "z-l2" or a list of these, default=None
        Scaling of the views; see OMVCDR.
    n_init : int, default=10
        Number of k-means runs; the one with the lowest inertia is kept.
    random_state : int, RandomState or None, default=None
        Seed of the Lanczos method and of k-means.
    time_limit : float, optional
        Seconds; a fit that takes longer raises DeclinedError.
    memory_limit : float, optional
        Bytes in addition to the views; a fit that needs more raises DeclinedError.
    view_sizes : sequence of int, optional
        Number of features of each view, if X is one 2-D array of concatenated views.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each sample.
    embedding_ : array of shape (n_samples, n_components)
        Coefficients, Z.
    basis_ : array of shape (n_features, n_components)
        Orthonormal basis, H.
    objective_ : float
        ‖X − Z Hᵀ‖².

    References
    ----------
    X. Wan et al., "One-step Multi-view Clustering with Diverse Representation", IEEE Transactions
    on Neural Networks and Learning Systems, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.matrix_factorization import MatrixFactorizationClustering
    >>> rows = np.repeat([[9.0, 1.0, 7.0], [1.0, 9.0, 0.0]], 3, axis=0)
    >>> labels = MatrixFactorizationClustering(n_clusters=2, random_state=0).fit_predict(rows)
    >>> [len(set(labels[:3])), len(set(labels[3:])), len(set(labels))]
    [1, 1, 2]
    """

    n_components: int | None = param(None, either(NONE, COUNT))
    view: int | None = param(None, VIEW)
    scale: Scale = param(None, scale_option())
    n_init: int = param(10, COUNT)
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        rng = generator(self.random_state)
        X = joined_views(data, self.scale, self.view, budget)
        n_components = min(self.n_components or self.n_clusters, *X.shape)
        budget.need(8 * n_components * sum(X.shape), "the factors")
        self.basis_ = _first_directions(X, n_components, rng)
        budget.tick("the factorization is done")
        Z = np.asarray(X @ self.basis_.astype(X.dtype), dtype=np.float64)
        sum_squares = float(np.einsum("ij,ij->i", X, X).sum(dtype=np.float64))
        self.embedding_ = Z
        self.objective_ = max(sum_squares - float(np.einsum("ij,ij->", Z, Z)), 0.0)
        self.labels_ = best_kmeans(Z, self.n_clusters, self.n_init, rng, budget).labels_


def _first_directions(X: Rows, n_components: int, rng: np.random.Generator) -> FloatArray:
    """H = the first right singular vectors of X."""
    small = min(X.shape)
    if 3 * n_components >= small:  # the Lanczos method needs fewer components
        _, _, Wt = linalg.svd(X, full_matrices=False)
    else:
        start = rng.standard_normal(small).astype(X.dtype)
        _, singular, Wt = svds(cast(Any, X), n_components, v0=start)
        Wt = Wt[np.argsort(-singular)]
    return np.asarray(Wt[:n_components].T, dtype=np.float64)
