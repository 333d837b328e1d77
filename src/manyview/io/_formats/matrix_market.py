"""Sparse matrices as text, by Matrix Market; scipy's own reader may crash on a damaged file.

Described at https://math.nist.gov/MatrixMarket/formats.html: a line that says what kind of matrix
it is, comments, the numbers of rows, columns and stored values, and one line per value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from manyview.exceptions import ViewError
from manyview.io._formats.compressed import open_text

KINDS = ("real", "integer", "pattern")
MOST_EMPTY = 100  # rows and columns for each stored value
LINES = 1 << 21  # read at a time
LINE_LENGTH = 10_000


def read_mtx(path: Path) -> Any:
    """The matrix of a file, as coordinates."""
    with open_text(path) as file:
        kind = file.readline(LINE_LENGTH).lower().split()
        if kind[:3] != ["%%matrixmarket", "matrix", "coordinate"] or kind[4:] != ["general"]:
            msg = (
                f"{path} is no Matrix Market file of a sparse matrix; expected a first line such "
                "as %%MatrixMarket matrix coordinate integer general."
            )
            raise ViewError(msg)
        sizes = [int(part) for part in _after_comments(file).split()]
        if len(sizes) != 3 or min(sizes) < 0 or kind[3] not in KINDS:
            msg = f"{path} has sizes {sizes} of kind {kind[3]}; expected three, of real numbers."
            raise ViewError(msg)
        n_rows, n_columns, n_values = sizes
        with np.errstate(
            invalid="ignore"
        ):  # pandas warns of numbers that are not whole, then raises
            pieces = list(_pieces(file, kind[3]))
    rows, columns, values = (np.concatenate(part) for part in zip(*pieces, strict=True))
    is_inside = len(values) == n_values and n_rows + n_columns <= MOST_EMPTY * (n_values + 1000)
    if not is_inside or _is_outside(rows, n_rows) or _is_outside(columns, n_columns):
        msg = (
            f"{path} announces {n_values} values of {n_rows} x {n_columns}, and has {len(values)}, "
            "or some outside; it is damaged or cut short."
        )
        raise ViewError(msg)
    return sparse.coo_array((values, (rows - 1, columns - 1)), shape=(n_rows, n_columns))


def _after_comments(file: Any) -> str:
    """The first line that is no comment."""
    lines = iter(lambda: file.readline(LINE_LENGTH), "")
    return next((line for line in lines if line.strip() and not line.startswith("%")), "")


def _pieces(file: Any, kind: str) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, columns and values of many lines; an empty piece first."""
    dtypes: dict[str, Any] = {"row": np.int64, "column": np.int64}
    if kind != "pattern":
        dtypes["value"] = np.float64 if kind == "real" else np.int64
    empty = pd.DataFrame({name: np.array([], dtype) for name, dtype in dtypes.items()})
    read = pd.read_csv(
        file, sep=r"\s+", header=None, names=list(dtypes), dtype=dtypes, chunksize=LINES
    )
    for piece in chain([empty], read):
        values = piece["value"] if kind != "pattern" else np.ones(len(piece), dtype=np.int64)
        yield piece["row"].to_numpy(), piece["column"].to_numpy(), np.asarray(values)


def _is_outside(places: Any, size: int) -> bool:
    return len(places) > 0 and (int(places.min()) < 1 or int(places.max()) > size)
