"""Clusterers of other packages, each as a function from arrays to labels.

pip install faiss-cpu polyview imml seaborn
pip install --no-deps mvlearn      # its upper pins are older than Python 3.11
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Peer:
    """A clusterer, its package and its parameters."""

    name: str
    package: str  # name on PyPI
    target: str  # module:Class
    parameters: dict[str, Any] = field(default_factory=dict)
    is_joined: bool = False  # takes the concatenated views as one array
    most_views: int | None = None

    def load(self) -> type:
        """Import the class."""
        module, _, member = self.target.partition(":")
        return getattr(import_module(module), member)

    def fitter(self, views: Sequence[Array], k: int, seed: int) -> Callable[[], Array]:
        """Function that computes the labels; imports and concatenation are done before."""
        if self.most_views is not None and len(views) > self.most_views:
            msg = f"{self.name} takes {self.most_views} views; the data set has {len(views)}."
            raise ValueError(msg)
        kind = self.load()
        X: Any = np.hstack(views) if self.is_joined else list(views)
        if self.package == "faiss-cpu":
            return lambda: _faiss_labels(kind, X, k, seed, self.parameters)
        model = kind(n_clusters=k, random_state=seed, **self.parameters)
        return lambda: np.asarray(model.fit_predict(X)).ravel()


def _faiss_labels(
    kind: type, X: Array, k: int, seed: int, parameters: dict[str, Any]
) -> NDArray[np.int64]:
    """Train, then find the nearest center of each row."""
    model = kind(X.shape[1], k, seed=seed, **parameters)
    model.train(X)
    return model.index.search(X, 1)[1].ravel()


def _sklearn(name: str, **parameters: Any) -> Peer:
    written = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return Peer(
        f"{name}({written})", "scikit-learn", f"sklearn.cluster:{name}", parameters, is_joined=True
    )


PLAIN = {"scale": None, "n_init": 1}
ALL_ROWS = {"max_points_per_centroid": 10**9}
PEERS = (
    Peer("OMVCDR(scale=None, n_init=1)", "manyview", "manyview:OMVCDR", PLAIN),
    Peer("OMVCDR()", "manyview", "manyview:OMVCDR"),
    _sklearn("KMeans", n_init=1),
    _sklearn("KMeans", n_init=10),
    _sklearn("MiniBatchKMeans", n_init=3),
    Peer("faiss Kmeans()", "faiss-cpu", "faiss:Kmeans", {}, is_joined=True),
    Peer("faiss Kmeans, all rows", "faiss-cpu", "faiss:Kmeans", ALL_ROWS, is_joined=True),
    Peer("mvlearn k-means", "mvlearn", "mvlearn.cluster:MultiviewKMeans", most_views=2),
    Peer(
        "mvlearn spherical k-means",
        "mvlearn",
        "mvlearn.cluster:MultiviewSphericalKMeans",
        most_views=2,
    ),
    Peer(
        "mvlearn co-regularized spectral",
        "mvlearn",
        "mvlearn.cluster:MultiviewCoRegSpectralClustering",
    ),
    Peer("polyview k-means", "polyview", "polyview:MultiViewKMeans"),
    Peer(
        "polyview co-regularized spectral",
        "polyview",
        "polyview:MultiViewCoRegSpectralClustering",
    ),
    Peer("imml OPIMC", "imml", "imml.cluster:OPIMC"),
    Peer("imml SIMCADC", "imml", "imml.cluster:SIMCADC"),
    Peer("imml DAIMC", "imml", "imml.cluster:DAIMC"),
    Peer("imml EEIMVC", "imml", "imml.cluster:EEIMVC"),
    Peer("imml NEMO", "imml", "imml.cluster:NEMO"),
    Peer("imml PIMVC", "imml", "imml.cluster:PIMVC"),
)
