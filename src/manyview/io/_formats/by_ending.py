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
from manyview.io._formats.annotated import OBS_ENDINGS, is_annotated, tables_of
from manyview.io._formats.compressed import OPENERS, split_ending
from manyview.io._formats.loom import tables_of_loom
from manyview.io._formats.tenx import companions, is_tenx, tables_of_mtx, tables_of_tenx
from manyview.io._formats.text import read_text, with_index
from manyview.io._formats.workbook import check_workbook
from manyview.io._table import Table, from_array, from_frame
from manyview.utils.memory import installed_memory
from manyview.utils.optional import needed

T = TypeVar("T")
Reader: TypeAlias = Callable[[Path, str | None], Iterable[T]]


def read_path(path: Path, id: str | None) -> tuple[list[Table], list[str]]:
    """Tables of a file, or of all files of a folder, and notes on ignored files."""
    _check_exists(path)
    if not path.is_dir() or is_zarr(path):
        return _read_file(path, id), []
    inside = sorted(item for item in path.iterdir() if not item.name.startswith("."))
    about = {other for item in inside if _ending(item) == ".mtx" for other in companions(item)}
    inside = [item for item in inside if item not in about]
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
        raise ViewError(_not_read(path, ending, readers))
    if path.is_file() and path.stat().st_size == 0:
        msg = f"{path} is empty (0 bytes); save it again."
        raise ViewError(msg)
    with readable(path, ending):
        return list(readers[ending](path, id))


def _not_read(path: Path, ending: str, readers: Mapping[str, Reader[T]]) -> str:
    """What to do with a file that is not read here."""
    if ending in (".rds", ".rdata", ".rda"):
        x = f"x <- readRDS('{path.name}')" if ending == ".rds" else f"load('{path.name}')"
        return (
            f"{path} holds objects of R, which only R reads; convert it there, a table x with "
            f"{x}; write.csv(x, 'x.csv'), a Seurat object x with for (a in Seurat::Assays(x)) "
            "DropletUtils::write10xCounts(a, Seurat::GetAssayData(x, assay = a, layer = 'counts'), "
            "gene.type = a, version = '3'), which writes one folder per assay to give to manyview."
        )
    if ending in OPENERS:
        return f"{path} is compressed as a whole; unpack it, and give what was inside."
    return f"{path} ends in '{path.suffix}'; expected {_endings(readers)}."


def _ending(path: Path) -> str:
    """The ending in lower case, but for that of compression; that of a Zarr folder is .zarr."""
    if path.is_dir():
        return ".zarr" if is_zarr(path) else ""
    return ".zarr.zip" if path.name.lower().endswith(".zarr.zip") else split_ending(path)[1]


def is_sheet(path: Path) -> bool:
    """Whether the ending is that of a table of text and numbers."""
    return _ending(path) in SHEETS


def has_obs(path: Path) -> bool:
    """Whether the ending is that of a file that may have columns about its samples."""
    return _ending(path) in OBS_ENDINGS


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
    yield LabeledValues(split_ending(path)[0], str(path), frame, tuple(notes))


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
    check_workbook(path)
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
    """The layout of AnnData and MuData, of 10x, or matrices of any names."""
    h5py = needed("h5py", path)
    format = path.suffix[1:].lower()
    with h5py.File(path) as file:
        if format == "loom":
            yield from tables_of_loom(file, path.stem, str(path))
        elif format in ("h5ad", "h5mu") or is_annotated(file):
            yield from tables_of(file, path.stem, str(path), format)
        elif is_tenx(file):
            yield from tables_of_tenx(file, str(path))
        else:
            arrays = {key: item for key, item in file.items() if hasattr(item, "dtype")}
            yield from _matrices(arrays, path, format)


def _read_mtx(path: Path, id: str | None) -> Iterator[Table]:
    yield from tables_of_mtx(path)


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
    if is_annotated(item):
        yield from tables_of(item, name, str(path), "zarr")
        return
    yield from _matrices(dict(item.arrays()), path, "zarr")


def _matrices(arrays: Mapping[str, Any], path: Path, format: str) -> Iterator[Table]:
    """All arrays of a group that are matrices."""
    matrices = {key: array for key, array in sorted(arrays.items()) if array.ndim == 2}
    if not matrices:
        msg = f"{path} holds no matrix; expected one 2-D array per view."
        raise ViewError(msg)
    n_bytes = sum(array.size * array.dtype.itemsize for array in matrices.values())
    if n_bytes > installed_memory() / 2:
        msg = (
            f"{path} holds {n_bytes / 1e9:.1f} GB; expected at most half of the "
            f"{installed_memory() / 1e9:.1f} GB of memory. Leave it on disk, with --engine stream."
        )
        raise ViewError(msg)
    for key, array in matrices.items():
        yield from_array(array[:], key, f"{path}:{key}", format)


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
    ".h5": _read_hdf5,
    ".hdf5": _read_hdf5,
    ".loom": _read_hdf5,
    ".mtx": _read_mtx,
    ".zarr": _read_zarr,
    ".zarr.zip": _read_zarr,
}
