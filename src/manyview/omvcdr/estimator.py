"""OMVCDR, the flagship estimator. Checks and wiring only; the mathematics is in `solver`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from manyview.base import (
    COUNT,
    COUNTS,
    FLAG,
    GPU,
    LIMIT,
    NONE,
    Allowed,
    Weights,
    check_fixed,
    check_parameters,
    checked_weights,
    either,
    fixed_parameters,
    generator,
    keeps_sample_names,
    min_samples,
    number,
    one_of,
    param,
    scale_option,
    validate_new_views,
    validate_views,
    warn_of_doubts,
)
from manyview.cluster.fit import fit_on_cluster, refuse_batches, refuse_on_cluster
from manyview.cluster.sample import clone_with_client
from manyview.data.views import MultiViewData
from manyview.engines import (
    Engine,
    choose_batches,
    choose_engine,
    choose_passes,
    choose_sharded,
)
from manyview.engines.cluster import is_cluster
from manyview.engines.replay import ReplayEngine
from manyview.exceptions import ConvergenceWarning
from manyview.model_selection.choice import Choice
from manyview.model_selection.search import count_clusters
from manyview.omvcdr.fitted import FittedModel
from manyview.persistence.checkpoint import open_checkpoint, remove_checkpoint
from manyview.reliability.outliers import score_fit
from manyview.reliability.structure import LazyAssessment
from manyview.solver.alternation import Schedule
from manyview.solver.description import Description, describe, describe_sums, sum_and_count
from manyview.solver.fitting import fit, holds_projections, label_samples, memory_check
from manyview.solver.model import Solution
from manyview.solver.online import BatchTotals, begin_batches, learn
from manyview.solver.progress import (
    OnStep,
    make_callback,
    sklearn_callbacks,
    with_callbacks,
)
from manyview.solver.updates import objective
from manyview.utils.types import FloatArray

CLUSTER = Allowed("the address of a Dask scheduler, or a Client of Dask", is_cluster)
# of partial_fit: they say where and how it is computed, not what
FREE_PARAMETERS = ("random_state", "engine", "device", "tf32", "n_jobs", "memory_limit", "verbose")


@keeps_sample_names
@dataclass(eq=False, repr=False)
class OMVCDR(FittedModel):
    """One-step multi-view clustering with diverse representation.

    Projects all views into several latent spaces of different dimension, learns a weight for each
    space, and finds the clusters in the same optimization, in time linear in the number of samples.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters k; "auto" uses the recommendation of `manyview.model_selection.choose`.
    lam : float, default=2.0
        Coupling between the embedding and the clusters, dimensionless: with balanced clusters a
        sample is shrunk lam / (1 + lam) of the way to the mean of its cluster.
    n_spaces : int, default=3
        Number of latent spaces, of dimension k, 2k, 3k, … (at most 100, 200, 300, … and at most
        the rank that the views allow).
    latent_dims : sequence of int, optional
        Dimensions of the latent spaces; replaces `n_spaces`.
    scale : None, "auto", the name of a scaling or a list of names, default="auto"
        Scaling of the views. None: as given; "unit": unit mean square norm of the rows; "l2": rows
        of unit norm; "sqrt-l2": the same after a square root, if the view is non-negative; "z":
        z-scores; "z-l2": z-scores with rows of unit norm; "pca-l2": at most 50 principal components
        of z-scores, half-whitened, with rows of unit norm; "log-pca-l2": the same of logarithms of
        counts with equal row sums. With a list, each scaled view enters the model as a view of its
        own. "auto" is "sqrt-l2" and, for each view, "log-pca-l2" if it has counts, "z-l2" if it is
        sparse, else "pca-l2".
    smooth : bool or "auto", default="auto"
        Smooth the samples along an anchor graph: a first fit finds the neighbors of each sample in
        the joint projections, a second fit clusters the smoothed rows. "auto" smooths if
        scale="auto".
    weight_exponent : float, default=3.0
        Exponent γ > 1 of the space weights. The paper uses 2, which soon puts all weight on one
        space.
    init : {"k-means++", "random"}, default="k-means++"
        Method of drawing the initial cluster centers.
    n_init : int, default=5
        Number of starts; the solution with the lowest objective is kept. With smoothing, the first
        two are the labels of the first fit and a cut of the anchor graph, and only the start that
        is likeliest at the initial bases is continued.
    max_iter : int, default=100
        Maximum number of iterations of a start.
    tol : float, default=1e-5
        Relative tolerance: a start converges when the objective decreases by less than this share
        of its value. Starts on a subset and the refinement on all samples stop earlier: once the
        next decrease is expected to be smaller, or below 100 and 30 times this share of the
        decrease so far.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of the order of the label sweeps.
    engine : {"auto", "memory", "stream", "dask"}, address or Client, default="auto"
        Where the rows are kept. "dask" is a cluster: that of the current client of Dask, or else
        processes of this machine; the address of a scheduler or a client names another. Views are
        then Dask collections or files, and stay where they are. "stream" is out-of-core: views
        stay on disk and are read block by block. "auto" streams if views on disk are larger than
        half of the memory, or than `memory_limit`, or if views do not fit on a device.
    device : {"auto", "cpu", "cuda", "mps", "torch"}, default="auto"
        Device that computes: a GPU needs torch; of several, one is called "cuda:1" and so on.
        "auto" takes one if there is one that torch can use, and the views are on it, or have at
        least 10⁸ values and fit into its memory. Views that do not fit on the one asked for are
        copied there in each pass. "torch" runs the kernels of the GPU on the CPU.
    label_step : {"auto", "sequential", "parallel", "sharded"}, default="auto"
        Whether samples move to other clusters one by one, or in batches with the statistics
        frozen in between; if sharded, parts of the rows do so at the same time. "auto" is parallel
        on a GPU. Starts, and what is left at the end, are
        always sequential. Labels depend on the step, never on threads or blocks.
    n_passes : {"auto", 1, 2}, default="auto"
        Passes over the views in an iteration on all samples, after starts on a subset. With one,
        projections, labels and the sums for the next bases are made block by block; the fit ends at
        another solution, with about the same F. "auto" is one for views on disk, unless
        engine="memory", and for views that do not fit on a device; else two. Smoothed rows are made
        once, and always take two.
    tf32 : bool, default=False
        Multiply float32 views on a GPU with the reduced precision of TF32, which is faster.
    n_jobs : int, optional
        Number of threads. None uses one for small data and the number of BLAS threads for large.
        Equal numbers give equal labels. Other numbers do so for small data, of less than about
        3e7 values times clusters; beyond, products of several threads are rounded otherwise.
    memory_limit : float, optional
        Bytes that the fit may use in addition to views in memory. With the memory engine, a fit
        that needs more is refused before it starts; streaming writes what exceeds it to scratch
        files.
    view_sizes : sequence of int, optional
        Number of features of each view, if X is one 2-D array of concatenated views.
    check_structure : bool, default=True
        Compare the clusters with those of one blob of the same shape, on a subset, when
        `structure_` or `confidence_` is first asked for: the confidence is then relative to what
        one blob would give.
    verbose : int, default=0
        1 logs each iteration to the logger "manyview.solver".

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample.
    n_clusters_ : int
        Number of clusters, given or chosen.
    choice_ : Choice
        Recommendation that n_clusters="auto" followed; not stored in a model file.
    space_weights_ : ndarray of shape (m,)
        Weight of each latent space; sums to 1.
    structure_ : Structure
        Whether the clusters are more than a partition of one blob: "clear", "weak" or "none".
    confidence_ : ndarray of shape (n_samples,)
        How much rarer a label of such a margin would be in one blob, in [0, 1]: 0 as common, 1
        never. With check_structure=False, the margin itself: how much less the label costs in F
        than the second-best one, as a share of the latter.
    outlier_score_ : ndarray of shape (n_samples,)
        How unlike its cluster a sample is, from the unsmoothed views; higher is more unusual. The
        root sum of squares of three parts, each in units of the members' spread above their median:
        distance to the cluster, share of the rows that bases cannot explain, unusual norms.
    outlier_threshold_ : float
        Score above which a sample is unlike all clusters: 1.1 times what 99 % of the samples stay
        below. Of new samples that are like those of the fit, about 1 to 2 % are above;
        more after a fit of a few dozen.
    stability_ : float
        Mean adjusted Rand index between `labels_` and the labels of the other starts; NaN if
        n_init=1.
    view_weights_ : ndarray of shape (n_views,)
        Share of each view in the separation of the clusters; sums to 1.
    cluster_view_weights_ : ndarray of shape (n_clusters, n_views)
        Share of each view in the separation of each cluster from the rest; rows sum to 1.
    bases_ : list (spaces) of lists (scaled views) of arrays of shape (d_v, d_p)
        Orthonormal bases of the latent spaces. `scalings_` names the view and scaling of each.
    cluster_centers_ : list of arrays of shape (n_clusters, d_v)
        Mean of each cluster in the features of each view, before scaling.
    objective_ : float
        Objective F at the solution, with weights of mean one.
    objective_history_ : ndarray
        F at the initialization, after each iteration, and after the final label sweeps.
    n_iter_ : int
        Iterations of the best start.
    converged_ : bool
        Whether the best start converged.
    n_features_in_ : int
        Total number of features of all views.
    view_names_ : tuple of str
        Names of the views.
    scalings_ : list of (str, str or None)
        View name and scaling of each scaled view, in the order of `bases_`.
    anchors_ : list (spaces) of lists (scaled views) of arrays of shape (d_p, d_v)
        The transposed bases, interpreted as anchors.
    engine_ : str
        Engine that was used.

    References
    ----------
    Wan, Liu, Liu, Wang, Wen, Wan, Shen, Zhu: One-step Multi-view Clustering with Diverse
    Representation. IEEE Transactions on Neural Networks and Learning Systems, 2024.

    Examples
    --------
    >>> from manyview import OMVCDR
    >>> from manyview.datasets import load_digits_views
    >>> data, target = load_digits_views(return_X_y=True)
    >>> model = OMVCDR(n_clusters=10, random_state=0).fit(data)
    >>> model.labels_.shape
    (1797,)
    """

    n_clusters: int | Literal["auto"] = param(8, either(COUNT, one_of("auto")))
    _: KW_ONLY
    lam: float = param(2.0, number(above=0))
    n_spaces: int = param(3, COUNT)
    latent_dims: Sequence[int] | None = param(None, either(NONE, COUNTS))
    scale: str | Sequence[str] | None = param("auto", scale_option())
    smooth: bool | str = param("auto", either(FLAG, one_of("auto")))
    weight_exponent: float = param(3.0, number(above=1))
    init: str = param("k-means++", one_of("k-means++", "random"))
    n_init: int = param(5, COUNT)
    max_iter: int = param(100, COUNT)
    tol: float = param(1e-5, number(least=0))
    random_state: int | np.random.RandomState | None = None
    engine: Any = param("auto", either(one_of("auto", "memory", "stream", "dask"), CLUSTER))
    device: str = param("auto", either(one_of("auto", "cpu", "cuda", "mps", "torch"), GPU))
    label_step: str = param("auto", one_of("auto", "sequential", "parallel", "sharded"))
    n_passes: int | str = param("auto", one_of("auto", 1, 2))
    tf32: bool = param(False, FLAG)
    n_jobs: int | None = param(None, either(NONE, COUNT))
    memory_limit: float | None = param(None, LIMIT)
    view_sizes: Sequence[int] | None = None
    check_structure: bool = param(True, FLAG)
    verbose: int = 0

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: Any = None,
        *,
        present: Any = None,
        callback: OnStep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        keep_checkpoint: bool = False,
    ) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : views
            A list or dict of 2-D arrays, DataFrames, sparse matrices, AnnData or files of the same
            samples, a MuData, a MultiViewData, or one 2-D table (split by `view_sizes`).
            A row that is all NaN marks a missing view.
        y : ignored
            Present for the scikit-learn interface.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 counts as two equal rows of weight 1; samples of weight 0 only get a
            label. Only ratios matter: weights are divided by the mean of those above 0.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.
        callback : function of a Progress, optional
            Called after each step, with the objective, the number of changed labels and the
            current model.
        checkpoint : str or path, optional
            Folder that stores the results of the passes over the data until the fit is done. A
            fit that was killed resumes when it is called again with the same folder, data and
            parameters (but for `n_jobs`, `memory_limit` and `verbose`), and gives the same result.
        keep_checkpoint : bool, default=False
            Keep the folder when the fit is done, so that a process killed before the model is
            saved repeats little; `manyview.remove_checkpoint` removes it.

        Returns
        -------
        self
        """
        check_parameters(self)
        if is_cluster(self.engine):
            refuse_on_cluster(sample_weight=sample_weight, present=present, checkpoint=checkpoint)
            on_step = sklearn_callbacks(self, make_callback(callback, self.verbose), X)
            with on_step as notify:
                fit_on_cluster(self, X, notify, getattr(callback, "on_parts", None))
            return self
        data = validate_views(self, X, present=present)
        warn_of_doubts(self, data)
        weights = checked_weights(sample_weight, data.n_samples, min_samples(self))
        k = self._count_clusters(data[weights.counted])
        rng = generator(self.random_state)
        sharded = choose_sharded(self.engine, self.device, self.label_step)
        rows = sharded or self._choose_engine(data)
        asked = {**self.get_params(deep=False), "n_clusters": k}
        on_step = sklearn_callbacks(self, make_callback(callback, self.verbose), X)
        with ExitStack() as stack:
            engine: Engine = rows
            if checkpoint is not None:
                opened = open_checkpoint(checkpoint, asked, data, weights.values, rng)
                engine = ReplayEngine(rows, stack.enter_context(opened))
            stack.enter_context(self._threads(data, k))
            self._fit_rows(engine, data, weights, k, rng, stack.enter_context(on_step))
        self._remember(X, data)
        self._weights, self._fixed = weights, fixed_parameters(self, FREE_PARAMETERS)
        self.__dict__.pop("_batches", None)  # batches before this fit no longer count
        if checkpoint is not None and not keep_checkpoint:
            remove_checkpoint(checkpoint)
        return self

    def _fit_rows(
        self,
        engine: Engine,
        data: MultiViewData,
        weights: Weights,
        k: int,
        rng: np.random.Generator,
        notify: OnStep,
    ) -> None:
        """Fit with the rows of an engine, and set the fitted attributes."""
        counted = weights.counted
        engine.load(data[counted], weights.of_counted)
        batches = choose_batches(self.label_step, engine)
        schedule = Schedule(
            *(self.n_init, self.max_iter, self.tol, self.init),
            batches=batches,
            reads_once=choose_passes(self.n_passes, engine, self.engine, data) == 1,
        )
        limit = self.memory_limit if engine.name == "memory" else None
        check = memory_check(data.n_samples, data.n_features, data.dtype.itemsize, limit)
        names = data.view_names
        solution, fitted = fit(engine, self._settings(k), schedule, names, rng, notify, check)
        # clusters are summed in the last pass if the engine still has their labels then
        is_last = holds_projections(engine, fitted, data)
        problem, sums = solution.model.problem, None
        if not is_last:
            sums = engine.map_reduce(sum_and_count, problem)
        self._fitted = fitted = replace(fitted, least_weight=weights.least)
        own = label_samples(engine, fitted, data)
        labels, margins = engine.gather("labels"), own.margins(engine)
        self._store_labels(data, labels, margins, counted, rng.spawn(1)[0])
        self._outliers, self.outlier_score_, last = score_fit(
            *(engine, own, fitted, data, counted, lambda: choose_engine("memory", "cpu", data)),
            *(rng, problem if is_last else None),
        )
        sums = sums or last or engine.map_reduce(sum_and_count, problem)
        data.check_unchanged()
        self._store_solution(solution)
        self._store_model(describe(sums, solution.model, data.n_views))
        self.n_clusters_, self.engine_ = k, engine.name
        scalings = solution.model.problem.scalings
        self.scalings_ = [(data.view_names[scaling.view], scaling.name) for scaling in scalings]

    def partial_fit(
        self, X: Any, y: object = None, sample_weight: Any = None, *, present: Any = None
    ) -> Self:
        """Update the model with a batch of samples, which is not kept.

        The first batch is fitted as by `fit` and fixes the scalings and, with smoothing, the
        anchor graph; it should contain all clusters. Each later batch is labelled and updates the
        clusters, bases and weights. `labels_` and `confidence_` are those of the batch,
        `cluster_centers_` and the weights those of all samples so far. Between batches only
        `random_state`, `engine`, `device`, `n_jobs`, `memory_limit` and `verbose` may change.

        Parameters
        ----------
        X : views
            As in `fit`; later batches have the views of the first.
        y : ignored
            Present for the scikit-learn interface.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 counts as two equal rows of weight 1; samples of weight 0 only get a
            label. All batches have the same unit, and None is a weight of 1.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        self
        """
        refuse_batches(self.engine)
        if not hasattr(self, "_fitted"):
            self.fit(X, sample_weight=sample_weight, present=present)
            self._batches = self._learn(self._data, self._weights)
            return self
        check_fixed(self, FREE_PARAMETERS)
        data = validate_new_views(self, X, present=present)
        if not hasattr(self, "_batches"):  # `fit` came before: its samples are the first batch
            self._batches = self._learn(self._data_of_fit(None), self._weights)
        weights = checked_weights(sample_weight, data.n_samples, 1, self._batches.unit)
        self._assess()  # the samples of the fit are forgotten
        self._fitted.make_lifts()
        self._batches = self._learn(data, weights, self._batches)
        found = self.assign(data)
        self.labels_, self.confidence_ = found.labels, found.confidence
        self.outlier_score_ = -self.score_samples(data)
        model, moments = self._fitted.model, self._fitted.moments
        self.objective_ = objective(moments, model)
        totals, count = self._batches.totals, moments.count.sum(axis=0)
        self._store_model(describe_sums(totals, count, model, data.n_views))
        self._remember(X, data)
        return self

    def _learn(
        self, data: MultiViewData, weights: Weights, seen: BatchTotals | None = None
    ) -> BatchTotals:
        """Statistics of the first batch, or an update with the next."""
        with self._threads(data, self.n_clusters_):
            engine = self._choose_engine(data)
            engine.load(data[weights.counted], weights.of_counted)
            fitted = self._fitted.scale_rows(engine)
            if seen is None:
                return begin_batches(engine, fitted, weights.unit)
            fitted = replace(fitted, least_weight=min(fitted.least_weight, weights.least))
            self._fitted, seen = learn(engine, fitted, seen, generator(self.random_state))
        return seen

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples of all batches."""
        return self._batches.n_samples if hasattr(self, "_batches") else len(self.labels_)

    def _count_clusters(self, data: MultiViewData) -> int:
        """The given number of clusters, or the recommended one if it is "auto"."""
        self.__dict__.pop("choice_", None)
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        self.choice_: Choice = count_clusters(data, self.scale, self.random_state, self.n_jobs)
        return self.choice_.n_clusters

    def _store_labels(
        self,
        data: MultiViewData,
        labels: NDArray[np.int32],
        margins: FloatArray,
        counted: Any,
        rng: np.random.Generator,
    ) -> None:
        """Set the labels; what they are worth is computed when it is first asked for."""
        for name in ("structure_", "confidence_", "_calibration", "_assessment"):
            self.__dict__.pop(name, None)
        self.labels_, self._margins = labels, margins
        if self.check_structure:
            settings = self._settings(self._fitted.model.problem.n_clusters)
            given = (labels[counted], margins[counted], settings, rng)
            self._assessment = LazyAssessment(data[counted], *given)

    def _store_solution(self, solution: Solution) -> None:
        """Set the fitted attributes of the search."""
        self.objective_ = solution.objective
        self.objective_history_ = solution.history
        self.n_iter_ = solution.n_iter
        self.stability_ = solution.stability
        self.converged_ = solution.converged
        self._n_features_out = sum(solution.model.problem.dims)
        if not solution.converged:
            msg = (
                f"The best of {self.n_init} starts had not converged after "
                f"max_iter={self.max_iter} iterations; the clusters are usable. Raise "
                "max_iter to let it finish."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=4)

    def _store_model(self, description: Description) -> None:
        """Set the fitted attributes of the model."""
        model = self._fitted.model
        self.space_weights_ = model.alpha
        per_view = [np.split(H, model.problem.starts[1:], axis=1) for H in self._fitted.bases]
        self.bases_ = [list(bases) for bases in zip(*per_view, strict=True)]
        self.view_weights_ = description.view_weights
        self.cluster_view_weights_ = description.cluster_view_weights
        self.cluster_centers_ = description.cluster_centers

    def _remember(self, X: Any, data: MultiViewData) -> None:
        super()._remember(X, data)
        self._data = data  # a reference, not a copy; files, pickles and copies leave it out

    def __sklearn_clone__(self) -> OMVCDR:
        """An unfitted copy with the same client, which cannot be copied."""
        return clone_with_client(self, super().__sklearn_clone__)
