"""Workbooks that are damaged, or made to take forever."""

import time
import zipfile

import pandas as pd
import pytest

from manyview.exceptions import ViewError
from manyview.io import read_views
from manyview.io._formats.workbook import MOST_CELLS

pytest.importorskip("openpyxl")
TABLE = pd.DataFrame({"sample": ["a", "b", "c"], "x": [1.0, 2.0, 4.0], "y": [2.0, 1.0, 0.0]})
SHEET = "xl/worksheets/sheet1.xml"
HEAD = (
    '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/'
    'spreadsheetml/2006/main"><sheetData>'
)
END = "</sheetData></worksheet>"


@pytest.fixture
def workbook(tmp_path):
    """A function that replaces a member of a workbook by other text."""
    path = tmp_path / "x.xlsx"
    TABLE.to_excel(path, index=False)

    def replace(member, text):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, text if name == member else content)
        return path

    return replace


def refusal(path):
    """The sentence, which comes soon and is short."""
    start = time.perf_counter()
    with pytest.raises(ViewError) as refused:
        read_views(path)
    assert time.perf_counter() - start < 15
    said = str(refused.value).replace(str(path), "x.xlsx")
    assert said.startswith("x.xlsx")
    assert len(said) <= 300
    return said


def test_a_workbook_with_too_many_cells_is_refused_before_it_is_read(workbook):
    row = "<row>" + "<c><v>0</v></c>" * 1000 + "</row>"
    path = workbook(SHEET, HEAD + row * (MOST_CELLS // 1000 + 1) + END)
    assert path.stat().st_size < 1 << 20
    assert "3,000,000 cells" in refusal(path)


def test_two_cells_far_apart_are_refused_before_the_gap_is_filled(workbook):
    cells = (
        '<row r="1"><c r="XFD1"><v>1</v></c></row>'
        '<row r="1048576"><c r="A1048576"><v>1</v></c></row>'
    )
    assert "3,000,000 cells" in refusal(workbook(SHEET, HEAD + cells + END))


def test_a_workbook_that_unpacks_to_too_much_is_refused(workbook):
    path = workbook("xl/styles.xml", "<styleSheet>" + " " * (300 << 20) + "</styleSheet>")
    assert path.stat().st_size < 1 << 20
    assert "MB when unpacked" in refusal(path)


def test_styles_without_end_are_refused(workbook):
    styles = "<styleSheet><fonts>" + "<font/>" * 2_000_000 + "</fonts></styleSheet>"
    assert "elements" in refusal(workbook("xl/styles.xml", styles))


def test_formatted_cells_without_a_value_do_not_count_as_a_large_table(workbook):
    cells = (
        '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'
        '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>3</v></c></row>'
        '<row r="3"><c r="A3"><v>5</v></c><c r="B3"><v>4</v></c></row>'
        '<row r="20000"><c r="XFD20000" s="0"/></row>'
    )
    assert read_views(workbook(SHEET, HEAD + cells + END)).data.views[0].shape == (2, 2)


@pytest.mark.parametrize("member", [SHEET, "xl/styles.xml", "xl/workbook.xml"])
def test_what_the_library_says_of_a_damaged_workbook_is_cut_short(workbook, member):
    text = f'<styleSheet junk="{"long " * 5000}"><{"a" * 3000}>'
    refusal(workbook(member, text))
