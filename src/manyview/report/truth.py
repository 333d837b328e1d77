"""Compares the clusters with known classes, which the fit does not use, and with k-means."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from manyview.data.conversion import View
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.inspection import FittedModel
from manyview.metrics import evaluate
from manyview.utils.threads import limit_threads

MEASURES = {"acc": "ACC", "nmi": "NMI", "ari": "ARI", "purity": "purity", "fscore": "F-score"}
MOST_SAMPLES = 20_000  # largest number that k-means is run on
N_CLASSES = 20  # with a column of their own: the largest
N_CLUSTERS = 100  # with a row of their own: the largest


def as_classes(truth: Any, n_samples: int) -> pd.Series:
    """Check known classes, and convert them to text.

    Parameters
    ----------
    truth : array-like of shape (n_samples,)
        Text or integers in the order of the samples; None, NaN or "" if the class of a sample is
        unknown. The name of a pandas Series is used as the name of the classes.
    n_samples : int
        Number of samples.

    Returns
    -------
    pandas.Series
        Ordered categorical of the class names; missing if the class is unknown.
    """
    name = str(getattr(truth, "name", None) or "class")
    values = np.asarray(truth, dtype=object)
    if values.shape != (n_samples,):
        msg = f"truth has shape {values.shape}; expected one class per sample, ({n_samples},)."
        raise ViewError(msg)
    texts = [_text(value, name) for value in values]
    classes = sorted({text for text in texts if text is not None}, key=_natural)
    if not classes:
        msg = f"No sample has a known class: {name!r} is empty for all {n_samples} of them."
        raise ViewError(msg)
    return pd.Series(pd.Categorical(texts, classes, ordered=True), name=name)


def _text(value: Any, name: str) -> str | None:
    """A class as text; integers without a decimal point; None if it is missing."""
    if pd.isna(value):
        return None
    if isinstance(value, float | np.floating):
        if not value.is_integer():
            msg = f"{name!r} holds {value:g}; expected classes as text or whole numbers."
            raise ViewError(msg)
        value = int(value)
    return " ".join(str(value).split()) or None


def _natural(text: str) -> tuple[bool, int, str]:
    """2 before 10, and numbers before words."""
    is_number = text.removeprefix("-").isdecimal()
    return not is_number, int(text) if is_number else 0, text


def describe_truth(
    model: FittedModel, data: MultiViewData, classes: pd.Series, seconds: float | None
) -> dict[str, Any]:
    """Score a fit and k-means against known classes.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    data : MultiViewData
        The samples of its fit.
    classes : pandas.Series
        As `as_classes` returns it.
    seconds : float or None
        Time of the fit.

    Returns
    -------
    dict
        `name` of the classes and their number, samples with and without one, `methods` with their
        measures and seconds, the `table` of clusters and classes, and `notes` on k-means.
    """
    has_class = classes.notna().to_numpy()
    expected = classes[has_class].to_numpy()
    own = (f"{type(model).__name__}, all views", model.labels_, seconds)
    found = [own, *(_k_means(model, data) if len(data) <= MOST_SAMPLES else ())]
    return {
        "name": classes.name,
        "n_classes": len(classes.cat.categories),
        "n_samples": int(has_class.sum()),
        "n_without": int((~has_class).sum()),
        "methods": [
            {"name": name, "seconds": took, "metrics": evaluate(expected, labels[has_class])}
            for name, labels, took in found
        ],
        "table": _table(model.labels_[has_class], classes[has_class]),
        "notes": _notes(data),
    }


def _k_means(model: FittedModel, data: MultiViewData) -> Iterator[tuple[str, NDArray[Any], float]]:
    """Labels and seconds of k-means on all views concatenated, and on each view alone."""
    views: list[Any] = [
        view if data.present is None else _filled(view, data.present[:, v])
        for v, view in enumerate(data.arrays)
    ]
    is_sparse = any(map(sparse.issparse, views))
    together: Any = sparse.hstack(views, format="csr") if is_sparse else np.hstack(views)
    alone = zip(data.view_names, views, strict=True) if len(views) > 1 else ()
    parameters, k = model.get_params(), len(model.cluster_centers_[0])
    for name, view in (("all views", together), *alone):
        method = KMeans(k, n_init=10, random_state=parameters["random_state"])
        size = float(np.prod(view.shape)) * k
        with limit_threads(parameters["n_jobs"], size), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
            start = time.perf_counter()
            labels = method.fit_predict(view)
            seconds = time.perf_counter() - start
        yield f"k-means, {name}", labels, seconds


def _filled(view: View, is_present: NDArray[np.bool_]) -> Any:
    """A view in which missing rows are replaced by the mean of the others."""
    if is_present.all():
        return view
    mean = np.asarray(view[is_present].mean(axis=0)).reshape(1, -1)
    if not sparse.issparse(view):
        return np.where(is_present[:, None], view, mean)
    means = sparse.csr_array(np.repeat(mean, (~is_present).sum(), axis=0))
    together = sparse.vstack([view[is_present], means], format="csr")
    return together[np.argsort(np.argsort(~is_present, kind="stable"))]


def _notes(data: MultiViewData) -> list[str]:
    if len(data) > MOST_SAMPLES:
        return [f"k-means was not run: there are more than {MOST_SAMPLES:,} samples."]
    notes = [
        "k-means: scikit-learn, best of 10 starts, with the same seed and number of clusters; "
        '"all views" are the given views, concatenated without scaling.'
    ]
    if data.present is not None:
        notes.append("For k-means, missing rows of a view were replaced by the feature means.")
    return notes


def _table(labels: NDArray[Any], classes: pd.Series) -> dict[str, Any]:
    """Counts by cluster and class; clusters are sorted by their largest class."""
    is_large = np.isin(labels, pd.Series(labels).value_counts().index[:N_CLUSTERS])
    counts = pd.crosstab(labels[is_large], classes[is_large].to_numpy())
    counts = counts.reindex(columns=classes.cat.categories, fill_value=0)
    largest = counts.sum().sort_values(ascending=False, kind="stable").index[:N_CLASSES]
    shown = [name for name in counts.columns if name in set(largest)]
    rows = [
        {
            "cluster": cluster,
            "n": row.sum(),
            "counts": row[shown].tolist(),
            "n_other": row.sum() - row[shown].sum(),
            "main": row.idxmax(),
            "share": row.max() / row.sum(),
        }
        for cluster, row in counts.iterrows()
    ]
    order = {name: i for i, name in enumerate(counts.columns)}
    rows.sort(key=lambda row: (order[row["main"]], -row["share"]))
    return {"classes": shown, "n_other": counts.shape[1] - len(shown), "rows": rows}
