"""Shared by the benchmarks that write into docs: options, CSV rows, sections of a page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from manyview.persistence import atomic as durable

RESULTS = Path("benchmarks/results")
# results that `manyview reproduce` judges claims by come with the package
PACKAGED = Path(__file__).parents[1] / "src/manyview/study/reproduction/measured"


def parser_for(doc: str, quick: str) -> argparse.ArgumentParser:
    """Options of every benchmark; `quick` describes the quick run."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--out", type=Path, help=f"file of the rows; default: in {RESULTS}")
    return parser


def results_file(name: str, arguments: argparse.Namespace) -> Path:
    """File of the rows: as given, else in the results, with its own name for a quick run."""
    given: Path | None = arguments.out
    return given or RESULTS / f"{name}{'_quick' if arguments.quick else ''}.csv"


def keep_rows(path: Path, rows: pd.DataFrame) -> None:
    """Write rows as CSV, and print the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.write_text(path, rows.to_csv(index=False))
    print(f"rows: {path}")


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rule = ["---"] * len(header)
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *lines))


def write_section(page: Path, name: str, text: str) -> None:
    """Replace the text between the markers `<!-- name -->` and `<!-- /name -->` of a page."""
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = page.read_text().partition(opening)
    _, closed, after = rest.partition(closing)
    if not (found and closed):
        msg = f"{page} has no section between {opening} and {closing}; add the two lines."
        raise ValueError(msg)
    durable.write_text(page, f"{before}{opening}\n\n{text.strip()}\n\n{closing}{after}")
    print(f"page: {page}, section {name}")
