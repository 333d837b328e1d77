"""Views that can be clustered but are probably a mistake: constant ones, and copies of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyview.data.conversion import StoredView, read_rows, row_pieces
from manyview.data.rows import Rows
from manyview.data.views import MultiViewData

LOOKED_AT = 8  # rows that tell most views apart


def find_doubts(data: MultiViewData) -> list[str]:
    """Sentences on views that have the same values in all rows, or the values of another view.

    A few rows are read; the others only where these leave it open.
    """
    named = list(zip(data.view_names, data.views, strict=True))
    found = [
        f"View '{name}' has the same values in every sample, so it contains no information; leave "
        "it out."
        for v, (name, view) in enumerate(named)
        if _is_constant(view, None if data.present is None else data.present[:, v])
    ]
    for v, (name, view) in enumerate(named):
        twin = next((other for other, earlier in named[:v] if _is_same(earlier, view)), None)
        if twin is not None:
            found.append(
                f"Views '{twin}' and '{name}' hold the same values, so that they count twice; "
                "leave one out."
            )
    return found


def _is_constant(view: StoredView, present: NDArray[np.bool_] | None) -> bool:
    """Whether all rows that are present are equal, and not zero."""
    kept = np.ones(view.shape[0], dtype=bool) if present is None else present
    first = int(np.argmax(kept))
    looked_at = slice(first, first + LOOKED_AT)
    start = _dense(read_rows(view, looked_at))[kept[looked_at]]
    if len(start) < 2 or not start[0].any() or (start != start[0]).any():
        return False
    pieces = ((part, _dense(read_rows(view, part))) for part in row_pieces(view))
    return all((values[kept[part]] == start[0]).all() for part, values in pieces)


def _is_same(a: StoredView, b: StoredView) -> bool:
    """Whether two views hold the same values; NaN equals NaN."""
    if a is b:
        return True
    if a.shape != b.shape or isinstance(a, sparse.csr_array) != isinstance(b, sparse.csr_array):
        return False
    if isinstance(a, Rows) and isinstance(b, Rows) and a.fingerprint() == b.fingerprint():
        return True
    start = slice(0, LOOKED_AT)
    if not _are_equal(read_rows(a, start), read_rows(b, start)):
        return False
    return all(_are_equal(*pair) for pair in _pairs(a, b))


def _pairs(a: StoredView, b: StoredView) -> Iterator[tuple[Any, Any]]:
    for part in row_pieces(a):
        yield read_rows(a, part), read_rows(b, part)


def _are_equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(_dense(a), _dense(b), equal_nan=True))


def _dense(values: Any) -> NDArray[Any]:
    return values.toarray() if isinstance(values, sparse.csr_array) else np.asarray(values)
