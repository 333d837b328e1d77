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
from sklearn.decomposition import PCA

from manyview.blocks import FloatArray
from manyview.estimator import OMVCDR
from manyview.metrics import evaluate
from manyview.report.drawing import sprite
from manyview.views import MultiViewData

__all__ = ["MEASURES", "Outcome", "summarize"]

MEASURES = {"acc": "ACC", "nmi": "NMI", "purity": "purity", "fscore": "F-score", "ari": "ARI"}
LIBRARIES = ("manyview", "numpy", "scipy", "scikit-learn", "numba")
N_EXAMPLES = 12  # pictures a cluster


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
    model: OMVCDR,
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
    embedding = np.asarray(model.transform(data), dtype=np.float64)  # (n, D)
    return {
        "data": _data(model, data, truth, topic, class_name),
        "methods": [_method(outcome, truth) for outcome in outcomes],
        "objective": _objective(model),
        "weights": _weights(model),
        "map": _map(embedding, model.labels_, truth),
        "clusters": _clusters(embedding, model.labels_, truth),
        "pictures": None if images is None else sprite(images),
        "run": _run(model, repeat, notes),
    }


def _data(
    model: OMVCDR,
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
        "n_clusters": model.n_clusters_,
        "n_classes": int(np.unique(truth).size),
        "views": [{"name": name, "n_features": width} for name, width in widths],
    }


def _method(outcome: Outcome, truth: NDArray[np.integer[Any]]) -> dict[str, Any]:
    metrics = evaluate(truth, outcome.labels)
    return {"name": outcome.name, "metrics": metrics, "seconds": float(outcome.seconds)}


def _objective(model: OMVCDR) -> dict[str, Any]:
    return {
        "history": model.objective_history_.tolist(),
        "final": float(model.objective_),
        "n_iter": int(model.n_iter_),
        "n_starts": model.n_init,
        "converged": bool(model.converged_),
    }


def _weights(model: OMVCDR) -> dict[str, Any]:
    spaces = [f"{bases[0].shape[1]} dimensions" for bases in model.bases_]  # d_p
    return {
        "spaces": _named_weights(spaces, model.space_weights_),
        "views": _named_weights(model.view_names_, model.view_weights_),
    }


def _named_weights(names: Sequence[str], weights: FloatArray) -> list[dict[str, Any]]:
    return [
        {"name": name, "weight": weight}
        for name, weight in zip(names, weights.tolist(), strict=True)
    ]


def _map(
    embedding: FloatArray, labels: NDArray[np.int32], truth: NDArray[np.integer[Any]]
) -> dict[str, Any]:
    """Principal axes of the embedding: a plain projection, which invents no gaps."""
    pca = PCA(n_components=2, svd_solver="full").fit(embedding)
    x, y = pca.transform(embedding).T
    return {
        "x": x.tolist(),
        "y": y.tolist(),
        "variance": pca.explained_variance_ratio_.tolist(),
        "cluster": labels.tolist(),
        "truth": truth.tolist(),
    }


def _clusters(
    embedding: FloatArray, labels: NDArray[np.int32], truth: NDArray[np.integer[Any]]
) -> list[dict[str, Any]]:
    """Size, main class and most typical samples of each cluster, in the order of the classes."""
    clusters = []
    for c in np.unique(labels):
        members = np.flatnonzero(labels == c)  # (n_c,)
        offsets = embedding[members] - embedding[members].mean(axis=0)  # (n_c, D)
        typical = members[np.argsort((offsets**2).sum(axis=1), kind="stable")]  # (n_c,)
        classes, counts = np.unique(truth[members], return_counts=True)
        clusters.append(
            {
                "cluster": int(c),
                "size": int(members.size),
                "main_class": classes[counts.argmax()].item(),
                "share": float(counts.max() / members.size),
                "typical": typical[:N_EXAMPLES].tolist(),
            }
        )
    return sorted(clusters, key=lambda part: (part["main_class"], -part["share"]))


def _run(model: OMVCDR, repeat: Sequence[str], notes: Sequence[str]) -> dict[str, Any]:
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
        "repeat": list(repeat),
        "notes": list(notes),
    }
