"""The compiled loops over rows: moments, embedding, and the label step on F.

u is the number of readings present, n the weight of a cluster, g the pull of a space; a space has
the columns starts[p]:ends[p] of b and of the cluster means. With ρ_u(n) = u g n / (u + g n), the
cost of a cluster in a space is the scatter of its b_i with weights ρ_u(n). Adding a sample of
weight w raises n for all members (first term) and adds one point (second term):

    add = [cost at ρ(n + w) − cost at ρ(n), same members] + K ρ w / (K + ρ w) · ‖b − z̄‖²

where K = Σ_u ρ_u n_u and z̄ is the ρ-weighted mean, both at n + w. The bracket does not depend on
the sample, so it is cached per cluster. All terms but one, of second order, are sums of
non-negative numbers: nothing cancels.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from manyview.blocks import FloatArray, IntArray

# sums may be reordered into vector lanes; NaN and signed zeros keep their meaning
STRIDE = 32  # columns between two looks at whether a cluster is already too far
compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})


class Clusters(NamedTuple):
    """What the label step knows of the clusters; `rows` to `scatter` change with each move."""

    levels: FloatArray  # (G,)
    pull: FloatArray  # (m,)
    starts: IntArray  # (m,)
    ends: IntArray  # (m,)
    rows: NDArray[np.int64]  # (G, k)
    weight: FloatArray  # (G, k)
    mean: FloatArray  # (G, k, D)
    scatter: FloatArray  # (G, k, m)


class Costs(NamedTuple):
    """add of each cluster for one weight w: grow + Σ_p slope ‖b − center‖²."""

    grow: FloatArray  # (k,)
    slope: FloatArray  # (G, k, m)
    center: FloatArray  # (k, D)
    spare: FloatArray  # (1, D)


@compiled
def row_squares(X, scale, offset):
    """‖x ∘ scale − offset‖² of each row, in float64 whatever the dtype of X."""
    out = np.zeros(len(X))
    for i in range(len(X)):
        for j in range(X.shape[1]):
            out[i] += (X[i, j] * scale[j] - offset[j]) ** 2
    return out


@compiled
def mixed_squares(indptr, indices, shares, gram):
    """‖Σ_j s_j t_j‖² of each row of shares, from the inner products of the t_j."""
    out = np.zeros(len(indptr) - 1)
    for i in range(len(out)):
        for a in range(indptr[i], indptr[i + 1]):
            for b in range(indptr[i], indptr[i + 1]):
                out[i] += shares[a] * shares[b] * gram[indices[a], indices[b]]
    return out


@compiled
def squared_distance(b, i, points, c, start, end):
    """‖b_i − points_c‖² over some columns, in float64 whatever the dtype of b."""
    total = 0.0
    for j in range(start, end):
        difference = b[i, j] - points[c, j]
        total += difference * difference
    return total


@compiled
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
            distance = squared_distance(b, i, mean[u], c, starts[p], ends[p])
            scatter[u, c, p] += weights[i] * distance


@compiled
def embed(b, labels, group, keep, center, shift, starts, ends, out):
    """z = z̄ + keep · (b − z̄) + shift."""
    for i in range(len(b)):
        u, c = group[i], labels[i]
        for p in range(len(starts)):
            share = keep[u, c, p]
            for j in range(starts[p], ends[p]):
                out[i, j] = center[c, j] + share * (b[i, j] - center[c, j]) + shift[j]


@compiled
def weighted_mean(s, c, p, n, out, row):
    """z̄ of one space at cluster weight n: members weighted by ρ_u / (g n) = u / (u + g n)."""
    total = 0.0
    for j in range(s.starts[p], s.ends[p]):
        out[row, j] = 0.0
    for u in range(len(s.levels)):
        share = s.weight[u, c] * s.levels[u] / (s.levels[u] + s.pull[p] * n)
        total += share
        for j in range(s.starts[p], s.ends[p]):
            out[row, j] += share * s.mean[u, c, j]
    if total > 0:
        for j in range(s.starts[p], s.ends[p]):
            out[row, j] /= total


@compiled
def regrown(s, c, p, n, n_new, old, new, row):
    """Cost at ρ(n_new) minus cost at ρ(n) of the same members in one space; n_new > n.

    Row 0 of `old` and the given row of `new` receive z̄ at the two weights. With κ = ρ_u n_u the
    part between groups changes by Σ_u Δκ_u ‖b̄_u − z̄_old‖² − K_new ‖z̄_new − z̄_old‖².
    """
    g, start, end = s.pull[p], s.starts[p], s.ends[p]
    n_groups = len(s.levels)
    if n_groups == 1:
        for j in range(start, end):
            old[0, j] = new[row, j] = s.mean[0, c, j]
    else:
        weighted_mean(s, c, p, n, old, 0)
        weighted_mean(s, c, p, n_new, new, row)
    change, mass = 0.0, 0.0
    for u in range(n_groups):
        level = s.levels[u]
        rise = level * level * g * (n_new - n) / ((level + g * n) * (level + g * n_new))
        change += rise * s.scatter[u, c, p]
        if n_groups > 1:
            mass += s.weight[u, c] * level * g * n_new / (level + g * n_new)
            change += rise * s.weight[u, c] * squared_distance(s.mean[u], c, old, 0, start, end)
    if n_groups > 1:
        for j in range(start, end):
            change -= mass * (new[row, j] - old[0, j]) ** 2
    return change


@compiled
def prepare(s, costs, c, w):
    """Fill the costs of one cluster for adding a sample of weight w."""
    n = s.weight[:, c].sum()
    costs.grow[c] = 0.0
    for p in range(len(s.pull)):
        costs.grow[c] += regrown(s, c, p, n, n + w, costs.spare, costs.center, c)
        scaled = s.pull[p] * (n + w)
        mass = 0.0
        for u in range(len(s.levels)):
            mass += s.weight[u, c] * s.levels[u] * scaled / (s.levels[u] + scaled)
        for u in range(len(s.levels)):
            point = w * s.levels[u] * scaled / (s.levels[u] + scaled)
            costs.slope[u, c, p] = mass * point / (mass + point) if mass > 0 else 0.0


@compiled
def prepare_all(s, w):
    """Costs of all clusters for adding a sample of weight w."""
    G, k, D = s.mean.shape
    costs = Costs(np.empty(k), np.empty((G, k, len(s.pull))), np.empty((k, D)), np.empty((1, D)))
    for c in range(k):
        prepare(s, costs, c, w)
    return costs


@compiled
def removal(s, b, i, c, u, w, center, spare):
    """rem(c): by how much F falls when sample i of weight w leaves its cluster."""
    n = s.weight[:, c].sum()
    rest = n - w
    total = 0.0
    for p in range(len(s.pull)):
        total += regrown(s, c, p, rest, n, center, spare, 0)
        scaled = s.pull[p] * rest
        point = w * s.levels[u] * scaled / (s.levels[u] + scaled)
        others = 0.0
        for v in range(len(s.levels)):
            left = s.weight[v, c] - w if v == u else s.weight[v, c]
            others += left * s.levels[v] * scaled / (s.levels[v] + scaled)
        if others > 0:
            distance = squared_distance(b, i, center, 0, s.starts[p], s.ends[p])
            total += (others + point) * point / others * distance
    return total


@compiled
def cheapest(s, costs, b, i, u, own, best):
    """Cluster but `own` whose add is least and below `best`, else `own`, and that add or `best`.

    Sums stop once they exceed `best`.
    """
    target = own
    for c in range(len(costs.grow)):
        if c == own:
            continue
        cost = costs.grow[c]
        for p in range(len(s.pull)):
            j = s.starts[p]
            while j < s.ends[p] and cost < best:
                end = min(j + STRIDE, s.ends[p])
                distance = squared_distance(b, i, costs.center, c, j, end)
                cost += costs.slope[u, c, p] * distance
                j = end
        if cost < best:
            best = cost
            target = c
    return target, best


@compiled
def nearest(s, b, group, labels):
    """Cluster of least add for a sample of weight one, statistics frozen."""
    costs = prepare_all(s, 1.0)
    for i in range(len(b)):
        labels[i], _ = cheapest(s, costs, b, i, group[i], -1, np.inf)


@compiled
def margins(s, b, labels, group, out):
    """1 − add(own) / least add of another cluster; 1 where there is no other."""
    costs = prepare_all(s, 1.0)
    for i in range(len(b)):
        u, own = group[i], labels[i]
        add = costs.grow[own]
        for p in range(len(s.pull)):
            distance = squared_distance(b, i, costs.center, own, s.starts[p], s.ends[p])
            add += costs.slope[u, own, p] * distance
        _, other = cheapest(s, costs, b, i, u, own, np.inf)
        out[i] = max(1.0 - add / other, 0.0) if other > 0.0 else 0.0


@compiled
def transfer(s, b, i, u, c, sign, w):
    """Add (sign 1) or take away (sign -1) sample i of weight w in the moments of cluster c."""
    before = s.weight[u, c]
    after = before + sign * w
    s.rows[u, c] += sign
    if s.rows[u, c] == 0:
        after = 0.0
        for p in range(len(s.pull)):
            s.scatter[u, c, p] = 0.0
        for j in range(b.shape[1]):
            s.mean[u, c, j] = 0.0
    else:
        for p in range(len(s.pull)):
            distance = squared_distance(b, i, s.mean[u], c, s.starts[p], s.ends[p])
            change = sign * w * before / after * distance
            s.scatter[u, c, p] = max(s.scatter[u, c, p] + change, 0.0)
        for j in range(b.shape[1]):
            s.mean[u, c, j] += sign * w / after * (b[i, j] - s.mean[u, c, j])
    s.weight[u, c] = after


@compiled
def sweep(s, b, labels, group, weights, order, tolerance):
    """Move each sample in turn to the cluster that lowers F most; return how many moved."""
    prepared_for = weights[order[0]]
    costs = prepare_all(s, prepared_for)
    center = np.empty((1, b.shape[1]))
    n_moved = 0
    for i in order:
        c, u, w = np.int64(labels[i]), group[i], weights[i]
        if s.rows[:, c].sum() == 1:
            continue  # never empty a cluster
        if w != prepared_for:
            costs = prepare_all(s, w)
            prepared_for = w
        leave = removal(s, b, i, c, u, w, center, costs.spare)
        target, _ = cheapest(s, costs, b, i, u, c, leave * (1.0 - tolerance))
        if target != c:
            transfer(s, b, i, u, c, -1, w)
            transfer(s, b, i, u, target, 1, w)
            prepare(s, costs, c, w)
            prepare(s, costs, target, w)
            labels[i] = target
            n_moved += 1
    return n_moved


@compiled
def nearest_shares(distance, nearest, shares):
    """Of each row, the s nearest columns and δ_{s+1} − δ_j over its sum; s + 1 columns at least."""
    n, s = nearest.shape
    for i in range(n):
        found = np.full(s + 1, np.inf)
        where = np.zeros(s + 1, dtype=np.int32)
        for j in range(distance.shape[1]):
            if distance[i, j] < found[s]:
                p = s
                while p > 0 and distance[i, j] < found[p - 1]:
                    found[p], where[p] = found[p - 1], where[p - 1]
                    p -= 1
                found[p], where[p] = distance[i, j], j
        total = 0.0
        for p in range(s):
            total += found[s] - found[p]
        for p in range(s):
            nearest[i, p] = where[p]
            shares[i, p] = (found[s] - found[p]) / total if total > 0 else 1.0 / s
