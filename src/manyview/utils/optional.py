"""Libraries that only some functions need: imported there, by one function that names the extra."""

from __future__ import annotations

import importlib
import os
from typing import Any

from manyview.exceptions import EngineUnavailableError

# the extra of pyproject.toml that installs a library
EXTRAS = {
    **dict.fromkeys(("h5py", "openpyxl", "zarr"), "files"),
    "matplotlib": "plots",
    "PIL": "images",
    **dict.fromkeys(("dask", "distributed"), "dask"),
    "torch": "gpu",
    **dict.fromkeys(("pooch", "requests"), "fetch"),
}


def needed(module: str, what: str | os.PathLike[str]) -> Any:
    """Import an optional library; the error says how to install it.

    Parameters
    ----------
    module : str
        The library, or a module of it.
    what : str or path
        What needs it: a file, or the beginning of a sentence.

    Returns
    -------
    module
    """
    library = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError:
        msg = (
            f"{os.fspath(what)} needs {library}, which is not installed: "
            f"pip install 'manyview[{EXTRAS[library]}]'"
        )
        raise EngineUnavailableError(msg) from None
