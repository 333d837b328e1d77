"""Any method of manyview on preprocessed views, for methods without such a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import preprocessing

from manyview.baselines import BASELINES

Array = NDArray[Any]
Views = Sequence[Array]

NOISE = 1e-6  # of the largest value of a view


def _each(change: Callable[[Array], Array]) -> Callable[[Views, int], Views]:
    """Apply a function to each view."""
    return lambda views, seed: [change(X) for X in views]


def _add_noise(views: Views, seed: int) -> Views:
    """Normal noise, too small to matter to anything but a chaotic rule."""
    rng = np.random.default_rng(seed)
    return [X.astype(float) + NOISE * X.max() * rng.normal(size=X.shape) for X in views]


PREPARATIONS: dict[str, Callable[[Views, int], Any]] = {
    "unit rows": _each(preprocessing.normalize),
    "z-scores": _each(preprocessing.scale),
    "standardized samples": _each(partial(preprocessing.scale, axis=1)),
    "min-max": _each(preprocessing.minmax_scale),
    # X / max X in MATLAB if the file holds bytes
    "rounded": _each(lambda X: np.round(X / X.max())),
    "noise": _add_noise,
    "first view": lambda views, seed: views[0],
    "second view": lambda views, seed: views[1],
}


class Prepared:
    """A method and a preparation of the views, both by name."""

    def __init__(
        self,
        n_clusters: int,
        *,
        method: str,
        preparation: str,
        random_state: int,
        **parameters: Any,
    ) -> None:
        self.preparation = preparation
        self.seed = random_state
        kind = BASELINES[method]
        self.model = kind(n_clusters=n_clusters, random_state=random_state, **parameters)

    def fit_predict(self, views: Views) -> Array:
        """Labels of the prepared views."""
        return self.model.fit_predict(PREPARATIONS[self.preparation](views, self.seed))
