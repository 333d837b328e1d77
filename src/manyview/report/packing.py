"""Values for the script of a page: arrays as base64, names that are not too long."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

NAME_LENGTH = 40  # longer names are cut


def as_base64(values: NDArray[Any], dtype: type[np.unsignedinteger[Any]]) -> str:
    """Pack integers, the smallest byte first.

    Parameters
    ----------
    values : array of shape (n,)
        Numbers that the type can hold.
    dtype : type
        An unsigned integer.

    Returns
    -------
    str
    """
    small = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(small.tobytes()).decode()


def shorten(names: pd.Index) -> list[str]:
    """Cut long names.

    Parameters
    ----------
    names : pandas.Index
        Names of any type.

    Returns
    -------
    list of str
    """
    text = names.astype(str).to_series()
    cut = text.str.slice(0, NAME_LENGTH - 1) + "…"
    return text.where(text.str.len() <= NAME_LENGTH, cut).tolist()
