"""New samples: projected, labelled and embedded with the statistics of the fit fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.engines import Engine
from manyview.kernels.statistics import ClusterMoments
from manyview.solver.anchor_graph import AnchorGraph
from manyview.solver.model import Model
from manyview.solver.problem import measure, scaled_lambda, set_baselines
from manyview.solver.scaled_rows import apply_scalings
from manyview.solver.updates import (
    cluster_costs,
    cluster_moments,
    embed,
    margins,
    objective,
    predict,
    project_rows,
    shrinkage,
)
from manyview.utils.types import FloatArray


@dataclass(frozen=True)
class Assignment:
    """Best and second-best cluster of each sample, and the margin between them.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int32
        The cluster of least cost in F.
    confidence : ndarray of shape (n_samples,)
        Relative margin in cost to the second-best cluster, in [0, 1].
    next_labels : ndarray of shape (n_samples,), int32
        The second-best cluster; the only one, if there is one.
    """

    labels: NDArray[np.int32]
    confidence: FloatArray
    next_labels: NDArray[np.int32]


@dataclass(frozen=True)
class Fitted:
    """A model and its cluster moments, to be applied to the rows of an engine.

    A model of smoothed rows also has the first fit, for projection, and the anchor graph. New
    samples are labelled with the least weight of the samples of the fit, which then keep theirs:
    see `updates.predict`.
    """

    model: Model
    moments: ClusterMoments
    first: Fitted | None = None
    anchor_graph: AnchorGraph | None = None
    least_weight: float = 1.0

    @property
    def bases(self) -> tuple[FloatArray, ...]:
        """Bases of the features of each scaled view: (d_v, D)."""
        bases = self.model.bases
        if self.anchor_graph is not None:
            bases = self.anchor_graph.lift(bases)
        axes = [scaling.directions for scaling in self.model.problem.scalings]
        return tuple(H if W is None else W @ H for W, H in zip(axes, bases, strict=True))

    @property
    def is_read_once(self) -> bool:
        """Whether rows are labelled in one visit: none is smoothed or has a factor of its own."""
        scalings = self.model.problem.scalings
        has_own = any(one.has_unit_rows or one.row_sum is not None for one in scalings)
        return self.anchor_graph is None and not has_own

    def make_lifts(self) -> None:
        """Make the lifts that were left for later; then the fit refers to no samples."""
        if self.anchor_graph is not None:
            for L in self.anchor_graph.lifts:
                np.asarray(L)

    def label(self, engine: Engine, data: MultiViewData) -> Fitted:
        """Load, project and label the rows; returns the fit with the groups of these rows."""
        engine.load(data, None)
        fitted = self.scale_rows(engine)
        engine.map_reduce(predict, fitted.model, fitted.moments, fitted.least_weight)
        return fitted

    def scale_rows(self, engine: Engine) -> Fitted:
        """Scale and smooth the rows of an engine as in the fit."""
        if self.first is not None and self.anchor_graph is not None:
            before = self.first.scale_rows(engine)
            engine.map_reduce(project_rows, before.model)
            self.anchor_graph.smooth(engine)
            return self
        problem = self.model.problem
        n_present = apply_scalings(engine, problem.scalings, problem.n_present)
        moments = self.moments.regroup(problem.n_present.tolist(), n_present.tolist())
        is_complete = len(n_present) == 1
        is_far = problem.is_far if is_complete else (False,) * problem.n_scalings
        engine.map_reduce(set_baselines, problem.means, is_far)
        problem = replace(problem, n_present=n_present, is_far=is_far)
        return replace(self, model=replace(self.model, problem=problem), moments=moments)

    def embed(self, engine: Engine) -> None:
        """Replace the projections of labelled rows by z, eq. (Z)."""
        engine.map_reduce(embed, shrinkage(self.moments, self.model))

    def assignment(self, engine: Engine) -> Assignment:
        """Labels, confidence and second-best clusters of projected and labelled rows.

        Their projections are overwritten.
        """
        labels = engine.gather("labels")
        found = self.margins(engine)
        return Assignment(labels, found, engine.gather_column(1).astype(np.int32))

    def margins(self, engine: Engine) -> FloatArray:
        """How much less each label costs in F than the second-best one; as in `assignment`."""
        engine.map_reduce(margins, self.model, self.moments, self.least_weight)
        return engine.gather_column(0)

    def costs(self, engine: Engine) -> FloatArray:
        """Cost in F of each cluster for projected rows, which are overwritten: (n, k)."""
        engine.map_reduce(cluster_costs, self.model, self.moments, self.least_weight)
        return np.asarray(engine.gather("projection"), dtype=np.float64)

    def loss(self, engine: Engine, lam: float) -> float:
        """F of labelled rows as a separate data set; `lam` is relative."""
        problem = self.model.problem
        *_, view_sum_squares, weight, total_present = engine.map_reduce(measure).arrays
        scaled = scaled_lambda(
            lam,
            n_views=float(total_present) / float(weight),
            n_clusters=problem.n_clusters,
            n_spaces=len(problem.dims),
            exponent=problem.exponent,
            weight=float(weight),
        )
        model = replace(
            self.model, problem=replace(problem, lam=scaled, view_sum_squares=view_sum_squares)
        )
        return objective(engine.map_reduce(cluster_moments, model), model)


def assignment_of(costs: FloatArray, labels: NDArray[np.int32]) -> Assignment:
    """The assignment for given labels, from the costs of all clusters: (n, k)."""
    rows, others = np.arange(len(labels)), costs.copy()
    others[rows, labels] = np.inf
    following = others.argmin(axis=1) if costs.shape[1] > 1 else labels
    least = others[rows, following]
    ratio = np.divide(costs[rows, labels], least, out=np.ones(len(rows)), where=least > 0)
    return Assignment(labels, np.maximum(1 - ratio, 0), np.asarray(following, dtype=np.int32))
