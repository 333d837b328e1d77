"""Converts a fit to a dict of plain values: the content of the report and of its JSON file.

Each key is one part: ``data``, ``structure``, ``clusters``, ``truth``, ``confidence``,
``silhouettes``, ``weights``,
``outliers``, ``heatmap``, ``map``, ``survival``, ``meta``, ``objective``, ``sources``,
``matching``, ``notes`` and ``run``.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.inspection import Associations, Explanation, FittedModel, associate
from manyview.inspection.explain import DOUBTFUL
from manyview.reliability.outliers import describe_outliers
from manyview.reliability.sizes import advise_sizes
from manyview.reliability.stability import RETURNS
from manyview.report.dendrogram import describe_hierarchy
from manyview.report.pictures import as_pictures
from manyview.report.sample_map import describe_map
from manyview.report.shown import describe_shown
from manyview.report.truth import as_classes, describe_truth
from manyview.utils.memory import peak_memory
from manyview.utils.near import did_you_mean
from manyview.utils.types import FloatArray

FORMAT = 1  # of the dict; increases when older versions could not render it
N_CLUSTERS = 1000  # largest number that is described one by one
N_HEATMAP = 100  # of them, in the heatmap
N_FEATURES = 5  # of a view and cluster
N_STRONGEST = 3  # of a cluster, in its headline
N_SAMPLES = 8  # typical and doubtful ones, of a cluster
MOST_P, LEAST_EFFECT = 0.05, 0.1  # of an association with the batch that is worth a warning
N_QUANTILES = 41  # of the silhouettes of a cluster
N_BINS = 20  # of the histogram of confidence
LIBRARIES = ("manyview", "numpy", "scipy", "scikit-learn", "numba")


def describe_fit(
    model: FittedModel,
    data: MultiViewData,
    *,
    command: str | None = None,
    sources: Sequence[Mapping[str, Any]] | None = None,
    matching: str | None = None,
    meta: pd.DataFrame | None = None,
    time: str | None = None,
    event: str | None = None,
    batch: str | None = None,
    seconds: float | None = None,
    notes: Sequence[str] = (),
    truth: Any = None,
    images: FloatArray | None = None,
    show: Mapping[str, Any] | None = None,
    explanation: Explanation | None = None,
) -> dict[str, Any]:
    """Collect the content of the report of a fit.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    data : MultiViewData
        The samples of its fit.
    command : str, optional
        Command line that repeats the fit; None states the equivalent Python code.
    sources : sequence of dicts, optional
        What was found in each file; all dicts have the same keys.
    matching : str, optional
        By what samples were matched across the files, in a sentence.
    meta : DataFrame of shape (n_samples, n_columns), optional
        Metadata of the samples, in their order, tested for association with the clusters.
    time, event : str, optional
        Columns of `meta` with survival, as `associate` has them.
    batch : str, optional
        Column of `meta` with the batch of each sample; a warning if clusters follow it.
    seconds : float, optional
        Time of the fit.
    notes : sequence of str, optional
        Remarks on how the data were read and fitted, shown in the report.
    truth : array-like of shape (n_samples,), optional
        Known classes to compare with the clusters and with those of k-means: text or integers, in
        the order of the samples; None or NaN if a class is unknown.
    images : array of shape (n_samples, height, width), optional
        Small picture of each sample, from 0 (background) to the largest value (foreground).
    show : mapping, optional
        What is shown of typical and doubtful samples: "text" and "image", each with one value per
        sample: a text; a path or the bytes of a picture.
    explanation : Explanation, optional
        As `model.explain(data)` returns it; None computes it.

    Returns
    -------
    dict
        Text, finite numbers, None, lists and dicts only; `render_fit` converts it to a page.

    Examples
    --------
    >>> from manyview import OMVCDR
    >>> from manyview.datasets import make_multiview_blobs
    >>> from manyview.report import describe_fit
    >>> data = make_multiview_blobs(60, random_state=0).data
    >>> model = OMVCDR(n_clusters=3, random_state=0).fit(data)
    >>> describe_fit(model, data)["data"]["n_clusters"]
    3
    """
    explanation = model.explain(data) if explanation is None else explanation
    classes = None if truth is None else as_classes(truth, len(data))
    if meta is not None and batch is not None:
        meta = _with_names(meta, batch)
    found = _associations(model, meta, time, event)
    shown = describe_shown(explanation, model.labels_, show)
    result = {
        "format": FORMAT,
        "data": _data(model, data),
        "structure": _structure(model),
        "clusters": _clusters(explanation, images),
        "shown": shown,
        "sizes": _advice_on_sizes(model, data),
        "truth": None if classes is None else describe_truth(model, data, classes, seconds),
        "confidence": _confidence(model),
        "silhouettes": _silhouettes(explanation),
        "hierarchy": describe_hierarchy(model, explanation),
        "weights": _weights(model),
        "outliers": describe_outliers(model, data),
        "heatmap": _heatmap(explanation),
        "map": describe_map(explanation, data, model.view_weights_, classes, meta),
        "survival": None if found is None else found.survival,
        "meta": None if found is None else found.tested,
        "batch": None if found is None or batch is None else _batch(found, batch),
        "objective": _objective(model),
        "sources": None if sources is None else list(sources),
        "matching": matching,
        "notes": [*notes, *(found.notes if found else ()), *(shown["notes"] if shown else ())],
        "run": {
            **_run(model),
            "repeat": _repeat(model, data) if command is None else [command],
            "seconds": seconds,
            "peak_bytes": peak_memory(),
            "engine": model.engine_,
        },
    }
    plain: dict[str, Any] = _plain(result)
    return plain


def _associations(
    model: FittedModel, meta: pd.DataFrame | None, time: str | None, event: str | None
) -> Associations | None:
    """Tests of the metadata, with the seed of the fit."""
    if meta is None:
        if time is None and event is None:
            return None
        msg = "time and event are given without meta; expected a table with these columns. Add it."
        raise ViewError(msg)
    seed = model.get_params()["random_state"]
    known = seed if isinstance(seed, int) else 0
    return associate(meta, model.labels_, time=time, event=event, seed=known)


def _with_names(meta: pd.DataFrame, batch: str) -> pd.DataFrame:
    """Metadata in which batches are names, also where they are numbered."""
    if batch not in meta.columns:
        near = did_you_mean(batch, map(str, meta.columns))
        msg = f"The metadata have no column {batch!r}.{near} Name one that they have."
        raise ViewError(msg)
    column = meta[batch]
    return meta.assign(**{batch: column.astype(object).map(str).where(column.notna(), None)})


def _batch(found: Associations, batch: str) -> dict[str, Any]:
    """Whether the clusters follow the batch, and more than any other column."""
    rows = {row["column"]: row for row in found.tested}
    own = rows.pop(batch, None)
    if own is None:
        sentence = f"Whether the clusters follow the batch ({batch}) could not be tested."
        return {"column": batch, "follows": None, "sentence": sentence}
    strongest = max((row["effect"] for row in rows.values()), default=0.0)
    is_real = own["p_adjusted"] < MOST_P and own["effect"] >= LEAST_EFFECT
    follows = is_real and own["effect"] >= strongest
    size = f"{own['effect_name']} {own['effect']:.2f}, adjusted p = {own['p_adjusted']:.2g}"
    if follows:
        sentence = (
            f"The clusters follow the batch ({batch}) more than any other column ({size}): they "
            "may be batches rather than groups of samples. --center-batches takes the means of "
            "the batches off each view."
        )
    elif is_real:
        sentence = f"The clusters depend on the batch ({batch}; {size}), and more on others."
    else:
        sentence = f"The clusters do not follow the batch ({batch}; {size})."
    return {"column": batch, "follows": follows, "sentence": sentence}


def _data(model: FittedModel, data: MultiViewData) -> dict[str, Any]:
    return {
        "n_samples": len(data),
        "n_clusters": len(model.cluster_centers_[0]),
        "n_complete": len(data) if data.present is None else int(data.present.all(axis=1).sum()),
        "views": [
            {
                "name": name,
                "n_features": data.n_features[v],
                "n_present": data.view_rows[v],
                "is_sparse": bool(sparse.issparse(data.views[v])),
                "dtype": str(data.views[v].dtype),
                "scalings": [scaling for view, scaling in model.scalings_ if view == name],
            }
            for v, name in enumerate(data.view_names)
        ],
    }


def _clusters(explanation: Explanation, images: FloatArray | None) -> list[dict[str, Any]]:
    """Describe the largest clusters, in the order of their numbers."""
    rows: dict[Any, Any] = explanation.clusters.to_dict("index")
    features = dict(list(explanation.features.groupby("cluster")))
    typical = dict(list(explanation.exemplars.groupby("cluster")))
    unsure = dict(list(explanation.doubtful.groupby("cluster")))
    return [
        {
            "cluster": c,
            **rows[c],
            "comes_back": not rows[c]["stability"] < RETURNS,  # unknown counts as yes
            "view_weights": explanation.view_weights.loc[c].to_dict(),
            "strongest": _strongest(features[c]) if c in features else [],
            "features": _top_features(features[c]) if c in features else [],
            "typical": [str(name) for name in typical[c]["sample"].head(N_SAMPLES)],
            "pictures": as_pictures(images, typical[c]["position"].head(N_SAMPLES)),
            "doubtful": _unsure(unsure[c]) if c in unsure else [],
        }
        for c in _described(explanation)
    ]


def _described(explanation: Explanation, most: int | None = None) -> list[int]:
    """Numbers of the largest clusters, in rising order; clusters without samples are left out."""
    sizes = explanation.clusters["size"].sort_values(ascending=False, kind="stable")
    return sorted(int(c) for c in sizes[sizes > 0].index[: most or N_CLUSTERS])


def _advice_on_sizes(model: FittedModel, data: MultiViewData) -> str | None:
    """What to try if groups look unequal; None if they do not, or if there is no structure."""
    structure = getattr(model, "structure_", None)
    if structure is not None and structure.verdict == "none":
        return None
    return advise_sizes(data, model.labels_, scale=model.get_params()["scale"])


def _structure(model: FittedModel) -> dict[str, Any] | None:
    """What the comparison with one blob found; None if it was left out."""
    structure = getattr(model, "structure_", None)
    return None if structure is None else {**asdict(structure), "sentence": structure.sentence}


def _strongest(features: pd.DataFrame) -> list[dict[str, Any]]:
    """The strongest features of one cluster, of all views."""
    order = np.argsort(-features["effect"].abs().to_numpy(), kind="stable")
    keys = ["feature", "view", "direction"]
    return _records(features.iloc[order[:N_STRONGEST]][keys])


def _top_features(features: pd.DataFrame) -> list[dict[str, Any]]:
    """The strongest features of one cluster, by view."""
    keys = ["feature", "direction", "effect", "mean", "rest"]
    return [
        {
            "view": view,
            "n": table["n"].iloc[0],
            "top": _records(table.head(N_FEATURES)[keys]),
        }
        for view, table in features.groupby("view", sort=False)
    ]


def _unsure(table: pd.DataFrame) -> list[dict[str, Any]]:
    keys = ["sample", "confidence", "next_cluster"]
    return _records(table.head(N_SAMPLES)[keys])


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts; the first column, names of features or samples, as text."""
    columns = [table.iloc[:, 0].astype(str), *(table.iloc[:, j] for j in range(1, table.shape[1]))]
    return [dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def _weights(model: FittedModel) -> dict[str, Any]:
    sizes = [bases[0].shape[1] for bases in model.bases_]  # d_p
    spaces = [f"{size} dimension{'s' if size > 1 else ''}" for size in sizes]
    named = {
        "spaces": zip(spaces, model.space_weights_, strict=True),
        "views": zip(model.view_names_, model.view_weights_, strict=True),
    }
    return {
        kind: [{"name": name, "weight": weight} for name, weight in pairs]
        for kind, pairs in named.items()
    }


def _objective(model: FittedModel) -> dict[str, Any]:
    return {
        "history": model.objective_history_.tolist(),
        "final": model.objective_,
        "n_iter": model.n_iter_,
        "n_starts": model.n_init,
        "converged": bool(model.converged_),
    }


def _run(model: FittedModel) -> dict[str, Any]:
    """The model as code, its parameters, the seed and the versions of libraries."""
    parameters = {
        name: value if value is None or isinstance(value, bool | int | float | str) else repr(value)
        for name, value in model.get_params().items()
    }
    return {
        "model": " ".join(repr(model).split()),
        "parameters": parameters,
        "seed": parameters["random_state"],
        "versions": {"python": platform.python_version()}
        | {library: version(library) for library in LIBRARIES},
    }


def _confidence(model: FittedModel) -> dict[str, Any]:
    return {
        "median": float(np.median(model.confidence_)),
        "threshold": DOUBTFUL,
        "n_doubtful": int((model.confidence_ < DOUBTFUL).sum()),
        "histogram": np.histogram(model.confidence_, N_BINS, (0, 1))[0].tolist(),
        "stability": model.stability_,
        "n_starts": model.n_init,
    }


def _silhouettes(explanation: Explanation) -> dict[str, Any] | None:
    """Silhouettes of the clusters that are described, as quantiles; None for one cluster."""
    table = explanation.silhouettes
    if table.empty:
        return None
    groups = dict(list(table.groupby("cluster")["silhouette"]))
    shares = np.linspace(1, 0, N_QUANTILES)
    return {
        "n_samples": len(table),
        "mean": float(table["silhouette"].mean()),
        "clusters": [
            {
                "cluster": c,
                "n": len(groups[c]),
                "mean": float(groups[c].mean()),
                "below": float((groups[c] < 0).mean()),
                "values": np.quantile(groups[c], shares).round(3).tolist(),
            }
            for c in _described(explanation)
            if c in groups  # of many clusters, some have no sample among those drawn
        ],
    }


def _heatmap(explanation: Explanation) -> list[dict[str, Any]]:
    """Standardized means by view, for the clusters that are described."""
    shown = _described(explanation, N_HEATMAP)
    return [
        {
            "view": view,
            "clusters": shown,
            "features": [str(name) for _, name in table.index],
            "values": table[shown].to_numpy().round(3).tolist(),
        }
        for view, table in explanation.heatmap.groupby(level="view", sort=False)
    ]


def _repeat(model: FittedModel, data: MultiViewData) -> list[str]:
    """Python code that repeats the fit, given the views."""
    return [
        "from manyview import OMVCDR",
        "",
        f"# X: {len(data):,} samples in the views {', '.join(data.view_names)}",
        f"model = {' '.join(repr(model).split())}.fit(X)",
        'model.report("report.html")',
    ]


def _plain(value: Any) -> Any:
    """JSON values only: NumPy scalars become Python numbers, and non-finite numbers None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
