"""OMVCDR, the flagship estimator. Checks and wiring only; the mathematics is in `solver`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyview.base import MultiViewClusterer, checked_weights, generator
from manyview.batches import TaughtInBatches
from manyview.blocks import FloatArray
from manyview.callbacks import WatchedFit, with_callbacks
from manyview.checkpoint import Checkpoint
from manyview.engines import Engine, choose_engine
from manyview.engines.in_memory import InMemory
from manyview.engines.recorded import Recorded
from manyview.errors import ConvergenceWarning, ViewError
from manyview.output import NamedTransformer
from manyview.parameters import CheckedParameters
from manyview.reported import Reported
from manyview.solver.alternation import Schedule
from manyview.solver.description import Description, describe
from manyview.solver.fitting import fit, memory_check
from manyview.solver.inference import Fitted
from manyview.solver.problem import Settings
from manyview.solver.state import OnStep, Solution, narrator
from manyview.threads import limit_threads
from manyview.views import MultiViewData, is_list_of_views

__all__ = ["OMVCDR"]


class OMVCDR(
    Reported, WatchedFit, TaughtInBatches, CheckedParameters, NamedTransformer, MultiViewClusterer
):
    """One-step multi-view clustering with diverse representation.

    Maps all views into several latent spaces of different dimension, weights the spaces by itself,
    and finds the clusters in the same optimization, in time linear in the number of samples.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters k; "auto" takes what `manyview.model_selection.choose` recommends.
    lam : float, default=0.5
        Pull of a sample towards its cluster, without units: at balanced clusters a sample is drawn
        lam / (1 + lam) of the way to the mean of its cluster.
    n_spaces : int, default=3
        Number of latent spaces, of dimension k, 2k, 3k, … (at most 100, 200, 300, … and no more
        than the views can fill).
    latent_dims : sequence of int, optional
        Dimensions of the spaces, instead of `n_spaces`.
    scale : None, "auto", "unit", "l2", "sqrt-l2", "z", "z-l2" or a list of these, default="auto"
        How views are read: as given; with rows of unit mean square norm; rows of unit norm; the
        same after a square root where a view is non-negative; z-scores; z-scores with rows of unit
        norm. Of a list, each reading enters as a view of its own. "auto" is ["sqrt-l2", "z-l2"].
    smooth : bool or "auto", default="auto"
        Read each sample as a mix of its neighbors: a first fit finds what is near in all views, a
        second clusters the mixes. "auto" does so where scale="auto".
    weight_exponent : float, default=3.0
        Exponent γ > 1 of the space weights. 2 is the paper's, and soon leaves one space alone.
    init : {"k-means++", "random"}, default="k-means++"
        How the first cluster centers are drawn.
    n_init : int, default=5
        Number of starts; the lowest objective wins.
    max_iter : int, default=100
        Iterations of a start, at most.
    tol : float, default=1e-5
        A start also ends when the objective falls by less than this share of itself. After a start
        on some of the samples, all of them end once the next fall is likely to be smaller.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of the order of the label sweeps.
    engine : {"auto", "memory", "stream"}, default="auto"
        Where the rows live: "stream" leaves views on disk there and reads them block by block;
        "auto" does so where they are larger than half of the memory, or than `memory_limit`.
    device : {"auto", "cpu"}, default="auto"
        What computes.
    n_jobs : int, optional
        Threads; None takes one for small data, and what BLAS takes for large.
    memory_limit : float, optional
        Bytes that the fit may use beside views in memory. A fit in memory that needs more is
        refused before it starts; one that streams keeps to them, and puts the rest on disk.
    view_sizes : sequence of int, optional
        Widths of the views where X is one 2-D array.
    verbose : int, default=0
        1 logs each iteration to the logger "manyview.solver".

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample.
    n_clusters_ : int
        Number of clusters, given or found.
    choice_ : Choice
        Why so many, where n_clusters="auto"; not kept in a model file.
    space_weights_ : ndarray of shape (m,)
        Weight of each latent space; sums to 1.
    confidence_ : ndarray of shape (n_samples,)
        Margin of each label in F, in [0, 1]: by which share its cluster is cheaper than the next.
    stability_ : float
        Mean adjusted Rand index between `labels_` and the labels of the other starts; NaN where
        n_init=1.
    view_weights_ : ndarray of shape (n_views,)
        Share of each view in what sets the clusters apart; sums to 1. In the same way,
        `cluster_view_weights_` of shape (n_clusters, n_views) tells what sets each one apart.
    bases_ : list (spaces) of lists (readings) of arrays of shape (d_v, d_p)
        Orthonormal bases. `readings_` names the view and scaling of each.
    cluster_centers_ : list of arrays of shape (n_clusters, d_v)
        Mean rows of each view as given.
    objective_ : float
        F at the solution.
    objective_history_ : ndarray
        F at the start, after each iteration, and after the last sweeps.
    n_iter_ : int
        Iterations of the best start.
    converged_ : bool
        Whether the best start came to rest.
    n_features_in_ : int
        Number of features of all views.
    view_names_ : tuple of str
        Names of the views.
    readings_ : list of (str, str or None)
        View name and scaling of each reading.
    anchors_ : list (spaces) of lists (readings) of arrays of shape (d_p, d_v)
        The bases read as anchors.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        lam: float = 0.5,
        n_spaces: int = 3,
        latent_dims: Sequence[int] | None = None,
        scale: str | Sequence[str] | None = "auto",
        smooth: bool | str = "auto",
        weight_exponent: float = 3.0,
        init: str = "k-means++",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: int | np.random.RandomState | None = None,
        engine: str = "auto",
        device: str = "auto",
        n_jobs: int | None = None,
        memory_limit: float | None = None,
        view_sizes: Sequence[int] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.n_spaces = n_spaces
        self.latent_dims = latent_dims
        self.scale = scale
        self.smooth = smooth
        self.weight_exponent = weight_exponent
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.engine = engine
        self.device = device
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.view_sizes = view_sizes
        self.verbose = verbose

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
    ) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : views
            A list or dict of 2-D arrays, DataFrames, sparse matrices, AnnData or files of the same
            samples, a MuData, a MultiViewData, or one 2-D table (cut by `view_sizes`).
            A row of nothing but NaN is a missing view.
        y : ignored
            Present for the scikit-learn interface.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 counts as two equal rows; samples of weight 0 are only labelled.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.
        callback : function of a Progress, optional
            Called after each step, with the objective, the labels that moved and the model so far.
        checkpoint : str or path, optional
            Folder that keeps what the passes over the data found, until the fit is done. A fit
            that was killed, and is called again with the same folder, goes on where it was and
            ends with the same result.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._validate(X, present=present)
        weights = checked_weights(sample_weight, data.n_samples, self._fewest)
        counted = slice(None) if weights is None or weights.all() else weights > 0
        k = self._count_clusters(data[counted])
        rng = generator(self.random_state)
        rows = self._choose_engine(data)
        journal = None
        if checkpoint is not None:
            asked = {**self.get_params(deep=False), "n_clusters": k}
            journal = Checkpoint(checkpoint, asked, data, weights, rng)
        engine: Engine = rows if journal is None else Recorded(rows, journal)
        on_step = self._watched(narrator(callback, self.verbose), X)
        with self._threads(data, k), on_step as told:
            engine.load(data[counted], None if weights is None else weights[counted])
            schedule = Schedule(self.n_init, self.max_iter, self.tol, self.init)
            limit = self.memory_limit if engine.name == "memory" else None
            check = memory_check(data.n_samples, data.n_features, data.dtype.itemsize, limit)
            names = data.view_names
            solution, fitted = fit(engine, self._settings(k), schedule, names, rng, told, check)
            description = describe(engine, solution, data.n_views)
            self._fitted = fitted
            if engine.n_samples < data.n_samples:
                fitted = fitted.label(engine, data)
            self.labels_ = engine.gather("labels")
            self.confidence_ = fitted.margins(engine)[:, 0].copy()
        self._store(solution)
        self._show(description)
        self.n_clusters_ = k
        self.readings_ = [
            (data.view_names[r.view], r.scaling) for r in solution.model.problem.readings
        ]
        self.engine_ = engine.name
        self._remember(X, data)
        self._forget_batches()
        if journal is not None:
            journal.clear()
        return self

    def _store(self, solution: Solution) -> None:
        """Copy what the user sees of the search from the solution."""
        self.objective_ = solution.objective
        self.objective_history_ = solution.history
        self.n_iter_ = solution.n_iter
        self.stability_ = solution.stability
        self.converged_ = solution.converged
        self._n_features_out = sum(solution.model.problem.dims)
        if not solution.converged:
            msg = (
                f"The best of {self.n_init} starts had not come to rest after "
                f"max_iter={self.max_iter} iterations; the clusters are usable. Raise "
                "max_iter to let it finish."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=3)

    def _show(self, description: Description) -> None:
        """Copy what the user sees of the model."""
        model = self._fitted.model
        self.space_weights_ = model.alpha
        per_reading = [np.split(H, model.problem.starts[1:], axis=1) for H in self._fitted.bases]
        self.bases_ = [list(bases) for bases in zip(*per_reading, strict=True)]
        self.view_weights_ = description.view_weights
        self.cluster_view_weights_ = description.cluster_view_weights
        self.cluster_centers_ = description.cluster_centers

    def predict(self, X: Any, *, present: Any = None) -> NDArray[np.int32]:
        """Cluster of new samples, each taken for itself; the training samples get `labels_`.

        Parameters
        ----------
        X : views
            The same views as in `fit`; a sample may lack some.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        ndarray of shape (n_samples,), int32
        """
        engine, _ = self._label(X, present)
        return engine.gather("labels")

    def transform(self, X: Any, *, present: Any = None) -> NDArray[Any]:
        """Embedding of the samples: all spaces side by side, eq. (Z) with the predicted cluster.

        Parameters
        ----------
        X : views
            The same views as in `fit`; a sample may lack some.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        ndarray of shape (n_samples, Σ d_p)
        """
        engine, fitted = self._label(X, present)
        fitted.embed(engine)
        return engine.gather("projection")

    def anchor_graph(self, X: Any, *, present: Any = None) -> list[NDArray[Any]]:
        """Embedding of each space read as a graph between samples and the anchors of `anchors_`.

        Parameters
        ----------
        X : views
            The same views as in `fit`; a sample may lack some.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        list of arrays of shape (n_samples, d_p)
        """
        embedding = np.asarray(self.transform(X, present=present))  # set_output may frame it
        return np.split(embedding, self._fitted.model.problem.starts[1:], axis=1)

    @property
    def anchors_(self) -> list[list[FloatArray]]:
        """The bases read as anchors: rows are points in the space of a reading."""
        check_is_fitted(self)
        return [[H.T for H in bases] for bases in self.bases_]

    def score(self, X: Any, y: object = None, *, present: Any = None) -> float:
        """Minus F of the samples at their predicted labels, over their number: higher is better.

        Parameters
        ----------
        X : views
            The same views as in `fit`, not as a bare list.
        y : ignored
            Present for the scikit-learn interface.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if is_list_of_views(X):
            msg = (
                "score was given a bare list of views, which scikit-learn's splitters cut over "
                "views instead of samples. Wrap it in MultiViewData.of before splitting or scoring."
            )
            raise ViewError(msg)
        engine, fitted = self._label(X, present)
        return -fitted.loss(engine, self.lam) / engine.n_samples

    def _label(self, X: Any, present: Any = None) -> tuple[Engine, Fitted]:
        """An engine with the rows of X, projected and labelled, and the fit in their groups."""
        check_is_fitted(self)
        data = self._validate_new(X, present=present)
        engine = self._choose_engine(data)
        with self._threads(data, self.n_clusters_):
            return engine, self._fitted.label(engine, data)

    def _choose_engine(self, data: MultiViewData) -> InMemory:
        return choose_engine(self.engine, self.device, data, self.memory_limit)

    def _threads(self, data: MultiViewData, k: int) -> AbstractContextManager[None]:
        """Threads for products of the views with about six columns a cluster."""
        n, d = data.shape
        return limit_threads(self.n_jobs, float(n) * d * 6 * min(k, 100))

    def _settings(self, k: int) -> Settings:
        spaces = (self.n_spaces, self.latent_dims)
        smooth = self.scale == "auto" if self.smooth == "auto" else bool(self.smooth)
        return Settings(k, self.lam, *spaces, self.scale, self.weight_exponent, smooth)
