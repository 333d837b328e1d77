"""ConcatKMeans: k-means on the concatenated views, the most common approach.

S. Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory, 1982;
D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA, 2007.

Objective, over one-hot labels Y and centers C_v::

    J = Σ_v ‖X_v − Y C_v‖²

Complexity: an iteration takes O(n k Σ_v d_v) time; memory is O(n Σ_v d_v), for the
concatenated copy.

Differences from scikit-learn's `KMeans` on a concatenated array: views are scaled first, and the
limits of time and memory are checked between the starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyview.base import COUNT, generator, param, scale_option
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._finish import best_kmeans
from manyview.baselines._scaling import Scale, joined_views
from manyview.data.views import MultiViewData


@dataclass(eq=False, repr=False, kw_only=True)
class ConcatKMeans(Baseline):
    """k-means on the concatenated views.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    scale : None, "auto", "unit", "l2", "sqrt-l2", "z", "z-l2" or a list of these, default="z"
        Scaling of the views; see OMVCDR. z-scores are the usual recommendation.
    n_init : int, default=10
        Number of starts; the one with the lowest inertia is kept.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
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
    cluster_centers_ : array of shape (n_clusters, n_features)
        Centers, in the units of the scaled views.
    inertia_ : float
        Objective of the best start.
    n_iter_ : int
        Number of its iterations.

    References
    ----------
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.concat_kmeans import ConcatKMeans
    >>> views = [np.array([[0.0], [1], [8], [9]]), np.array([[5.0], [5], [2], [2]])]
    >>> labels = ConcatKMeans(n_clusters=2, random_state=0).fit_predict(views)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    scale: Scale = param("z", scale_option())
    n_init: int = param(10, COUNT)
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        X = joined_views(data, self.scale, None, budget)
        rng = generator(self.random_state)
        kmeans = best_kmeans(X, self.n_clusters, self.n_init, rng, budget)
        self.labels_ = kmeans.labels_
        self.cluster_centers_ = kmeans.cluster_centers_
        self.inertia_ = float(kmeans.inertia_)
        self.n_iter_ = int(kmeans.n_iter_)
