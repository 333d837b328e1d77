"""Cluster AnnData and MuData objects, with results stored where scanpy and muon expect them.

Each function takes its views from a MuData or an AnnData, fits an `OMVCDR` and adds to the object:
`obs[key]` (the cluster, a categorical), `obs[key + "_confidence"]`, `obsm["X_" + key]` (the
embedding) and `uns[key]` (parameters, view weights, stability, versions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from manyview.data.containers import (
    LabeledValues,
    align_samples,
    check_axis,
    is_annotated,
    is_multimodal,
    unwrap_container,
)
from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io.writing_back import about_fit, as_categories
from manyview.omvcdr import OMVCDR

__all__ = ["cluster_anndata", "cluster_mudata"]


def cluster_mudata(
    mdata: Any,
    n_clusters: int = 8,
    key_added: str = "manyview",
    *,
    use_rep: str | Mapping[str, str] | None = None,
    layer: str | Mapping[str, str] | None = None,
    **parameters: Any,
) -> OMVCDR:
    """Cluster the samples of a MuData with its modalities as views.

    Parameters
    ----------
    mdata : MuData
        All samples of any modality are clustered; a modality that a sample lacks is a missing view.
        The results are added to this object.
    n_clusters : int, default=8
        Number of clusters.
    key_added : str, default="manyview"
        Name of the added entries.
    use_rep : str or dict, optional
        Entry of `obsm` to use instead of X, such as "X_pca", for all modalities or by modality.
    layer : str or dict, optional
        Layer to use instead of X, for all modalities or by modality.
    **parameters
        Parameters of OMVCDR.

    Returns
    -------
    OMVCDR
        The fitted estimator.
    """
    _check_kind(is_multimodal(mdata), mdata, "cluster_mudata", "a MuData")
    check_axis(mdata)
    reps = _by_modality(use_rep, "use_rep", mdata)
    layers = _by_modality(layer, "layer", mdata)
    if both := sorted(set(reps) & set(layers)):
        msg = f"use_rep and layer are both given for {both}; expected one of them per modality."
        raise ViewError(msg)
    labeled_views = {}
    for name, part in mdata.mod.items():
        if name in reps:
            labeled_views[name] = _entry(part, "obsm", reps[name], name)
        elif name in layers:
            labeled_views[name] = _entry(part, "layers", layers[name], name)
        else:
            labeled_views[name] = unwrap_container(part, name)
    views = MultiViewData.of(align_samples(labeled_views, mdata.obs_names))
    return _cluster(mdata, views, key_added, OMVCDR(n_clusters, **parameters))


def cluster_anndata(
    adata: Any,
    n_clusters: int = 8,
    key_added: str = "manyview",
    *,
    views: Mapping[str, str] | Sequence[str] | str,
    **parameters: Any,
) -> OMVCDR:
    """Cluster the samples of an AnnData with several of its entries as views.

    Parameters
    ----------
    adata : AnnData
        The results are added to this object.
    n_clusters : int, default=8
        Number of clusters.
    key_added : str, default="manyview"
        Name of the added entries.
    views : dict or list of str, or str
        "X", entries of `obsm` or layers; the keys of a dict name the views. A row that is all NaN
        marks a missing view.
    **parameters
        Parameters of OMVCDR.

    Returns
    -------
    OMVCDR
        The fitted estimator.
    """
    _check_kind(is_annotated(adata), adata, "cluster_anndata", "an AnnData")
    keys = [views] if isinstance(views, str) else views
    named = dict(keys) if isinstance(keys, Mapping) else {key: key for key in keys}
    labeled_views = {}
    for name, key in named.items():
        field = "obsm" if key in adata.obsm else "layers"
        is_main = key == "X" and key not in getattr(adata, field)
        labeled_views[name] = (
            unwrap_container(adata, name) if is_main else _entry(adata, field, key, name)
        )
    return _cluster(
        adata, MultiViewData.of(labeled_views), key_added, OMVCDR(n_clusters, **parameters)
    )


def _check_kind(is_right: bool, given: object, function: str, expected: str) -> None:
    if not is_right:
        msg = (
            f"{function} expects {expected}; received a {type(given).__name__}. Pass other views "
            "to OMVCDR.fit."
        )
        raise ViewError(msg)


def _by_modality(keys: str | Mapping[str, str] | None, name: str, mdata: Any) -> dict[str, str]:
    """Key for each modality that is named."""
    if keys is None:
        return {}
    if isinstance(keys, str):
        return dict.fromkeys(mdata.mod, keys)
    if unknown := sorted(set(keys) - set(mdata.mod)):
        msg = f"{name} names {unknown}; the MuData has the modalities {list(mdata.mod)}."
        raise ViewError(msg)
    return dict(keys)


def _entry(adata: Any, field: str, key: str, name: str) -> LabeledValues:
    """One entry of `obsm` or `layers`, with the sample names of the AnnData."""
    entries = getattr(adata, field)
    if key not in entries:
        msg = (
            f"View '{name}' should be {key!r}; expected X, an entry of obsm ({list(adata.obsm)}) "
            f"or a layer ({list(adata.layers)})."
        )
        raise ViewError(msg)
    values = entries[key]
    values = values.to_memory() if hasattr(values, "to_memory") else values
    labeled = replace(unwrap_container(values, name), rows=adata.obs_names)
    return (
        labeled
        if field == "obsm"
        else replace(labeled, columns=np.asarray(adata.var_names, object))
    )


def _cluster(container: Any, data: MultiViewData, key: str, model: OMVCDR) -> OMVCDR:
    """Fit, and add the results to the container."""
    embedding = model.fit(data).transform(data)
    container.obs[key] = as_categories(model.labels_)
    container.obs[f"{key}_confidence"] = model.confidence_
    container.obsm[f"X_{key}"] = np.asarray(embedding)  # set_output may make it a DataFrame
    container.uns[key] = about_fit(model)
    return model
