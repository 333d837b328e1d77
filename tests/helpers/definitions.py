"""The objective by its definition: slow, dense, free of the formulas that the library relies on."""

from __future__ import annotations

import numpy as np

from manyview.data.scaling import MAPS


def pad_basis(H):
    """Orthonormal columns whose first rows are H: d_v < d_p is read as added zero features."""
    d_v, d_p = H.shape
    if d_v >= d_p:
        return H
    _, _, Wt = np.linalg.svd(H)  # H has orthonormal rows; the rest completes them
    return np.vstack([H, Wt[d_v:]])


def best_embedding(views, bases, labels, g, weights, present):
    """argmin over Z of one space: one linear system a cluster, straight from the gradient."""
    n, d_p = len(labels), bases[0].shape[1]
    A = sum(
        np.where(has[:, None], X, 0) @ H for X, H, has in zip(views, bases, present.T, strict=True)
    )
    V = present.sum(axis=1)
    Z = np.zeros((n, d_p))
    for c in np.unique(labels):
        i = np.flatnonzero(labels == c)
        w = weights[i]
        system = np.diag(w * V[i] + g * w * w.sum()) - g * np.outer(w, w)
        Z[i] = np.linalg.solve(system, w[:, None] * A[i])
    return Z


def joint_objective(views, bases, Z, labels, g, weights, present):
    """J of one space: explicit residuals of padded views, explicit sum over pairs."""
    total = 0.0
    for X, H, has in zip(views, bases, present.T, strict=True):
        padded = pad_basis(H)
        wide = np.zeros((len(X), len(padded)))
        wide[:, : X.shape[1]] = X
        residual = wide[has] - Z[has] @ padded.T
        total += float(np.sum(weights[has, None] * residual**2))
    for c in np.unique(labels):
        i = np.flatnonzero(labels == c)
        distance = ((Z[i][:, None] - Z[i][None]) ** 2).sum(axis=2)
        total += g / 2 * float(weights[i] @ distance @ weights[i])
    return total


def profile_objective(views, bases, labels, coupling, weights=None, present=None):
    """F = Σ_p min_Z J; `bases[p][v]` has shape (d_v, d_p)."""
    n = len(labels)
    weights = np.ones(n) if weights is None else weights
    present = np.ones((n, len(views)), dtype=bool) if present is None else present
    total = 0.0
    for H, g in zip(bases, coupling, strict=True):
        Z = best_embedding(views, H, labels, g, weights, present)
        total += joint_objective(views, H, Z, labels, g, weights, present)
    return total


def scale_view(X, scaling, has):
    """One scaled view, dense, materialized."""
    X = np.where(has[:, None], np.asarray(X, dtype=np.float64), 0)
    if scaling.row_sum is not None:
        total = X.sum(axis=1, keepdims=True)
        X = np.where(total > 0, X * scaling.row_sum / np.where(total > 0, total, 1), 0)
    out = X if scaling.map is None else MAPS[scaling.map](X)
    if scaling.scale is not None:
        out = out * scaling.scale
    if scaling.offset is not None:
        out = out - scaling.offset
    if scaling.components is not None:
        out = out @ scaling.components
    if scaling.has_unit_rows:
        norm = np.linalg.norm(out, axis=1, keepdims=True)
        out = out / np.where(norm > 0, norm, 1)
    return np.where(has[:, None], out, 0)


def materialize(data, scalings):
    """All scaled views of a data set as dense arrays, and which samples have them."""
    n = data.n_samples
    present = np.ones((n, data.n_views), dtype=bool) if data.present is None else data.present
    views = [
        data.views[r.view].toarray()
        if hasattr(data.views[r.view], "toarray")
        else data.views[r.view]
        for r in scalings
    ]
    which = [r.view for r in scalings]
    read_views = [
        scale_view(X, r, present[:, r.view]) for X, r in zip(views, scalings, strict=True)
    ]
    return read_views, present[:, which]


def split_bases(model):
    """bases[p][v] of a model that holds them side by side."""
    cuts = model.problem.starts[1:]
    return [
        list(bases) for bases in zip(*(np.split(H, cuts, axis=1) for H in model.bases), strict=True)
    ]


def objective_of(data, model, labels, weights=None):
    """F of a model and labels on a data set, by definition."""
    views, present = materialize(data, model.problem.scalings)
    F = profile_objective(views, split_bases(model), labels, model.coupling, weights, present)
    sizes = np.bincount(labels, weights=weights)
    sizes = sizes[sizes > 0]
    return F + model.size_weight * np.sum(sizes * (1 - np.log(sizes / sizes.sum())))
