r"""Text tables: encoding, separator and decimal sign are detected; tables of labels are written.

In a table of labels, a name that a spreadsheet would run as a formula, or that has a control
character, stands behind an apostrophe; in such a name a backslash is doubled and characters that
end lines are written as in JSON, \u000d. Tables with the header of labels are read accordingly.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manyview.exceptions import ViewError
from manyview.io._formats.compressed import open_bytes, open_text

SEPARATORS = ",;\t|"
LOOKED_AT = 20  # lines that determine the separator
PIECE = 1 << 22  # bytes decoded at a time
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
UTF8_LETTER = re.compile(
    rb"[\xc2\xc3][\x80-\xbf]"
)  # of Western Europe; in Windows-1252, Ã and a sign
UNNAMED = re.compile(r"|Unnamed: \d+")  # pandas calls columns without a name so when it reads them
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
LABELS = ("sample", "cluster", "confidence", "outlier_score")  # header of a table of labels
FORMULA = re.compile(r"['=+\-@＝＋－＠\t\r]")  # at the beginning of a cell; and our own mark
CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]")
ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4})")
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
DECIMAL_POINT = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")


def read_text(path: Path, id: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Read a text table; return it with notes on anything unusual."""
    encoding = _encoding(path)
    notes = [f"{path} is not UTF-8; Windows-1252 was assumed."] if encoding == "cp1252" else []
    with open_text(path, encoding) as file:
        lines = list(islice((line for line in file if line.strip()), LOOKED_AT))
    if not lines:
        msg = f"{path} is empty; expected a header and one row per sample."
        raise ViewError(msg)
    separator = _separator(lines)
    fields = list(csv.reader(lines, delimiter=separator))
    header = [name.strip() for name in fields[0]]
    is_headless = all(map(NUMBER.fullmatch, header)) and not _counts(header)
    if is_headless:
        notes.append(f"{path} has no header: its first row contains numbers, used as values.")
    else:
        header = _with_corner(header, fields[1:], path)
        notes += _perhaps_headless(header, path)
    with open_text(path, encoding) as file:
        frame = pd.read_csv(
            file,
            sep=separator,
            decimal="," if separator != "," and _has_decimal_commas(fields[1:]) else ".",
            header=None if is_headless else 0,
            names=list(range(len(header))),  # pandas would rename duplicates in the header
            low_memory=False,
            **_kinds(header, id),
        ).copy()  # a copy consolidates the columns into one block
    if is_headless:
        return frame, notes
    frame.columns = pd.Index(header, dtype=object)
    if _is_labels(header) and frame["sample"].str.startswith("'").any():
        frame.isetitem(0, np.array(list(map(_restored, frame["sample"])), dtype=object))
        notes.append(f"{path}: apostrophes that protect names in a table of labels were removed.")
    return with_index(frame), notes


def _kinds(header: list[str], id: str | None) -> dict[str, Any]:
    """Options of pandas: which columns are text whatever they hold."""
    names = [j for j, name in enumerate(header) if name == id or (j == 0 and name == "")]
    if not _is_labels(header):
        return {"dtype": dict.fromkeys(names, str)}
    gaps = {j: [""] for j in range(1, len(header))}  # a name may be NA, or empty
    return {"dtype": {0: str}, "keep_default_na": False, "na_values": gaps}


def write_labels(path: str | os.PathLike[str], table: pd.DataFrame) -> tuple[str, ...]:
    r"""Write a table of labels as CSV, so that spreadsheets run nothing and every name comes back.

    A name that begins with `=`, `+`, `-`, `@` or an apostrophe, or that contains a control
    character, stands behind an apostrophe, with its control characters as `\u000d` and its
    backslashes doubled. The readers of this package undo this.

    Parameters
    ----------
    path : str or path
        The file to create or to replace.
    table : DataFrame
        The columns sample, cluster, confidence and outlier_score, and perhaps others.

    Returns
    -------
    tuple of str
        A note, if names were written differently.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from manyview.io import write_labels
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> row = {"sample": ["=1+1"], "cluster": [0], "confidence": [0.5], "outlier_score": [1.0]}
    >>> _ = write_labels(path, pd.DataFrame(row))
    >>> print(path.read_text().splitlines()[1])
    '=1+1,0,0.5,1
    """
    n_changed = write_csv(path, table, ["sample"])
    if not n_changed:
        return ()
    return (
        f"{n_changed} of {len(table)} names would be formulas in a spreadsheet or have control "
        "characters: in labels.csv an apostrophe precedes them; labels.parquet has them as "
        "they are.",
    )


