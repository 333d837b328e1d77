"""New samples: projected, labelled and embedded with the statistics of the fit frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from manyview.blocks import ClusterMoments, FloatArray
from manyview.engines import Engine
from manyview.solver.problem import measure, read_as, scaled_lambda, set_baselines
from manyview.solver.smoothing import Neighborhood
from manyview.solver.state import Model
from manyview.solver.updates import confide, embed, objective, place, predict, recount, shrinkage
from manyview.views import MultiViewData

__all__ = ["Fitted"]


@dataclass(frozen=True)
class Fitted:
    """A model and its cluster moments, applied to rows that an engine takes in.

    A model of mixed rows also has the fit that they were projected by, and their neighborhood.
    """

    model: Model
    moments: ClusterMoments
    first: Fitted | None = None
    neighborhood: Neighborhood | None = None

    @property
    def bases(self) -> tuple[FloatArray, ...]:
        """Bases of the features of each reading: (d_v, D)."""
        bases = self.model.bases
        return bases if self.neighborhood is None else self.neighborhood.lift(bases)

    def label(self, engine: Engine, data: MultiViewData) -> Fitted:
        """Load, project and label the rows; the fit gets a group for each number of views."""
        engine.load(data, None)
        fitted = self.read(engine)
        engine.map_reduce(predict, fitted.model, fitted.moments)
        return fitted

    def read(self, engine: Engine) -> Fitted:
        """Read the rows of an engine as those of the fit were read."""
        if self.first is not None and self.neighborhood is not None:
            before = self.first.read(engine)
            engine.map_reduce(place, before.model)
            self.neighborhood.read(engine)
            return self
        problem = self.model.problem
        levels = read_as(engine, problem.readings, problem.levels)
        moments = self.moments.regroup(problem.levels.tolist(), levels.tolist())
        is_complete = len(levels) == 1
        is_far = problem.is_far if is_complete else (False,) * problem.n_readings
        engine.map_reduce(set_baselines, problem.means, is_far)
        problem = replace(problem, levels=levels, is_far=is_far)
        return Fitted(replace(self.model, problem=problem), moments)

    def embed(self, engine: Engine) -> None:
        """Turn the projections of labelled rows into z, eq. (Z)."""
        engine.map_reduce(embed, shrinkage(self.moments, self.model))

    def margins(self, engine: Engine) -> FloatArray:
        """By which share the cluster of each label is cheapest, and the next cheapest: (n, 2).

        The rows are projected and labelled; afterwards their projections are gone.
        """
        engine.map_reduce(confide, self.model, self.moments)
        return np.asarray(engine.gather("projection"), dtype=np.float64)

    def loss(self, engine: Engine, lam: float) -> float:
        """F of labelled rows as a data set of its own; `lam` is relative."""
        problem = self.model.problem
        *_, energies, weight, n_present = engine.map_reduce(measure).arrays
        scaled = scaled_lambda(
            lam,
            n_views=float(n_present) / float(weight),
            n_clusters=problem.n_clusters,
            n_spaces=len(problem.dims),
            exponent=problem.exponent,
            weight=float(weight),
        )
        model = replace(self.model, problem=replace(problem, lam=scaled, energies=energies))
        return objective(engine.map_reduce(recount, model), model)
