"""FPMVS-CAG: one anchor graph for all views, without hyperparameters.

S. Wang et al., "Fast Parameter-Free Multi-View Subspace Clustering With Consensus Anchor Guidance",
IEEE Transactions on Image Processing 31, 2022.

Objective, with as many anchors and dimensions as clusters, W_vᵀW_v = I, AᵀA = I, rows of Z on the
simplex, a on the simplex::

    J = Σ_v a_v² ‖X_v − Z Aᵀ W_vᵀ‖²

k-means of the normalized rows of the left singular vectors of Z gives the labels.

Complexity: an iteration takes O(n k Σ_v d_v) time and one pass over the rows; memory is O(n k)
in addition to the views, which are scaled in blocks and never copied.

Differences of the published program from this objective; it is the default, and ``quirks=False``
minimizes J instead, which separates the classes of the public files less well:

1. It forms the targets f_i = Σ_v AᵀW_vᵀx_vi of z_i without the weights a_v², so its update of Z is
   not a minimizer, and J can increase.
2. Its weights are a_v ∝ 1/‖residual of view v‖; the minimiser of J has the square of that norm.

Differences of ours from the program in both cases:

3. The program prints the best of 50 k-means runs for each metric, given the true labels. We keep
   the run with the lowest inertia of `n_init`, with k-means++ instead of random rows as seeds.
4. The dimensions are at most the features of the narrowest view, so that W_vᵀW_v = I can hold.
   Where they are fewer than k, AAᵀ = I takes the place of AᵀA = I; see SMVSC.
5. Both start from W_v = I, which uses only the first k features. If these are zero in every view,
   like the corners of images, rounding errors determine the next W_v; ours are then k samples.
   Where few of them vary, the next W_v is the polar factor of a matrix of low rank, and rounding
   decides, too: the LAPACK driver moves the program's ACC on handwritten_2v from 0.73 to 0.64.
"""

from dataclasses import dataclass

import numpy as np

from manyview.base import COUNT, FLAG, number, one_of, param
from manyview.baselines._anchors import Scale
from manyview.baselines._unified_anchors import Rule, UnifiedAnchorClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class FPMVS(UnifiedAnchorClusterer):
    """Fast parameter-free multi-view subspace clustering with consensus anchor guidance.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k, of anchors, and of dimensions of their space.
    quirks : bool, default=True
        Follow the released program where it deviates from the objective.
    scale : {"z", None}, default="z"
        Standardize the features, as the released program does, or use the views as given.
    max_iter : int, default=20
        Maximum number of iterations.
    tol : float, default=0.0
        Relative tolerance of the objective, checked from the tenth iteration on. The
        released program makes all 20 iterations.
    n_init : int, default=10
        Number of starts of the final k-means.
    random_state : int, RandomState or None, default=None
        Seed of the final k-means; the rest is deterministic.
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
    anchors_ : array of shape (n_clusters, n_dims)
        Anchors in the common space; ``anchors_ @ bases_[v].T`` are those of a view, scaled.
    bases_ : list of arrays of shape (d_v, n_dims)
        Basis of each view, with orthonormal columns.
    anchor_graph_ : array of shape (n_samples, n_clusters)
        Z; rows are nonnegative and sum to one.
    view_weights_ : array of shape (n_views,)
        Weight of each view, a; they sum to one.
    embedding_ : array of shape (n_samples, n_clusters)
        Rows clustered by the final k-means; fewer columns if Z has a lower rank.
    objective_history_ : array of shape (n_iter,)
        J after each iteration.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features of all views.

    References
    ----------
    S. Wang et al., "Fast Parameter-Free Multi-View Subspace Clustering With Consensus Anchor
    Guidance", IEEE Transactions on Image Processing 31, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.fpmvs import FPMVS
    >>> views = [np.repeat([[0.0, 9.0], [9.0, 0.0]], 3, axis=0) + np.eye(6, 2)] * 2
    >>> labels = FPMVS(n_clusters=2, random_state=0).fit_predict(views)
    >>> labels == labels[0]
    array([ True,  True,  True, False, False, False])
    """

    quirks: bool = param(True, FLAG)
    scale: Scale = param("z", one_of("z", None))
    max_iter: int = param(20, COUNT)
    tol: float = param(0.0, number(least=0))
    n_init: int = param(10, COUNT)
    random_state: int | np.random.RandomState | None = None

    def _rule(self, n_samples: int, narrowest: int) -> Rule:
        return Rule(
            n_anchors=self.n_clusters,
            n_dims=min(self.n_clusters, narrowest),
            lam=0.0,
            weight_power=0.5 if self.quirks else 1.0,
            has_quirks=self.quirks,
        )
