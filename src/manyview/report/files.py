"""Reports on disk: a page, and the JSON file that it can be rendered from again."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from manyview.data.readable import reason_of
from manyview.persistence.atomic import write_text
from manyview.report.fit import FORMAT
from manyview.report.html import render_fit


def write_report(path: str | os.PathLike[str], result: Mapping[str, Any]) -> None:
    """Write a described fit as a page, and as a JSON file of the same name in the same folder.

    Parameters
    ----------
    path : str or path
        File name of the page, such as "report.html".
    result : mapping
        As `describe_fit` returns it.
    """
    page = Path(path)
    twin = page.with_suffix(".json")
    if twin == page:
        msg = f"{page} would hold both the page and its JSON; expected a name such as report.html."
        raise ValueError(msg)
    text = render_fit(result)
    write_text(twin, json.dumps(result, indent=1, allow_nan=False) + "\n")
    write_text(page, text)


def rewrite_report(folder: str | os.PathLike[str]) -> Path:
    """Render report.html of a folder again from its result.json.

    Parameters
    ----------
    folder : str or path
        Folder that `manyview fit --out` wrote.

    Returns
    -------
    pathlib.Path
        Path of the page.
    """
    source, page = Path(folder) / "result.json", Path(folder) / "report.html"
    try:
        text = render_fit(_decoded(source.read_text(encoding="utf-8")))
    except OSError:
        raise
    except Exception as error:  # wrong values fail anywhere in the templates
        msg = (
            f"{source} is not the result of a fit by this version ({reason_of(error)}); expected "
            "what `manyview fit` writes. Run the fit again."
        )
        raise ValueError(msg) from error
    write_text(page, text)
    return page


def _decoded(text: str) -> dict[str, Any]:
    """A result from JSON, in which every number is finite."""
    result = json.loads(text, parse_constant=_finite, parse_float=_finite)
    found = result.get("format") if isinstance(result, dict) else None
    if found != FORMAT:
        msg = f"its format is {found}, not {FORMAT}"
        raise ValueError(msg)
    return dict(result)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        msg = f"it holds the number {text}"
        raise ValueError(msg)
    return number
