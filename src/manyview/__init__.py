"""manyview: clustering of samples that several views describe.

>>> from manyview import OMVCDR
>>> labels = OMVCDR(n_clusters=3).fit_predict([rna, protein])  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module

from manyview._version import __version__

TYPE_CHECKING = False  # that of `typing` takes as long to import as all of `manyview --version`
if TYPE_CHECKING:
    from typing import Any

    from manyview.cost import estimate_cost
    from manyview.data.opening import open_rows
    from manyview.data.views import MultiViewData
    from manyview.omvcdr import OMVCDR
    from manyview.persistence.checkpoint import remove_checkpoint

__all__ = [
    "OMVCDR",
    "MultiViewData",
    "__version__",
    "estimate_cost",
    "open_rows",
    "remove_checkpoint",
]

# Imported when first used: the command line can then handle Ctrl-C while the libraries are loaded.
_HOMES = {
    "OMVCDR": "manyview.omvcdr",
    "MultiViewData": "manyview.data.views",
    "estimate_cost": "manyview.cost",
    "open_rows": "manyview.data.opening",
    "remove_checkpoint": "manyview.persistence.checkpoint",
}
_PACKAGES = (
    *("baselines", "cost", "data", "datasets", "exceptions", "inspection", "io", "metrics"),
    *("model_selection", "reliability", "report", "study"),
)


def __getattr__(name: str) -> Any:
    """Import a public name, or a package of the reference."""
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _PACKAGES:
        value = import_module(f"manyview.{name}")
    else:
        msg = f"module 'manyview' has no attribute {name!r}"
        raise AttributeError(msg)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_PACKAGES})
