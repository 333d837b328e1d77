"""A fit of views wider than samples, on the coordinates of their row spaces.

The fit runs unchanged on an engine that holds T_v in place of X_v: see `row_space`. Its result is
lifted to the features, so that new samples are projected, scaled and explained as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from manyview.engines import Engine
from manyview.engines.memory import InMemory
from manyview.solver.inference import Fitted
from manyview.solver.model import Model, Solution
from manyview.solver.problem import TINY, Problem, measure, set_baselines
from manyview.solver.row_space import Lift, RowSpace, find_row_spaces, is_wide, narrow_engine
from manyview.solver.scaled_rows import apply_scalings
from manyview.utils.types import FloatArray


@dataclass(frozen=True)
class NarrowRows:
    """Rows in coordinates of their row spaces, and the problem on them."""

    engine: InMemory
    problem: Problem
    given: Problem  # on the features
    spaces: list[RowSpace | None]  # of each scaled view; None: its columns are kept

    def lift(self, engine: Engine, solution: Solution, fitted: Fitted) -> tuple[Solution, Fitted]:
        """The result of a fit in terms of the features, whose engine gets its labels."""
        graph = fitted.anchor_graph
        if graph is None:
            engine.put_labels(self.engine.gather("labels"))
            model = self._lift_model(solution.model)
            return replace(solution, model=model), replace(fitted, model=model)
        assert fitted.first is not None
        engine.take_rows(self.engine)  # smoothed
        scalings = tuple(replace(scaling, is_smoothed=True) for scaling in self.given.scalings)
        problem = replace(solution.model.problem, scalings=scalings)
        model = replace(solution.model, problem=problem)
        first = replace(fitted.first, model=self._lift_model(fitted.first.model))
        lifts = tuple(
            L if space is None else _lift_later(space, np.asarray(L))
            for space, L in zip(self.spaces, graph.lifts, strict=True)
        )
        fitted = replace(fitted, model=model, first=first, anchor_graph=replace(graph, lifts=lifts))
        return replace(solution, model=model), fitted

    def _lift_model(self, model: Model) -> Model:
        """A model of unsmoothed rows in terms of the features."""
        bases = tuple(
            H if space is None else _polish(space.lift(H), model.problem.dims)
            for space, H in zip(self.spaces, model.bases, strict=True)
        )
        means = self.given.means
        problem = replace(model.problem, scalings=self.given.scalings, means=means)
        return replace(model, bases=bases, problem=problem)


def narrow_rows(engine: Engine, problem: Problem) -> NarrowRows | None:
    """The rows of an engine that holds scaled ones, narrow; None if no view is wide.

    A view keeps its columns if products subtract its mean, or if it has fewer dimensions than a
    space.
    """
    n, widths = engine.n_samples, [len(mean) for mean in problem.means]
    wanted = [
        is_wide(n, d) and not is_far for d, is_far in zip(widths, problem.is_far, strict=True)
    ]
    if not any(wanted):
        return None
    spaces = find_row_spaces(engine, wanted, least_rank=max(problem.dims))
    narrow, scalings = narrow_engine(engine, spaces, problem.scalings)
    n_present = apply_scalings(narrow, scalings, problem.n_present)
    totals = narrow.map_reduce(measure).arrays
    n_views = len(scalings)
    pairs = zip(totals[:n_views], totals[n_views], strict=True)
    means = tuple(total / max(count, TINY) for total, count in pairs)
    narrow.map_reduce(set_baselines, means, problem.is_far)
    own = replace(problem, scalings=scalings, means=means, n_present=n_present)
    return NarrowRows(narrow, own, problem, spaces)


def _lift_later(space: RowSpace, L: FloatArray) -> FloatArray | Lift:
    """L in terms of the features; files may be gone when it is needed."""
    return Lift(space, L) if space.is_in_memory else space.lift(L)


def _polish(bases: FloatArray, dims: Sequence[int]) -> FloatArray:
    """Bases of all spaces, orthonormal again where rounding left something: a Newton step each."""
    parts = np.split(bases, np.cumsum(dims)[:-1], axis=1)
    return np.hstack([1.5 * H - 0.5 * H @ (H.T @ H) for H in parts])
