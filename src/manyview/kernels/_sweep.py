"""The compiled loops over rows: moments, embedding, and the label step on F.

Notation (design of the label step): u is the number of readings present, n the weight of a
cluster, g the pull of a space, and each space has columns starts[p]:ends[p] of b and of the cluster
means. With ρ_u(n) = u g n / (u + g n), the cost of a cluster in a space is the scatter of its b_i
with weights ρ_u(n). Adding a sample of weight ω raises n for all members (first term) and adds one
point (second term):

    add = [cost at ρ(n + ω) − cost at ρ(n), same members] + K ρ ω / (K + ρ ω) · ‖b − z̄‖²

where K = Σ_u ρ_u n_u and z̄ is the ρ-weighted mean, both at n + ω. The bracket does not depend
on the sample, so it is cached per cluster. All terms are sums of non-negative numbers: nothing
cancels.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

# sums may be reordered into vector lanes; NaN and signed zeros keep their meaning
FAST = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=FAST)
def row_squares(X, scale, offset):
    """‖x ∘ scale − offset‖² of each row, in float64 whatever the dtype of X."""
    out = np.zeros(len(X))
    for i in range(len(X)):
        for j in range(X.shape[1]):
            out[i] += (X[i, j] * scale[j] - offset[j]) ** 2
    return out


@njit(cache=True, nogil=True, fastmath=FAST)
def cluster_moments(b, labels, group, weights, starts, ends, rows, count, mean, scatter):
    """Two passes: means first, then scatter about them."""
    n, D = b.shape
    for i in range(n):
        u, c = group[i], labels[i]
        rows[u, c] += 1
        count[u, c] += weights[i]
        for j in range(D):
            mean[u, c, j] += weights[i] * b[i, j]
    for u in range(count.shape[0]):
        for c in range(count.shape[1]):
            if count[u, c] > 0:
                for j in range(D):
                    mean[u, c, j] /= count[u, c]
    for i in range(n):
        u, c = group[i], labels[i]
        for p in range(len(starts)):
            scatter[u, c, p] += weights[i] * squared_distance(b, i, mean[u, c], starts[p], ends[p])


@njit(cache=True, nogil=True, fastmath=FAST)
def embed(b, labels, group, keep, center, shift, starts, ends, out):
    """z = z̄ + keep · (b − z̄) + shift."""
    for i in range(len(b)):
        u, c = group[i], labels[i]
        for p in range(len(starts)):
            share = keep[u, c, p]
            for j in range(starts[p], ends[p]):
                out[i, j] = center[c, j] + share * (b[i, j] - center[c, j]) + shift[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_distance(b, i, point, start, end):
    """Sum in float64 whatever the dtype of b."""
    total = 0.0
    for j in range(start, end):
        difference = b[i, j] - point[j]
        total += difference * difference
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def weighted_mean(c, pull, n, levels, count, mean, start, end, out):
    """z̄ of one space at cluster weight n: members weighted by ρ_u / (g n) = u / (u + g n)."""
    total = 0.0
    for j in range(start, end):
        out[j] = 0.0
    for u in range(len(levels)):
        share = count[u, c] * levels[u] / (levels[u] + pull * n)
        total += share
        for j in range(start, end):
            out[j] += share * mean[u, c, j]
    if total > 0:
        for j in range(start, end):
            out[j] /= total


@njit(cache=True, nogil=True, fastmath=FAST)
def regrown(c, g, n, n_new, levels, count, mean, scatter, p, start, end, old, new):
    """Cost at ρ(n_new) minus cost at ρ(n) of the same members in one space; n_new > n.

    `old` and `new` receive z̄ at the two weights. With κ = ρ_u n_u the part between groups changes
    by Σ_u Δκ_u ‖b̄_u − z̄_old‖² − K_new ‖z̄_new − z̄_old‖².
    """
    change = 0.0
    n_groups = len(levels)
    if n_groups > 1:
        weighted_mean(c, g, n, levels, count, mean, start, end, old)
        weighted_mean(c, g, n_new, levels, count, mean, start, end, new)
    mass = 0.0
    for u in range(n_groups):
        level = levels[u]
        rise = level * level * g * (n_new - n) / ((level + g * n) * (level + g * n_new))
        change += rise * scatter[u, c, p]
        if n_groups > 1:
            mass += count[u, c] * level * g * n_new / (level + g * n_new)
            change += rise * count[u, c] * squared_distance(mean[u], c, old, start, end)
    if n_groups == 1:
        for j in range(start, end):
            old[j] = new[j] = mean[0, c, j]
        return change
    moved = 0.0
    for j in range(start, end):
        moved += (new[j] - old[j]) ** 2
    return change - mass * moved


@njit(cache=True, nogil=True, fastmath=FAST)
def prepare(c, w, levels, pull, starts, ends, count, mean, scatter, grow, slope, center, spare):
    """Cache of one cluster for a sample of weight w: add = grow + Σ_p slope ‖b − center‖²."""
    n = 0.0
    for u in range(len(levels)):
        n += count[u, c]
    grow[c] = 0.0
    for p in range(len(pull)):
        g = pull[p]
        grow[c] += regrown(
            c, g, n, n + w, levels, count, mean, scatter, p, starts[p], ends[p], spare, center[c]
        )
        mass = 0.0
        for u in range(len(levels)):
            mass += count[u, c] * levels[u] * g * (n + w) / (levels[u] + g * (n + w))
        for u in range(len(levels)):
            point = w * levels[u] * g * (n + w) / (levels[u] + g * (n + w))
            slope[u, c, p] = mass * point / (mass + point) if mass > 0 else 0.0


@njit(cache=True, nogil=True, fastmath=FAST)
def removal(b, i, c, u, w, levels, pull, starts, ends, count, mean, scatter, center, spare):
    """rem(c): by how much F falls when sample i of weight w leaves its cluster."""
    n = 0.0
    for v in range(len(levels)):
        n += count[v, c]
    rest = n - w
    total = 0.0
    for p in range(len(pull)):
        g = pull[p]
        total += regrown(
            c, g, rest, n, levels, count, mean, scatter, p, starts[p], ends[p], center, spare
        )
        point = w * levels[u] * g * rest / (levels[u] + g * rest)
        others = 0.0
        for v in range(len(levels)):
            left = count[v, c] - w if v == u else count[v, c]
            others += left * levels[v] * g * rest / (levels[v] + g * rest)
        if others > 0:
            distance = squared_distance(b, i, center, starts[p], ends[p])
            total += (others + point) * point / others * distance
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def cheapest(b, i, u, grow, slope, center, starts, ends, own, best, target):
    """Cluster other than `own` with the lowest add below `best`, else `target`; sums stop early."""
    for c in range(len(grow)):
        if c == own:
            continue
        cost = grow[c]
        for p in range(len(starts)):
            if cost >= best:
                break
            cost += slope[u, c, p] * squared_distance(b, i, center[c], starts[p], ends[p])
        if cost < best:
            best = cost
            target = c
    return target


@njit(cache=True, nogil=True, fastmath=FAST)
def nearest(b, group, levels, pull, starts, ends, count, mean, scatter, labels):
    """Cluster of least add for a sample of weight one, statistics frozen."""
    G, k, D = mean.shape
    grow, slope, center = np.empty(k), np.empty((G, k, len(pull))), np.empty((k, D))
    spare = np.empty(D)
    for c in range(k):
        prepare(
            c, 1.0, levels, pull, starts, ends, count, mean, scatter, grow, slope, center, spare
        )
    for i in range(len(b)):
        labels[i] = cheapest(b, i, group[i], grow, slope, center, starts, ends, -1, np.inf, 0)


@njit(cache=True, nogil=True, fastmath=FAST)
def transfer(b, i, u, c, sign, w, starts, ends, rows, count, mean, scatter):
    """Add (sign 1) or take away (sign -1) sample i of weight w in the moments of cluster c."""
    before = count[u, c]
    after = before + sign * w
    rows[u, c] += sign
    if rows[u, c] == 0:
        count[u, c] = 0.0
        mean[u, c] = 0.0
        scatter[u, c] = 0.0
        return
    for p in range(len(starts)):
        distance = squared_distance(b, i, mean[u, c], starts[p], ends[p])
        scatter[u, c, p] = max(scatter[u, c, p] + sign * w * before / after * distance, 0.0)
    for j in range(b.shape[1]):
        mean[u, c, j] += sign * w / after * (b[i, j] - mean[u, c, j])
    count[u, c] = after


@njit(cache=True, nogil=True, fastmath=FAST)
def sweep(
    b,
    labels,
    group,
    weights,
    order,
    levels,
    pull,
    starts,
    ends,
    rows,
    count,
    mean,
    scatter,
    tolerance,
):
    """Move each sample in turn to the cluster that lowers F most; return how many moved."""
    G, k, D = mean.shape
    grow, slope, center = np.empty(k), np.empty((G, k, len(pull))), np.empty((k, D))
    spare, own_center = np.empty(D), np.empty(D)
    prepared_for = -1.0
    n_moved = 0
    for i in order:
        c, u, w = np.int64(labels[i]), group[i], weights[i]
        if rows[:, c].sum() == 1:
            continue  # never empty a cluster
        if w != prepared_for:
            for each in range(k):
                prepare(
                    each,
                    w,
                    levels,
                    pull,
                    starts,
                    ends,
                    count,
                    mean,
                    scatter,
                    grow,
                    slope,
                    center,
                    spare,
                )
            prepared_for = w
        leave = removal(
            b, i, c, u, w, levels, pull, starts, ends, count, mean, scatter, own_center, spare
        )
        best = leave * (1.0 - tolerance)
        target = cheapest(b, i, u, grow, slope, center, starts, ends, c, best, c)
        if target == c:
            continue
        transfer(b, i, u, c, -1, w, starts, ends, rows, count, mean, scatter)
        transfer(b, i, u, target, 1, w, starts, ends, rows, count, mean, scatter)
        labels[i] = target
        n_moved += 1
        for touched in (c, target):
            prepare(
                touched,
                w,
                levels,
                pull,
                starts,
                ends,
                count,
                mean,
                scatter,
                grow,
                slope,
                center,
                spare,
            )
    return n_moved
