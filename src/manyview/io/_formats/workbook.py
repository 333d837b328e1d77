"""Excel workbooks: refused before they are read if they would take minutes or all memory."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

from manyview.exceptions import ViewError

# of a workbook: openpyxl reads 100 000 cells a second, and a megabyte can hold ten million
MOST_CELLS = 3_000_000
MOST_ELEMENTS = 500_000  # other than cells and what is in them
MOST_UNPACKED_BYTES = 1 << 28


def check_workbook(path: Path) -> None:
    """Refuse a workbook that would take minutes or all memory, though its file may be small."""
    with ZipFile(path) as archive:
        n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes > MOST_UNPACKED_BYTES:
            raise ViewError(_too_large(path, f"{n_bytes / 1e6:.0f} MB when unpacked"))
        for member in archive.infolist():
            with archive.open(member) as file:
                _check_size(file, path)


def _check_size(file: Any, path: Path) -> None:
    """Count the cells of a sheet, with the gaps between them, and the elements of other members."""
    parser = ParserCreate(namespace_separator=" ")
    size = _Size()
    parser.StartElementHandler = size.note
    try:
        parser.ParseFile(file)
    except OverflowError as error:
        raise ViewError(_too_large(path, str(error))) from None
    except ExpatError:
        return  # openpyxl says what is wrong


class _Size:
    """Counts elements until there are too many; a table reaches to the last cell with a value."""

    def __init__(self) -> None:
        self.n_cells = self.n_others = self.row = self.column = self.n_columns = 0
        self.letters: set[str] = set()  # of the columns with a value
        self.reference = ""

    def note(self, element: str, attributes: dict[str, str]) -> None:
        name = element.rpartition(" ")[2]
        if name in ("c", "si"):
            self.n_cells += 1
            self.column += 1
            self.reference = attributes.get("r", "")
            if self.n_cells > MOST_CELLS:
                self._refuse(f"{MOST_CELLS:,} cells")
        elif name in ("v", "is"):
            self._note_value(self.reference.rstrip("0123456789"))
        elif name == "row":
            given = attributes.get("r", "")
            self.row, self.column = int(given) if given.isdecimal() else self.row + 1, 0
        elif name not in ("t", "f"):
            self.n_others += 1
            if self.n_others > MOST_ELEMENTS:
                self._refuse(f"{MOST_ELEMENTS:,} elements")

    def _note_value(self, letters: str) -> None:
        if letters and letters not in self.letters:
            self.letters.add(letters)
            self.n_columns = max(self.n_columns, _column_number(letters))
        if not letters:
            self.n_columns = max(self.n_columns, self.column)
        if self.row * self.n_columns > MOST_CELLS:
            self._refuse(f"{MOST_CELLS:,} cells")

    def _refuse(self, limit: str) -> None:
        msg = f"more than {limit}"
        raise OverflowError(msg)


def _column_number(letters: str) -> int:
    """1 for A, 27 for AA."""
    return reduce(lambda number, letter: 26 * number + ord(letter) - ord("A") + 1, letters[:4], 0)


def _too_large(path: Path, size: str) -> str:
    return f"{path} is too large for a workbook: {size}. Save its sheets as .csv or .parquet."
