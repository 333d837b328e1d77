"""HTML of an estimator in notebooks: its parameters and, after `fit`, its result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import estimator_html_repr

from manyview.utils.pages import page_environment

N_SHOWN = 20  # clusters; if there are more, the largest


def notebook_html(model: Any) -> str:
    """Scikit-learn's diagram of an estimator, with the result of its fit.

    Parameters
    ----------
    model : estimator
        A clusterer of this package, fitted or not.

    Returns
    -------
    str
        HTML.
    """
    box = str(estimator_html_repr(model))
    if not hasattr(model, "labels_"):
        return box
    template = page_environment("manyview.utils").get_template("notebook.html")
    return box + template.render(result_of(model))


def result_of(model: Any) -> dict[str, Any]:
    """Result of a fitted estimator for display.

    Parameters
    ----------
    model : estimator
        A fitted clusterer of this package.

    Returns
    -------
    dict
        `n_samples`, `n_clusters`, `views` (name, n_samples, n_features, weight), `clusters` (those
        shown: cluster, size, share, length of the bar, confidence), `n_hidden` (the others),
        `structure`, `stability` and `confidence`; None if the estimator does not have them.
    """
    labels = np.asarray(model.labels_)
    numbers, member_of, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    confidence = getattr(model, "confidence_", None)
    medians = None if confidence is None else pd.Series(confidence).groupby(member_of).median()
    shown = np.sort(np.argsort(-sizes, kind="stable")[:N_SHOWN])
    stability = getattr(model, "stability_", np.nan)
    return {
        "n_samples": len(labels),
        "n_clusters": len(numbers),
        "views": _views(model),
        "clusters": [
            {
                "cluster": int(numbers[c]),
                "size": int(sizes[c]),
                "share": float(sizes[c] / len(labels)),
                "bar": float(sizes[c] / sizes.max()),
                "confidence": None if medians is None else float(medians[c]),
            }
            for c in shown
        ],
        "n_hidden": len(numbers) - len(shown),
        "structure": getattr(model, "structure_", None),
        "stability": None if np.isnan(stability) else float(stability),
        "confidence": None if confidence is None else float(np.median(confidence)),
    }


def _views(model: Any) -> list[dict[str, Any]]:
    """Name, size and weight of each view."""
    weights = getattr(model, "view_weights_", None)
    sizes = zip(model.view_names_, model.view_counts_, model.view_sizes_, strict=True)
    return [
        {
            "name": name,
            "n_samples": n_rows,
            "n_features": n_columns,
            "weight": None if weights is None else float(weights[v]),
        }
        for v, (name, n_rows, n_columns) in enumerate(sizes)
    ]
