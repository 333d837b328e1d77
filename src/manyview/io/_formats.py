"""Readers by file ending. A reader returns the tables of one file, one per view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

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
