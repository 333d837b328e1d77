"""What an estimator inherits to find its own number of clusters."""

from __future__ import annotations

import warnings
from typing import Any

from manyview.base import check_parameter, is_count
from manyview.errors import DataWarning
from manyview.model_selection.choice import Choice
from manyview.model_selection.choosing import choose
from manyview.views import MultiViewData

__all__ = ["CountsClusters"]


class CountsClusters:
    """An estimator that takes n_clusters="auto"."""

    n_clusters: Any
    n_clusters_: int
    choice_: Choice
    scale: Any
    random_state: Any
    n_jobs: int | None

    @property
    def _is_to_count(self) -> bool:
        return isinstance(self.n_clusters, str) and self.n_clusters == "auto"

    @property
    def _fewest(self) -> int:
        """Samples that are needed at least: one a cluster."""
        return 1 if self._is_to_count else int(self.n_clusters)

    def _check_n_clusters(self) -> None:
        is_usable = is_count(self.n_clusters) or self._is_to_count
        check_parameter("n_clusters", self.n_clusters, is_usable, "an integer >= 1 or 'auto'")

    def _count_clusters(self, data: MultiViewData) -> int:
        """The number that the user gave, else the one that `choose` recommends."""
        if not self._is_to_count:
            vars(self).pop("choice_", None)
            return int(self.n_clusters)
        seed = self.random_state
        how = {"scale": self.scale, "random_state": seed, "n_jobs": self.n_jobs}
        self.choice_ = choose(data, tune=False, **how)
        if not self.choice_.has_structure:
            warnings.warn(self.choice_.sentence, DataWarning, stacklevel=3)
        return self.choice_.n_clusters
