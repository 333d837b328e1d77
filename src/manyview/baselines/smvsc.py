"""SMVSC: anchors that all views share, learned together with one anchor graph.

M. Sun et al., "Scalable Multi-view Subspace Clustering with Unified Anchors", ACM International
Conference on Multimedia, 2021.

Objective, W_vᵀW_v = I, AᵀA = I, rows of Z on the simplex, a on the simplex::

    J = Σ_v a_v² ‖X_v − Z Aᵀ W_vᵀ‖² + λ ‖Z‖²

k-means of the normalised rows of the left singular vectors of Z gives the labels.

Complexity: an iteration takes O(n (d + m) Σ_v d_v) time and one pass over the rows; memory is
O(n m) beside the views, which are scaled in blocks and never copied.

Differences of the published program, which ``quirks=True`` follows:

1. It forms the targets f_i = Σ_v AᵀW_vᵀx_vi of z_i without the weights a_v², so its update of Z is
   no minimiser and J can rise.
2. With more anchors than dimensions (its grid has m = k, 2k, 3k, and d = k) AᵀA = I cannot hold.
   It goes on as if it did, for A and for Z. Without quirks AAᵀ = I takes its place, z_i solves the
   quadratic program with the true AᵀA, and the update of A lowers J.

Differences of ours from the program in both cases:

3. The program prints the best of 50 k-means runs for each measure, by the truth. We keep the run
   of lowest inertia of `n_init`, started by k-means++ where the program takes random rows.
4. d is at most the number of features of the narrowest view, so that W_vᵀW_v = I can hold; neither
   anchors nor dimensions are more than the samples.
5. Both start from W_v = I, which reads the first d features. Where these are blank in every view,
   as the corners of images are, rounding errors choose the next W_v; ours are then d samples.
"""

from dataclasses import dataclass

import numpy as np

from manyview.base import COUNT, FLAG, NONE, either, number, one_of, param
from manyview.baselines._anchors import Scale
from manyview.baselines._unified_anchors import Rule, UnifiedAnchorClusterer

__all__ = ["SMVSC"]


@dataclass(eq=False, repr=False, kw_only=True)
class SMVSC(UnifiedAnchorClusterer):
    """Scalable multi-view subspace clustering with unified anchors.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    n_anchors : int, optional
        Number of anchors, m; None takes k. The published grid is k, 2k, 3k.
    n_dims : int, optional
        Dimensions of the space of the anchors, d; None takes k.
    lam : float, default=1.0
        Weight of ‖Z‖², λ.
    quirks : bool, default=False
        Follow the released program where it leaves the objective.
    scale : {"z", None}, default="z"
        Standardize the features, as the released program does, or take the views as given.
    max_iter : int, default=51
        Most iterations.
    tol : float, default=1e-3
        Stop, from the tenth iteration on, once the objective changes by less than this share.
    n_init : int, default=10
        Runs of the k-means that ends the method.
    random_state : int, RandomState or None, default=None
        Seed of the k-means; the rest is not random.
    time_limit : float, optional
        Seconds; a fit that takes longer declines.
    memory_limit : float, optional
        Bytes beside the views; a fit that needs more declines.
    view_sizes : sequence of int, optional
        Widths of the views where X is one 2-D array.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each sample.
    anchors_ : array of shape (n_anchors, n_dims)
        Anchors in the common space; ``anchors_ @ bases_[v].T`` are those of a view, scaled.
    bases_ : list of arrays of shape (d_v, n_dims)
        Basis of each view, with orthonormal columns.
    anchor_graph_ : array of shape (n_samples, n_anchors)
        Z; rows are nonnegative and sum to one.
    view_weights_ : array of shape (n_views,)
        Weight of each view, a; they sum to one.
    embedding_ : array of shape (n_samples, n_anchors)
        What the last k-means reads; fewer columns where Z has a lower rank.
    objective_history_ : array of shape (n_iter,)
        J after each iteration.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features of all views.

    References
    ----------
    M. Sun et al., "Scalable Multi-view Subspace Clustering with Unified Anchors", ACM International
    Conference on Multimedia, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.smvsc import SMVSC
    >>> views = [np.repeat([[0.0, 9.0], [9.0, 0.0]], 3, axis=0) + np.eye(6, 2)] * 2
    >>> labels = SMVSC(n_clusters=2, random_state=0).fit_predict(views)
    >>> labels == labels[0]
    array([ True,  True,  True, False, False, False])
    """

    n_anchors: int | None = param(None, either(NONE, COUNT))
    n_dims: int | None = param(None, either(NONE, COUNT))
    lam: float = param(1.0, number(least=0))
    quirks: bool = param(False, FLAG)
    scale: Scale = param("z", one_of("z", None))
    max_iter: int = param(51, COUNT)
    tol: float = param(1e-3, number(least=0))
    n_init: int = param(10, COUNT)
    random_state: int | np.random.RandomState | None = None

    def _rule(self, n_samples: int, narrowest: int) -> Rule:
        return Rule(
            n_anchors=min(self.n_anchors or self.n_clusters, n_samples),
            n_dims=min(self.n_dims or self.n_clusters, narrowest, n_samples),
            lam=self.lam,
            has_quirks=self.quirks,
        )
