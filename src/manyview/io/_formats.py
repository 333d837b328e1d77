"""Readers by file ending. A reader returns the tables of one file, one per view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

import pandas as pd

from manyview.data.array_files import read_npy
from manyview.data.opening import is_zarr
from manyview.data.readable import readable
from manyview.datasets.files import read_arrays
from manyview.exceptions import ViewError
from manyview.io._annotated import tables_of
from manyview.io._table import Table, from_array, from_frame
from manyview.io._text import read_text, with_index
from manyview.utils.optional import needed

# of a workbook: openpyxl reads 100 000 cells a second, and a megabyte can hold ten million
MOST_CELLS = 3_000_000
MOST_ELEMENTS = 500_000  # other than cells and what is in them
MOST_UNPACKED_BYTES = 1 << 28

T = TypeVar("T")
Reader: TypeAlias = Callable[[Path, str | None], Iterable[T]]


def read_path(path: Path, id: str | None) -> tuple[list[Table], list[str]]:
    """Tables of a file, or of all files of a folder, and notes on ignored files."""
    _check_exists(path)
    if not path.is_dir() or is_zarr(path):
        return _read_file(path, id), []
    inside = sorted(item for item in path.iterdir() if not item.name.startswith("."))
    known = [item for item in inside if _ending(item) in READERS]
    others = [item.name for item in inside if item not in known]
    if not known:
        msg = f"The folder {path} holds no table; expected files that end in {_endings(READERS)}."
        raise ViewError(msg)
    notes = [f"{path}: ignored, since these are not tables: {', '.join(others)}."] if others else []
    return [table for item in known for table in _read_file(item, id)], notes


def _check_exists(path: Path) -> None:
    if not path.exists():
        msg = f"There is no file {path}; check its name and folder."
        raise ViewError(msg)


def _read_file(path: Path, id: str | None) -> list[Table]:
    return _read(path, id, READERS)


def _read(path: Path, id: str | None, readers: Mapping[str, Reader[T]]) -> list[T]:
    """The tables of a file, by its ending; errors become one sentence."""
    ending = _ending(path)
    if ending not in readers:
        msg = f"{path} ends in '{path.suffix}'; expected {_endings(readers)}."
        raise ViewError(msg)
    if path.is_file() and path.stat().st_size == 0:
        msg = f"{path} is empty (0 bytes); save it again."
        raise ViewError(msg)
    with readable(path, ending):
        return list(readers[ending](path, id))


def _ending(path: Path) -> str:
    """The ending in lower case; that of a Zarr folder is always .zarr."""
    if path.is_dir():
        return ".zarr" if is_zarr(path) else ""
    return ".zarr.zip" if path.name.lower().endswith(".zarr.zip") else path.suffix.lower()


def _endings(readers: Mapping[str, object]) -> str:
    *others, last = readers
    return f"{', '.join(others)} or {last}"


@dataclass(frozen=True, eq=False)
class LabeledValues:
    """A table with a header, of text and numbers."""

    view: str
    file: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


def read_sheets(path: Path, id: str | None) -> list[LabeledValues]:
    """Tables of a file with their text columns; only formats that have these."""
    _check_exists(path)
    return _read(path, id, SHEETS)


def _tables_of_sheets(path: Path, id: str | None) -> Iterator[Table]:
    ending = _ending(path)
    for sheet in SHEETS[ending](path, id):
        table = from_frame(sheet.frame, sheet.view, sheet.file, ending[1:], id)
        yield replace(table, notes=(*sheet.notes, *table.notes))


def _text_sheets(path: Path, id: str | None) -> Iterator[LabeledValues]:
    frame, notes = read_text(path, id)
    yield LabeledValues(path.stem, str(path), frame, tuple(notes))


def _parquet_sheets(path: Path, id: str | None) -> Iterator[LabeledValues]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        yield LabeledValues(path.stem, str(path), _frame(file.read()))


def _feather_sheets(path: Path, id: str | None) -> Iterator[LabeledValues]:
    from pyarrow import feather

    yield LabeledValues(path.stem, str(path), _frame(feather.read_table(path)))


def _frame(table: Any) -> pd.DataFrame:
    """An Arrow table as a DataFrame, once it is known that nothing points outside its values."""
    table.validate(full=True)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _excel_sheets(path: Path, id: str | None) -> Iterator[LabeledValues]:
    """Each sheet with values; pandas would rename duplicates in the header, so it is set here."""
    needed("openpyxl", path)
    _check_workbook(path)
    sheets = pd.read_excel(path, sheet_name=None, header=None, engine="openpyxl")
    filled = {str(name): sheet for name, sheet in sheets.items() if not sheet.empty}
    if not filled:
        msg = f"{path} has no sheet with values; expected a header and one row per sample."
        raise ViewError(msg)
    for name, sheet in filled.items():
        header = ["" if pd.isna(cell) else str(cell) for cell in sheet.iloc[0]]
        frame = sheet.iloc[1:].reset_index(drop=True).infer_objects()
        frame.columns = pd.Index(header, dtype=object)
        is_one = len(filled) == 1
        file = str(path) if is_one else f"{path}:{name}"
        yield LabeledValues(path.stem if is_one else name, file, with_index(frame))


def _check_workbook(path: Path) -> None:
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


def _read_npy(path: Path, id: str | None) -> Iterator[Table]:
    yield from_array(read_npy(path), path.stem, str(path), "npy")


def _read_arrays(path: Path, id: str | None) -> Iterator[Table]:
    views, target = read_arrays(path)
    notes = () if target is None else (f"{path}: the labels in the file were not used.",)
    for name, view in views.items():
        file = str(path) if len(views) == 1 else f"{path}:{name}"
        table = from_array(view, name, file, path.suffix[1:].lower(), is_turnable=False)
        yield replace(table, notes=notes)
        notes = ()


def _read_hdf5(path: Path, id: str | None) -> Iterator[Table]:
    h5py = needed("h5py", path)
    with h5py.File(path) as file:
        yield from tables_of(file, path.stem, str(path), path.suffix[1:].lower())


def _read_zarr(path: Path, id: str | None) -> Iterator[Table]:
    """One array, the matrices of a group, or the layout of AnnData and MuData."""
    zarr = needed("zarr", path)
    if path.is_dir():
        yield from _zarr_tables(zarr.open(str(path), mode="r"), path)
        return
    store = zarr.storage.ZipStore(str(path), mode="r")
    try:
        yield from _zarr_tables(zarr.open(store, mode="r"), path)
    finally:
        store.close()


def _zarr_tables(item: Any, path: Path) -> Iterator[Table]:
    name = path.name.removesuffix(".zip").removesuffix(".zarr")
    if hasattr(item, "dtype"):
        yield from_array(item[:], name, str(path), "zarr")
        return
    if "mod" in item or "obs" in item:
        yield from tables_of(item, name, str(path), "zarr")
        return
    matrices = {key: array for key, array in sorted(item.arrays()) if array.ndim == 2}
    if not matrices:
        msg = f"{path} holds no matrix; expected one 2-D array per view."
        raise ViewError(msg)
    for key, array in matrices.items():
        yield from_array(array[:], key, f"{path}:{key}", "zarr")


SHEETS: dict[str, Reader[LabeledValues]] = {
    ".csv": _text_sheets,
    ".tsv": _text_sheets,
    ".txt": _text_sheets,
    ".parquet": _parquet_sheets,
    ".feather": _feather_sheets,
    ".xlsx": _excel_sheets,
}
READERS: dict[str, Reader[Table]] = {
    **dict.fromkeys(SHEETS, _tables_of_sheets),
    ".npy": _read_npy,
    ".npz": _read_arrays,
    ".mat": _read_arrays,
    ".h5ad": _read_hdf5,
    ".h5mu": _read_hdf5,
    ".zarr": _read_zarr,
    ".zarr.zip": _read_zarr,
}
