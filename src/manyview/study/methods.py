"""Methods by name: those of manyview, of entry points, and classes given as module:Class.

Rows are cached by the version of a method: only methods that changed are run again.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from manyview.baselines import BASELINES
from manyview.exceptions import ViewError
from manyview.omvcdr import OMVCDR
from manyview.utils.near import did_you_mean

ENTRY_POINTS = "manyview.methods"
OURS: dict[str, type] = {"omvcdr": OMVCDR, **BASELINES}
# Versions of our methods. Increase the number whenever a change may alter the labels of a method:
# rows of earlier versions are then run again. A method that is not listed has version 1.
VERSIONS: dict[str, int] = {
    "omvcdr": 2,
    "awmvc": 2,
    "fmr": 2,
    "fpmvs": 2,
    "opmc": 2,
    "sfmc": 2,
    "smvsc": 2,
    "published_omvcdr": 1,
    "two_step": 2,  # of the reproduction: the model without labels, then k-means
}


@dataclass(frozen=True)
class Method:
    """A class with `fit_predict`, given by its import path."""

    name: str
    target: str  # module:Class
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> type:
        """Import the class."""
        module, _, member = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), member)  # type: ignore[no-any-return]
        except (ImportError, AttributeError) as error:
            msg = f"Method {self.name!r} could not be imported from {self.target!r}: {error}."
            raise ViewError(msg) from None

    def make(self, **wanted: Any) -> Any:
        """Instance with the given parameters, and those of `wanted` that the class accepts."""
        kind = self.load()
        takes = inspect.signature(kind).parameters
        takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values())
        given = {name: value for name, value in wanted.items() if takes_any or name in takes}
        return kind(**(given | dict(self.parameters)))

    @property
    def version(self) -> str:
        """Number in `VERSIONS` for classes of manyview; else a digest of the source file."""
        kind = self.load()
        if self.target.startswith("manyview."):
            names = (name for name, ours in OURS.items() if ours is kind)
            return str(VERSIONS.get(next(names, self.target), 1))
        file = inspect.getsourcefile(kind)
        source = Path(file).read_bytes() if file else self.target.encode()
        return hashlib.sha256(source).hexdigest()[:12]


def known_methods() -> dict[str, Method]:
    """All registered methods: OMVCDR, the baselines, and those of entry points."""
    methods = {
        name: Method(name, f"{kind.__module__}:{kind.__qualname__}") for name, kind in OURS.items()
    }
    for point in entry_points(group=ENTRY_POINTS):
        methods.setdefault(point.name, Method(point.name, point.value))
    return methods


def find_method(name: str) -> Method:
    """Return a method by its name, or by `module:Class`.

    Parameters
    ----------
    name : str
        A name in `known_methods`, or `module:Class` of a class with `fit_predict`. Parameters may
        follow, as in `concat_kmeans(scale="l2", n_init=3)`.

    Returns
    -------
    Method
    """
    methods = known_methods()
    if name in methods:
        return methods[name]
    if name.endswith(")"):
        return _with_parameters(name)
    if ":" not in name:
        msg = (
            f"There is no method {name!r}.{did_you_mean(name, methods)} Expected one of "
            f"{', '.join(sorted(methods))}, or module:Class for a class of your own."
        )
        raise ViewError(msg)
    method = Method(name, name)
    if not hasattr(method.load(), "fit_predict"):
        msg = f"{name} has no fit_predict; expected a clusterer with the API of scikit-learn."
        raise ViewError(msg)
    return method


def _with_parameters(name: str) -> Method:
    """Parse a method with parameters, written as a function call."""
    base = find_method(name.partition("(")[0])
    try:
        call = ast.parse(f"f({name.partition('(')[2]}", mode="eval").body
        assert isinstance(call, ast.Call)
        assert not call.args
        given = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, ValueError, AssertionError):
        msg = f"{name!r} is not valid; expected a method like concat_kmeans(scale='l2', n_init=3)."
        raise ViewError(msg) from None
    unknown = set(given) - set(inspect.signature(base.load()).parameters)
    if unknown:
        msg = f"{base.name} has no parameter {', '.join(sorted(unknown))}; see its documentation."
        raise ViewError(msg)
    written = ", ".join(f"{key}={value!r}" for key, value in given.items())
    return Method(f"{base.name}({written})", base.target, {**base.parameters, **given})
