"""Settings of a run as TOML: plain values and lists of text, with a comment above."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from manyview.exceptions import ViewError
from manyview.persistence.atomic import write_text


def write_settings(path: Path, settings: Mapping[str, Any], comment: str) -> None:
    """Write settings.

    Parameters
    ----------
    path : path
        The file to create or to replace.
    settings : mapping
        Text, numbers, booleans and lists of text, by name.
    comment : str
        Lines that stand above.
    """
    lines = [f"# {line}" for line in comment.splitlines()]
    # strings, lists, numbers and booleans are written in TOML as in JSON
    lines += [f"{name} = {_escaped(value)}" for name, value in settings.items()]
    write_text(path, "\n".join(lines) + "\n")


def _escaped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_settings(path: Path) -> dict[str, Any]:
    """Read settings.

    Parameters
    ----------
    path : path
        A TOML file.

    Returns
    -------
    dict
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is not a file of settings ({error}); expected TOML, such as clusters = 8."
        raise ViewError(msg) from error
