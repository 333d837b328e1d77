"""Distance bounds: which rows a sweep may skip, as in Elkan's k-means.

Late sweeps move few rows. Bounds on the distances to the nearest cluster and to the next are taken
once for all rows; a row is skipped until the centers have shifted so far that its bounds no longer
rule out a move.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

import numpy as np

from manyview.kernels.rows import compiled

__all__ = [
    "bound_violated",
    "distance_bounds",
]


@compiled
def distance_bounds(costs, bounds, out):
    """Of each row: its nearest cluster, the distance to it at most, to the next at least.

    The first is √(Σ_p slope ‖b − center‖²); the second √(add − least grow), whichever the cluster.
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
    """Whether another cluster may by now be better for each row than its own.

    `before` are the costs when the distance bounds were taken, `bounds` how far clusters have moved
    since. With s ≤ 1 the least that a slope has shrunk to, δ the longest way and γ the most that a
    grow has fallen, add ≥ grow − γ + s (distance − δ)²; of all grows, the least gives the least.
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
        out[i] = not stays  # NaN does not stay
