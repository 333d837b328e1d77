"""Consistency of the arrays of a loaded fit: kernels do not check indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manyview.data.scaling import MAPS, ViewScaling
from manyview.solver.anchor_graph import N_NEAREST, AnchorGraph
from manyview.solver.inference import Fitted
from manyview.solver.model import Model
from manyview.solver.outliers import OutlierReference


def has_sound_shapes(fitted: Fitted, widths: Sequence[int]) -> bool:
    """Whether all arrays of a fit have the shapes for views of these widths."""
    problem, first, anchor_graph = fitted.model.problem, fitted.first, fitted.anchor_graph
    if not all(_is_scaling_sound(scaling, widths) for scaling in problem.scalings):
        return False
    scaled = [s.width(widths[s.view]) for s in problem.scalings]  # width of each scaled view
    if first is not None and anchor_graph is not None:
        if first.first is not None or not has_sound_shapes(first, widths):
            return False
        if not _is_graph_sound(anchor_graph, scaled, sum(first.model.problem.dims)):
            return False
        scaled = [table.shape[1] for table in anchor_graph.tables]
    elif first is not None or anchor_graph is not None:
        return False
    return _is_model_sound(fitted.model, scaled) and _are_moments_sound(fitted)


def are_results_sound(attributes: Mapping[str, Any]) -> bool:
    """Whether labels, weights and centers are those of the clusters, samples and views."""
    widths, labels = attributes["view_sizes_"], attributes["labels_"]
    k, V = attributes["_fitted"].model.problem.n_clusters, len(widths)
    known = attributes.get("_calibration")
    n_known = 0 if known is None else known.margins.size
    return (
        labels.ndim == 1
        and labels.size > 0
        and bool((labels >= 0).all() and (labels < k).all())
        and attributes["confidence_"].shape == attributes["outlier_score_"].shape == labels.shape
        and [M.shape for M in attributes["cluster_centers_"]] == [(k, d) for d in widths]
        and attributes["view_weights_"].shape == (V,)
        and attributes["cluster_view_weights_"].shape == (k, V)
        and len(attributes["view_counts_"]) == V
        and (known is None or known.margins.shape == known.confidence.shape == (n_known,))
    )


def is_reference_sound(reference: OutlierReference, fitted: Fitted, widths: Sequence[int]) -> bool:
    """Whether the reference of the outlier scores matches the scaled views and clusters."""
    problem = reference.problem
    k, V, D = fitted.model.problem.n_clusters, problem.n_scalings, reference.n_dims
    if not all(_is_scaling_sound(scaling, widths) for scaling in problem.scalings):
        return False
    scaled = [s.width(widths[s.view]) for s in problem.scalings]
    return (
        len(reference.bases) == V
        and len(problem.means) == len(problem.is_far) == len(problem.view_sum_squares) == V
        and all(mean.shape == (d,) for mean, d in zip(problem.means, scaled, strict=True))
        and all(
            G.ndim == 2 and G.shape[0] == d and G.shape[1] > D >= 1
            for G, d in zip(reference.bases, scaled, strict=True)
        )
        and len({G.shape[1] for G in reference.bases}) == 1
        and reference.centers.shape == (k, V, D)
        and reference.whitening.shape in ((k, D, D), (1, D, D))
        and reference.feature_mean.shape == reference.feature_spread.shape == (2 * V,)
        and reference.feature_covariance.shape == (2 * V, 2 * V)
        and reference.part_median.shape == reference.part_spread.shape == (3,)
        and [columns.mean.shape for columns in reference.columns.views] == [(d,) for d in widths]
        and [columns.scatter.shape for columns in reference.columns.views] == [(d,) for d in widths]
        and [share.shape for share in reference.common_shares] == [(d,) for d in widths]
    )


def _is_scaling_sound(scaling: ViewScaling, widths: Sequence[int]) -> bool:
    """The view exists, and scale, offset and components have its width."""
    is_known = 0 <= scaling.view < len(widths) and scaling.map in (None, *MAPS)
    W = scaling.components
    return (
        is_known
        and all(
            part is None or part.shape == (widths[scaling.view],)
            for part in (scaling.scale, scaling.offset)
        )
        and (W is None or (W.ndim == 2 and len(W) == widths[scaling.view] and W.shape[1] > 0))
    )


def _is_model_sound(model: Model, scaled: Sequence[int]) -> bool:
    """Bases and means match the scaled views; nothing is empty."""
    problem = model.problem
    m, V, D = len(problem.dims), len(scaled), sum(problem.dims)
    return (
        min(problem.n_clusters, m, V, len(problem.n_present), *problem.dims) > 0
        and [H.shape for H in model.bases] == [(d, D) for d in scaled]
        and [mean.shape for mean in problem.means] == [(d,) for d in scaled]
        and model.alpha.shape == (m,)
        and problem.view_sum_squares.shape == (V,)
        and len(problem.is_far) == V
        and problem.n_present.ndim == 1
    )


def _are_moments_sound(fitted: Fitted) -> bool:
    """The moments match the clusters, spaces and groups of the problem."""
    problem, moments = fitted.model.problem, fitted.moments
    groups = (len(problem.n_present), problem.n_clusters)
    return (
        np.array_equal(moments.starts, problem.starts)
        and moments.rows.shape == moments.count.shape == groups
        and moments.mean.shape == (*groups, sum(problem.dims))
        and moments.scatter.shape == (*groups, len(problem.dims))
    )


def _is_graph_sound(anchor_graph: AnchorGraph, scaled: Sequence[int], n_dims: int) -> bool:
    """Anchors match the first projections; tables and lifts have the same coordinates."""
    anchors, tables, lifts = anchor_graph.anchors, anchor_graph.tables, anchor_graph.lifts
    n = len(anchors)
    return (
        n > N_NEAREST
        and anchors.shape == (n, n_dims)
        and len(tables) == len(lifts) == len(scaled)
        and all(
            table.shape == (n, *lift.shape[1:]) for table, lift in zip(tables, lifts, strict=True)
        )
        and all(lift.ndim == 2 and len(lift) == d for lift, d in zip(lifts, scaled, strict=True))
    )
