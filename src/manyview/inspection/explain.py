"""A fit as tables. Views are processed in pieces; the map has at most `N_MAPPED` samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.inspection.features import Profile, profile_view
from manyview.inspection.hierarchy import find_borders
from manyview.inspection.map import (
    distances_to_means,
    draw_rows,
    place_samples,
    place_view,
    silhouettes,
)
from manyview.solver.inference import Assignment, Fitted
from manyview.utils.types import FloatArray

DOUBTFUL = 0.5  # confidence below this: at least half as common in one blob
N_TOP = 10  # features of a view and cluster
N_DRAWN = 20  # approximate number of features of a view in the heatmap
N_TYPICAL = 10  # samples of a cluster
N_DOUBTFUL = 10  # samples of a cluster
N_MAPPED = 100_000  # samples
N_BETWEEN = 20_000  # samples whose second-best cluster is looked up
FEWEST_MAPPED = 1000  # samples, whatever the memory limit
BYTES_MAPPED = 1500  # of a sample: coordinates by all views, three times in double precision


class FittedModel(Protocol):
    """Interface of a fitted estimator for explanations and reports."""

    n_init: int
    labels_: NDArray[np.int32]
    confidence_: FloatArray
    stability_: float
    view_names_: tuple[str, ...]
    view_weights_: FloatArray
    cluster_view_weights_: FloatArray
    space_weights_: FloatArray
    bases_: list[list[FloatArray]]
    scalings_: list[tuple[str, str | None]]
    cluster_centers_: list[FloatArray]
    objective_: float
    objective_history_: FloatArray
    n_iter_: int
    converged_: bool
    engine_: str
    _fitted: Fitted

    def transform(self, X: Any) -> Any:
        """Embed samples."""

    def get_params(self) -> dict[str, Any]:
        """Parameters by name."""

    def explain(self, X: Any = None) -> Explanation:
        """Explain the clusters by tables."""

    def assign(self, X: Any) -> Assignment:
        """Best and second-best cluster of each sample."""

    def cluster_stability(self, X: Any = None) -> FloatArray:
        """Whether each cluster comes back if the samples are drawn again."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Tables that explain the clusters. Samples are identified by name, else by position.

    Attributes
    ----------
    clusters : DataFrame, one row per cluster
        Size, share of the samples, median confidence, number of doubtful samples, and stability:
        the mean Jaccard index with the best match in fits of bootstrap samples. Below 0.6, the
        cluster does not come back.
    view_weights : DataFrame, one row per cluster, one column per view
        Share of the view in the separation of the cluster from the rest; rows sum to 1. A negative
        share means that the view alone would shift the cluster in the opposite direction.
    features : DataFrame
        The features that differ most, strongest first: cluster, view, feature, its position,
        direction ("higher" or "lower"), effect (Cohen's d: mean of the cluster minus mean of the
        rest, divided by the pooled standard deviation), both means, and n, the number of samples of
        the cluster that have the view.
    heatmap : DataFrame, one row per view and feature, one column per cluster
        Mean of the cluster minus mean of all samples, in standard deviations of the feature.
    exemplars : DataFrame
        Typical samples: nearest to the mean of their cluster in the embedding.
    doubtful : DataFrame
        Samples with a confidence below 0.5, at most ten per cluster, least confident first, and
        the second-best cluster of each.
    confidence : DataFrame, one row per sample
        Cluster and confidence of each sample.
    map : DataFrame, one row per sample of the map
        Position, cluster, confidence, and coordinates x and y: similar samples lie together
        (t-SNE of the scaled views, without the labels). Beyond 100 000 samples, or those that a
        `memory_limit` has room for, a random subset.
    axes_map : DataFrame
        x and y of the same samples along the two principal axes of all views, also without the
        labels: distances have a meaning, but more than a few clusters overlap.
    view_maps : dict of DataFrames
        For each view, x and y of the same samples along its two principal axes; NaN for missing
        views.
    profiles : dict of Profile
        For each view, means and effects of all features, by cluster.
    silhouettes : DataFrame
        Cluster and silhouette of at most 2000 samples, in the coordinates that the map is made of,
        which know no labels: near 1, a sample is far from other clusters; below 0, another cluster
        is nearer on average than its own. Empty if there is one cluster.
    borders : DataFrame
        Pairs of clusters that are the second-best of samples of each other, of at most 20 000
        samples: n, the smaller of the shares of both clusters, the median confidence, what merging
        them costs in F, and could_be_one: at least a quarter of each cluster lies between them,
        with a median confidence below 0.5; or half of it, and merging them costs less than half
        of what is usual (the median over the clusters of their cheapest merge).
    """

    clusters: pd.DataFrame
    view_weights: pd.DataFrame
    features: pd.DataFrame
    heatmap: pd.DataFrame
    exemplars: pd.DataFrame
    doubtful: pd.DataFrame
    confidence: pd.DataFrame
    map: pd.DataFrame
    axes_map: pd.DataFrame
    view_maps: Mapping[str, pd.DataFrame]
    profiles: Mapping[str, Profile]
    silhouettes: pd.DataFrame
    borders: pd.DataFrame

    def __repr__(self) -> str:
        """Names and sizes of the tables."""
        others = ("view_maps", "profiles")
        tables = {name: part for name, part in vars(self).items() if name not in others}
        lines = [f"  .{name}: {len(part):,} × {part.shape[1]}" for name, part in tables.items()]
        maps = f"  .view_maps: {', '.join(self.view_maps)}"
        return "\n".join(["Explanation, rows × columns of", *lines, maps])


def explain_fit(model: FittedModel, data: MultiViewData) -> Explanation:
    """Compute the tables of a fit to `data`."""
    labels, k = model.labels_, len(model.cluster_centers_[0])
    names = pd.RangeIndex(len(data)) if data.sample_names is None else data.sample_names
    samples = pd.DataFrame(
        {"cluster": labels, "confidence": model.confidence_},
        index=names.to_flat_index().rename("sample"),
    )
    profiles = profile_views(model, data)
    rows = draw_rows(labels, _n_mapped(model))
    mapped = samples.iloc[rows]
    places, coordinates = place_samples(model._fitted, data, rows)
    return Explanation(
        clusters=_clusters(samples, model.cluster_stability(data)),
        view_weights=pd.DataFrame(
            model.cluster_view_weights_,
            index=pd.RangeIndex(k, name="cluster"),
            columns=pd.Index(data.view_names, name="view"),
        ),
        features=_features(profiles),
        heatmap=pd.concat(
            {name: profile.heatmap(N_DRAWN) for name, profile in profiles.items()}, names=["view"]
        ),
        exemplars=_exemplars(model, data, mapped, rows),
        doubtful=_doubtful(model, data, samples),
        confidence=samples,
        map=mapped.assign(position=rows, x=places[:, 0], y=places[:, 1]),
        axes_map=_as_table(coordinates[:, :2], mapped.index),
        view_maps={
            name: _as_table(place_view(model._fitted, data, v, rows), mapped.index)
            for v, name in enumerate(data.view_names)
        },
        profiles=profiles,
        silhouettes=_silhouettes(coordinates, mapped),
        borders=_borders(model, data, rows),
    )


def _n_mapped(model: FittedModel) -> int:
    """Largest number of samples of the map, so that its arrays take half of the memory limit."""
    limit = model.get_params().get("memory_limit")
    if limit is None:
        return N_MAPPED
    return int(np.clip(limit / 2 / BYTES_MAPPED, FEWEST_MAPPED, N_MAPPED))


def _clusters(samples: pd.DataFrame, stability: FloatArray) -> pd.DataFrame:
    """Size, confidence and stability of each cluster."""
    clusters = pd.RangeIndex(len(stability), name="cluster")
    size = samples["cluster"].value_counts().reindex(clusters, fill_value=0)
    is_doubtful = (samples["confidence"] < DOUBTFUL).groupby(samples["cluster"]).sum()
    return pd.DataFrame(
        {
            "size": size,
            "share": size / len(samples),
            "confidence": samples.groupby("cluster")["confidence"].median().reindex(clusters),
            "n_doubtful": is_doubtful.reindex(clusters, fill_value=0),
            "stability": stability,
        }
    )


def _silhouettes(coordinates: FloatArray, mapped: pd.DataFrame) -> pd.DataFrame:
    rows, values = silhouettes(coordinates, mapped["cluster"].to_numpy())
    table = mapped.iloc[rows][["cluster"]].assign(silhouette=values)
    return table.sort_values(["cluster", "silhouette"], ascending=[True, False], kind="stable")


def _borders(model: FittedModel, data: MultiViewData, rows: NDArray[np.intp]) -> pd.DataFrame:
    """Pairs of neighboring clusters; without any structure, none is proposed as one."""
    some = np.sort(np.random.default_rng(0).permutation(rows)[:N_BETWEEN])
    pairs = find_borders(model.assign(data[some]), model._fitted)
    structure = getattr(model, "structure_", None)
    if structure is not None and structure.verdict == "none":
        pairs["could_be_one"] = False
    return pairs


def _as_table(points: FloatArray, samples: pd.Index) -> pd.DataFrame:
    return pd.DataFrame(points, columns=["x", "y"], index=samples)


def profile_views(model: FittedModel, data: MultiViewData) -> dict[str, Profile]:
    """Means and effects of all features by cluster, of each view."""
    return {
        name: profile_view(
            data.views[v],
            None if data.present is None else data.present[:, v],
            model.labels_,
            model.cluster_centers_[v],
            data.feature_names[v],
        )
        for v, name in enumerate(data.view_names)
    }


def _features(profiles: Mapping[str, Profile]) -> pd.DataFrame:
    """Top features of all views, by cluster and view."""
    tables = [profile.top(N_TOP).assign(view=name) for name, profile in profiles.items()]
    together = pd.concat(tables).sort_values("cluster", kind="stable", ignore_index=True)
    first = ["cluster", "view", "feature"]
    return together[first + [column for column in together if column not in first]]


def _exemplars(
    model: FittedModel, data: MultiViewData, mapped: pd.DataFrame, rows: NDArray[np.intp]
) -> pd.DataFrame:
    """The samples nearest to the mean of their cluster."""
    cluster = mapped["cluster"].to_numpy()
    distance = distances_to_means(model.transform, data, rows, cluster)
    table = pd.DataFrame(
        {"cluster": cluster, "sample": mapped.index, "position": rows, "distance": distance}
    ).sort_values(["cluster", "distance"], kind="stable")
    return table.groupby("cluster").head(N_TYPICAL).reset_index(drop=True)


def _doubtful(model: FittedModel, data: MultiViewData, samples: pd.DataFrame) -> pd.DataFrame:
    """The least confident samples of each cluster, and their second-best clusters."""
    table = samples.reset_index().assign(position=np.arange(len(samples)))
    table = table[table["confidence"] < DOUBTFUL].sort_values("confidence", kind="stable")
    table = table.groupby("cluster").head(N_DOUBTFUL)
    positions = table["position"].to_numpy()
    following = model.assign(data[positions]).next_labels if len(table) else table["cluster"]
    return table.assign(next_cluster=following).reset_index(drop=True)
