"""What an estimator inherits to tell of itself: explanations, a report, and a file to load."""

from __future__ import annotations

import os
from typing import Any

from manyview.explanation import Explained
from manyview.storage import SavedModel

__all__ = ["Reported"]


class Reported(Explained, SavedModel):
    """A fit that can be explained, reported, saved and loaded."""

    def report(self, path: str | os.PathLike[str], X: Any = None) -> None:
        """Write what the fit found as one HTML page, and as JSON beside it.

        Parameters
        ----------
        path : str or path
            The page to make or to replace, such as "report.html"; "report.json" gets the same
            name. The page needs nothing else, no network either.
        X : views, optional
            The samples of the fit, in the same order; only needed if this model was loaded or
            copied, since a fitted one still has them.
        """
        from manyview.report import describe_fit
        from manyview.report.files import write_report

        write_report(path, describe_fit(self, self._samples_of_fit(X)))  # type: ignore[arg-type]
