"""What tells the names of samples from measurements, and when two spellings are one name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

# a header announces names if its last word is one of these, or if one of those is all of it
LAST_WORD = re.compile(
    "ids?|nr|no|num|number|names?|key|code|barcode|index|idx|uu?id"
    "|(sample|patient|subject|donor|case|cell|product|user|item|row|record)ids?"
)
ONE_WORD = re.compile(
    "samples?|patients?|subject|donor|participant|individual|case|cell|mrn|[ps]id|sku"
)
SEPARATORS = re.compile(r"[\s._:/-]+")
WHOLE_NUMBER = re.compile(r"0*(\d+?)(?:\.0+)?")
ENDING = re.compile(r"-[^-]{1,4}$")


def is_id_title(title: str) -> bool:
    """Whether a header announces names: patient_id, Sample, productID, Unnamed: 0."""
    split = re.sub("(?<=[a-z])(?=[A-Z])", " ", title).lower()
    words = re.findall("[a-z]+", split)
    if not words:
        return False
    is_one = len(words) == 1 and ONE_WORD.fullmatch(words[0]) is not None
    return is_one or words[0] in ("id", "unnamed") or LAST_WORD.fullmatch(words[-1]) is not None


def is_whole(values: Any) -> bool:
    """Whether all values are whole numbers; gaps do not count, nothing but gaps is not."""
    numbers = pd.Series(values).dropna()
    if numbers.empty or numbers.dtype.kind not in "iuf":
        return False
    return bool(numbers.dtype.kind in "iu" or (np.isfinite(numbers) & (numbers % 1 == 0)).all())


def counts_rows(values: Any) -> bool:
    """Whether whole numbers are 0, 1, 2, … or 1, 2, 3, … in order."""
    numbers = np.asarray(values)
    first = numbers[0] if len(numbers) else -1
    return first in (0, 1) and np.array_equal(numbers, np.arange(len(numbers)) + first)


def folded(names: Iterable[object]) -> pd.Index:
    """Names without case, blanks, kind of separator and leading zeros."""
    return pd.Index([_fold(str(name)) for name in names], dtype=object)


def _fold(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).casefold().strip()
    number = WHOLE_NUMBER.fullmatch(plain)
    return number[1] if number else SEPARATORS.sub("-", plain)


def without_ending(names: pd.Index) -> pd.Index:
    """Folded names without a short last part, such as -1 or -01A."""
    return pd.Index([ENDING.sub("", name) for name in names], dtype=object)


def first_repeated(names: Sequence[Any] | pd.Index) -> Any:
    """The first name that occurs again; None if all differ."""
    index = pd.Index(names)
    return None if index.is_unique else index[index.duplicated()][0]
