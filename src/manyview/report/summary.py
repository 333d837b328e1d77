"""Results to a dict of plain values, which is all that a page, a terminal or a JSON file needs.

Each key of the dict is one part, made by one function here and shown by one template of the same
name: ``data``, ``methods``, ``objective``, ``weights``, ``map``, ``clusters`` and ``run``.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.inspection import Explanation, FittedModel
from manyview.metrics import evaluate
from manyview.report.drawing import sprite
from manyview.report.sample_map import describe_map
from manyview.utils.types import FloatArray

__all__ = [
    "MEASURES",
    "Outcome",
    "describe_objective",
    "describe_run",
    "describe_weights",
    "summarize",
]

MEASURES = {"acc": "ACC", "nmi": "NMI", "purity": "purity", "fscore": "F-score", "ari": "ARI"}
LIBRARIES = ("manyview", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Outcome:
    """Labels that one method found, and the seconds it took.

    Attributes
    ----------
    name : str
        What the method is called in tables.
    labels : array of int of shape (n_samples,)
        Cluster of each sample.
    seconds : float
        Time of the fit.
    """

    name: str
    labels: NDArray[np.integer[Any]]
    seconds: float


def summarize(
    model: FittedModel,
    data: MultiViewData,
    outcomes: Sequence[Outcome],
    *,
    truth: NDArray[np.integer[Any]],
    topic: str = "samples",
    class_name: str = "class",
    images: FloatArray | None = None,
    repeat: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what a reader of a report wants to know.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    data : MultiViewData
        What it was fitted to.
    outcomes : sequence of Outcome
        Methods to compare, that of `model` first.
    truth : array of int of shape (n_samples,)
        Known class of each sample.
    topic : str, default="samples"
        What the samples are, in the plural.
    class_name : str, default="class"
        What a known class is called, in the singular.
    images : array of shape (n_samples, size, size), optional
        A small picture of each sample, from 0 (paper) to the largest value (ink).
    repeat : sequence of str, optional
        Lines of code that lead to the same result.
    notes : sequence of str, optional
        Sentences on how the methods were run.

    Returns
    -------
    dict
        Strings, numbers, lists and dicts only; see the head of the module for the keys.

    Examples
    --------
    >>> from manyview import OMVCDR
    >>> from manyview.datasets import make_multiview_blobs
    >>> from manyview.report import Outcome, summarize
    >>> data, truth = make_multiview_blobs(60, random_state=0, return_X_y=True)
    >>> model = OMVCDR(n_clusters=3, random_state=0).fit(data)
    >>> summary = summarize(model, data, [Outcome("OMVCDR", model.labels_, 0.1)], truth=truth)
    >>> summary["methods"][0]["metrics"]["acc"]
    1.0
    """
    explanation = model.explain(data)
    classes = {"name": class_name, "values": truth.astype(str).tolist()}
    return {
        "data": _data(model, data, truth, topic, class_name),
        "methods": [_method(outcome, truth) for outcome in outcomes],
        "objective": describe_objective(model),
        "weights": describe_weights(model),
        "map": {**describe_map(explanation, data, model.view_weights_), "classes": classes},
        "clusters": _clusters(explanation, truth),
        "pictures": None if images is None else sprite(images),
        "run": {**describe_run(model), "repeat": list(repeat), "notes": list(notes)},
    }


def _data(
    model: FittedModel,
    data: MultiViewData,
    truth: NDArray[np.integer[Any]],
    topic: str,
    class_name: str,
) -> dict[str, Any]:
    widths = zip(data.view_names, data.n_features, strict=True)
    return {
        "topic": topic,
        "class_name": class_name,
        "n_samples": data.n_samples,
        "n_clusters": len(model.cluster_centers_[0]),
        "n_classes": int(np.unique(truth).size),
        "views": [{"name": name, "n_features": width} for name, width in widths],
    }


def _method(outcome: Outcome, truth: NDArray[np.integer[Any]]) -> dict[str, Any]:
    metrics = evaluate(truth, outcome.labels)
    return {"name": outcome.name, "metrics": metrics, "seconds": float(outcome.seconds)}


def describe_objective(model: FittedModel) -> dict[str, Any]:
    """Tell how the objective fell.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.

    Returns
    -------
    dict
        Its history and end, iterations, starts, and whether it came to rest.
    """
    return {
        "history": model.objective_history_.tolist(),
        "final": float(model.objective_),
        "n_iter": int(model.n_iter_),
        "n_starts": model.n_init,
        "converged": bool(model.converged_),
    }


def describe_weights(model: FittedModel) -> dict[str, Any]:
    """Tell which spaces and views count.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.

    Returns
    -------
    dict
        `spaces` and `views`, each a list of {name, weight}.
    """
    sizes = [bases[0].shape[1] for bases in model.bases_]  # d_p
    spaces = [f"{size} dimension{'s' if size > 1 else ''}" for size in sizes]
    return {
        "spaces": _named_weights(spaces, model.space_weights_),
        "views": _named_weights(model.view_names_, model.view_weights_),
    }


def _named_weights(names: Sequence[str], weights: FloatArray) -> list[dict[str, Any]]:
    return [
        {"name": name, "weight": weight}
        for name, weight in zip(names, weights.tolist(), strict=True)
    ]


def _clusters(explanation: Explanation, truth: NDArray[np.integer[Any]]) -> list[dict[str, Any]]:
    """Size, main class and most typical samples of each cluster, in the order of the classes."""
    labels = explanation.confidence["cluster"].to_numpy()
    clusters = []
    typical = explanation.exemplars.groupby("cluster")["position"].agg(list)
    for c in np.unique(labels).tolist():
        classes, counts = np.unique(truth[labels == c], return_counts=True)
        clusters.append(
            {
                "cluster": c,
                "size": int(counts.sum()),
                "main_class": classes[counts.argmax()].item(),
                "share": float(counts.max() / counts.sum()),
                "typical": typical[c],
            }
        )
    return sorted(clusters, key=lambda part: (part["main_class"], -part["share"]))


def describe_run(model: FittedModel) -> dict[str, Any]:
    """Tell what was run.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.

    Returns
    -------
    dict
        The model as code, its parameters, the seed, and the versions of libraries.
    """
    parameters = {
        name: value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
        for name, value in model.get_params().items()
    }
    return {
        "model": " ".join(repr(model).split()),
        "parameters": parameters,
        "seed": parameters["random_state"],
        "versions": {"python": platform.python_version()}
        | {library: version(library) for library in LIBRARIES},
    }
