"""What an estimator inherits to explain its clusters; it keeps hold of the views of its fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyview.errors import ViewError
from manyview.explanation.tables import Explanation, explain_fit
from manyview.views import MultiViewData

__all__ = ["Explained"]


class Explained:
    """Explanations of a fit, for a class that has what `FittedModel` lists."""

    labels_: NDArray[np.int32]
    _seen: MultiViewData  # a reference, not a copy; files, pickles and copies leave it out

    def explain(self, X: Any = None) -> Explanation:
        """Tell what sets the clusters apart, as tables.

        Parameters
        ----------
        X : views, optional
            The samples of the fit, in the same order; only needed if this model was loaded or
            copied, since a fitted one still has them.

        Returns
        -------
        Explanation
            DataFrames: view weights by cluster, top features, a heatmap, typical and doubtful
            samples, confidence, and a map.

        Examples
        --------
        >>> from manyview import OMVCDR
        >>> from manyview.datasets import make_multiview_blobs
        >>> data = make_multiview_blobs(60, random_state=0).data
        >>> model = OMVCDR(n_clusters=3, random_state=0).fit(data)
        >>> model.explain().view_weights.shape
        (3, 2)
        """
        return explain_fit(self, self._samples_of_fit(X))  # type: ignore[arg-type]

    def next_clusters(self, X: Any) -> NDArray[np.int32]:
        """Find the second choice of each sample: the next cheapest cluster in F.

        Parameters
        ----------
        X : views
            The same views as in `fit`; a sample may lack some.

        Returns
        -------
        ndarray of shape (n_samples,), int32
            Where there is but one cluster, that one.
        """
        engine, fitted = self._label(X)  # type: ignore[attr-defined]
        chosen: NDArray[np.int32] = fitted.margins(engine)[:, 1].astype(np.int32)
        return chosen

    def _remember(self, X: Any, data: MultiViewData) -> None:
        super()._remember(X, data)  # type: ignore[misc]
        self._seen = data

    def _samples_of_fit(self, X: Any) -> MultiViewData:
        """The views of the fit, or X if it can be these."""
        check_is_fitted(self)
        if X is None:
            if not hasattr(self, "_seen"):
                msg = (
                    "A model that was loaded or copied has no views to explain; expected X, "
                    "received none. Pass the samples of the fit."
                )
                raise ViewError(msg)
            return self._seen
        data: MultiViewData = self._validate_new(X)  # type: ignore[attr-defined]
        if len(data) != len(self.labels_):
            msg = (
                f"X has {len(data)} samples; the fit had {len(self.labels_)}. Pass the samples of "
                "the fit, in the same order."
            )
            raise ViewError(msg)
        return data

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the views."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_seen"}
