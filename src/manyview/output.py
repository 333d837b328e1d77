"""What `transform` returns: an array, or a frame that keeps the sample names of its input."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import pandas as pd
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from manyview.views import sample_names

__all__ = ["NamedTransformer"]


class NamedTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """A transformer with `set_output` for views: scikit-learn knows the index of one table only."""

    def __init_subclass__(cls, **keys: Any) -> None:
        """Let `transform` name its rows, after scikit-learn has let it name its columns."""
        super().__init_subclass__(**keys)
        if "transform" in vars(cls):
            cls.transform = _naming_rows(cls.transform)

    def __sklearn_tags__(self) -> Tags:
        """float32 in, float32 out."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _naming_rows(transform: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(transform)
    def wrapped(self: Any, X: Any, *args: Any, **keys: Any) -> Any:
        output = transform(self, X, *args, **keys)
        if isinstance(output, pd.DataFrame) and (names := sample_names(X)) is not None:
            output.index = names
        return output

    return wrapped