def write_csv(path: str | os.PathLike[str], table: pd.DataFrame, names: Iterable[str]) -> int:
    """Write a table as CSV, with columns of names that spreadsheets do not run.

    Parameters
    ----------
    path : str or path
        The file to create or to replace.
    table : DataFrame
        The table; numbers are written with six digits.
    names : iterable of str
        Columns with names from files.

    Returns
    -------
    int
        How many cells were written differently.
    """
    n_changed, written = 0, {}
    for column in names:
        texts = table[column].astype(str)
        safe = texts.map({name: _protected(name) for name in texts.unique()})
        n_changed += int((texts != safe).sum())
        written[column] = safe.astype(object)
    table.assign(**written).to_csv(
        path, index=False, lineterminator="\n", float_format="%.6g", encoding="utf-8"
    )
    return n_changed


def _protected(name: str) -> str:
    """A name as it stands in a table of labels."""
    if not (FORMULA.match(name) or CONTROL.search(name)):
        return name
    doubled = name.replace("\\", "\\\\")
    return "'" + CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", doubled)


def _restored(name: str) -> str:
    """A name from a table of labels."""
    if not name.startswith("'"):
        return name
    return ESCAPE.sub(lambda found: chr(int(found[1][1:] or "5c", 16)), name[1:])


def _is_labels(header: list[str]) -> bool:
    return header[0] == LABELS[0] and set(LABELS) <= set(header)


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Use a first column without a name, as R and pandas write the index, as the index."""
    is_named = re.fullmatch(UNNAMED, str(frame.columns[0])) is None
    if is_named or frame.empty or frame.iloc[:, 0].isna().any():
        return frame
    return frame.set_axis(pd.Index(frame.iloc[:, 0])).iloc[:, 1:]


def _perhaps_headless(header: list[str], path: Path) -> list[str]:
    """Note on a header that may be a sample: a name and numbers."""
    others = header[1:]
    if not others or _counts(others) or not all(map(NUMBER.fullmatch, others)):
        return []
    return [
        f"{path}: the first row contains numbers and was used as the header. Add a header if it is "
        "missing."
    ]


def _with_corner(header: list[str], rows: list[list[str]], path: Path) -> list[str]:
    """Add the name of the first column, which R omits, as an empty one."""
    n_more = max((len(row) for row in rows), default=0) - len(header)
    if n_more <= 0:
        return header
    if n_more > 1 or any(len(row) > len(header) and row[-1] == "" for row in rows):
        msg = (
            f"{path} has rows with more fields than its header, which has {len(header)}. "
            "Name every column, and remove separators at the end of rows."
        )
        raise ViewError(msg)
    return ["", *header]


def _encoding(path: Path) -> str:
    """Encoding by the first bytes, else by trying UTF-8."""
    with open_bytes(path) as file:
        head = file.read(4096)
        for mark, encoding in BYTE_ORDER_MARKS.items():
            if head.startswith(mark):
                return encoding
        if b"\0" in head:
            return _utf16_without_mark(head, path)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(head)
            for piece in iter(lambda: file.read(PIECE), b""):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return _windows(path)
    return "utf-8"


def _windows(path: Path) -> str:
    """Windows-1252, a superset of Latin-1; refuse text that is UTF-8 in part."""
    with open_bytes(path) as file:
        if any(UTF8_LETTER.search(piece) for piece in iter(lambda: file.read(PIECE), b"")):
            msg = (
                f"{path} mixes encodings: some of its text is UTF-8 and some is not, so names may "
                "be wrong. Save all of it in one encoding, best in UTF-8."
            )
            raise ViewError(msg)
    return "cp1252"


def _utf16_without_mark(head: bytes, path: Path) -> str:
    """Every second byte of Western text in UTF-16 is zero; anything else is not text."""
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if head[first::2].count(0) > 0.9 * len(head[first::2]) and 0 not in head[1 - first :: 2]:
            return encoding
    msg = f"{path} is not text, though it ends in '{path.suffix}'; check what kind of file it is."
    raise ViewError(msg)


def _separator(lines: list[str]) -> str:
    """The separator that splits all lines into the same number of fields, and the most."""
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines]

    def regularity(separator: str) -> tuple[bool, bool, int]:
        first, *others = (line.count(separator) for line in bare)
        is_regular = first > 0 and all(count == first for count in others)
        lacks_corner = len(set(others)) == 1 and others[0] == first + 1  # as R writes it
        return is_regular, lacks_corner, first

    return max(SEPARATORS, key=regularity)


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    fields = [field for row in rows for field in row]
    return any(map(DECIMAL_COMMA.fullmatch, fields)) and not any(
        map(DECIMAL_POINT.fullmatch, fields)
    )


def _counts(header: list[str]) -> bool:
    """Whether the header numbers its columns, as pandas does for arrays."""
    return header in ([str(j + start) for j in range(len(header))] for start in (0, 1))
