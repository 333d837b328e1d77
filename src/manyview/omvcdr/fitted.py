"""What a fitted model does with samples: labels, embeddings, explanations, files."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame
from sklearn import config_context
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from manyview.base import (
    MultiViewClusterer,
    generator,
    validate_new_views,
)
from manyview.cluster import lazy
from manyview.cluster.sample import with_sample
from manyview.data.tensors import as_given
from manyview.data.views import MultiViewData, is_list_of_views
from manyview.engines import (
    choose_engine,
)
from manyview.engines.cluster import is_cluster
from manyview.engines.device import OnDevice
from manyview.engines.memory import InMemory
from manyview.exceptions import ViewError
from manyview.inspection.explain import Explanation, explain_fit, profile_views
from manyview.inspection.hierarchy import cut_hierarchy, link_clusters
from manyview.inspection.ranking import rank_features
from manyview.persistence.model_file import load_model, save_model
from manyview.reliability.calibration import memberships
from manyview.reliability.outliers import outlier_scores
from manyview.reliability.shift import Shift, find_shifts
from manyview.reliability.stability import cluster_stability
from manyview.solver.evidence import Structure
from manyview.solver.inference import Assignment, Fitted, assignment_of
from manyview.solver.outliers import OutlierReference
from manyview.solver.problem import Settings
from manyview.solver.progress import (
    CallbackSupportMixin,
)
from manyview.utils.threads import limit_threads
from manyview.utils.types import FloatArray


class FittedModel(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    CallbackSupportMixin,  # type: ignore[misc]
    MultiViewClusterer,
):
    """The methods of OMVCDR that need a fit."""

    _fitted: Fitted
    _data: MultiViewData
    _outliers: OutlierReference
    objective_: float

    def predict(self, X: Any, *, present: Any = None) -> NDArray[np.int32]:
        """Cluster of each sample, independent of the others; training samples get `labels_`.

        Parameters
        ----------
        X : views
            The same views as in `fit`, or a dict with some of them; a sample may lack some.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        ndarray of shape (n_samples,), int32
        """
        if lazy.is_elsewhere(X):
            return lazy.apply_lazily(self, lazy.labels_of, X, np.int32)
        engine, _ = self._label(X, present)
        return as_given(engine.views, engine.gather("labels"))

    def transform(self, X: Any, *, present: Any = None) -> NDArray[Any]:
        """Embedding of the samples in all spaces, concatenated: eq. (Z) with the predicted cluster.

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
        if lazy.is_elsewhere(X):
            return lazy.apply_lazily(self, lazy.embedding_of, X, None, self._n_features_out)
        engine, fitted = self._label(X, present)
        fitted.embed(engine)
        return as_given(engine.views, engine.gather("projection"))

    def anchor_graph(self, X: Any, *, present: Any = None) -> list[NDArray[Any]]:
        """Embedding of each space as a graph between samples and the anchors of `anchors_`.

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
        """The transposed bases: their rows are anchors, points in the space of a scaled view."""
        check_is_fitted(self)
        return [[H.T for H in bases] for bases in self.bases_]

    def score(self, X: Any, y: object = None, *, present: Any = None) -> float:
        """Negative mean of F over the samples at their predicted labels: higher is better.

        Parameters
        ----------
        X : views
            The same views as in `fit`, but not a plain list of views.
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
                "score was given a plain list of views, which scikit-learn's splitters split by "
                "views instead of samples. Wrap it in MultiViewData.of before splitting or scoring."
            )
            raise ViewError(msg)
        engine, fitted = self._label(X, present)
        return -fitted.loss(engine, self.lam) / engine.n_samples

    def assign(self, X: Any, *, present: Any = None) -> Assignment:
        """Cluster of each sample, its confidence, and the second-best cluster.

        Parameters
        ----------
        X : views
            The same views as in `fit`; a sample may lack some.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        Assignment
            `labels`, as returned by `predict`; `confidence`, as `confidence_` for the samples of
            the fit; and `next_labels`, the second-best cluster of each sample.
        """
        engine, fitted = self._label(X, present)
        return self._calibrated(fitted.assignment(engine))

    def predict_proba(self, X: Any, *, present: Any = None) -> FloatArray:
        """Soft memberships of each sample, which sum to one.

        The predicted cluster gets the confidence of the label; the rest is shared among all
        clusters in inverse proportion to their costs in F.

        Parameters
        ----------
        X : views
            The same views as in `fit`; a sample may lack some.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        engine, fitted = self._label(X, present)
        labels, costs = engine.gather("labels"), fitted.costs(engine)
        found = self._calibrated(assignment_of(costs, labels))
        given = memberships(costs, found.labels, found.confidence)
        return as_given(engine.views, given)

    def cluster_stability(self, X: Any = None) -> FloatArray:
        """Whether each cluster comes back if the samples are drawn again.

        Parameters
        ----------
        X : views, optional
            The samples of the fit, in the same order; only needed for a model that was loaded or
            copied.

        Returns
        -------
        ndarray of shape (n_clusters,)
            Mean Jaccard index of the cluster with its best match in fits of bootstrap samples of a
            subset: 1 is the same cluster each time; below 0.6 it does not come back. NaN for a
            cluster without a sample in the subset, and if there are too few samples.
        """
        own = with_sample(self)
        data, settings = own._data_of_fit(X), self._settings(self.n_clusters_)
        return cluster_stability(data, own.labels_, settings, generator(self.random_state))

    @property
    def hierarchy_(self) -> FloatArray:
        """Merges of the clusters in the form of SciPy's linkages, by what they cost in F."""
        check_is_fitted(self)
        return link_clusters(self._fitted)

    def merge(self, n_clusters: int, labels: Any = None) -> NDArray[np.int32]:
        """Labels for fewer clusters, without another fit.

        Clusters are merged one pair at a time, that which raises F least at the bases and weights
        of the fit, as `hierarchy_` has it.

        Parameters
        ----------
        n_clusters : int
            Number of clusters that are left, from 1 to that of the fit.
        labels : array of int, optional
            Labels to merge, such as those that `predict` gave to new samples; None is `labels_`.

        Returns
        -------
        ndarray of int32
            From 0 to `n_clusters` - 1, in the order of the first cluster of each group.

        Examples
        --------
        >>> from manyview import OMVCDR
        >>> from manyview.datasets import make_multiview_blobs
        >>> data = make_multiview_blobs(60, n_clusters=3, random_state=0).data
        >>> OMVCDR(n_clusters=6, random_state=0).fit(data).merge(3).max()
        np.int32(2)
        """
        numbers = cut_hierarchy(self.hierarchy_, n_clusters)
        given: Any = self.labels_ if labels is None else labels
        if lazy.is_elsewhere(given):
            return cast(NDArray[np.int32], given.map_blocks(numbers.take, dtype=np.int32))
        return np.asarray(numbers[np.asarray(given)], dtype=np.int32)

    def score_samples(self, X: Any, *, present: Any = None) -> FloatArray:
        """Opposite of the outlier score of each sample: the lower, the more unusual.

        The sign is that of scikit-learn's novelty detectors. For samples of the fit, use
        `outlier_score_`: here they would be compared with bases that were fitted to them.

        Parameters
        ----------
        X : views
            The same views as in `fit`; a sample may lack some, and only those present count.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        ndarray of shape (n_samples,)
            At most 0. A sample below `-outlier_threshold_` is unlike all clusters.
        """
        if lazy.is_elsewhere(X):
            return lazy.apply_lazily(self, lazy.normality_of, X, np.float64)
        engine, _ = self._label(X, present)
        return as_given(engine.views, -outlier_scores(engine, self._outliers))

    def find_shifts(self, X: Any, *, present: Any = None) -> list[Shift]:
        """Views of new samples whose mean or spread has moved, or with constant features.

        Parameters
        ----------
        X : views
            The same views as in `fit`; a sample may lack some.
        present : array of bool of shape (n_samples, n_views), optional
            False where a sample lacks a view.

        Returns
        -------
        list of Shift
            Each with `view`, `kind`, `value` and a `sentence`; empty if nothing has moved.
        """
        check_is_fitted(self)
        data = validate_new_views(self, X, present=present)
        engine = self._choose_engine(data)
        engine.load(data, None)
        return find_shifts(self._outliers, engine, self.view_names_, self.view_features_)

    @property
    def outlier_threshold_(self) -> float:
        """Outlier score above which a sample is unlike all clusters."""
        check_is_fitted(self)
        return self._outliers.threshold

    def explain(self, X: Any = None) -> Explanation:
        """Explain the clusters by tables.

        Parameters
        ----------
        X : views, optional
            The samples of the fit, in the same order; only needed for a model that was loaded or
            copied.

        Returns
        -------
        Explanation
            DataFrames: view weights per cluster, top features, a heatmap, typical and doubtful
            samples, confidence, and a map.

        Examples
        --------
        >>> from manyview import OMVCDR
        >>> from manyview.datasets import make_multiview_blobs
        >>> data = make_multiview_blobs(60, random_state=0).data
        >>> model = OMVCDR(n_clusters=3, random_state=0).fit(data)
        >>> model.explain().view_weights.shape
        (3, 2)
        """
        own = with_sample(self)
        return explain_fit(own, own._data_of_fit(X))

    def rank_features(self, X: Any = None) -> DataFrame:
        """Compare every feature in every cluster with the other samples.

        Parameters
        ----------
        X : views, optional
            The samples of the fit, in the same order; only needed for a model that was loaded or
            copied.

        Returns
        -------
        DataFrame
            One row per cluster and feature, the strongest of a cluster first: cluster, rank, view,
            feature, effect (Cohen's d), mean, rest (mean of the other samples), auroc (chance that
            the feature is larger in the cluster than outside of it), n. At most a million rows.

        Examples
        --------
        >>> from manyview import OMVCDR
        >>> from manyview.datasets import make_multiview_blobs
        >>> data = make_multiview_blobs(60, random_state=0).data
        >>> OMVCDR(n_clusters=3, random_state=0).fit(data).rank_features().columns[:4].tolist()
        ['cluster', 'rank', 'view', 'feature']
        """
        own = with_sample(self)
        data = own._data_of_fit(X)
        return rank_features(profile_views(own, data), data, own.labels_)[0]

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        truth: Any = None,
        *,
        meta: Any = None,
        time: str | None = None,
        event: str | None = None,
        batch: str | None = None,
        show: Any = None,
    ) -> None:
        """Write a report of the fit as one HTML page, and as JSON next to it.

        Parameters
        ----------
        path : str or path
            File to create or replace, such as "report.html"; the JSON file is then "report.json".
            The page is self-contained and needs no network.
        X : views, optional
            The samples of the fit, in the same order; only needed for a model that was loaded or
            copied.
        truth : array-like of shape (n_samples,), optional
            Known classes, text or integers in the order of the samples; None or NaN where unknown.
            The page then compares the clusters with them, next to k-means.
        meta : DataFrame of shape (n_samples, n_columns), optional
            Metadata, in the order of the samples; each column is tested for association with the
            clusters.
        time, event : str, optional
            Columns of `meta` with survival: the time until the event or until the sample was last
            seen, and whether the event was seen. The page then has Kaplan-Meier curves.
        batch : str, optional
            Column of `meta` with the batch of each sample; a warning if clusters follow it.
        show : dict, optional
            What is shown of typical and doubtful samples: {"text": captions, "image": paths}, one
            value per sample. With texts, the words that distinguish each cluster are shown, too.
        """
        from manyview.report.files import write_report
        from manyview.report.fit import describe_fit

        given = {"truth": truth, "meta": meta, "time": time, "event": event, "batch": batch}
        given["show"] = show
        own = with_sample(self)
        write_report(path, describe_fit(own, own._data_of_fit(X), **given))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a file, atomically.

        Parameters
        ----------
        path : str or path
            File to create or replace, such as "model.mv". It holds the parameters and the fitted
            attributes, not the views; equal models give equal bytes. A `random_state` that is a
            generator is stored as None, and metadata requests are not stored.
        """
        own = with_sample(self)
        own._assess()
        save_model(own, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a model from a file written by `save`; nothing in the file is executed.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        OMVCDR
            It predicts and transforms like the model that was saved.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not a model of this class.
        """
        return load_model(cls, path)

    def _label(self, X: Any, present: Any = None) -> tuple[InMemory, Fitted]:
        """An engine with the rows of X, projected and labelled, and the fit in their groups."""
        check_is_fitted(self)
        with config_context(assume_finite=True):
            data = validate_new_views(self, X, present=present)
        engine = self._choose_engine(data, is_read_once=self._fitted.is_read_once)
        if isinstance(engine, OnDevice) and engine.checks_values(data):
            with suppress(ViewError):  # of values that are not finite, which are then looked for
                fitted = self._label_rows(engine, data)
                if engine.are_values_valid:
                    return engine, fitted
        if not isinstance(X, MultiViewData):
            with limit_threads(self.n_jobs):
                data = data.checked()
        return engine, self._label_rows(engine, data)

    def _label_rows(self, engine: InMemory, data: MultiViewData) -> Fitted:
        with self._threads(data, self.n_clusters_):
            fitted = self._fitted.label(engine, data)
        data.check_unchanged()
        return fitted

    def _choose_engine(self, data: MultiViewData, *, is_read_once: bool = False) -> InMemory:
        engine = "auto" if is_cluster(self.engine) else self.engine
        given = (engine, self.device, data, self.memory_limit)
        return choose_engine(*given, tf32=self.tf32, is_read_once=is_read_once)

    def _threads(self, data: MultiViewData, k: int) -> AbstractContextManager[None]:
        """Threads for products of the views with about six columns per cluster."""
        n, d = data.shape
        return limit_threads(self.n_jobs, float(n) * d * 6 * min(k, 100))

    def _settings(self, k: int) -> Settings:
        spaces = (self.n_spaces, self.latent_dims)
        smooth = self.scale == "auto" if self.smooth == "auto" else bool(self.smooth)
        return Settings(k, self.lam, *spaces, self.scale, self.weight_exponent, smooth)

    def _assess(self) -> None:
        """Set what the labels are worth, and forget the views that it needed."""
        if "_assessment" in vars(self):
            self.structure_, calibration = self._assessment.result()
            if calibration is not None:
                self._calibration = calibration
            del self._assessment
        if "_margins" not in vars(self):
            return
        margins = self.__dict__.pop("_margins")
        found = Assignment(self.labels_, margins, self.labels_)
        self.confidence_ = self._calibrated(found).confidence

    @cached_property
    def structure_(self) -> Structure:
        """Whether the clusters are more than a partition of one blob; computed on first access."""
        self._assess()
        if "structure_" not in vars(self):
            msg = (
                "There is no structure_: expected a fitted model with check_structure=True. Fit, "
                "or set check_structure and fit again."
            )
            raise AttributeError(msg)
        return cast(Structure, vars(self)["structure_"])

    @cached_property
    def confidence_(self) -> FloatArray:
        """Confidence of each label; computed on first access."""
        self._assess()
        if "_sample" in vars(self):
            return lazy.apply_lazily(self, lazy.confidence_of, self._data, np.float64)
        if "confidence_" not in vars(self):
            msg = "There is no confidence_: expected a fitted model. Call fit first."
            raise AttributeError(msg)
        return cast(FloatArray, vars(self)["confidence_"])

    def _calibrated(self, found: Assignment) -> Assignment:
        """An assignment with confidences instead of margins."""
        known = vars(self)
        calibration = known.get("_calibration")
        if "_assessment" in known:
            calibration = self._assessment.result()[1]
        if calibration is None:
            return found
        return replace(found, confidence=calibration.apply(found.confidence))

    def _data_of_fit(self, X: Any) -> MultiViewData:
        """The views of the fit, or X if it matches them."""
        check_is_fitted(self)
        if X is None:
            if not hasattr(self, "_data"):
                msg = (
                    "A model that was loaded or copied does not hold the views; expected X, "
                    "received None. Pass the samples of the fit."
                )
                raise ViewError(msg)
            return self._data
        data = validate_new_views(self, X)
        if len(data) != len(self.labels_):
            msg = (
                f"X has {len(data)} samples; the fit had {len(self.labels_)}. Pass the samples of "
                "the fit, in the same order."
            )
            raise ViewError(msg)
        return data

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the views."""
        if "_sample" in vars(self):
            return with_sample(self).__getstate__()
        self._assess()  # needs them
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_data", "_weights")}

    def __sklearn_tags__(self) -> Tags:
        """float32 in, float32 out."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
