"""Distance bounds that let a sweep skip rows, as in Elkan's k-means.

Late sweeps change few labels. Bounds on the distances to the nearest cluster and to the others are
computed once for all rows; a row is skipped until the centers have shifted so far that its bounds
no longer exclude a change.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

import numpy as np

from manyview.kernels.rows import compiled


@compiled
def distance_bounds(costs, bounds, out):
    """Nearest cluster of each row, upper bound of its distance, lower bound of the others.

    The first is √(Σ_p slope ‖b − center‖²); the second √(add − least grow), for any cluster.
    """
    grow, least = costs.grow, bounds.least
    for i in range(len(out)):
        nearest, lowest, second = 0, np.inf, np.inf
        for c in range(len(grow)):
            cost = grow[c] + max(least[i, c], 0.0)
            if cost < lowest:
                nearest, lowest, second = c, cost, lowest
            elif cost < second:
                second = cost
        size = bounds.length[nearest]
        for p in range(bounds.slope.shape[1]):
            size += bounds.slope[nearest, p] * bounds.square[i, p]
        out[i, 0] = nearest
        out[i, 1] = np.sqrt(max(least[i, nearest], 0.0) + 2 * bounds.rounding * size)
        out[i, 2] = np.sqrt(max(second - grow.min(), 0.0))


@compiled
def bound_violated(distance_bounds, labels, before, costs, bounds, out):
    """Whether another cluster may now be better for a row than its own.

    `before` are the costs when the distance bounds were computed, `bounds` the shifts of clusters
    since. With s ≤ 1 the smallest relative slope, δ the largest shift and γ the largest decrease
    of a grow, add ≥ grow − γ + s (distance − δ)²; the smallest grow gives the lower bound.
    """
    center_shift, shrunk, fallen = 0.0, 1.0, 0.0
    for c in range(len(costs.grow)):
        center_shift = max(center_shift, bounds.center_shift[c])
        shrunk = min(shrunk, bounds.shrunk[c])
        fallen = max(fallen, before.grow[c] - costs.grow[c])
    lowest = before.grow.min() - fallen
    for i in range(len(labels)):
        own = labels[i]
        reach = distance_bounds[i, 1] + bounds.center_shift[own]
        leave = bounds.leaving[0, own] + bounds.leaving[1, own] * reach * reach
        left = max(distance_bounds[i, 2] - center_shift, 0.0)
        stays = own == distance_bounds[i, 0] and lowest + shrunk * left * left >= leave
        out[i] = not stays  # NaN is a violation
