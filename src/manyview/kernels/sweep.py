"""The compiled loops over rows: moments, embedding, and the label step on F.

u is the number of scaled views present, n the weight of a cluster, g the coupling of a space; a
space has the columns starts[p]:ends[p] of b and of the cluster means. With ρ_u(n) =
u g n / (u + g n), the cost of a cluster in a space is the scatter of its b_i with weights ρ_u(n).
Adding a sample of weight w raises n for all members (first term) and adds one point (second term):

    add = [cost at ρ(n + w) − cost at ρ(n), same members] + K ρ w / (K + ρ w) · ‖b − z̄‖²

where K = Σ_u ρ_u n_u and z̄ is the ρ-weighted mean, both at n + w. The bracket does not depend on
the sample, so it is cached per cluster. All terms but one, of second order, are sums of
non-negative numbers: nothing cancels.

Most labels do not change, which one matrix product per block can show: `Bounds` holds lower bounds
of the cost of each cluster. Only undecided cases are computed term by term, so that labels do not
depend on the bounds.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyview.kernels.rows import compiled
from manyview.utils.types import FloatArray, IntArray

STRIDE = 32  # columns between two checks whether a cluster is already too far
LOST = 1e-12  # of the weight of a cluster: what is left below it is mostly rounding


class ClusterArrays(NamedTuple):
    """State of the clusters in the label step; `rows` to `scatter` change with each label."""

    n_present: FloatArray  # (G,)
    coupling: FloatArray  # (m,)
    size_weight: float
    total: float  # weight of all samples
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


class Bounds(NamedTuple):
    """Costs of some rows at the start of the block, and shifts of the clusters since."""

    least: NDArray[
        np.floating
    ]  # (rows, k): Σ_p slope ‖b − center‖² minus its rounding; (0, k): none
    square: NDArray[np.floating]  # (rows, m): ‖b‖² in each space
    rounding: float  # of ‖b‖² − 2 b·center + ‖center‖², relative to ‖b‖² + ‖center‖²
    slope: FloatArray  # (k, m), at the start of the block
    center: FloatArray  # (k, D), at the start of the block
    length: FloatArray  # (k,): Σ_p slope ‖center‖²
    center_shift: FloatArray  # (k,): √(Σ_p slope ‖center now − center‖²)
    shrunk: FloatArray  # (k,): least slope now / slope
    leaving: FloatArray  # (2, k): rem ≤ leaving[0] + leaving[1] · Σ_p slope ‖b − center now‖²


@compiled
def squared_distance(x, y):
    """‖x − y‖², in float64 if either is."""
    total = 0.0
    for j in range(len(x)):
        difference = x[j] - y[j]
        total += difference * difference
    return total


@compiled
def add_to(total, share, x):
    """total += share · x."""
    for j in range(len(x)):
        total[j] += share * x[j]


@compiled
def cluster_moments(b, labels, group, weights, starts, ends, rows, count, mean, scatter):
    """Two passes: means first, then scatter around them."""
    for i in range(len(b)):
        u, c = group[i], labels[i]
        rows[u, c] += 1
        count[u, c] += weights[i]
        add_to(mean[u, c], weights[i], b[i])
    for u in range(count.shape[0]):
        for c in range(count.shape[1]):
            if count[u, c] > 0:
                mean[u, c] /= count[u, c]
    for i in range(len(b)):
        x, own = b[i], mean[group[i], labels[i]]
        for p in range(len(starts)):
            space = slice(starts[p], ends[p])
            distance = squared_distance(x[space], own[space])
            scatter[group[i], labels[i], p] += weights[i] * distance


@compiled
def embed(b, labels, group, weights, keep, center, shift, starts, ends, out):
    """ω (z̄ + keep · (b − z̄) + shift)."""
    for i in range(len(b)):
        c, w = labels[i], weights[i]
        for p in range(len(starts)):
            share, space = keep[group[i], c, p], slice(starts[p], ends[p])
            x, own, origin, z = b[i, space], center[c, space], shift[space], out[i, space]
            for j in range(len(x)):
                z[j] = w * (own[j] + share * (x[j] - own[j]) + origin[j])


@compiled
def weighted_mean(s, c, p, n, out, row):
    """z̄ of one space at cluster weight n: members weighted by ρ_u / (g n) = u / (u + g n)."""
    space, total = slice(s.starts[p], s.ends[p]), 0.0
    out[row, space] = 0.0
    for u in range(len(s.n_present)):
        share = s.weight[u, c] * s.n_present[u] / (s.n_present[u] + s.coupling[p] * n)
        total += share
        add_to(out[row, space], share, s.mean[u, c, space])
    if total > 0:
        out[row, space] /= total


@compiled
def regrown(s, c, p, n, n_new, w, old, new, row):
    """Cost at ρ(n_new) minus cost at ρ(n) of the same members in one space; n_new = n + w.

    w is given, since the difference of two weights of clusters loses the digits of a small one.
    Row 0 of `old` and the given row of `new` receive z̄ at the two weights. With κ = ρ_u n_u the
    part between groups changes by Σ_u Δκ_u ‖b̄_u − z̄_old‖² − K_new ‖z̄_new − z̄_old‖².
    """
    g, space = s.coupling[p], slice(s.starts[p], s.ends[p])
    n_groups = len(s.n_present)
    if n_groups == 1:
        old[0, space] = s.mean[0, c, space]
        new[row, space] = s.mean[0, c, space]
    else:
        weighted_mean(s, c, p, n, old, 0)
        weighted_mean(s, c, p, n_new, new, row)
    change, mass = 0.0, 0.0
    for u in range(n_groups):
        level = s.n_present[u]
        rise = level * level * g * w / ((level + g * n) * (level + g * n_new))
        change += rise * s.scatter[u, c, p]
        if n_groups > 1:
            mass += s.weight[u, c] * level * g * n_new / (level + g * n_new)
            apart = squared_distance(s.mean[u, c, space], old[0, space])
            change += rise * s.weight[u, c] * apart
    if n_groups > 1:
        change -= mass * squared_distance(new[row, space], old[0, space])
    return change


@compiled
def entropy_rise(s, n, w):
    """Rise of τ Σ n (1 − log n / N) when a cluster grows from n to n + w."""
    if s.size_weight == 0.0:
        return 0.0
    rise = w * (1.0 - np.log((n + w) / s.total))
    return s.size_weight * (rise - n * np.log1p(w / n) if n > 0 else rise)


@compiled
def prepare(s, costs, c, w):
    """Fill the costs of one cluster for adding a sample of weight w."""
    n = s.weight[:, c].sum()
    costs.grow[c] = entropy_rise(s, n, w)
    for p in range(len(s.coupling)):
        costs.grow[c] += regrown(s, c, p, n, n + w, w, costs.spare, costs.center, c)
        scaled = s.coupling[p] * (n + w)
        mass = 0.0
        for u in range(len(s.n_present)):
            mass += s.weight[u, c] * s.n_present[u] * scaled / (s.n_present[u] + scaled)
        for u in range(len(s.n_present)):
            point = w * s.n_present[u] * scaled / (s.n_present[u] + scaled)
            costs.slope[u, c, p] = mass * point / (mass + point) if mass > 0 else 0.0


@compiled
def prepare_all(s, w):
    """Costs of all clusters for adding a sample of weight w."""
    G, k, D = s.mean.shape
    costs = Costs(
        np.empty(k), np.empty((G, k, len(s.coupling))), np.empty((k, D)), np.empty((1, D))
    )
    for c in range(k):
        prepare(s, costs, c, w)
    return costs


@compiled
def removal(s, b, i, c, u, w, center, spare):
    """rem(c): decrease of F when sample i of weight w leaves its cluster."""
    n = s.weight[:, c].sum()
    rest = max(n - w, 0.0)
    total = entropy_rise(s, rest, w)
    for p in range(len(s.coupling)):
        total += regrown(s, c, p, rest, n, w, center, spare, 0)
        scaled = s.coupling[p] * rest
        point = w * s.n_present[u] * scaled / (s.n_present[u] + scaled)
        others = 0.0
        for v in range(len(s.n_present)):
            left = max(s.weight[v, c] - w, 0.0) if v == u else s.weight[v, c]
            others += left * s.n_present[v] * scaled / (s.n_present[v] + scaled)
        if others > 0:
            space = slice(s.starts[p], s.ends[p])
            distance = squared_distance(b[i, space], center[0, space])
            total += (others + point) * point / others * distance
    return total


@compiled
def leaving_costs(s, w):
    """rem of each cluster for a sample of weight w in each group: grow + Σ_p slope ‖b − center‖².

    The slope is zero where no other sample is in the cluster.
    """
    G, k, D = s.mean.shape
    m = len(s.coupling)
    grow, slope, center, spare = (
        np.zeros(k),
        np.zeros((G, k, m)),
        np.empty((k, D)),
        np.empty((1, D)),
    )
    for c in range(k):
        n = s.weight[:, c].sum()
        rest = max(n - w, 0.0)
        grow[c] = entropy_rise(s, rest, w)
        for p in range(m):
            grow[c] += regrown(s, c, p, rest, n, w, center[c : c + 1], spare, 0)
            scaled = s.coupling[p] * rest
            for u in range(G):
                point = w * s.n_present[u] * scaled / (s.n_present[u] + scaled)
                others = 0.0
                for v in range(G):
                    left = max(s.weight[v, c] - w, 0.0) if v == u else s.weight[v, c]
                    others += left * s.n_present[v] * scaled / (s.n_present[v] + scaled)
                if others > 0:
                    slope[u, c, p] = (others + point) * point / others
    return Costs(grow, slope, center, spare)


@compiled
def propose(s, costs, bounds, b, labels, group, weights, tolerance, out):
    """The cluster to which each sample alone would move, statistics fixed; see `sweep`."""
    prepared_for = weights[0]
    is_bounded = len(bounds.least) > 0
    center = np.empty((1, b.shape[1]))
    for i in range(len(b)):
        c, u, w = np.int64(labels[i]), group[i], weights[i]
        out[i] = c
        if has_one(s.rows, c) or (is_bounded and stays(costs, bounds, i, c)):
            continue
        if w != prepared_for:
            costs = prepare_all(s, w)
            prepared_for = w
        leave = removal(s, b, i, c, u, w, center, costs.spare)
        out[i], _ = cheapest(s, costs, bounds, b, i, u, c, leave * (1.0 - tolerance))


@compiled
def bound(s, costs, bounds, c, w):
    """Update the shift of cluster c, and the bound of rem(c)."""
    n = s.weight[0, c]
    level, rest = s.n_present[0], max(n - w, 0.0)
    center_shift, shrunk, grow, grown = 0.0, np.inf, entropy_rise(s, rest, w), 0.0
    for p in range(len(s.coupling)):
        g, before = s.coupling[p], bounds.slope[c, p]
        space = slice(s.starts[p], s.ends[p])
        moved = squared_distance(costs.center[c, space], bounds.center[c, space])
        center_shift += before * moved
        grow += level * level * g * w / ((level + g * rest) * (level + g * n)) * s.scatter[0, c, p]
        shrunk = min(shrunk, costs.slope[0, c, p] / before if before > 0 else 0.0)
        is_known = before > 0 and rest > 0
        slope = level * g * w * n / (level + g * rest) if is_known else np.inf
        grown = max(grown, slope / before if is_known else np.inf)
    bounds.center_shift[c], bounds.shrunk[c] = np.sqrt(center_shift), shrunk
    bounds.leaving[0, c], bounds.leaving[1, c] = grow, grown


@compiled
def bound_all(s, costs, bounds, w):
    """Bounds of all clusters for samples of weight w."""
    for c in range(len(costs.grow)):
        bound(s, costs, bounds, c, w)


@compiled
def at_least(far, center_shift, shrunk):
    """Lower bound of a cost that was `far`, after the shift of its cluster."""
    if center_shift == 0.0 and shrunk >= 1.0:
        return far
    left = max(np.sqrt(max(far, 0.0)) - center_shift, 0.0)
    return shrunk * left * left


@compiled
def stays(costs, bounds, i, own):
    """Whether the bounds exclude a better cluster for row i."""
    grow, least, center_shift, shrunk = costs.grow, bounds.least, bounds.center_shift, bounds.shrunk
    size = bounds.length[own]
    for p in range(bounds.slope.shape[1]):
        size += bounds.slope[own, p] * bounds.square[i, p]
    most = least[i, own] + 2 * bounds.rounding * size
    reach = np.sqrt(max(most, 0.0)) + center_shift[own]
    leave = bounds.leaving[0, own] + bounds.leaving[1, own] * reach * reach
    for c in range(len(grow)):
        if c != own and grow[c] + at_least(least[i, c], center_shift[c], shrunk[c]) < leave:
            return False
    return True


@compiled
def added(s, costs, b, i, u, c, best):
    """add(c); the sum stops once it exceeds `best`."""
    cost = costs.grow[c]
    for p in range(len(s.coupling)):
        j = s.starts[p]
        while j < s.ends[p] and cost < best:
            end = min(j + STRIDE, s.ends[p])
            cost += costs.slope[u, c, p] * squared_distance(b[i, j:end], costs.center[c, j:end])
            j = end
    return cost


@compiled
def likeliest(costs, bounds, i, own):
    """Cluster other than `own` with the lowest bound; -1 without bounds."""
    grow, least, center_shift, shrunk = costs.grow, bounds.least, bounds.center_shift, bounds.shrunk
    likely, lowest = -1, np.inf
    if len(least) > 0:
        for c in range(len(grow)):
            cost = grow[c] + at_least(least[i, c], center_shift[c], shrunk[c])
            if c != own and cost < lowest:
                likely, lowest = c, cost
    return likely


@compiled
def cheapest(s, costs, bounds, b, i, u, own, best):
    """Cluster other than `own` of least add below `best`, else `own`; and that add or `best`."""
    grow, least, center_shift, shrunk = costs.grow, bounds.least, bounds.center_shift, bounds.shrunk
    target, likely = own, likeliest(costs, bounds, i, own)
    if likely >= 0:
        cost = added(s, costs, b, i, u, likely, best)
        if cost < best:
            target, best = likely, cost
    for c in range(len(grow)):
        is_open = c != own and c != likely
        if is_open and likely >= 0:
            is_open = grow[c] + at_least(least[i, c], center_shift[c], shrunk[c]) < best
        if is_open:
            cost = added(s, costs, b, i, u, c, best)
            if cost < best:
                target, best = c, cost
    return target, best


@compiled
def nearest(s, costs, bounds, b, group, labels):
    """Cluster of least add for a sample of the weight of `costs`, statistics fixed."""
    for i in range(len(b)):
        labels[i], _ = cheapest(s, costs, bounds, b, i, group[i], np.int64(-1), np.inf)


@compiled
def margins(s, costs, bounds, b, labels, group, out):
    """1 − add(own) / least add of another cluster, and that cluster; 1 and own if alone."""
    for i in range(len(b)):
        u, own = group[i], np.int64(labels[i])
        add = added(s, costs, b, i, u, own, np.inf)
        out[i, 1], other = cheapest(s, costs, bounds, b, i, u, own, np.inf)
        out[i, 0] = max(1.0 - add / other, 0.0) if other > 0.0 else 0.0


@compiled
def costs_of_all(s, costs, b, group, out):
    """add(c) of each row and cluster, statistics fixed."""
    for i in range(len(b)):
        for c in range(out.shape[1]):
            out[i, c] = added(s, costs, b, i, group[i], c, np.inf)


@compiled
def transfer(s, b, i, u, c, sign, w):
    """Add (sign 1) or remove (sign -1) sample i of weight w in the moments of cluster c."""
    before = s.weight[u, c]
    after = before + sign * w
    s.rows[u, c] += sign
    if s.rows[u, c] == 0:
        after = 0.0
        for p in range(len(s.coupling)):
            s.scatter[u, c, p] = 0.0
        s.mean[u, c] = 0.0
    elif after <= LOST * before:  # light members of a heavy sample: keep their mean as it was
        after = max(after, 0.0)
    else:
        for p in range(len(s.coupling)):
            space = slice(s.starts[p], s.ends[p])
            distance = squared_distance(b[i, space], s.mean[u, c, space])
            change = sign * w * before / after * distance
            s.scatter[u, c, p] = max(s.scatter[u, c, p] + change, 0.0)
        x, mean, share = b[i], s.mean[u, c], sign * w / after
        for j in range(len(x)):
            mean[j] += share * (x[j] - mean[j])
    s.weight[u, c] = after


@compiled
def has_one(rows, c):
    """Whether a cluster has a single member."""
    total = 0
    for u in range(len(rows)):
        total += rows[u, c]
    return total == 1


@compiled
def sweep(s, costs, bounds, b, labels, group, weights, order, tolerance):
    """Assign each sample in turn to the cluster that lowers F most; return the number of changes.

    `costs` are for the weight of the first sample; with bounds, all have that weight.
    """
    prepared_for = weights[order[0]]
    is_bounded = len(bounds.least) > 0
    center = np.empty((1, b.shape[1]))
    n_moved = 0
    for i in order:
        c, u, w = np.int64(labels[i]), group[i], weights[i]
        if has_one(s.rows, c):
            continue  # never empty a cluster
        if is_bounded and stays(costs, bounds, i, c):
            continue
        if w != prepared_for:
            costs = prepare_all(s, w)
            prepared_for = w
        leave = removal(s, b, i, c, u, w, center, costs.spare)
        target, _ = cheapest(s, costs, bounds, b, i, u, c, leave * (1.0 - tolerance))
        if target != c:
            transfer(s, b, i, u, c, -1, w)
            transfer(s, b, i, u, target, 1, w)
            for changed in (c, target):
                prepare(s, costs, changed, w)
                if is_bounded:
                    bound(s, costs, bounds, changed, w)
            labels[i] = target
            n_moved += 1
    return n_moved
