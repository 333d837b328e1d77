"""The main loop: alternate the updates until convergence; keep the start of lowest F."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import Generator

from manyview.engines import Batches, Engine, Stages
from manyview.exceptions import DataWarning
from manyview.kernels.statistics import Accumulated, ArraySums, ClusterMoments, Frozen, Moved
from manyview.metrics import adjusted_rand_of_counts
from manyview.solver import initialization as start
from manyview.solver.model import Model, Solution
from manyview.solver.problem import Problem
from manyview.solver.progress import OnStep, Progress, Step
from manyview.solver.updates import (
    Swept,
    accumulate,
    accumulate_all,
    bound_violated,
    cluster_moments,
    compute_bounds,
    contingency,
    cost_variance,
    log_likelihood,
    moments_ahead,
    objective,
    over_relaxed_step,
    predict,
    predict_and_accumulate,
    project,
    project_and_accumulate,
    project_once,
    project_rows,
    restore_labels,
    scatter_rows,
    shrinkage,
    stash_labels,
    take_labels,
    update_alpha,
    update_H,
    update_Y,
    update_Y_at_once,
    update_Y_of_batch,
    update_Y_once,
)
from manyview.utils.threads import limit_blas

ONCE = Stages(project_once, update_Y_once, update_Y_of_batch, accumulate_all)
RESTING_SHARE = 1 / 500  # share of labels that change in an iteration, at convergence
EARLY_SHARE = 1 / 200  # the same with early stopping
SETTLING_SHARE = 1 / 100  # the same, once the next decrease of F can be extrapolated
BOUND_ROWS = 8192  # with fewer samples, a full sweep is as cheap as the distance bounds
BOUND_SHARE = 1 / 20  # share of labels that change in a sweep, once distance bounds pay off
STILL_TO_FALL = 2  # total decrease of F still to come, relative to the extrapolated next one
RESTING_FALL = 20  # decrease of F in an iteration at convergence, relative to `tol`
SAME = 1e-9
ROUNDED = 1e-7  # of an objective that is made of float32
FEWEST_ROWS = 64  # of a batch
MOST_REJECTED = 4  # iterations in one visit, before all take two
STALLED = 0.95  # samples that move in such a sweep, relative to the one before
FEW_MOVE = 1000  # samples that move in a sweep of batches, before the rest move one by one


@dataclass(frozen=True)
class Schedule:
    """Numbers of starts, iterations and sweeps, and stopping rules."""

    n_init: int
    max_iter: int
    tol: float
    init: str = "k-means++"
    initial_sweeps: int = 30  # at the initial bases, maximum
    final_sweeps: int = 1000  # after the last iteration, maximum
    n_warm: int = 0  # the first starts are warm starts from stashed labels
    stop_early: bool = False  # stop once labels or F converge
    over_relax: bool = False  # over-relaxation: twice the step of eq. (H), if F allows
    extrapolate_stop: bool = False  # stop once the extrapolated next decrease of F is small
    gain_stop: float = 0.0  # stop once a decrease is this small, relative to `tol` and all so far
    batches: Batches | None = None  # of the label step; None: samples move one at a time
    reads_once: bool = False  # an iteration on all rows, after a subset, is one visit of them
    size_prior: float = 0.0  # τ relative to the cost of a sample per dimension, if it is not known


def solve(
    engine: Engine, problem: Problem, schedule: Schedule, rng: Generator, on_step: OnStep
) -> Solution:
    """Alternate from `n_init` starts; return the solution of lowest F.

    The engine then holds its labels and projections.
    """
    beginning = start.begin(engine, problem, rng)
    n_distinct = start.count_distinct(beginning, rng)
    if n_distinct < problem.n_clusters and not problem.scalings[0].is_smoothed:  # warned before
        msg = (
            f"Found {n_distinct} distinct samples, fewer than n_clusters={problem.n_clusters}; "
            "some clusters stay empty. Use fewer clusters."
        )
        warnings.warn(msg, DataWarning, stacklevel=3)
    if schedule.n_warm > 0:
        return _solve_likeliest(engine, beginning, schedule, rng, on_step)
    best: Solution | None = None
    for n_start in range(schedule.n_init):
        moments = start.first_moments(beginning, engine.kernels, schedule.init, rng)
        _label(engine, beginning.model, moments)
        run = _Run(engine, schedule, n_start, int(rng.integers(2**31)), on_step)
        solution = run.alternate(beginning.model)
        engine.map_reduce(stash_labels)
        best = solution if _is_lower(solution, best) else best
    assert best is not None
    stability = _agreement(engine, best, best.start, range(schedule.n_init))
    engine.map_reduce(restore_labels, best.start)
    if best.start < schedule.n_init - 1:
        engine.map_reduce(project_rows, best.model)
    return replace(best, stability=stability)


def _solve_likeliest(
    engine: Engine,
    beginning: start.Beginning,
    schedule: Schedule,
    rng: Generator,
    on_step: OnStep,
) -> Solution:
    """Sweep from all starts at the initial bases; alternate from the likeliest labels alone.

    F depends on how far bases and weights have converged, so that it cannot compare starts that
    stop early. The likelihood is taken in the same coordinates for all.
    """
    model, n_warm = beginning.model, schedule.n_warm
    engine.map_reduce(project_rows, model)
    scatter = engine.map_reduce(scatter_rows, model)
    n_starts, likelihoods, runs = max(schedule.n_init, n_warm), [], []
    for n_start in range(n_starts):
        if n_start < n_warm:
            engine.map_reduce(take_labels, n_start)
        else:
            moments = start.first_moments(beginning, engine.kernels, schedule.init, rng)
            _label(engine, model, moments)
        runs.append(_Run(engine, schedule, n_start, int(rng.integers(2**31)), on_step))
        likelihoods.append(log_likelihood(runs[-1].begin(model)[1], scatter))
        engine.map_reduce(stash_labels)
    # of equal labels, the first are kept: rounding must not decide how clusters are numbered
    least = max(likelihoods) - SAME * max(abs(max(likelihoods)), 1.0)
    likeliest = next(n for n, found in enumerate(likelihoods) if found >= least)
    engine.map_reduce(take_labels, n_warm + likeliest)
    best = runs[likeliest].alternate(model)
    engine.map_reduce(stash_labels)
    last = n_warm + n_starts
    others = [n_warm + n_start for n_start in range(n_starts) if n_start != likeliest]
    stability = _agreement(engine, best, last, others)
    engine.map_reduce(restore_labels, last)
    return replace(best, stability=stability)


def refine(
    engine: Engine,
    problem: Problem,
    coarse: Solution,
    schedule: Schedule,
    rng: Generator,
    on_step: OnStep,
) -> Solution:
    """Refine a solution on a subset with all rows."""
    sampled = coarse.model.problem
    # moments are relative to the means of the subset: keep the origin
    model = replace(coarse.model, problem=replace(problem, means=sampled.means))
    moments = coarse.moments.grown(problem.weight / sampled.weight)
    goes_on = replace(
        schedule, n_init=1, initial_sweeps=1, extrapolate_stop=not schedule.stop_early
    )
    ahead = None
    if schedule.reads_once and not problem.scalings[0].is_smoothed:
        model, ahead = _label_once(engine, model, moments)
    else:
        _label(engine, model, moments)
    run = _Run(engine, goes_on, 0, int(rng.integers(2**31)), on_step)
    first = coarse.history[0] * problem.weight / sampled.weight
    return replace(run.alternate(model, ahead, first), stability=coarse.stability)


def _is_lower(solution: Solution, best: Solution | None) -> bool:
    """Lower by more than rounding: of equal solutions, the first is kept."""
    return best is None or solution.objective < best.objective - SAME * abs(best.objective)


def _label(engine: Engine, model: Model, moments: ClusterMoments) -> None:
    """Assign each row to its nearest cluster, and a row to each empty cluster."""
    sizes = engine.map_reduce(predict, model, moments).arrays[0]
    if np.any(sizes == 0):
        engine.scan(start.fill_empty, sizes.astype(np.int64), 0, until=start.has_no_empty)


def _label_once(engine: Engine, model: Model, moments: ClusterMoments) -> tuple[Model, Accumulated]:
    """The same in the visit that the first iteration needs; it measures the rows, too."""
    found = engine.map_reduce(predict_and_accumulate, model, moments)
    [squares] = found.squares.arrays
    model = replace(model, problem=replace(model.problem, view_sum_squares=squares))
    sizes = found.moments.rows.sum(axis=0)
    if np.all(sizes > 0):
        return model, found
    engine.scan(start.fill_empty, sizes, 0, until=start.has_no_empty)
    now = engine.map_reduce(cluster_moments, model)
    return model, engine.map_reduce(accumulate_all, model, shrinkage(now, model))


def _agreement(engine: Engine, best: Solution, own: int, stashed: Iterable[int]) -> float:
    """Mean adjusted Rand index of stashed labels with the others; NaN if there are none."""
    k = best.model.problem.n_clusters
    others = [other for other in stashed if other != own]
    tables = [engine.map_reduce(contingency, own, other, k) for other in others]
    agreements = [adjusted_rand_of_counts(table) for table in tables]
    return float(np.mean(agreements)) if agreements else float("nan")


def _is_improved(found: ClusterMoments, before: ClusterMoments, model: Model, most: float) -> bool:
    """Whether a label step has left F at most as it was, and no cluster without samples."""
    had_rows, has_rows = (moments.rows.sum(axis=0) > 0 for moments in (before, found))
    is_whole = bool(np.all(has_rows | ~had_rows))
    return is_whole and objective(found, model) <= most + ROUNDED * abs(most)


class _Run:
    """One start: the engine holds the labels, this the model and the trace of F."""

    def __init__(
        self, engine: Engine, schedule: Schedule, n_start: int, seed: int, on_step: OnStep
    ) -> None:
        self._engine, self._schedule, self._start = engine, schedule, n_start
        self._rng = np.random.default_rng(seed)
        self._on_step = on_step
        self._over_relax = schedule.over_relax
        self._batches = schedule.batches
        self._at_once = schedule.batches  # of an iteration in one visit
        self._trace: list[float] = []
        self._first = 0.0  # F at the beginning, of all rows
        self._known: tuple[ClusterMoments, Model, float] | None = None  # F at a state
        self._ahead: Accumulated | None = None
        self._reads_once, self._n_rejected = False, 0

    def begin(self, model: Model) -> tuple[Model, ClusterMoments]:
        """Sweep the labels at the initial bases."""
        moments = self._engine.map_reduce(cluster_moments, model)  # n, b̄, S
        if self._schedule.size_prior > 0 and model.size_weight == 0:
            tau = self._schedule.size_prior * cost_variance(moments, model)
            model = replace(model, size_weight=tau)
        self._report("start", 0, moments, model)
        moments, n_moved = self._sweep_to_convergence(moments, model, self._initial_sweeps(model))
        self._report("labels", 0, moments, model, n_moved)
        return model, moments

    def alternate(
        self, model: Model, ahead: Accumulated | None = None, first: float | None = None
    ) -> Solution:
        """Alternate until labels and F converge; F has fallen from `first`, or from now on.

        The labels first converge at the initial bases, unless a visit has accumulated `ahead` what
        the first iteration needs; an iteration is then one visit of the rows, not two.
        """
        engine, schedule = self._engine, self._schedule
        self._ahead, self._reads_once = ahead, ahead is not None
        if ahead is None:
            model, moments = self.begin(model)
            if schedule.batches is not None and schedule.batches.n_shards > 1:
                self._batches = schedule.batches  # one by one, all rows would be gathered
        else:
            moments = ahead.moments
            self._report("start", 0, moments, model)
        model = self._weigh(0, moments, model, 0)
        self._first = self._trace[0] if first is None else first
        n, n_resting, converged = engine.n_samples, 0, False
        for n_iter in range(1, schedule.max_iter + 1):
            model, moments, n_moved = self._update(model, moments, n_iter)  # eqs. (H), (Y)
            self._report("labels", n_iter, moments, model, n_moved)
            model = self._weigh(n_iter, moments, model, n_moved)  # eq. (α)
            is_at_rest = n_moved <= (EARLY_SHARE if schedule.stop_early else RESTING_SHARE) * n
            n_resting = n_resting + 1 if is_at_rest else 0
            converged = self._has_converged(n_iter, n_moved, n_resting)
            if converged:
                break
        moments, n_moved = self._sweep_to_convergence(moments, model, schedule.final_sweeps)
        self._trace.append(self._report("final_sweeps", n_iter, moments, model, n_moved))
        return Solution(
            model=model,
            moments=moments,
            objective=self._trace[-1],
            history=np.array(self._trace),
            n_iter=n_iter,
            converged=converged,
            start=self._start,
        )

    def _update(
        self, model: Model, moments: ClusterMoments, n_iter: int
    ) -> tuple[Model, ClusterMoments, int]:
        """New bases and labels, in one visit of the rows or in two."""
        if self._reads_once:
            found = self._update_once(model, moments, n_iter)
            if found is not None:
                model, moments, n_moved = found
                self._report("bases", n_iter, moments, model)
                return found
            shared = (model, shrinkage(moments, model))
            cross = self._engine.map_reduce(project_and_accumulate, *shared)
        else:
            cross = self._engine.map_reduce(accumulate, shrinkage(moments, model))
        model, moments = self._turn(cross, model, n_iter)  # eq. (H); b, and n, b̄, S
        self._report("bases", n_iter, moments, model)
        moments, n_moved, _ = self._sweep(moments, model)  # eq. (Y)
        return model, moments, n_moved

    def _update_once(
        self, model: Model, moments: ClusterMoments, n_iter: int
    ) -> tuple[Model, ClusterMoments, int] | None:
        """New bases, then projections, labels and the next C_v in one visit; None if F rose.

        C_v was made with centers that are one label step old, so F is the judge: if it rose, the
        labels are put back, and the iteration takes two visits.
        """
        known, self._ahead = self._ahead, None
        if known is None:  # after an iteration of two visits
            known = self._engine.map_reduce(accumulate_all, model, shrinkage(moments, model))
        turned = update_H(known.cross, model)
        if self._over_relax and n_iter > 1:
            turned = over_relaxed_step(turned, model)
        ahead = moments_ahead(known, turned)

        def is_better(found: Accumulated) -> bool:
            return _is_improved(found.moments, ahead, turned, self._trace[-1])

        shared, n_moved = (turned, shrinkage(ahead, turned)), 0
        if self._at_once is not None:
            moved, found = self._engine.reduce_batches(
                *(ONCE, Frozen(ahead, self._at_once.n_shards), self._at_once, *shared),
                accept=is_better,
            )
            n_moved = moved.n_moved
        else:
            seed = int(self._rng.integers(2**31))
            with limit_blas(1):
                (_, n_moved, _), found = self._engine.scan_reduce(
                    ONCE, (ahead.copy(), 0, 0), seed, *shared, accept=is_better
                )
        if not is_better(found):
            finer = None if self._at_once is None else self._at_once.finer()
            if finer is not None and not self._over_relax and self._engine.splits_into(finer):
                self._at_once = finer
            self._over_relax = False
            self._n_rejected += 1
            self._reads_once = self._n_rejected < MOST_REJECTED
            return None
        self._ahead = found
        return turned, found.moments, n_moved

    def _has_converged(self, n_iter: int, n_moved: int, n_resting: int) -> bool:
        """Whether labels and F have converged; for early stopping, either of them."""
        schedule, fall = self._schedule, self._fall(-1)
        signs = (n_resting >= 2, fall <= RESTING_FALL * schedule.tol)
        is_over = any(signs) if schedule.stop_early else all(signs)
        is_settling = n_iter > 1 and n_moved <= SETTLING_SHARE * self._engine.n_samples
        if schedule.extrapolate_stop and is_settling:
            before = self._fall(-2)
            fall *= min(STILL_TO_FALL * fall / before, 1.0) if before > 0 else 1.0
        enough = schedule.tol
        if is_settling and schedule.gain_stop > 0 and self._first > 0:
            gained = 1 - self._trace[-1] / self._first
            enough *= max(schedule.gain_stop * gained, 1.0)
        return is_over or fall <= enough

    def _turn(self, cross: ArraySums, model: Model, n_iter: int) -> tuple[Model, ClusterMoments]:
        """New bases, and the moments of b at them, with over-relaxation.

        Eq. (H) minimizes an upper bound of F with a larger curvature than F. At twice its step the
        bound is about unchanged and F lower, and slow directions converge in half as many steps.
        """
        turned = update_H(cross, model)
        if self._over_relax and n_iter > 1:
            further = over_relaxed_step(turned, model)
            moments = self._engine.map_reduce(project, further)
            if self._objective(moments, further) <= self._trace[-1]:
                return further, moments
            self._over_relax = False  # a rejected step costs a pass; near convergence most are
        return turned, self._engine.map_reduce(project, turned)

    def _fall(self, position: int) -> float:
        """Relative decrease of F in an iteration."""
        now, before = self._trace[position], self._trace[position - 1]
        return 1 - now / before if before else 0.0

    def _initial_sweeps(self, model: Model) -> int:
        """Sweeps before the first iteration: at most the cost of about ten iterations."""
        problem = model.problem
        width = sum(len(mean) for mean in problem.means)
        most = self._schedule.initial_sweeps
        return int(np.clip(most * width / problem.n_clusters, 1, most))

    def _weigh(self, n_iter: int, moments: ClusterMoments, model: Model, n_moved: int) -> Model:
        """Update the weights, and record F at the end of the iteration."""
        model = update_alpha(moments, model)
        self._trace.append(self._report("weights", n_iter, moments, model, n_moved))
        return model

    def _sweep(
        self, moments: ClusterMoments, model: Model, since: ClusterMoments | None = None
    ) -> Swept:
        """One pass over all samples, or those with violated bounds, in random order."""
        if self._batches is not None and since is None:
            return self._sweep_batches(moments, model, self._batches)
        seed = int(self._rng.integers(2**31))
        row_filter = None if since is None else partial(bound_violated, since=since)
        with limit_blas(1):  # products of a chunk: a second thread would mostly wait
            return self._engine.scan(
                update_Y, (moments.copy(), 0, 0), seed, model, row_filter=row_filter
            )

    def _sweep_batches(self, moments: ClusterMoments, model: Model, batches: Batches) -> Swept:
        """One pass over all samples in batches; in more of them, or one by one, where F rose."""
        n, most = self._engine.n_samples, self._objective(moments, model)

        def is_better(moved: Moved) -> bool:
            if moved.n_moved == 0:
                return True
            after = moments.replaced(moved.before, moved.after)
            return _is_improved(after, moments, model, most)

        carry = Frozen(moments, batches.n_shards)
        moved = self._engine.scan_batches(update_Y_at_once, carry, batches, model, accept=is_better)
        if moved.n_moved == 0:
            return moments, 0, n
        if is_better(moved):
            return moments.replaced(moved.before, moved.after), moved.n_moved, n
        finer = batches.finer()
        self._batches = finer if finer.n_batches * FEWEST_ROWS <= n else None
        return self._sweep(moments, model)

    def _sweep_to_convergence(
        self, moments: ClusterMoments, model: Model, max_sweeps: int
    ) -> tuple[ClusterMoments, int]:
        """Sweep at fixed bases and weights until no label changes, so that `predict` agrees.

        Once few labels change, sweeps skip samples by distance bounds, which are recomputed after
        as many visits as there are samples.
        """
        n = self._engine.n_samples
        total, n_seen, since, n_before = 0, 0, None, 0
        for _ in range(max_sweeps):
            moments, n_moved, n_more = self._sweep(moments, model, since)
            total, n_seen = total + n_moved, n_seen + n_more
            if n_moved == 0:
                break
            is_late = n_moved <= BOUND_SHARE * n and n >= BOUND_ROWS
            if self._batches is not None:  # go on until few move, or no fewer than before
                is_late = n_moved <= FEW_MOVE or (is_late and n_moved > STALLED * n_before)
            n_before = n_moved
            if n_seen >= n and is_late:
                n_known = self._engine.map_reduce(compute_bounds, model, moments).arrays[0]
                since, n_seen = moments if n_known else None, 0
                self._batches = None  # the rest move one by one
        return self._engine.map_reduce(cluster_moments, model), total

    def _objective(self, moments: ClusterMoments, model: Model) -> float:
        """F; consecutive steps ask for it at the same state."""
        if self._known is None or self._known[0] is not moments or self._known[1] is not model:
            self._known = moments, model, objective(moments, model)
        return self._known[2]

    def _report(
        self, step: Step, n_iter: int, moments: ClusterMoments, model: Model, n_moved: int = 0
    ) -> float:
        """Call the callback, and return F."""
        F = self._objective(moments, model)
        self._on_step(
            Progress(
                start=self._start,
                n_starts=self._schedule.n_init,
                n_iter=n_iter,
                max_iter=self._schedule.max_iter,
                step=step,
                objective=F,
                n_moved=n_moved,
                find_model=lambda: model,
                labels=lambda: self._engine.gather("labels"),
            )
        )
        return F
